"""What models.toml beside this cannot say in values."""
from __future__ import annotations

import torch

from makers import BATCH, ids, image, numbers, of


def lengths(most):
    return torch.full((BATCH,), most, dtype=torch.int64)


def translator():
    model = of("transformer.model.transformer.Transformer", source_vocab_size=200, target_vocab_size=200,
               pad_token_index=0, d_model=64, d_ff=128, num_layers=2, n_heads=4, dropout=0.1, num_positions=64,
               input_target_weight_sharing=False, source_target_weight_sharing=False)
    return model, (ids(16), ids(16), lengths(16), lengths(16))


def area_attention():
    area = of("area_attention.AreaAttention", key_query_size=16, area_key_mode="max", area_value_mode="mean",
              max_area_height=2, max_area_width=2, memory_height=4, memory_width=4, dropout_rate=0.2)
    model = of("area_attention.MultiHeadAreaAttention", area_attention=area, num_heads=2, key_query_size=32,
               key_query_size_hidden=16, value_size=64, value_size_hidden=32)
    return model, (numbers(4, 32), numbers(16, 32), numbers(16, 64))


def latent_attention():
    from mla.attention import MLA, MLAConfig
    return MLA(MLAConfig(d_model=64, num_heads=4, kv_compressed_dim=32, q_compressed_dim=32, rope_dim=16, seq_len=32,
                         dropout=0.1)), (numbers(32, 64),)


def torch_pconv_pconv():
    return (of('torch_pconv.PConv2d', 16, 32, 3, padding=1), (image(32, 16), torch.ones(BATCH, 32, 32)))
