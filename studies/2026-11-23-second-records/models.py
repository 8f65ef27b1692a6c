"""Ten more models for a blind study of records, none of them in the first two lists.

Drawn up and committed on 2026-11-23 before any of them had been recorded, with the program that scored the first list
put right and merged. Entries are as in 2026-11-23-records.

    pip install torch torchvision timm transformers g-mlp-pytorch nystrom-attention pytorch-tcn tabm \\
        rtdl_num_embeddings einops
"""
from __future__ import annotations

import torch

from makers import BATCH, ids, image, numbers, of

SMALL = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
             encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=2,
             decoder_start_token_id=1)


def timm_model(name, size):
    return lambda: (of("timm.create_model", name), (image(size),))


def video():
    return of("torchvision.models.video.r2plus1d_18"), (numbers(3, 8, 32, 32),)


def whisper():
    import transformers
    config = transformers.WhisperConfig(num_mel_bins=20, max_source_positions=30, max_target_positions=30, **SMALL)
    return transformers.WhisperForConditionalGeneration(config), (), {
        "input_features": numbers(20, 60), "decoder_input_ids": ids(12)}


def time_series():
    import transformers
    config = transformers.PatchTSTConfig(num_input_channels=3, context_length=64, patch_length=8, patch_stride=8,
                                         d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                                         prediction_length=16)
    return transformers.PatchTSTForPrediction(config), (), {
        "past_values": numbers(64, 3), "future_values": numbers(16, 3)}


def mamba2():
    import transformers
    config = transformers.Mamba2Config(hidden_size=64, num_hidden_layers=2, num_heads=8, head_dim=16, state_size=16,
                                       n_groups=1, chunk_size=16, vocab_size=200)
    return transformers.Mamba2ForCausalLM(config), (ids(32),)


def tabm():
    from tabm import TabM
    return TabM.make(n_num_features=6, cat_cardinalities=[3, 5], d_out=2), (
        numbers(6), torch.randint(0, 3, (BATCH, 2)))


MODELS = {
    "timm": {"fastvit": timm_model("fastvit_t8", 128), "nextvit": timm_model("nextvit_small", 64)},
    "torchvision": {"r2plus1d": video},
    "transformers": {"whisper": whisper, "patchtst": time_series, "mamba2": mamba2},
    "g_mlp_pytorch": {"lm": lambda: (of("g_mlp_pytorch.gMLP", num_tokens=200, dim=64, depth=2, seq_len=32,
                                        causal=True), (ids(32),))},
    "nystrom_attention": {"encoder": lambda: (of("nystrom_attention.Nystromformer", dim=64, dim_head=16, heads=4,
                                                 depth=2, num_landmarks=8), (numbers(40, 64),))},
    "pytorch_tcn": {"tcn": lambda: (of("pytorch_tcn.TCN", num_inputs=4, num_channels=[8, 8, 16], dropout=0.1),
                                    (numbers(4, 40),))},
    "tabm": {"tabm": tabm},
}
