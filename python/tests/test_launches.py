"""Kernels written in Triton, launched on tensors without data: against the same code on the CPU, where the launches are
left out, as what they write stands in tensors that they were given."""
import pytest
import torch
from test_own_step import adam, really
from torch import nn

import onnx_mem
from onnx_mem._fake.libraries import is_library

triton = pytest.importorskip("triton")


@triton.jit
def scaled(x, y, n):
    """Never compiled here."""


@triton.jit
def counted(x, counts):
    """Never compiled here."""


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        scaled[(len(x),)](x, y, x.numel())
        return y

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        wide = torch.empty(x.shape, dtype=torch.float64, device=x.device)
        scaled[lambda meta: (len(x),)](x=g, y=wide, n=g.numel())
        return wide.to(x.dtype)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 300), nn.Linear(300, 10)

    def forward(self, x):
        return self.last(Scale.apply(self.first(x)))


def training():
    net = Net()
    optimizer = adam(net)

    def step(x, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return step


def inputs():
    return torch.rand(48, 64), torch.zeros(48, dtype=torch.long)


def test_a_launch_takes_nothing(program, monkeypatch):
    record = onnx_mem.record(step=training(), args=inputs())
    own = triton.runtime.jit.KernelInterface.__getitem__
    measured = {batch: onnx_mem.measure(step=training(), args=inputs(), batch=batch) for batch in (48, 4000)}
    assert triton.runtime.jit.KernelInterface.__getitem__ is own
    monkeypatch.setattr(triton.runtime.jit.KernelInterface, "__getitem__", lambda *_: lambda *_, **__: None)
    for batch, m in measured.items():
        assert (m.first_step_peak_bytes, m.peak_bytes) == really(training, batch)
        assert onnx_mem.analyze(record, batch=batch).training.peak_bytes == m.peak_bytes


def test_a_model_with_kernels_is_recorded(program):
    x = torch.rand(8, 64)
    answer = onnx_mem.analyze(Net(), x, loss="cross-entropy", batch=4000)
    assert answer.training.peak_bytes == onnx_mem.measure(Net(), x, batch=4000).peak_bytes


def test_what_a_kernel_may_have_written_is_not_known():
    def step(x):
        counts = torch.zeros(4, dtype=torch.long, device=x.device)
        counted[(4,)](x, counts[1:])
        x[:counts.tolist()[1]].sum().backward()
    with pytest.warns(UserWarning, match="1 stands for it"):          # not the zero that it was made with
        onnx_mem.measure(step=step, args=(torch.rand(8, requires_grad=True),))


def test_packages_are_libraries():
    assert all(is_library(m.__file__) for m in (torch, pytest, triton))
    assert not is_library(onnx_mem.__file__) and is_library("/elsewhere/site-packages/x/y.py")
