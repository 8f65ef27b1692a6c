"""verify(): the program's answer from a record against the model, and the first operator at which the two part."""
import pytest
import torch
from torch import nn

import onnx_mem
from onnx_mem._measure.measured import Moment
from onnx_mem._record.verified import first_difference


def course(*live, phase="forward"):
    return [Moment(phase, f"op{i}", "m", 1, n) for i, n in enumerate(live)]


def test_courses_that_meet_have_no_difference():
    assert first_difference(course(3, 5, 4), course(3, 5, 4)) is None
    # What one side does in one operator the other may do in two, with less alive in the first.
    assert first_difference(course(3, 5), course(3, 4, 5)) is None
    assert first_difference(course(3, 4, 5), course(3, 5)) is None
    # Operators that allocate nothing, and the optimizer's, are of no course.
    assert first_difference(course(3) + [Moment("forward", "view", "", 0, 9)], course(3)) is None
    assert first_difference(course(3) + course(9, phase="optimizer"), course(3)) is None


def test_the_first_difference_is_told():
    assert str(first_difference(course(3, 5, 4), course(3, 6, 4))) == (
        "operator 2 that allocates, in forward: the model has 5 B alive at op1 in m; "
        "the program has 6 B alive at op1 in m")
    assert str(first_difference(course(3, 5), course(3))) == (
        "operator 2 that allocates, in forward: the model has 5 B alive at op1 in m; the program has ended")
    assert first_difference(course(3, 5), course(3, 5, 7)).program.live == 7
    assert first_difference(course(3), course(3, phase="loss")) is not None


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.last(self.first(x).relu().exp())


@pytest.mark.parametrize("training", [True, False])
def test_the_program_takes_what_the_model_takes(program, training, tmp_path):
    x = torch.zeros(2, 16)
    told = onnx_mem.verify(onnx_mem.record(Model(), x), Model(), x, batch=9, training=training)
    assert told.same and told.difference is None and str(told).endswith("the same")
    path = onnx_mem.export(Model(), x, tmp_path / "model.onnx")
    assert onnx_mem.verify(path, Model(), x, batch=9, training=training).same
    assert onnx_mem.verify(path, batch=9, training=training).same


class Experts(nn.Module):
    """Rows are sorted by the expert that takes them; its weights are read transposed, as a linear layer's are."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Parameter(torch.randn(4, 32, 16)), nn.Parameter(torch.randn(4, 16, 32))
        self.register_buffer("ends", torch.arange(2, 10, 2, dtype=torch.int32))     # of each expert's rows

    def forward(self, x):
        hidden = torch._grouped_mm(x, self.up.transpose(-2, -1), offs=self.ends).relu()
        return torch._grouped_mm(hidden, self.down.transpose(-2, -1), offs=self.ends)


class Solves(nn.Module):
    """A triangular system for each sample, as chunks of linear attention have it."""

    def __init__(self):
        super().__init__()
        self.scores, self.values = nn.Linear(16, 8), nn.Linear(16, 4)

    def forward(self, x):
        scores = self.scores(x).tril() + torch.eye(8, device=x.device)
        return torch.linalg.solve_triangular(scores, self.values(x), upper=False)


@pytest.mark.parametrize("training", [True, False])
def test_triangular_systems(program, training):
    x = torch.zeros(2, 8, 16)
    found = onnx_mem.verify(onnx_mem.record(Solves(), x), Solves(), x, batch=9, training=training)
    assert found.same, str(found)


@pytest.mark.parametrize("training", [True, False])
def test_experts_that_are_run_by_groups_of_rows(program, training):
    x = torch.zeros(8, 16)
    found = onnx_mem.verify(onnx_mem.record(Experts(), x), Experts(), x, batch=24, training=training)
    assert found.same, str(found)


def test_a_record_of_another_model_is_told_by_what_the_program_says(program):
    """The replay alone said "the same" of a record that the program reads otherwise."""
    x = torch.zeros(2, 16)
    record = onnx_mem.record(Model(), x)
    for p in record.programs.values():                        # an operator for which the program has no rule
        for line in p["lines"]:
            if line.get("op") == "relu":
                line["op"] = "hardswish" if p is record.programs["train"] else "relu"
    told = onnx_mem.verify(record, Model(), x, batch=9)
    assert not told.same
    assert told.difference is not None and told.difference.model.phase in ("forward", "loss", "backward")
    assert "they differ" in str(told)


def test_a_replay_that_is_not_the_model_is_told_by_its_figure(program):
    x = torch.zeros(2, 16)
    found = onnx_mem.verify(onnx_mem.record(Model(), x), Model(), x)
    found.replayed.first_step_peak_bytes += 8
    assert not found.same
    assert "first_step_peak_bytes of the record's replay is" in str(found)
    assert str(found).endswith("the program takes what the model does")


@pytest.mark.parametrize("given", [lambda: onnx_mem.verify(Model()), lambda: onnx_mem.verify(3),
                                   lambda: onnx_mem.verify(onnx_mem.record(Model(), torch.zeros(2, 16)), Model())])
def test_what_is_missing_is_told_with_a_way_out(given):
    with pytest.raises(onnx_mem.Error, match="try: ") as e:
        given()
    assert e.value.code == "bad-argument"


class Cache:
    """No container of tensors that PyTorch knows, as caches of encoder-decoder models are."""

    def __init__(self, keys):
        self.keys = keys


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 4)

    def forward(self, x):
        keys = self.first(x)
        return {"logits": self.second(x), "cache": Cache(keys)}


@pytest.mark.parametrize("training", [True, False])
def test_what_is_returned_inside_an_object_is_held(program, training):
    x = torch.zeros(40, 64)
    record = onnx_mem.record(Cached(), x)
    assert onnx_mem.verify(record, Cached(), x, batch=400, training=training).same
