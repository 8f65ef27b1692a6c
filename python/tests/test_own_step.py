"""measure(step=...): steps of the user's own, against the same steps run on the CPU with data."""
import collections
import contextlib
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


def gradient_given_in_another_type():
    net = Net()

    def step(x, y):
        for p in net.parameters():
            p.grad = None
        out = net(x)
        out.backward(torch.ones_like(out, dtype=torch.bfloat16))
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


def speech():
    """A CTC loss, of which log_alpha is saved and log_beta made beside the gradient."""
    net = Net()

    def step(x, y):
        logs = net(x).reshape(len(x), 5, -1).log_softmax(-1).transpose(0, 1)
        F.ctc_loss(logs, y[:, None].expand(-1, 2), (5,) * len(x), (2,) * len(x)).backward()
        net.zero_grad()
    return step


STEPS = [carried, plain, several_forwards, retained, gradient_given_and_held, gradient_given_in_another_type,
         gradient_given_to_a_leaf, clipped, gan, gradient_penalty, gradients_without_a_graph, optimizer_in_backward,
         accumulated, scaled, averaged, hooked, checkpointed_twice, of_some_inputs, speech]


def inputs(batch=48):
    return torch.rand(batch, 64), torch.zeros(batch, dtype=torch.long)


def of_the_device(found):
    """(when, size) without numbers of Python that the CPU puts into memory: 8 bytes or fewer, made by no operator (the
    2 of x * 2, which stays on the host beside a card, too) or gone before the operator ends."""
    made, dropped = {}, set()
    for i, (when, size, address, _) in enumerate(found):
        if size > 0:
            made[address] = i
        elif address in made:
            begin = made.pop(address)
            operator = found[begin][3]
            if -size <= 8 and (operator is None or when <= operator.end_time_ns):
                dropped |= {begin, i}
    return [(when, size) for i, (when, size, *_) in enumerate(found) if i not in dropped]


def without(found, is_of_the_cpu):
    """(when, size, address, operator) of what was not made in operators of which `is_of_the_cpu` says so."""
    kept, dropped = [], set()
    for *event, operators in found:
        when, size, address, operator = event
        if size > 0 and is_of_the_cpu("/".join(operators)):
            dropped.add(address)
        elif size < 0 and address in dropped:
            dropped.discard(address)
        else:
            kept.append((when, size, address, operator))
    return kept


def really(make, batch=48, inputs=inputs, is_of_the_cpu=lambda operators: False, taken_apart=()):
    """(peak of the first step, of the third), from what the allocator of the CPU says since before anything was.
    `is_of_the_cpu`: of operators within each other, "aten::mm/aten::copy_"; what is made there is not counted.
    `taken_apart`: operators that code in Python runs as others."""
    gc.collect()
    gc.disable()
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            step, given = make(), inputs(batch)
            for i in range(3):
                with torch.profiler.record_function(f"step {i}"):
                    step(*given)
    finally:
        gc.enable()
    todo, found, marks = [(e, None, ()) for e in profile.profiler.kineto_results.experimental_event_tree()], [], {}
    while todo:
        e, inside, operators = todo.pop()
        inside = inside or (e if e.name.startswith("aten::") and e.name not in taken_apart else None)
        operators = (*operators, e.name) if e.name.startswith("aten::") else operators
        todo += [(child, inside, operators) for child in e.children]
        if e.tag.name == "Allocation":
            found.append((e.start_time_ns, e.extra_fields.alloc_size, e.extra_fields.ptr, inside, operators))
        elif e.name.startswith("step "):
            marks[e.name] = e.start_time_ns, e.end_time_ns
    live, peaks, at_begin = 0, dict.fromkeys(marks, 0), {}
    for when, size in of_the_device(without(sorted(found, key=lambda x: x[0]), is_of_the_cpu)):
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


def by_hand(net, optimizer):
    """The step that measure(net) and a record of `net` have."""
    def step(x, y):
        optimizer.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return out, loss
    return step


