"""measure(step=...): steps of the user's own, against the same steps run on the CPU with data."""
import copy
import gc

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

import onnx_mem

X, Y = (48, 64), (48,)


class Net(nn.Module):
    def __init__(self, wide=128, out=10, again=False):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, wide), nn.Linear(wide, wide), nn.Linear(wide, out)
        self.again = again

    def forward(self, x):
        x = F.relu(self.first(x))
        x = (torch.utils.checkpoint.checkpoint(self.middle, x, use_reentrant=False, preserve_rng_state=False)
             if self.again else self.middle(x))
        return self.last(x)

    def middle(self, x):
        return torch.sigmoid(self.second(x)) * x


def adam(*modules):
    return torch.optim.Adam([p for m in modules for p in m.parameters()], foreach=True)


def plain():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    return step


def several_forwards():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        first, second = net(x), net(x.flip(0))
        with torch.no_grad():
            target = net(x + 1).softmax(-1)
        loss = F.cross_entropy(first, y) + F.mse_loss(second, first) + F.cross_entropy(second, target)
        loss.backward()
        optimizer.step()
    return step


def retained():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        F.cross_entropy(out, y).backward(retain_graph=True)
        out.square().mean().backward()
        optimizer.step()
    return step


def gradient_given_and_held():
    net = Net()

    def step(x, y):
        for p in net.parameters():
            p.grad = None
        x = x.detach().requires_grad_()
        out = net(x)
        given = torch.ones_like(out)
        out.backward(given, retain_graph=True)
        return out, given, x.grad
    return step


def gradient_given_to_a_leaf():
    a, b = (nn.Parameter(torch.zeros(500, 30)) for _ in range(2))

    def step(x, y):
        a.grad = b.grad = None
        given = torch.ones_like(a)
        (a + b).backward(given)
        (a * given + given).sum().backward()
    return step


def clipped():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=True)
        optimizer.step()
    return step


def gan():
    generator, critic = Net(96, 64), Net(160, 1)
    generators, critics = adam(generator), adam(critic)

    def step(x, y):
        fake = generator(x)
        critics.zero_grad()
        real_loss = F.softplus(-critic(x)).mean()
        fake_loss = F.softplus(critic(fake.detach())).mean()
        (real_loss + fake_loss).backward()
        critics.step()
        generators.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        generators.step()
    return step


def gradient_penalty():
    critic = Net(96, 1)
    optimizer = adam(critic)

    def step(x, y):
        optimizer.zero_grad()
        x = x.detach().requires_grad_()
        out = critic(x)
        g, = torch.autograd.grad(out.sum(), x, create_graph=True)
        (out.mean() + (g.norm(dim=1) - 1).square().mean()).backward()
        optimizer.step()
    return step


def gradients_without_a_graph():
    net = Net()

    def step(x, y):
        x = x.detach().requires_grad_()
        g, = torch.autograd.grad(F.cross_entropy(net(x), y), x)
        with torch.no_grad():
            other = x + 0.1 * g.sign()
        F.cross_entropy(net(other), y).backward()
        grads = torch.autograd.grad(net(x).mean(), list(net.parameters()))
        for p, g in zip(net.parameters(), grads, strict=True):
            p.grad = g
    return step


def optimizer_in_backward():
    net = Net(300)
    optimizers = {p: torch.optim.Adam([p], foreach=True) for p in net.parameters()}

    def update(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(update)

    def step(x, y):
        F.cross_entropy(net(x), y).backward()
    return step


def accumulated():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        for part, label in zip(x.chunk(4), y.chunk(4), strict=True):
            loss = F.cross_entropy(net(part), label) / 4
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def scaled():
    net = Net()
    optimizer, scaler = adam(net), torch.amp.GradScaler("cpu")

    def step(x, y):
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(net(x), y)).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    return step


def averaged():
    net = Net()
    average = copy.deepcopy(net).requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, foreach=True)

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), net.parameters(), strict=True):
                a.copy_(a * 0.9 + p * 0.1)
    return step


def hooked():
    net = Net()
    kept = []

    def step(x, y):
        kept.clear()
        for p in net.parameters():
            p.grad = None
        hidden = F.relu(net.first(x))
        hidden.register_hook(lambda g: kept.append(g))
        hidden.retain_grad()
        doubled = net.middle(hidden)
        doubled.register_hook(lambda g: g * 2)
        F.cross_entropy(net.last(doubled), y).backward()
    return step


