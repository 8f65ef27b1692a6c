"""Operators of a record for which the program had no rule, or another one than the framework."""
import pytest
import torch
import torch.nn.functional as F
from between import Between, Loss
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


def matrices(x):
    return x.view(-1, 8, 8)


# What a model of two layers runs between them, of x and y as they come out of the first.
RULES = {
    "clamp": lambda x, y: torch.clamp(x, y, y + 1),
    "clamp_least": lambda x, y: torch.clamp(x, min=y.detach()),
    "clamp_in_place": lambda x, y: (x * 1.5).clamp_(y, y + 1),
    "xlogy": lambda x, y: torch.xlogy(x, y),
    "index_fill": lambda x, y: x.index_fill(1, torch.zeros(2, dtype=torch.long, device=x.device), 0.0) * y,
    "slice_scatter": lambda x, y: x.slice_scatter(y[:, :8], 1, 0, 8),
    "select_scatter": lambda x, y: x.select_scatter(y[:, 0], 1, 3),
    "erfc": lambda x, y: x.erfc(),
    "erfinv": lambda x, y: x.tanh().erfinv(),
    "round": lambda x, y: torch.round(x, decimals=2) * y,
    "any": lambda x, y: x * (y > 0).any(dim=(1,), keepdim=True),
    "xor": lambda x, y: x * (y.detach().long() ^ 1),
    "median": lambda x, y: x - y.median(1, keepdim=True)[0],
    "bicubic": lambda x, y: F.interpolate(x.view(-1, 1, 8, 8), size=(4, 16), mode="bicubic", antialias=True).flatten(1),
    "bilinear": lambda x, y: F.interpolate(x.view(-1, 1, 8, 8), size=(4, 16), mode="bilinear",
                                           antialias=True).flatten(1),
    "nearest_exact": lambda x, y: F.interpolate(x.view(-1, 1, 8, 8), size=(4, 16), mode="nearest-exact").flatten(1),
    "cummax": lambda x, y: x.cummax(1)[0] * y,
    "kthvalue": lambda x, y: x.kthvalue(3, 1, keepdim=True)[0] * y,
    "mode": lambda x, y: x.mode(1, keepdim=True)[0] * y,
    "median_of_all": lambda x, y: x.median() * y,
    "quantile": lambda x, y: x.quantile(0.5, dim=1, keepdim=True) * y,  # squeezes in place
    "bernoulli": lambda x, y: x * torch.bernoulli(y.sigmoid()) + torch.normal(x, 1.0),
    "rad2deg": lambda x, y: x.rad2deg() * y,
    "turned": lambda x, y: (matrices(x) + 0).transpose_(1, 2).flatten(1) * (x.T @ y).t_().sum(0),
    "fmax": lambda x, y: torch.fmax(x, y),
    "copysign": lambda x, y: torch.copysign(x, y) + torch.copysign(x, 1.0),
    "hypot": lambda x, y: torch.hypot(x, y),
    "ldexp": lambda x, y: torch.ldexp(x, y),
    "logaddexp2": lambda x, y: torch.logaddexp2(x, y),
    "polygamma": lambda x, y: x.polygamma(1) + y.lgamma() + y.digamma() + x.i0(),
    "take": lambda x, y: x.take(torch.zeros(1, 64, dtype=torch.long, device=x.device)) * y,
    "trace": lambda x, y: (x.T @ x).trace() * y + (y.T @ y).diag(),
    "diag_embed": lambda x, y: (x.diag_embed() @ y[..., None]).squeeze(-1),
    "cdist": lambda x, y: torch.cdist(x.view(-1, 4, 16), y.view(-1, 4, 16)).flatten(1).repeat(1, 4),
    "cdist_by_products": lambda x, y: torch.cdist(
        x, y[:1].expand(40, 64), compute_mode="use_mm_for_euclid_dist").mean(1, keepdim=True) * y,
    "pdist": lambda x, y: F.pdist(x.T.contiguous()).mean() * y,
    "pairwise_distance": lambda x, y: F.pairwise_distance(x, y)[:, None] * y,
    "cholesky": lambda x, y: torch.linalg.cholesky(matrices(x) @ matrices(x).mT).flatten(1) * y,
    "inverse": lambda x, y: torch.linalg.inv(matrices(x)).flatten(1) * y,
    "determinant": lambda x, y: torch.linalg.det(matrices(x))[:, None] * y,
    "logarithm": lambda x, y: torch.linalg.slogdet(matrices(x))[1][:, None] * y,
    "rot90": lambda x, y: matrices(x).rot90(1, (1, 2)).flatten(1),
    "channel_shuffle": lambda x, y: F.channel_shuffle(x.view(-1, 4, 4, 4), 2).flatten(1),
    "searchsorted": lambda x, y: x * torch.searchsorted(y.detach().sort(1)[0], x.detach()),
    **{reduce: lambda x, y, reduce=reduce: x.scatter_reduce(
        1, torch.zeros(x.shape[0], 4, dtype=torch.long, device=x.device), y[:, :4], reduce)
       for reduce in ("sum", "prod", "mean", "amax")},
}
LOSSES = {
    "bce": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y),
    "bce_weight": lambda x, y: F.binary_cross_entropy(x.sigmoid(), y, weight=y),
    "logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y),
    "logits_each": lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none").mean(),
    "logits_weight": lambda x, y: F.binary_cross_entropy_with_logits(x, y, weight=y),
    "logits_positive": lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=y[0]),
    "huber": lambda x, y: F.huber_loss(x, y),
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y, reduction="none").mean(),
    "soft_margin": lambda x, y: F.soft_margin_loss(x, y),
}


def model_of(name):
    return Loss(LOSSES[name]) if name in LOSSES else Between(RULES[name])


@pytest.mark.parametrize("name", [*RULES, *LOSSES])
def test_an_operator_has_a_rule_that_takes_what_it_takes(program, name):
    x = torch.zeros(8, 64)
    said = onnx_mem.analyze(onnx_mem.record(model_of(name), x), batch=2048)
    assert not [each for each in said.diagnostics if "no memory rule" in each["message"]]
    measured = onnx_mem.measure(model_of(name), x, batch=2048)
    assert (said.training.peak_bytes, said.training.saved_activation_bytes) == (
        measured.peak_bytes, measured.saved_activation_bytes)
