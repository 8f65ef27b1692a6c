"""Models of many packages for a blind study of records: chosen before any of them had been recorded.

Drawn up on 2026-11-23 by the session that ran the study, from packages' own model lists: what a package is known for,
scaled down so that a step's forward takes seconds. Each entry makes (model, args) or (model, args, kwargs) at batch
BATCH; where the first dimension is not the batch, (model, args, kwargs, batch_dim). Graphs count nodes, which are as
many as edges.

    pip install torch torchvision timm transformers diffusers torch_geometric open_clip_torch \\
        segmentation_models_pytorch vit-pytorch x-transformers denoising-diffusion-pytorch kornia monai \\
        rtdl_revisiting_models conformer spandrel efficientnet_pytorch neuraloperator tensorly-torch asteroid encodec \\
        perceiver-pytorch tab-transformer-pytorch egnn-pytorch pytorch-tabnet torchaudio speechbrain linformer \\
        performer-pytorch mambapy peft
"""
from __future__ import annotations

import torch

from makers import BATCH, ids, image, numbers, of


def diffusers_unet():
    return of("diffusers.UNet2DModel", sample_size=32, block_out_channels=(32, 64), layers_per_block=1,
              norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
              up_block_types=("AttnUpBlock2D", "UpBlock2D")), (image(32), torch.zeros(BATCH, dtype=torch.int64))


def diffusers_conditioned():
    return of("diffusers.UNet2DConditionModel", sample_size=16, block_out_channels=(32, 64), layers_per_block=1,
              norm_num_groups=8, cross_attention_dim=32, attention_head_dim=4,
              down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
              up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")), (
                  image(16, 4), torch.zeros(BATCH, dtype=torch.int64), numbers(7, 32))


def diffusers_vae():
    return of("diffusers.AutoencoderKL", block_out_channels=(32, 64), norm_num_groups=8,
              down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), (image(32),)


def diffusers_dit():
    return of("diffusers.DiTTransformer2DModel", num_attention_heads=4, attention_head_dim=16, num_layers=2,
              sample_size=16, in_channels=4, out_channels=8, norm_num_groups=8), (
                  image(16, 4), torch.zeros(BATCH, dtype=torch.int64), torch.zeros(BATCH, dtype=torch.int64))


def graph(path, **options):
    def make():
        model = of(f"torch_geometric.nn.models.{path}", 16, 32, 3, 8, **options)
        nodes = 32
        edges = torch.randint(0, nodes, (2, nodes))
        return model, (torch.randn(nodes, 16), edges), {}, {"x": 0, "edge_index": 1}
    return make


def clip(name):
    def make():
        import open_clip
        return open_clip.create_model(name, load_weights=False), (
            image(224), torch.randint(0, 1000, (BATCH, 77)))
    return make


def smp(name, encoder, size=64, **options):
    return lambda: (of(f"segmentation_models_pytorch.{name}", encoder, encoder_weights=None, classes=5, **options),
                    (image(size),))


def x_transformer(kind, **options):
    def make():
        layers = of(f"x_transformers.{kind}", dim=64, depth=2, heads=4, attn_dim_head=16, **options)
        return of("x_transformers.TransformerWrapper", num_tokens=200, max_seq_len=64, attn_layers=layers), (ids(32),)
    return make


def hf(model, config, *, length=32, **sizes):
    def make():
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(**sizes)), (ids(length),)
    return make


def hf_image(model, config, size, **sizes):
    def make():
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(image_size=size, **sizes)), (image(size),)
    return make


def peft_gpt2():
    import peft
    import transformers
    base = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=200))
    return peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["c_attn"], lora_dropout=0.1,
                                                     fan_in_fan_out=True)), (), {"input_ids": ids(32)}


def mamba():
    from mambapy.mamba import Mamba, MambaConfig
    return Mamba(MambaConfig(d_model=32, n_layers=2)), (numbers(32, 32),)


def efficientnet():
    from efficientnet_pytorch import EfficientNet
    return EfficientNet.from_name("efficientnet-b0")


def transformer_layer(**options):
    return torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, **options), 2)


