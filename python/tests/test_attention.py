"""Which kernel attention runs, by the heads of keys and queries and by the framework's version."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnx_mem
from onnx_mem._fake.attention import kernel


class Grouped(nn.Module):
    def __init__(self, key_heads: int = 2, gqa: bool = True) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(16, 64), nn.Linear(16, 16 * key_heads), nn.Linear(16, 16 * key_heads)
        self.gqa = gqa

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (-1, 16)).transpose(-3, -2) for layer in (self.q, self.k, self.v))
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=self.gqa)


def choice(q, k, v, mask=False, causal=False, gqa=False, dtype=torch.float32, version="2.15.0"):
    tensors = [torch.empty(shape, device="meta", dtype=dtype) for shape in (q, k, v)]
    held = torch.empty(q[2], k[2], device="meta", dtype=dtype) if mask else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "__version__", version)
        return kernel(*tensors, held, causal, gqa=gqa)


Q, TWO, ONE = (2, 4, 32, 16), (2, 2, 32, 16), (2, 1, 32, 16)


@pytest.mark.parametrize(("heads", "gqa", "half", "mask", "before", "now"), [
    (Q, True, False, False, "efficient", "efficient"),
    (TWO, True, False, False, "math", "efficient"),
    (TWO, True, True, False, "flash", "flash"),
    (TWO, True, True, True, "math", "efficient"),
    (ONE, False, False, False, "math", "efficient"),
    (ONE, False, True, False, "math", "flash"),
    (TWO, False, True, False, "math", "math"),      # an error of the framework's
])
def test_fewer_key_heads_by_version(heads, gqa, half, mask, before, now):
    dtype = torch.bfloat16 if half else torch.float32
    told = {"gqa": gqa, "mask": mask, "dtype": dtype}
    assert choice(Q, heads, heads, version="2.13.1", **told) == before
    assert choice(Q, heads, heads, version="2.14.0", **told) == now


def test_batches_and_heads_that_do_not_fit_run_as_matrices():
    assert choice(Q, (1, 4, 32, 16), (1, 4, 32, 16)) == "math"
    assert choice(Q, TWO, ONE, gqa=True) == "math"


@pytest.mark.parametrize(("module", "shape"), [
    (Grouped(), (2, 32, 16)),
    (Grouped(key_heads=1, gqa=False), (2, 32, 16)),
    (Grouped(), (32, 16)),
])
def test_a_record_has_the_kernel_of_its_version(module, shape, monkeypatch):
    x = torch.empty(shape)
    assert "efficient_attention" in onnx_mem.record(module, x).text()
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    assert "efficient_attention" not in onnx_mem.record(module, x).text()


@pytest.mark.parametrize("module", [Grouped(), Grouped(key_heads=1, gqa=False)])
def test_a_record_of_fewer_key_heads_has_the_measured_peak(module, program):
    x = torch.empty(4, 64, 16)
    measured = onnx_mem.measure(module, x, loss="mean")
    said = onnx_mem.analyze(onnx_mem.record(module, x), batch=4, loss="mean")
    assert said.training.peak_bytes == measured.peak_bytes
