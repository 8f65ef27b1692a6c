"""Checkpoints that a library writes itself, as an autograd.Function, in records."""
import pytest
import torch
from torch import nn

import onnx_mem


class Again(torch.autograd.Function):
    """A checkpoint as libraries write it, fairscale among them: a tensor without elements makes it differentiable."""

    @staticmethod
    def forward(ctx, dummy, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad():
            y = ctx.run(x)
        torch.autograd.backward((y,), (gradient,))
        return None, None, x.grad


class WithParameters(torch.autograd.Function):
    """A checkpoint as guided-diffusion writes it: it differentiates its parameters as arguments."""

    @staticmethod
    def forward(ctx, run, count, *args):
        ctx.run, ctx.inputs, ctx.parameters = run, list(args[:count]), list(args[count:])
        with torch.no_grad():
            return ctx.run(*ctx.inputs)

    @staticmethod
    def backward(ctx, *gradients):
        ctx.inputs = [x.detach().requires_grad_(True) for x in ctx.inputs]
        with torch.enable_grad():
            out = ctx.run(*[x.view_as(x) for x in ctx.inputs])
        found = torch.autograd.grad(out, ctx.inputs + ctx.parameters, gradients, allow_unused=True)
        del ctx.inputs, ctx.parameters, out
        return None, None, *found


class OfParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Linear(16, 32), nn.Linear(32, 5)
        self.blocks = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = WithParameters.apply(block, 1, x, *block.parameters())
        return self.head(x)


class Inlined(torch.autograd.Function):
    """Its code stands twice, and nothing turns gradients off: a Function has none."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().tanh()

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_(True)
            y = x.exp().tanh()
        return torch.autograd.grad(y, x, gradient)


class Activated(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Linear(16, 64), nn.Linear(64, 5)

    def forward(self, x):
        return self.head(Inlined.apply(self.stem(x)) * 1.5)


class OtherWay(Again):
    """Its backward differentiates another function than its forward."""

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_(True)
        with torch.enable_grad():
            y = ctx.run(x).tanh()
        torch.autograd.backward((y,), (gradient,))
        return None, None, x.grad


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(32, 128), nn.Linear(128, 32), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(self.up(x).relu()))


class Stack(nn.Module):
    def __init__(self, again=Again.apply):
        super().__init__()
        self.stem, self.head, self.again = nn.Linear(16, 32), nn.Linear(32, 5), again
        self.blocks = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = (self.again or Again.apply)(torch.tensor([], requires_grad=True), block, x)
        return self.head(x)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [lambda: Stack(again=None), OfParameters, Activated])
def test_a_checkpoint_of_a_library_is_one(program, make, training):
    model, x = make(), torch.zeros(2, 9, 16)
    record = onnx_mem.record(model, x)
    ours = onnx_mem.analyze(record, batch=7, loss="mean", mode="training" if training else "inference")
    took = onnx_mem.measure(model, x, batch=7, training=training, loss="mean")
    if not training:
        assert ours.inference.peak_bytes == took.peak_bytes
        return
    # What ctx holds as an attribute is nothing that a node saves, to measure: the program counts a checkpoint's inputs.
    saves = () if make is OfParameters else ("saved_activation_bytes",)
    fields = ("peak_bytes", "first_step_peak_bytes", *saves)
    assert {f: getattr(ours.training, f) for f in fields} == {f: getattr(took, f) for f in fields}


def test_what_runs_again_is_held_against_forward():
    with pytest.raises(onnx_mem.CannotRecord, match="gradients are turned on"):
        onnx_mem.record(Stack(again=OtherWay.apply), torch.zeros(2, 9, 16))


def test_a_function_under_another_name_has_a_way_out():
    with pytest.raises(onnx_mem.CannotRecord, match="torch.utils.checkpoint in its place is recorded"):
        onnx_mem.record(Stack(), torch.zeros(2, 9, 16))
