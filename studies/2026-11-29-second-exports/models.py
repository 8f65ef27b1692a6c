"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import BATCH, STEPS, image, numbers, of


def features():
    import torch
    fourier = of("torchembed.fourier.LearnedFourierFeatures", 16, 32, 64)
    head = [torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 10)]
    return torch.nn.Sequential(fourier, *head), (numbers(16),)


def hexagonal():
    import torch
    conv, pool = "pytorch_hexagdly.Conv2d", "pytorch_hexagdly.MaxPool2d"
    return torch.nn.Sequential(of(conv, 3, 16, 1), torch.nn.ReLU(), of(pool, 1, 2), of(conv, 16, 32, 2),
                               torch.nn.ReLU()), (image(32),)


def bayesian():
    import torch
    layer = "torchbnn.BayesLinear"
    return torch.nn.Sequential(of(layer, 0, 0.1, 16, 64), torch.nn.ReLU(), of(layer, 0, 0.1, 64, 10)), (numbers(16),)


def structured():
    import numpy
    return of("strnn.models.strNN.StrNN", 16, (64, 64), 16, adjacency=numpy.tril(numpy.ones((16, 16)), -1)), (
        numbers(16),)


def ring(width, points):
    import numpy
    return (numpy.arange(points)[:, None] * 2 + numpy.arange(width)[None, :]) % (2 * points)


def sphere():
    return of("idx_flow.vit.SpatialViT", 24, ring(4, 24), embed_dim=32, depth=2, num_heads=4, output_dim=8), (
        numbers(48, 3),)


def circuit():
    from ncps.torch import LTC
    from ncps.wirings import AutoNCP
    return LTC(8, AutoNCP(24, 4, seed=1)), (numbers(6, 8),)


def ordinal():
    import torch
    body = [torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.1)]
    return torch.nn.Sequential(*body, of("coral_pytorch.layers.CoralLayer", 64, 5)), (numbers(16),)


def score():
    return of("score_models.architectures.ncsnpp.NCSNpp", 1, nf=16, ch_mult=(1, 2), num_res_blocks=1), (
        STEPS + 0.5, image(16, 1))


def tensors():
    import torch
    conv = "einconv.modules.ConvNd"
    return torch.nn.Sequential(of(conv, 2, 3, 16, 3, padding=1), torch.nn.ReLU(), of(conv, 2, 16, 32, 3, stride=2)), (
        image(16),)


def patches():
    import torch
    model = of("torchmil.models.patch_gcn.PatchGCN", (32,), n_gcn_layers=2, hidden_dim=32, att_dim=32)
    return model, (numbers(16, 32), torch.softmax(torch.randn(BATCH, 16, 16), -1))


def projected():
    import torch
    layer = of("self_projection.SelfProjection", torch.Size([16, 32]), 8, depth=2)
    return torch.nn.Sequential(layer, torch.nn.Flatten(), torch.nn.Linear(64, 10)), (numbers(16, 32),)
