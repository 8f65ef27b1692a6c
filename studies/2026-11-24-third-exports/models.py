"""A sixth list for a blind study, of exports: chosen before any of them had been exported, recorded or read.

Drawn up on 2026-11-24 with seed 20261127. A name is free if no word of this project's files, history and measured sets
begins with it.

Packages: those of the Python package index whose summary names PyTorch and a word of a network and none of a tool,
newer than 2020-06, in no file of this project (354), sorted, shuffled with the seed and walked in that order by summary
(constructors' signatures were read), as far as they are pure Python under MIT, BSD or Apache-2.0 and build from plain
numbers. timm: of the 14 modules that are free together with all their models' names, shuffled, the first four that have
a model under 15 million parameters, each by its smallest. transformers: the classes for causal and masked language
modelling, image and audio classification whose kind is free, shuffled after timm's with the same generator and walked
in that order, without mixtures of experts and several kinds of input; their configurations are small. Entries are as in
2026-11-23-records.

    pip install torch torchvision timm transformers
    pip install --no-deps einops einx torch-einops-utils rotary-embedding-torch frozendict vector-quantize-pytorch \\
        tensor-type pshape dc1d==0.2.0 vit-hk==0.1.3 h-transformer-1d==0.1.9 aft-pt==0.1.0 \\
        feedback-transformer-pytorch==0.0.11 transformer-pytorch==0.0.1 mtst-forecasting==0.3.0 \\
        memory-efficient-attention-pytorch==0.1.6 gsa-pytorch==0.2.2 vit-rgts==0.0.2 slot-attention==1.5.2 \\
        vit-pytorch-implementation==1.0.2 swin-transformer-pytorch==0.4.1 torch-pconv==0.1.1 siren-torch==1.1 \\
        mlp-mixer-pytorch==0.3.1 quasimetric-attention==0.0.5 mega-vit==0.0.4 multihead-latent-attention==0.1.0 \\
        conv-lstm==0.1.2 transformer-in-transformer==0.1.2 long-short-transformer==0.0.5 area-attention==0.1.0

Passed over: open-moonvit and cross-transformers-pytorch (inputs are lists of images, or a network), toroidal and
scalenet (no licence named), conntorch (holds no module), memorizing-transformers-pytorch, fastseg, pytorch-rdc-net,
dall-e, vision-mamba and jet-pytorch (want further packages), original-llm, tabular-nn, pio-arch and
selective-self-attention (do not install), pretrained-vit-pytorch, aft-pytorch and perceiver-model (the code of others
drawn before), ring-attention-pytorch and robotic-transformer-pytorch (want several devices, or text).
"""
from __future__ import annotations

import torch

from makers import BATCH, ids, image, numbers, of, picture, text, timm_model


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


VIT = dict(image_size=32, patch_size=8, num_classes=10, dim=64, depth=2, heads=4, mlp_dim=128, dropout=0.1)
MIXER = dict(image_size=32, patch_size=8, dim=64, depth=2, num_classes=10)

