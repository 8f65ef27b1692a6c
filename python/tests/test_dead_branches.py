"""Branches that no output needs, against real steps on the CPU: the allocator's own count, told by the profiler."""
import pytest
import torch
from torch import nn
from torch.profiler import profile

import onnx_mem

BATCH = 1024


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), nn.GELU()]
    return nn.Sequential(*layers[:-1])


class Held(nn.Module):
    """A name holds the branch to the end of forward."""

    def __init__(self):
        super().__init__()
        self.a, self.aux, self.c = nn.Linear(64, 64), mlp(64, 256, 256, 64), nn.Linear(64, 64)

    def forward(self, x):
        h = self.a(x)
        unused = self.aux(h)  # noqa: F841
        return self.c(h).sigmoid().exp()


class Dropped(nn.Module):
    """The branch is gone before the layers that need most."""

    def __init__(self):
        super().__init__()
        self.a, self.aux, self.c = nn.Linear(64, 64), mlp(64, 256, 64), mlp(64, 256, 256, 64)

    def forward(self, x):
        h = self.a(x)
        unused = self.aux(h)
        del unused
        return self.c(h)


class Maximum(nn.Module):
    """Whose backward fills in place."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 512), nn.Linear(64, 512)

    def forward(self, x):
        return torch.max(self.a(x), self.b(x))


def real_peak(model):
    """Of the second step with Adam: parameters, their state and the input, and what the allocator gave beyond."""
    x, parameters = torch.randn(BATCH, 64), list(model.parameters())
    optimizer = torch.optim.Adam(parameters, foreach=True)

    def step():
        for p in parameters:
            p.grad = None
        out = model(x)
        out.mean().backward()
        optimizer.step()

    step()
    for p in parameters:
        p.grad = None
    with profile(profile_memory=True) as trace:
        step()
    live = peak = 0
    events = [e for e in trace.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    kept = 0
    for p in parameters:
        kept += sum(t.numel() * t.element_size() for t in [p, *optimizer.state.get(p, {}).values()])
    return peak + kept + 4 * x.numel()


@pytest.mark.parametrize("kind", [Held, Dropped, Maximum])
def test_a_step_takes_what_the_allocator_gave(program, kind):
    torch.manual_seed(0)
    model, x = kind(), torch.randn(8, 64)
    truth = real_peak(model)
    measured = onnx_mem.measure(model, x, batch=BATCH, loss="mean").peak_bytes
    predicted = onnx_mem.analyze(onnx_mem.record(model, x), batch=BATCH, loss="mean").training.peak_bytes
    # Scalars: the state of parameters of a branch that never had a gradient is none.
    assert measured == predicted == pytest.approx(truth, abs=64)
