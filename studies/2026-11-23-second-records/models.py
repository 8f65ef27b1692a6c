"""What models.toml beside this cannot say in values."""
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