def checkpointed_twice():
    net = Net(again=True)
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        first = F.cross_entropy(net(x), y)
        second = F.cross_entropy(net(x.flip(0)), y)
        second.backward()
        first.backward()
        optimizer.step()
    return step


def of_some_inputs():
    net = Net()

    def step(x, y):
        for p in net.parameters():
            p.grad = None
        F.cross_entropy(net(x), y).backward(inputs=list(net.last.parameters()))
    return step


def carried():
    """A state from call to call, as in truncated backpropagation through time."""
    net, state, held = Net(128, 64), torch.zeros(400, 64), {"last": torch.zeros(700)}
    optimizer = adam(net)

    def step(x, y):
        nonlocal state
        optimizer.zero_grad()
        out = net(state[:len(x)] + x)
        out.square().mean().backward()
        state = out.detach()
        held["last"] = torch.zeros(200, device=x.device)
        optimizer.step()
    return step


STEPS = [carried, plain, several_forwards, retained, gradient_given_and_held, gradient_given_to_a_leaf, clipped, gan,
         gradient_penalty, gradients_without_a_graph, optimizer_in_backward, accumulated, scaled, averaged, hooked,
         checkpointed_twice, of_some_inputs]


def inputs(batch=48):
    return torch.rand(batch, 64), torch.zeros(batch, dtype=torch.long)


def of_the_device(found):
    """(when, size) without numbers of Python that a kernel of the CPU puts into memory for itself: 8 bytes or fewer,
    gone before the operator ends."""
    made, dropped = {}, set()
    for i, (when, size, address, _) in enumerate(found):
        if size > 0:
            made[address] = i
        elif address in made:
            begin = made.pop(address)
            operator = found[begin][3]
            if -size <= 8 and operator is not None and when <= operator.end_time_ns:
                dropped |= {begin, i}
    return [(when, size) for i, (when, size, *_) in enumerate(found) if i not in dropped]


def really(make, batch=48):
    """(peak of the first step, of the third), from what the allocator of the CPU says since before anything was."""
    gc.collect()
    gc.disable()
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step, (x, y) = make(), inputs(batch)
            for i in range(3):
                with torch.profiler.record_function(f"step {i}"):
                    step(x, y)
    finally:
        gc.enable()
    todo, found, marks = [(e, None) for e in profile.profiler.kineto_results.experimental_event_tree()], [], {}
    while todo:
        e, inside = todo.pop()
        inside = inside or (e if e.name.startswith("aten::") else None)
        todo += [(child, inside) for child in e.children]
        if e.tag.name == "Allocation":
            found.append((e.start_time_ns, e.extra_fields.alloc_size, e.extra_fields.ptr, inside))
        elif e.name.startswith("step "):
            marks[e.name] = e.start_time_ns, e.end_time_ns
    live, peaks, at_begin = 0, dict.fromkeys(marks, 0), {}
    for when, size in of_the_device(sorted(found, key=lambda x: x[0])):
        for name, (begin, end) in marks.items():
            if begin <= when <= end:
                peaks[name] = max(peaks[name], at_begin.setdefault(name, live), live + size)
        live += size
    return peaks["step 0"], peaks["step 2"]


@pytest.mark.parametrize("make", STEPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("batch", [48, 400])
def test_a_step_takes_what_it_takes_with_data(make, batch):
    m = onnx_mem.measure(step=make(), args=inputs(), batch=batch)
    assert (m.first_step_peak_bytes, m.peak_bytes) == really(make, batch)
    assert sum(m.breakdown.values()) == sum(x.bytes for x in m.live_at_peak) == m.peak_bytes
    assert max(x.live for x in m.course) == m.peak_bytes


def test_the_step_and_what_it_reaches_are_as_they_were():
    net = Net()
    optimizer, state = adam(net), torch.zeros(48, 64)
    losses = []

    def step(x, y):
        nonlocal state
        optimizer.zero_grad()
        out = net(x + state)
        out.sum().backward()
        optimizer.step()
        losses[:] = [1]
        net.note, state = "x", x
    before = {k: v.clone() for k, v in net.state_dict().items()}
    weight, first = net.first.weight, state
    onnx_mem.measure(step=step, args=inputs())
    assert type(weight) is nn.Parameter and weight is net.first.weight is optimizer.param_groups[0]["params"][0]
    assert state is first and type(state) is torch.Tensor and state.device.type == "cpu" and losses == []
    assert not optimizer.state and weight.grad is None and not hasattr(net, "note")
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())
    step(*inputs())
    assert not torch.equal(weight, before["first.weight"])
