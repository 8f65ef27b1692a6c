"""Values that follow from what a model holds and nothing writes, or from numbers alone, may be read."""
import pytest
import torch
from torch import nn

import onnx_mem

WAYS = {"record": onnx_mem.record, "measure": onnx_mem.measure}


class Times(nn.Module):
    """As many steps as its times need, whose order it checks, as solvers of equations do."""

    def __init__(self, registered=True):
        super().__init__()
        self.layer, times = nn.Linear(4, 4), torch.linspace(0, 1, 3)
        if registered:
            self.register_buffer("times", times)
        else:
            self.times = times

    def forward(self, x):
        assert (self.times[1:] > self.times[:-1]).all(), "times must rise"
        t, step = self.times[0], self.times[1:].min() / 2
        while t < self.times[-1]:
            x = x + self.layer(x).tanh() * step
            t = t + step
        return x


class Sound(nn.Module):
    """torch.istft reads the sum of its windows."""

    def __init__(self, held=True):
        super().__init__()
        self.layer, self.window = nn.Linear(9, 18), torch.hann_window(16) if held else None

    def forward(self, x):
        window = torch.hann_window(16, device=x.device) if self.window is None else self.window.to(x.device)
        spectrum = torch.view_as_complex(self.layer(x).unflatten(-1, (9, 2))).transpose(1, 2)
        return torch.istft(spectrum, 16, 4, window=window)


def times():
    return Times(), torch.zeros(3, 4)


def times_of_no_name():
    return Times(registered=False), torch.zeros(3, 4)


def held_window():
    return Sound(), torch.zeros(3, 6, 9)


def made_window():
    return Sound(held=False), torch.zeros(3, 6, 9)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [times, times_of_no_name, held_window, made_window])
def test_what_follows_from_constants_is_known(program, make, training):
    model, x = make()
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=training)
    assert verified.same, str(verified)


def test_the_times_decide_how_many_steps_run():
    def steps(model):
        lines = onnx_mem.record(model, torch.zeros(3, 4)).programs["train"]["lines"]
        return sum(line.get("op") == "tanh" for line in lines)
    more = Times()
    more.times = torch.tensor([0.0, 0.25, 1.0])
    assert steps(Times()) == 4 and steps(more) == 8


class Reads(nn.Module):
    """Reads a table of its own after `write` had it."""

    def __init__(self, write):
        super().__init__()
        self.layer, self.norm, self.write = nn.Linear(4, 4), nn.BatchNorm1d(4), write
        self.register_buffer("table", torch.ones(4))

    def forward(self, x):
        x = self.norm(self.layer(x))
        self.write(self, x)
        return x if (self.table > 0).all() else -x


def counts(model, x):
    model.table += 1


def averages(model, x):
    with torch.no_grad():
        model.table.lerp_(x.mean(0), 0.1)


def averages_past_autograd(model, x):
    model.table.data.copy_(x.mean(0))


def another(model, x):
    model.table.data = x.mean(0).detach()


def writes_a_view(model, x):
    model.table[1:].zero_()


def norms(model, x):
    model.table = model.norm.running_mean


def weights(model, x):
    model.table = model.layer.weight.detach()[0]


def data_of_inputs(model, x):
    model.table = x.detach()[0]


def computed(model, x):
    model.table = torch.ones_like(model.table) * 2


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("write", [counts, averages, averages_past_autograd, another, writes_a_view, norms, weights,
                                   data_of_inputs])
def test_what_something_writes_is_not_known(ask, write):
    with pytest.raises(onnx_mem.Error, match="a value of a tensor is read"):
        WAYS[ask](Reads(write), torch.zeros(3, 4))


@pytest.mark.parametrize("ask", WAYS)
def test_what_is_made_of_constants_is_known(ask):
    assert WAYS[ask](Reads(computed), torch.zeros(3, 4))


def test_what_shares_memory_with_a_parameter_is_not_known():
    model = Reads(lambda model, x: None)
    model.table = model.layer.weight.detach()[0]
    with pytest.raises(onnx_mem.Error, match="a value of a tensor is read"):
        onnx_mem.record(model, torch.zeros(3, 4))


def test_a_large_table_is_not_known():
    model = Reads(lambda model, x: None)
    model.table = torch.ones((1 << 20) + 1)
    with pytest.raises(onnx_mem.Error, match="a value of a tensor is read"):
        onnx_mem.record(model, torch.zeros(3, 4))