def test_an_average_of_the_model_is_a_copy_of_it():
    """AveragedModel reads its counter, whose value is that of the object: its first update is a copy."""
    net, x = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10)), torch.randn(48, 64)
    swa = torch.optim.swa_utils
    average, optimizer = swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.99)), adam(net)

    def step(x):
        optimizer.zero_grad()
        loss = (out := net(x)).mean()  # noqa: F841  (held to the end)
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
    own = onnx_mem.measure(step=step, args=(x,))
    assert average.n_averaged == 0
    answer = onnx_mem.analyze(net, x, loss="mean", batch=48, ema=True).training
    assert own.peak_bytes - average.n_averaged.nbytes == answer.peak_bytes


def test_the_step_of_measure_written_by_hand_takes_the_same():
    net, (x, y) = Net(), inputs()
    step = by_hand(net, torch.optim.AdamW(net.parameters()))          # its foreach form, as on a GPU
    mine, own = onnx_mem.measure(step=step, args=(x, y)), onnx_mem.measure(net, x, optimizer="adamw")
    for name in ("peak_bytes", "first_step_peak_bytes", "breakdown", "parameter_bytes", "input_bytes", "peak_operator"):
        assert getattr(mine, name) == getattr(own, name)


class Mlp(nn.Module):
    """Llama's."""

    def __init__(self, size, inner):
        super().__init__()
        self.gate, self.up = (nn.Linear(size, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, size, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@pytest.mark.parametrize("batch,length,size,inner,published", [
    (4, 1024, 4096, 11008, 1294.25), (4, 8192, 4096, 11008, 6372.25), (2, 1024, 2048, 4096, 264.25),
    (2, 16384, 2048, 4096, 2416.25)])
def test_what_liger_published_of_a_layer(batch, length, size, inner, published):
    """linkedin/Liger-Kernel, benchmark/data/all_benchmark_data.csv, swiglu, provider huggingface, on an A100 and an RTX
    4090: max_memory_allocated() in MiB, with the workspaces of cuBLAS of forward's and backward's thread."""
    workspaces = 2 * 8519680
    with torch.device("meta"):
        layer = Mlp(size, inner).to(torch.bfloat16)
        x = torch.empty(batch, length, size, dtype=torch.bfloat16, requires_grad=True)

    def step():
        y = layer(x)
        y.backward(torch.randn_like(y), retain_graph=True)
    assert onnx_mem.measure(step=step).peak_bytes + workspaces == published * 2**20


def test_models_and_optimizers_as_arguments_and_methods_of_an_object():
    class Trainer:
        def __init__(self):
            self.net = Net()
            self.optimizer = adam(self.net)

        def step(self, x, y):
            train(self.net, self.optimizer, x, y)

    def train(net, optimizer, x, y):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    peak = onnx_mem.measure(step=plain(), args=inputs()).peak_bytes
    trainer = Trainer()
    assert onnx_mem.measure(step=trainer.step, args=inputs()).peak_bytes == peak
    net = Net()
    optimizer = adam(net)
    assert onnx_mem.measure(net, inputs(), step=lambda net, x, y: train(net, optimizer, x, y)).peak_bytes == peak
    assert onnx_mem.measure(step=train, args=(net, optimizer, *inputs())).peak_bytes == peak


def test_what_a_step_offloads_is_not_on_the_device():
    net = Net()

    def step(x, y, hooks):
        for p in net.parameters():
            p.grad = None
        with hooks():
            loss = F.cross_entropy(net(x), y)
        loss.backward()
    hooks = torch.autograd.graph
    plain, same, away = (onnx_mem.measure(step=step, args=(*inputs(400), hook)) for hook in (
        contextlib.nullcontext, lambda: hooks.saved_tensors_hooks(lambda t: t, lambda t: t), hooks.save_on_cpu))
    assert same == plain
    assert away.end_of_forward_bytes < plain.end_of_forward_bytes - 400 * 128 * 4


class Offload(torch.autograd.graph.saved_tensors_hooks):
    """Activations on the host by number, as torchtune's OffloadActivations(use_streams=False) has them."""

    def __init__(self, weights):
        self.weights, self.kept, self.stream = {id(w) for w in weights}, {}, torch.cuda.default_stream()
        super().__init__(self.pack, self.unpack)

    def pack(self, t):
        number = len(self.kept)
        away = t.numel() * t.element_size() >= 1024 and not isinstance(t, nn.Parameter)
        if away:
            with torch.cuda.stream(self.stream):
                host = torch.empty_like(t, pin_memory=True, device="cpu")
                host.copy_(t, non_blocking=True)
            t = host
        self.kept[number] = t, away
        return number

    def unpack(self, number):
        t, away = self.kept.pop(number)
        return t.to("cuda", non_blocking=True) if away else t


class Offloaded(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        with Offload(self.net.parameters()):
            return self.net(x)


def test_hooks_that_offload_by_number_are_counted():
    net = Net()
    whole = onnx_mem.measure(net, inputs(400)[0], optimizer="none", loss="mean")
    away = onnx_mem.measure(Offloaded(net), inputs(400)[0], optimizer="none", loss="mean")
    assert whole.saved_activation_bytes == 3 * 400 * 128 * 4       # the results of relu, sigmoid and mul
    assert away.saved_activation_bytes == 0
    assert whole.end_of_forward_bytes - away.end_of_forward_bytes == whole.saved_activation_bytes


def test_a_second_stream_is_refused():
    net = Net()

    def step(x, y):
        with torch.cuda.stream(torch.cuda.Stream()):
            net(x).sum().backward()
    with pytest.raises(onnx_mem.Error, match="use_streams=False"):
        onnx_mem.measure(step=step, args=inputs())


def growing():
    net, kept = Net(), []

    def step(x, y):
        kept.append(net(x))
    return step


def kept_graph():
    net = Net()
    state = net(torch.zeros(48, 64))

    def step(x, y):
        (net(x) * state).sum().backward()
    return step


def twice():
    net = Net()

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        loss.backward()
    return step


def hidden():
    tensors = iter([torch.zeros(48, 64)] * 3)
    net = Net()
    return lambda x, y: net(next(tensors)).sum().backward()


def branching():
    net = Net()

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        if torch.isfinite(loss):
            loss.backward()
    return step


def on_the_host():
    net = Net()

    def step(x, y):
        with torch.autocast("cpu", torch.bfloat16):
            net(x).sum().backward()
    return step


@pytest.mark.parametrize("make,message", [
    (growing, "each call of the step leaves [0-9,]+ bytes more"),
    (kept_graph, "from an earlier call still has its graph"),
    (twice, "a second time through a graph"), (hidden, "hand it to the step"), (branching, "branches on a value"),
    (on_the_host, 'try: torch.autocast\\("cuda"'), (lambda: lambda x, y: None, "runs no operator")])
def test_what_a_step_cannot_be_measured_for_is_said(make, message):
    with pytest.raises(onnx_mem.Error, match=message) as e:
        onnx_mem.measure(step=make(), args=inputs())
    assert e.value.code == "cannot-measure"


def test_options_that_the_step_settles_are_refused():
    with pytest.raises(onnx_mem.Error, match="a step of your own has its optimizer"):
        onnx_mem.measure(step=plain(), args=inputs(), optimizer="sgd")
    with pytest.raises(onnx_mem.Error, match="measure wants a model, or a step"):
        onnx_mem.measure(args=inputs())
    with pytest.raises(onnx_mem.Error, match="hand them to it"):
        onnx_mem.measure(step=lambda: None, batch=3)
    for batch in (0, -4, "8"):
        with pytest.raises(onnx_mem.Error, match="a batch is a number from 1 on"):
            onnx_mem.measure(step=plain(), args=inputs(), batch=batch)


@pytest.mark.parametrize("options", [
    {"optimizer": "sgd"}, {"trainer": "hf"}, {"amp": "bf16"}, {"dtype": "bf16"}, {"accumulate": 2},
    {"retain_graph": True}, {"loss": "gradient"}, {"optimizer_impl": "fused"}, {"freeze": "first"}, {"fsdp": "2"}])
def test_options_that_a_recorded_step_settles_are_refused(tmp_path, options):
    path = onnx_mem.export(step=plain(), args=inputs(), path=tmp_path / "step.eager")
    with pytest.raises(onnx_mem.Error, match="a whole training step") as e:
        onnx_mem.analyze(path, **options)
    assert e.value.code == "record-settles"


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")], ids=["name", "device"])
def test_a_loop_that_names_the_cpu_means_the_gpu(device):
    def made(device):
        net = Net().to("cpu")
        optimizer = adam(net)

        def step(x, y):
            x, y = x.to(device), y.to(device=device)
            loss = F.cross_entropy(net(x), y) + torch.zeros((), device=device)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return step
    with pytest.warns(UserWarning, match="the step names the CPU as its device"):
        named = onnx_mem.measure(step=made(device), args=inputs())
    assert named.peak_bytes == onnx_mem.measure(step=made("cuda"), args=inputs()).peak_bytes
    with pytest.warns(UserWarning, match="the step names the CPU as its device"):
        assert onnx_mem.record(step=made(device), args=inputs())


def test_an_integer_that_is_read_is_the_examples():
    net = Net()

    def step(x, lengths):
        longest = int(lengths.max())
        if (lengths > 1).any():
            net(x.repeat(longest, 1)).sum().backward()
        net.zero_grad()

    def peak(longest, batch=None):
        lengths = torch.full((48,), longest)
        return onnx_mem.measure(step=step, args=(torch.zeros(48, 64), lengths), batch=batch).peak_bytes
    assert all(peak(n + 1) - peak(n) > 48 * 64 * 4 for n in (2, 3))
    with pytest.warns(UserWarning, match="the record is that of these integers"):
        record = onnx_mem.record(step=step, args=(torch.zeros(48, 64), torch.full((48,), 3)))
    assert record.programs["step"]["storages"]


def test_a_number_that_is_read_for_a_log():
    net, log = Net(), []

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        log.append(loss.item())
    with pytest.warns(UserWarning, match="reads a value of a tensor"):
        onnx_mem.measure(step=step, args=inputs())
    assert log == []


class Made(collections.OrderedDict):
    """Hands out an object for each class that it holds, as a table of activations may."""

    def __getitem__(self, key):
        return super().__getitem__(key)(self)


class Odd:
    def __init__(self):
        raise RuntimeError("made by looking")


def test_a_table_that_makes_what_it_hands_out_is_looked_at_as_it_is():
    table, net = Made(odd=Odd, nets=lambda _: net), Net()
    table.move_to_end("odd")

    def step(x, y):
        F.cross_entropy(table["nets"](x), y).backward()
        table.pop("odd", None)
        net.zero_grad()
    assert onnx_mem.measure(step=step, args=inputs()).peak_bytes
    assert list(table) == ["nets", "odd"] and dict.__getitem__(table, "odd") is Odd


def test_what_a_package_keeps_for_itself_is_no_input(tmp_path, monkeypatch):
    """Wherever it was installed: bitsandbytes has a table of codes among its globals, on the CPU."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "somebodys.py").write_text(
        "from torch import nn, zeros\n\nTABLE = zeros(700)\n\n\nclass Layer(nn.Linear):\n    def forward(self, x):\n"
        "        return super().forward(x) if x.ndim else TABLE\n")
    monkeypatch.syspath_prepend(folder)
    import somebodys

    def peak_of(layer):
        def step(x):
            layer(x).sum().backward()
            layer.zero_grad()
        return onnx_mem.measure(step=step, args=(torch.rand(8, 64),)).peak_bytes
    assert peak_of(somebodys.Layer(64, 10)) == peak_of(nn.Linear(64, 10))