MODELS = {
    "timm": {
        "convmixer": lambda: (of("timm.create_model", "convmixer_768_32"), (image(64),)),
        "eva02": lambda: (of("timm.create_model", "eva02_tiny_patch14_224"), (image(224),)),
        "fastvit": lambda: (of("timm.create_model", "fastvit_t8"), (image(128),)),
        "mobilenetv4": lambda: (of("timm.create_model", "mobilenetv4_conv_small"), (image(64),)),
        "nfnet": lambda: (of("timm.create_model", "dm_nfnet_f0"), (image(64),)),
        "swinv2": lambda: (of("timm.create_model", "swinv2_tiny_window8_256"), (image(256),)),
    },
    "torchvision": {
        "deeplabv3": lambda: (of("torchvision.models.segmentation.deeplabv3_mobilenet_v3_large",
                                 weights_backbone=None), (image(64),)),
        "r3d": lambda: (of("torchvision.models.video.r3d_18"), (numbers(3, 8, 56, 56),)),
        "raft": lambda: (of("torchvision.models.optical_flow.raft_small"), (image(128), image(128)), {}),
        "swin": lambda: (of("torchvision.models.swin_v2_t"), (image(64),)),
    },
    "transformers": {
        "distilbert": hf("DistilBertForSequenceClassification", "DistilBertConfig", dim=64, n_layers=2, n_heads=4,
                         hidden_dim=128, vocab_size=200),
        "gpt_neox": hf("GPTNeoXForCausalLM", "GPTNeoXConfig", hidden_size=64, num_hidden_layers=2,
                       num_attention_heads=4, intermediate_size=128, vocab_size=200),
        "mamba": hf("MambaForCausalLM", "MambaConfig", hidden_size=64, num_hidden_layers=2, vocab_size=200),
        "qwen3": hf("Qwen3ForCausalLM", "Qwen3Config", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, intermediate_size=128, vocab_size=200, head_dim=16),
        "roberta": hf("RobertaForMaskedLM", "RobertaConfig", hidden_size=64, num_hidden_layers=2,
                      num_attention_heads=4, intermediate_size=128, vocab_size=200),
        "dinov2": hf_image("Dinov2Model", "Dinov2Config", 56, hidden_size=64, num_hidden_layers=2,
                           num_attention_heads=4, patch_size=14),
        "segformer": hf_image("SegformerForSemanticSegmentation", "SegformerConfig", 64),
    },
    "diffusers": {"unet": diffusers_unet, "conditioned": diffusers_conditioned, "vae": diffusers_vae,
                  "dit": diffusers_dit},
    "torch_geometric": {"sage": graph("GraphSAGE"), "gin": graph("GIN"), "gcn": graph("GCN"),
                        "gat": graph("GAT", heads=2, add_self_loops=False)},
    "open_clip": {"vit": clip("ViT-S-32"), "rn50": clip("RN50")},
    "segmentation_models_pytorch": {"unet": smp("Unet", "resnet18"), "deeplab": smp("DeepLabV3Plus", "mobilenet_v2"),
                                    "manet": smp("MAnet", "resnet18"), "segformer": smp("Segformer", "mit_b0")},
    "vit_pytorch": {
        "vit": lambda: (of("vit_pytorch.ViT", image_size=64, patch_size=16, num_classes=10, dim=64, depth=2, heads=4,
                           mlp_dim=128, dropout=0.1), (image(64),)),
        "cct": lambda: (of("vit_pytorch.cct.cct_2", img_size=32, num_classes=10), (image(32),)),
        "cvt": lambda: (of("vit_pytorch.cvt.CvT", num_classes=10, s3_depth=2), (image(64),)),
        "crossformer": lambda: (of("vit_pytorch.crossformer.CrossFormer", num_classes=10, depth=(1, 1, 2, 1)),
                                (image(224),)),
        "nest": lambda: (of("vit_pytorch.nest.NesT", image_size=64, patch_size=4, num_classes=10, dim=48, heads=2,
                            num_hierarchies=3, block_repeats=(1, 1, 2)), (image(64),)),
    },
    "x_transformers": {"rotary": x_transformer("Decoder", rotary_pos_emb=True, ff_glu=True),
                       "alibi": x_transformer("Encoder", alibi_pos_bias=True, ff_relu_squared=True)},
    "denoising_diffusion_pytorch": {
        "unet": lambda: (of("denoising_diffusion_pytorch.Unet", 16, dim_mults=(1, 2)),
                         (image(32), torch.zeros(BATCH))),
        "unet1d": lambda: (of("denoising_diffusion_pytorch.Unet1D", 16, dim_mults=(1, 2), channels=4),
                           (numbers(4, 32), torch.zeros(BATCH))),
    },
    "kornia": {"hardnet": lambda: (of("kornia.feature.HardNet", pretrained=False), (image(32, 1),)),
               "tiny_vit": lambda: (of("kornia.models.tiny_vit.TinyViT", img_size=224), (image(224),))},
    "monai": {
        "unet": lambda: (of("monai.networks.nets.UNet", 3, 1, 2, (8, 16, 32), (2, 2), num_res_units=2, dropout=0.1),
                         (numbers(1, 32, 32, 32),)),
        "unetr": lambda: (of("monai.networks.nets.UNETR", 1, 2, (32, 32, 32), hidden_size=48, mlp_dim=96, num_heads=4),
                          (numbers(1, 32, 32, 32),)),
        "vnet": lambda: (of("monai.networks.nets.VNet", 3, 1, 2), (numbers(1, 32, 32, 32),)),
        "swin": lambda: (of("monai.networks.nets.SwinUNETR", 1, 2, feature_size=12), (numbers(1, 64, 64, 64),)),
    },
    "rtdl_revisiting_models": {
        "ft": lambda: (of("rtdl_revisiting_models.FTTransformer", n_cont_features=6, cat_cardinalities=[3, 5], d_out=2,
                          n_blocks=2, d_block=32, attention_n_heads=4, attention_dropout=0.2,
                          ffn_d_hidden_multiplier=4 / 3, ffn_dropout=0.1, residual_dropout=0.0),
                       (numbers(6), torch.randint(0, 3, (BATCH, 2)))),
        "resnet": lambda: (of("rtdl_revisiting_models.ResNet", d_in=10, d_out=2, n_blocks=2, d_block=32,
                              d_hidden_multiplier=2.0, dropout1=0.2, dropout2=0.1), (numbers(10),)),
    },
    "conformer": {"conformer": lambda: (of("conformer.Conformer", 64, depth=2, dim_head=16, heads=4, ff_dropout=0.1),
                                        (numbers(40, 64),))},
    "spandrel": {
        "nafnet": lambda: (of("spandrel.architectures.NAFNet.NAFNet", width=8, enc_blk_nums=[1, 1],
                              dec_blk_nums=[1, 1]), (image(32),)),
        "swinir": lambda: (of("spandrel.architectures.SwinIR.SwinIR", embed_dim=24, depths=[2, 2], num_heads=[2, 2],
                              window_size=8, img_size=32), (image(32),)),
        "esrgan": lambda: (of("spandrel.architectures.ESRGAN.ESRGAN", num_filters=16, num_blocks=2), (image(24),)),
        "hat": lambda: (of("spandrel.architectures.HAT.HAT", embed_dim=60, depths=[2], num_heads=[2], window_size=8,
                           img_size=32), (image(32),)),
    },
    "efficientnet_pytorch": {"b0": lambda: (efficientnet(), (image(64),))},
    "neuralop": {"fno": lambda: (of("neuralop.models.FNO", n_modes=(8, 8), in_channels=1, out_channels=1,
                                    hidden_channels=16), (image(32, 1),))},
    "asteroid": {"dprnn": lambda: (of("asteroid.models.DPRNNTasNet", 2, n_filters=16, bn_chan=16, hid_size=16,
                                      n_repeats=1, chunk_size=20), (numbers(800),)),
                 "convtasnet": lambda: (of("asteroid.models.ConvTasNet", 2, n_blocks=2, n_repeats=1, n_filters=32,
                                           bn_chan=16, hid_chan=32, skip_chan=16), (numbers(800),))},
    "encodec": {"encoder": lambda: (of("encodec.modules.SEANetEncoder", n_filters=4, dimension=32),
                                    (numbers(1, 3200),))},
    "perceiver_pytorch": {"perceiver": lambda: (of("perceiver_pytorch.Perceiver", num_freq_bands=4, depth=2,
                                                   max_freq=10., num_latents=16, latent_dim=32, num_classes=10),
                                                (numbers(16, 16, 3),))},
    "tab_transformer_pytorch": {
        "tab": lambda: (of("tab_transformer_pytorch.TabTransformer", categories=(10, 5), num_continuous=6, dim=32,
                           depth=2, heads=4, dim_out=1), (torch.randint(0, 5, (BATCH, 2)), numbers(6))),
    },
    "egnn_pytorch": {"egnn": lambda: (of("egnn_pytorch.EGNN_Network", num_tokens=20, depth=2, dim=16),
                                      (ids(12, 20), numbers(12, 3)))},
    "pytorch_tabnet": {"tabnet": lambda: (of("pytorch_tabnet.tab_network.TabNet", 10, 2,
                                         group_attention_matrix=torch.eye(10)), (numbers(10),))},
    "torchaudio": {
        "tasnet": lambda: (of("torchaudio.models.ConvTasNet", enc_num_feats=32, msk_num_feats=16,
                              msk_num_hidden_feats=32, msk_num_layers=2, msk_num_stacks=1), (numbers(1, 800),)),
        "hdemucs": lambda: (of("torchaudio.models.HDemucs", ["a", "b"], channels=8), (numbers(2, 44100),)),
        "wav2letter": lambda: (of("torchaudio.models.Wav2Letter", 10), (numbers(1, 4000),)),
        "wav2vec2": lambda: (of("torchaudio.models.wav2vec2_base", aux_num_out=10), (numbers(4000),)),
    },
    "speechbrain": {
        "ecapa": lambda: (of("speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN", 40, channels=[32, 32, 32, 32, 96],
                             attention_channels=16, lin_neurons=24), (numbers(50, 40),)),
        "xvector": lambda: (of("speechbrain.lobes.models.Xvector.Xvector", in_channels=40), (numbers(50, 40),)),
    },
    "linformer": {"lm": lambda: (of("linformer.LinformerLM", num_tokens=200, dim=64, seq_len=64, depth=2, heads=4,
                                    k=16), (ids(64),))},
    "performer_pytorch": {"lm": lambda: (of("performer_pytorch.PerformerLM", num_tokens=200, max_seq_len=64, dim=64,
                                            depth=2, heads=4, dim_head=16, causal=False), (ids(64),))},
    "mambapy": {"mamba": mamba},
    "peft": {"gpt2": peft_gpt2},
    "torch": {"encoder": lambda: (transformer_layer(), (numbers(20, 64),)),
              "lstm": lambda: (torch.nn.LSTM(32, 64, 2, batch_first=True, dropout=0.1), (numbers(20, 32),))},
}
