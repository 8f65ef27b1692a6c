"""What entries of the studies' lists are made of: inputs at batch BATCH, and models of packages by name."""
from __future__ import annotations

import importlib
import importlib.util
import pathlib

import torch

BATCH = 2
STEPS = torch.zeros(BATCH)
SMALL = dict(
    hidden_size=64, d_model=64, n_embd=64, n_layer=2, n_head=4, num_hidden_layers=2, num_layers=2, encoder_layers=2,
    decoder_layers=2, num_attention_heads=4, num_key_value_heads=2, encoder_attention_heads=4,
    decoder_attention_heads=4, intermediate_size=128, encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=200,
    max_position_embeddings=64, n_positions=64, embedding_size=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def image(size, channels=3, batch=BATCH):
    return torch.randn(batch, channels, size, size)


def numbers(*shape):
    return torch.randn(BATCH, *shape)


def ids(length, most=100):
    return torch.randint(0, most, (BATCH, length))


def of(path, *args, **kwargs):
    """An instance of the class "package.module.Name"."""
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


class Call(torch.nn.Module):
    """A method of a module as its forward."""

    def __init__(self, inner, method):
        super().__init__()
        self.inner, self.method = inner, method

    def forward(self, *args):
        return getattr(self.inner, self.method)(*args)


def timm_model(name, size=224):
    return lambda: (of("timm.create_model", name), (image(size),))


def vision(name, size=224, **kwargs):
    return lambda: (of("torchvision.models." + name, **kwargs), (image(size),))


def text(name, config, **more):
    """A model of transformers of token numbers, as small as its configuration can be."""
    def make():
        import transformers
        kind = getattr(transformers, config)
        known = kind()
        wanted = {key: value for key, value in SMALL.items() if hasattr(known, key)}
        made = kind(**{**wanted, **more})
        made.use_cache = False
        return getattr(transformers, name)(made), (ids(32),)
    return make


def picture(name, config, size=64, **more):
    """A model of transformers of images, as small as its configuration is made here."""
    def make():
        import transformers
        return getattr(transformers, name)(getattr(transformers, config)(image_size=size, **more)), (image(size),)
    return make


def video(name, size=224):
    return lambda: (of("torchvision.models.video." + name), (numbers(3, 16, size, size),))


def listed(study):
    """The list of a study as a module: by the name of its folder, or by a path."""
    path = pathlib.Path(study) if str(study).endswith(".py") else pathlib.Path(__file__).parent / study / "models.py"
    spec = importlib.util.spec_from_file_location("listed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
