"""Gradients in another order of dimensions than what was saved: which of the two an activation hands on."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnx_mem
from onnx_mem._fake.tensors import fake_cuda

aten = torch.ops.aten
BACKWARDS = {
    F.relu: lambda g, x: aten.threshold_backward(g, x, 0.0),
    F.leaky_relu: lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False),
    F.elu: lambda g, x: aten.elu_backward(g, 1.0, 1.0, 1.0, False, x),
    F.hardtanh: lambda g, x: aten.hardtanh_backward(g, x, 0.0, 6.0),
    F.hardswish: aten.hardswish_backward,
    F.hardsigmoid: aten.hardsigmoid_backward,
    F.softplus: lambda g, x: aten.softplus_backward(g, x, 1.0, 20.0),
    torch.logit: lambda g, x: aten.logit_backward(g, x),
    F.silu: aten.silu_backward,
    F.gelu: aten.gelu_backward,
    F.softshrink: lambda g, x: aten.softshrink_backward(g, x, 0.5),
    torch.sigmoid: aten.sigmoid_backward,
    torch.tanh: aten.tanh_backward,
}


class Turned(nn.Module):
    """What an activation gives is read in another order, and what it gets is a view."""

    def __init__(self, activation):
        super().__init__()
        self.layer, self.last, self.activation = nn.Linear(4, 80), nn.Linear(8, 3), activation

    def forward(self, x):
        y = self.activation(self.layer(x).view(-1, 8, 10))
        return self.last(y.transpose(1, 2).exp())


@pytest.mark.parametrize("activation", BACKWARDS, ids=lambda f: f.__name__)
def test_kernels_on_the_host_and_tensors_without_data_agree(activation):
    def strides(device):
        g, x = torch.zeros(2, 10, 8, device=device).transpose(1, 2), torch.zeros(2, 8, 10, device=device)
        return BACKWARDS[activation](g, x).stride()
    with fake_cuda():
        fake = strides("cuda")
    assert strides("cpu") == fake


@pytest.mark.parametrize("activation", [F.relu, F.leaky_relu, F.hardswish, F.silu], ids=lambda f: f.__name__)
def test_the_program_hands_on_the_same(program, activation):
    x = torch.zeros(6, 4)
    record = onnx_mem.record(Turned(activation), x)
    verified = onnx_mem.verify(record, Turned(activation), x, batch=24, training=True)
    assert verified.same, str(verified)
