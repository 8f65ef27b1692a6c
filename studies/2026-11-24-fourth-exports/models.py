"""What models.toml beside this cannot say in values."""
from __future__ import annotations

import torch

from makers import BATCH, ids, image, numbers, of


def attention_residuals():
    config = of("attn_res.main.TransformerConfig", d_model=64, n_layers=4, n_heads=4, n_kv_heads=2, vocab_size=200,
                max_seq_len=64, n_blocks=2, dropout=0.1)
    return of("attn_res.main.AttnResTransformer", config), (ids(32),)


def yolox():
    from cjm_yolox_pytorch.model import build_model
    return build_model("yolox_tiny", 10, pretrained=False), (image(224),)


def adjacent():
    model = of("adjacent_attention_network.AdjacentAttentionNetwork", dim=64, depth=2, heads=4, dim_head=16,
               num_neighbors_cutoff=5, attn_dropout=0.1, ff_dropout=0.1)
    return model, (numbers(24, 64), torch.ones(BATCH, 24, 24, dtype=torch.bool))


def swem_words():
    pooling = of("swem.models.pooling.AttentionPooling", 64)
    return of("swem.models.swem.Swem", torch.nn.Embedding(200, 64), pooling, (64,), (32,)), (ids(32),)
