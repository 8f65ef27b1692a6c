"""Operators of a record for which the program had no rule, or another one than the framework."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnx_mem


class Similar(nn.Module):
    """cosine_similarity clamps its norms by a tensor, in place; here they are clamped with gradients, too."""

    def __init__(self):
        super().__init__()
        self.layer, self.least = nn.Linear(40, 60), nn.Parameter(torch.zeros(60))

    def forward(self, x):
        y, z = self.layer(x), self.layer(x + 1)
        return F.cosine_similarity(torch.clamp_min(y, self.least), torch.clamp_max(z.exp(), self.least), dim=-1)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad @ b.T, a.T @ grad


class LowRank(nn.Module):
    """The backward of a Function turns tensors by .T, as LyCORIS does."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Parameter(torch.zeros(60, 4)), nn.Parameter(torch.zeros(4, 40))

    def forward(self, x):
        return F.linear(x, Product.apply(self.up, self.down))


class Gated(nn.Module):
    """Rows of three dimensions times a matrix, within the backward of a Function."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x.exp() @ w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return (grad @ w.T) * x.exp(), x.exp().flatten(0, 1).T @ grad.reshape(-1, grad.shape[-1])

    def __init__(self):
        super().__init__()
        self.layer, self.weight = nn.Linear(40, 8), nn.Parameter(torch.zeros(8, 12))

    def forward(self, x):
        return self.Function.apply(self.layer(x).unflatten(-1, (2, 4)).transpose(1, 2).repeat(1, 1, 4), self.weight)


class Bags(nn.Module):
    """Rows of a table, put together for each sample (nn.EmbeddingBag), by rows of indices and by offsets."""

    def __init__(self):
        super().__init__()
        self.layer, self.table = nn.Linear(40, 40), nn.Parameter(torch.zeros(50, 8))

    def forward(self, x):
        ids = (x * 10).long()
        offsets = torch.arange(0, ids.numel(), ids.shape[1], device=x.device)
        bags = [F.embedding_bag(ids, self.table, mode=mode) for mode in ("mean", "max")]
        return self.layer(x).sum() + sum(bags) + F.embedding_bag(ids.flatten(), self.table, offsets, mode="sum")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [Similar, LowRank, Gated, Bags])
def test_the_program_takes_what_the_model_takes(program, make, training):
    x = torch.zeros(6, 40)
    record = onnx_mem.record(make(), x)
    verified = onnx_mem.verify(record, make(), x, batch=24, training=training)
    assert verified.same, str(verified)