MODELS = {
    "timm": {name: timm_model(name) for name in ("lcnetv2_small", "efficientvit_m0", "hardcorenas_a",
                                                 "gcvit_xxtiny")},
    "transformers": {
        "vit_msn": picture("ViTMSNForImageClassification", "ViTMSNConfig", patch_size=8, hidden_size=64,
                           num_hidden_layers=2, num_attention_heads=4, intermediate_size=128),
        "dinov2_registers": picture("Dinov2WithRegistersForImageClassification", "Dinov2WithRegistersConfig",
                                    patch_size=8, hidden_size=64, num_hidden_layers=2, num_attention_heads=4),
        "helium": text("HeliumForCausalLM", "HeliumConfig", head_dim=16),
        "vaultgemma": text("VaultGemmaForCausalLM", "VaultGemmaConfig", head_dim=16),
        "deberta_v2": text("DebertaV2ForMaskedLM", "DebertaV2Config"),
        "starcoder2": text("Starcoder2ForCausalLM", "Starcoder2Config"),
    },
    "dc1d": {"packed": lambda: (of("dc1d.nn.PackedDeformConv1d", 16, 32, 3, padding="same"), (numbers(16, 100),))},
    "vit_hk": {"vit": lambda: (of("ViT.core.ViT", img_size=32, patch_size=8, num_classes=10, embed_dim=64, depth=2,
                                  num_heads=4, dropout=0.1), (image(32),))},
    "h_transformer": {"lm": lambda: (of("h_transformer_1d.HTransformer1D", num_tokens=200, dim=64, depth=2,
                                        max_seq_len=64, heads=4, dim_head=16, block_size=16), (ids(64),))},
    "aft_pt": {"full": lambda: (of("aft_pt.aft_pytorch.AFTFull", 32, 64), (numbers(32, 64),))},
    "feedback_transformer": {"lm": lambda: (
        of("feedback_transformer_pytorch.FeedbackTransformer", num_tokens=200, dim=64, depth=2, mem_len=16, seq_len=2,
           heads=4, dim_head=16, attn_dropout=0.1, ff_dropout=0.1), (ids(16),))},
    "transformer_pytorch": {"translator": translator},
    "mtst": {"forecaster": lambda: (of("mtst.Models.forecasting_model.MTSTForecaster", 7), (numbers(96, 7),))},
    "memory_efficient": {"lm": lambda: (
        of("memory_efficient_attention_pytorch.transformer.Transformer", num_tokens=200, max_seq_len=64, dim=64,
           depth=2, dim_head=16, heads=4), (ids(64),))},
    "gsa": {"attention": lambda: (of("gsa_pytorch.GSA", 32, dim_out=64, dim_key=16, heads=4, rel_pos_length=16),
                                  (image(16, 32),))},
    "vit_rgts": {"vit": lambda: (of("vit_rgts.main.VitRGTS", **VIT), (image(32),))},
    "slot_attention": {"slots": lambda: (of("slot_attention.SlotAttention", 5, 64), (numbers(64, 64),))},
    "lilvit": {"vit": lambda: (of("vit_pytorch.lilvit.lilViT", img_size=32, patch_size=8, num_transformer_layers=2,
                                  embedding_dim=64, mlp_size=128, num_heads=4, num_classes=10), (image(32),))},
    "swin_pytorch": {"swin": lambda: (
        of("swin_transformer_pytorch.SwinTransformer", hidden_dim=32, layers=(2, 2, 2, 2), heads=(1, 2, 4, 8),
           num_classes=10), (image(224),))},
    "torch_pconv": {"pconv": lambda: (of("torch_pconv.PConv2d", 16, 32, 3, padding=1), (
        image(32, 16), torch.ones(BATCH, 32, 32)))},
    "siren_torch": {"siren": lambda: (of("siren.SIREN", [64, 64, 64], 2, 3), (numbers(2),))},
    "mlp_mixer": {
        "mixer": lambda: (of("mlp_mixer_pytorch.MLPMixer", channels=3, dropout=0.1, **MIXER), (image(32),)),
        "permutator": lambda: (of("mlp_mixer_pytorch.Permutator", segments=8, **MIXER), (image(32),)),
    },
    "quasimetric": {"attention": lambda: (of("quasimetric_attention.QuasimetricAttention", 64, dim_head=16, heads=4),
                                          (numbers(32, 64),))},
    "mega_vit": {"vit": lambda: (of("mega_vit.main.MegaVit", emb_dropout=0.1, **VIT), (image(32),))},
    "latent_attention": {"mla": latent_attention},
    "conv_lstm": {"lstm": lambda: (of("conv_lstm.conv_lstm.ConvLSTM", 8, 16, (3, 3), num_layers=2),
                                   (numbers(5, 8, 16, 16),))},
    "transformer_in_transformer": {"tnt": lambda: (
        of("transformer_in_transformer.TNT", image_size=32, patch_dim=64, pixel_dim=16, patch_size=8, pixel_size=2,
           depth=2, num_classes=10, heads=4, dim_head=16, attn_dropout=0.1, ff_dropout=0.1), (image(32),))},
    "long_short": {"lm": lambda: (
        of("long_short_transformer.LongShortTransformer", num_tokens=200, dim=64, depth=2, max_seq_len=64,
           window_size=16, segment_size=16, r=1, heads=4, dim_head=16), (ids(64),))},
    "area_attention": {"attention": area_attention},
}
