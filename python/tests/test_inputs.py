"""Example inputs as users hand them in."""
import collections

import pytest

torch = pytest.importorskip("torch")

import onnx_mem  # noqa: E402


class ByName(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 4)

    def forward(self, ids, scale=1.0, use_cache=True):
        out = self.embed(ids) * scale
        return (out, out + 1, out + 2) if use_cache else out


def test_what_forward_has_by_name_and_is_no_option_is_an_input(program):
    ids = torch.zeros(2, 4, dtype=torch.long)
    both, one = (onnx_mem.analyze(ByName(), ids=ids, use_cache=cache, batch=8) for cache in (True, False))
    assert both.inference.peak_bytes > one.inference.peak_bytes
    with pytest.raises(onnx_mem.Error, match="unknown option 'use_cash'"):
        onnx_mem.analyze(ByName(), ids=ids, use_cash=False, batch=8)


def test_inputs_in_a_mapping_are_told_to_go_by_name(program):
    ids = {"ids": torch.zeros(2, 4, dtype=torch.long)}
    with pytest.raises(onnx_mem.Error, match=r"forward takes by name .*\*\*inputs"):
        onnx_mem.analyze(ByName(), ids, batch=8)
    with pytest.raises(onnx_mem.Error, match=r"given by name\n  try: \*\*inputs"):
        onnx_mem.analyze(ByName(), collections.UserDict(ids), batch=8)
    assert onnx_mem.analyze(ByName(), **ids, batch=8).inference.peak_bytes > 0
