"""Models whose forward asks for what their own code makes or holds; what is refused has a way out that works."""
import warnings

import pytest
import torch
from torch import nn

import onnx_mem


class Scaled(nn.Module):
    """A number of the code becomes a tensor, and is read back where it is used, as the kernels of LyCORIS do."""

    def __init__(self, scale=0.5):
        super().__init__()
        self.layer, self.scale = nn.Linear(4, 4), scale

    def forward(self, x):
        scale = torch.tensor(self.scale, dtype=x.dtype, device=x.device)
        if scale > 1:
            return self.layer(x).exp()
        halves = torch.tensor([self.scale] * 2).to(x.device)
        return self.layer(x) * float(scale.view(1).double()) + halves.sum().item()


class Chosen(nn.Module):
    """Writes into the columns that a mask of its own names, as the merged layers of loralib do."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 5)
        self.register_buffer("columns", torch.tensor([True, False, True, False, True, True, False, True]))

    def forward(self, x):
        y = self.layer(x).t()
        result = y.new_zeros(len(self.columns), y.shape[1])
        result[self.columns] = y
        return result.t()


class Places(Chosen):
    """The same, by the places that the mask names."""

    def __init__(self):
        super().__init__()
        self.columns, self.places = None, torch.tensor([0, 2, 4, 5, 7])

    def forward(self, x):
        y = self.layer(x).t()
        result = y.new_zeros(8, y.shape[1])
        result[self.places] = y
        return result.t()


class Dispatched(nn.Module):
    """Chooses a function by the library that made its argument, as paderbox does."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return {"numpy": None, "torch": torch.abs}[type(x).__module__](self.layer(x))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [Scaled, Chosen, Dispatched])
def test_what_code_makes_or_holds_is_known(program, make, training):
    x = torch.zeros(6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")                   # no value of the example is needed
        record = onnx_mem.record(make(), x)
        verified = onnx_mem.verify(record, make(), x, batch=24, training=training)
    assert verified.same, str(verified)


def test_the_number_decides_what_runs():
    def operators(scale):
        return [line.get("op") for line in onnx_mem.record(Scaled(scale), torch.zeros(6, 4)).programs["train"]["lines"]]
    assert "exp" in operators(2.0) and "exp" not in operators(0.5)


def test_a_mask_counts_as_many_as_it_chooses():
    x = torch.zeros(6, 4)
    five_integers, mask_of_eight = 5 * 8, 8
    assert onnx_mem.measure(Chosen(), x).peak_bytes - mask_of_eight == (
        onnx_mem.measure(Places(), x).peak_bytes - five_integers)


def test_a_number_that_weights_are_written_into_is_not_known():
    class Reads(Scaled):
        def forward(self, x):
            total = torch.tensor(0.0, device=x.device)
            torch._foreach_add_([total], [self.layer.weight.detach().sum()])
            return self.layer(x) if total > 0 else x
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Reads(), torch.zeros(6, 4))


def test_a_state_that_a_step_sets_is_not_known():
    class Initialized(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("ready", torch.tensor([False]))

        def forward(self, x):
            if not self.ready:
                self.ready.fill_(True)
                return self.layer(x).exp()
            return self.layer(x)
    with pytest.raises(onnx_mem.CannotRecord, match="a value of a tensor is read"):
        onnx_mem.record(Initialized(), torch.zeros(6, 4))


class Marks(nn.Module):
    """Rows that their own values choose become one learned row, as in masked pre-training."""

    def __init__(self, where=False):
        super().__init__()
        self.layer, self.row, self.where = nn.Linear(4, 4), nn.Parameter(torch.zeros(4)), where

    def forward(self, x):
        marked, y = x.mean(-1) > 0, self.layer(x)
        if self.where:
            return torch.where(marked[:, None], self.row, y).exp()
        y = y.clone()
        y[marked] = self.row
        return y.exp()


def test_ways_out_of_a_mask_that_data_decides_work(program):
    x = torch.zeros(6, 4)
    with pytest.raises(onnx_mem.Error, match=r"a shape depends on data.* torch.where\(mask, a, b\).*in backward alone.*"
                                             r"onnx_mem.analyze\(model, x\) answers"):
        onnx_mem.measure(Marks(), x)
    assert onnx_mem.analyze(Marks(), x).source == "record"
    record = onnx_mem.record(Marks(where=True), x)
    assert onnx_mem.verify(record, Marks(where=True), x, batch=24, training=True).same


class Keeps(nn.Module):
    """Has its input as an attribute from one call to the next, as Zero-DCE has."""

    def __init__(self):
        super().__init__()
        self.layer, self.seen = nn.Linear(64, 4), {}

    def forward(self, x):
        self.x0 = x
        self.seen["x"] = self.x0
        return (self.layer(self.x0 * 2) + self.layer(self.x0)).exp()


@pytest.mark.parametrize("training", [True, False])
def test_an_input_that_a_module_keeps_is_no_other_tensor(program, training):
    x = torch.zeros(6, 64)
    model = Keeps()
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=training)
    assert verified.same, str(verified)
    assert not hasattr(model, "x0")


def spaced():
    model = nn.Sequential()
    model.add_module("layer 1", nn.Linear(64, 8))
    model.add_module("100% out", nn.Linear(8, 4))
    return model


def test_names_of_modules_may_have_spaces(program, tmp_path):
    x = torch.zeros(6, 64)
    record = onnx_mem.record(spaced(), x)
    assert onnx_mem.Record.from_text(record.text()) == record
    assert onnx_mem.verify(record, spaced(), x, batch=24, training=True).same
    path = onnx_mem.export(spaced(), x, tmp_path / "model.onnx")
    assert onnx_mem.analyze(path or tmp_path / "model.onnx").source == "record"

    def step(model, x):
        model(x).sum().backward()
    stepped = onnx_mem.record(spaced(), x, step=step)
    assert onnx_mem.Record.from_text(stepped.text()) == stepped
    report = onnx_mem.analyze(stepped)
    assert report.source == "record"
