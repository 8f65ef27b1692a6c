"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def bloom():
    import torch
    embedding = of("bloom_embedding.BloomEmbed", lut_size=64, vocab_size=200, embed_dim=64, validate=False)
    head = [torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 10)]
    return torch.nn.Sequential(embedding, *head), (ids(32),)


def mixture():
    import torch
    body = [torch.nn.Linear(16, 128), torch.nn.Tanh(), torch.nn.Linear(128, 64), torch.nn.Tanh()]
    return torch.nn.Sequential(*body, of("mixture_density_nets.MDN", 64, 4, 5)), (numbers(16),)


def mobileone():
    import mobileone_pytorch
    return mobileone_pytorch.mobileone_s0(10), (image(64),)


def repvgg():
    from repvgg_pytorch.repvgg import create_RepVGG_A0
    return create_RepVGG_A0(), (image(64),)


def clifford():
    import torch
    layer = "cliffordlayers.nn.modules.cliffordlinear.CliffordLinear"
    return torch.nn.Sequential(of(layer, (1, 1), 16, 32), torch.nn.GELU(), of(layer, (1, 1), 32, 8)), (numbers(16, 4),)


def scaled():
    import torch
    conv = torch.nn.Conv2d
    block = of("useful_layers.blocks.ScalingBlock", of("useful_layers.layers.SqueezeAndExcitation2D", 32))
    spatial = of("useful_layers.blocks.ScalingBlock", of("useful_layers.layers.ChannelAttention2D", 32))
    return torch.nn.Sequential(conv(3, 32, 3), torch.nn.ReLU(), block, conv(32, 32, 3), torch.nn.ReLU(), spatial), (
        image(32),)
