"""What models.toml beside this cannot say in values."""
from __future__ import annotations

import torch

from makers import BATCH, STEPS, ids, image, numbers, of


def hubert():
    import transformers
    made = transformers.HubertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                     conv_dim=(32,) * 7, apply_spec_augment=False, classifier_proj_size=32)
    return transformers.HubertForSequenceClassification(made), (numbers(4000),)


def super_image(name, **kwargs):
    def make():
        config = of(f"super_image.{name}Config", scale=2, **kwargs)
        return of(f"super_image.{name}Model", config), (image(48),)
    return make


def widedeep(name, **kwargs):
    def make():
        columns = {f"c{i}": i for i in range(6)}
        return of(f"pytorch_widedeep.models.{name}", column_idx=columns,
                  cat_embed_input=kwargs.pop("cats", [("c0", 8, 4), ("c1", 5, 4)]),
                  continuous_cols=["c2", "c3", "c4", "c5"], **kwargs), (
                      torch.cat([torch.ones(BATCH, 2), torch.randn(BATCH, 4)], 1),)
    return make


def axiom():
    from axiomlm.models.transformer import ModelConfig, Transformer
    return Transformer(ModelConfig(block_size=32, vocab_size=200, n_layer=2, n_head=4, n_embd=64)), (ids(32),)


def speech():
    return of("nanospeech.nanospeech_torch.DiT", dim=64, depth=2, heads=4, dim_head=16, mel_dim=20), (
        numbers(40, 20), numbers(40, 20), ids(40), STEPS), {"drop_audio_cond": False, "drop_text": False}
