"""Cells of recurrent networks that code steps through by itself, as nn.LSTMCell and nn.GRUCell run on a card."""
import pytest
import torch
from torch import nn

import onnx_mem


class Steps(nn.Module):
    def __init__(self, kind, bias):
        super().__init__()
        self.cell, self.head = kind(8, 16, bias=bias), nn.Linear(16, 4)

    def forward(self, x):
        state = None
        for at in x.unbind(1):
            state = self.cell(at, state)
        return self.head(state[0] if isinstance(state, tuple) else state)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_a_fused_cell_is_exact(program, kind, bias, training):
    model, x = Steps(kind, bias), torch.zeros(3, 5, 8)
    record = onnx_mem.record(model, x)
    for batch in (7, 24):
        verified = onnx_mem.verify(record, model, x, batch=batch, training=training)
        assert verified.same, str(verified)


@pytest.mark.parametrize("bias", [True, False])
def test_a_fused_cell_is_exact_under_autocast(program, bias):
    model, x = Steps(nn.LSTMCell, bias), torch.zeros(3, 5, 8)
    ours = onnx_mem.analyze(onnx_mem.record(model, x), batch=7, amp="bf16").training
    own = onnx_mem.measure(model, x, batch=7, precision="amp-bf16")
    assert (ours.peak_bytes, ours.saved_activation_bytes) == (own.peak_bytes, own.saved_activation_bytes)
