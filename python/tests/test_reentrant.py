"""torch.utils.checkpoint(use_reentrant=True) in a model's code: what the program says is what the step takes."""
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import onnx_mem


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.norm(x)))))


class Stack(nn.Module):
    """Blocks behind a stem, all checkpointed."""

    def __init__(self, depth, use_reentrant):
        super().__init__()
        self.stem, self.head = nn.Linear(16, 32), nn.Linear(32, 5)
        self.blocks = nn.ModuleList(Block() for _ in range(depth))
        self.use_reentrant = use_reentrant

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.use_reentrant)
        return self.head(x)


class TwoOfEach(nn.Module):
    """Two inputs and two results, of which the second is read once more behind."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def both(self, x, y):
        return torch.tanh(self.a(x) * y), self.b(y).exp()

    def forward(self, x):
        x = self.a(x)
        u, v = checkpoint(self.both, x, self.b(x), use_reentrant=True)
        return self.c(u + v) + v.sum(-1, keepdim=True)


class OfData(nn.Module):
    """No argument needs a gradient: nothing inside is trained."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.last(checkpoint(self.first, x, use_reentrant=True))


@pytest.mark.filterwarnings("ignore:None of the inputs")
@pytest.mark.parametrize("make", [lambda: Stack(3, True), lambda: Stack(3, False), TwoOfEach, OfData],
                         ids=["stack", "not reentrant", "two of each", "of data"])
def test_what_the_program_says_is_what_the_step_takes(make, program):
    model, x = make(), torch.randn(2, 9, 16)
    report = onnx_mem.analyze(model, x, batch=7, optimizer="adam", loss="mean")
    took = onnx_mem.measure(model, x, batch=7, optimizer="adam", loss="mean")
    assert (report.training.peak_bytes, report.training.first_step_peak_bytes) == (took.peak_bytes,
                                                                                 took.first_step_peak_bytes)


def test_gradients_of_parameters_are_made_inside():
    """What measure() does is what torch does on the CPU: the same parameters have gradients."""
    for make in (lambda: Stack(2, True), TwoOfEach):
        model = make()
        model(torch.randn(2, 9, 16)).mean().backward()
        trained = sum(p.grad.numel() * 4 for p in model.parameters() if p.grad is not None)
        took = onnx_mem.measure(model, torch.randn(2, 9, 16), loss="mean", optimizer="momentum")
        assert took.breakdown["optimizer_state"] == trained


class RunAgain(torch.autograd.Function):
    """Runs forward again in backward, as reversible networks do, and hands the engine a tensor or a tuple of one."""

    @staticmethod
    def forward(ctx, x, layer, alone):
        ctx.kept, ctx.layer, ctx.alone = x.detach(), layer, alone
        return layer(ctx.kept)

    @staticmethod
    def backward(ctx, gradient):
        with torch.enable_grad():
            x = ctx.kept.requires_grad_()
            out = ctx.layer(x)
            torch.autograd.backward(*((out, gradient) if ctx.alone else ((out,), (gradient,))))
        return x.grad, None, None


class Reversible(nn.Module):
    def __init__(self, alone):
        super().__init__()
        self.stem, self.block, self.alone = nn.Linear(16, 32), Block(), alone

    def forward(self, x):
        return RunAgain.apply(self.stem(x), self.block, self.alone)


def test_an_engine_inside_takes_a_tensor_that_is_in_no_tuple():
    x = torch.randn(2, 9, 16)
    one, tuple_of_one = (onnx_mem.measure(Reversible(alone), x, loss="mean", batch=7) for alone in (True, False))
    assert one.peak_bytes == tuple_of_one.peak_bytes
