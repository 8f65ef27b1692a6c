"""A file of dynamo's shows torch.utils.checkpoint_sequential: what it takes is what the model's code takes."""
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

import onnx_mem


class Block(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 16))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.Sequential(*(Block() for _ in range(7))), nn.Linear(16, 4)

    def forward(self, x):
        return self.head(checkpoint_sequential(self.blocks, 2, x.tanh(), use_reentrant=False))


class Three(Two):
    def forward(self, x):
        x = x.tanh()
        x = checkpoint_sequential(list(self.blocks.children()), segments=3, input=x, use_reentrant=False)
        return self.head(x)


class Several(Two):
    """The number of segments is no number on the line, which the file does not show."""

    def __init__(self, segments):
        super().__init__()
        self.segments = segments

    def forward(self, x):
        return self.head(checkpoint_sequential(self.blocks, self.segments, x.tanh(), use_reentrant=False))


@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_a_number_of_segments_that_the_line_lacks_is_in_the_range(program, segments, tmp_path):
    model, x, path = Several(segments).train(), torch.zeros(64, 16), tmp_path / "m.onnx"
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
    torch.onnx.export(exported, (x,), dynamo=True, verbose=False).save(path)
    report, truth = onnx_mem.analyze(path, batch=64, optimizer="sgd"), onnx_mem.measure(model, x, optimizer="sgd")
    low, high = report.training.json["peak_interval_bytes"]
    assert low <= truth.peak_bytes <= high
    assert onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=64).same


@pytest.mark.parametrize("make", [Two, Three])
def test_a_sequence_takes_what_its_code_takes(program, make, tmp_path):
    model, x, path = make().train(), torch.zeros(64, 16), tmp_path / "m.onnx"
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
    torch.onnx.export(exported, (x,), dynamo=True, verbose=False).save(path)
    report = onnx_mem.analyze(path, batch=64, optimizer="sgd")
    assert report.training.peak_bytes == onnx_mem.measure(model, x, optimizer="sgd").peak_bytes
    plans = onnx_mem.plan(path, batch=64, optimizer="sgd").plans
    named = {module for row in plans for segment in row["segments"] for module in segment["modules"]}
    assert named and "blocks.0" not in named and "each block" not in [row["label"] for row in plans]
