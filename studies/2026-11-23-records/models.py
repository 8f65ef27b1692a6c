"""What models.toml beside this cannot say in values."""
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


def efficientnet_pytorch_b0():
    return (efficientnet(), (image(64),))


def pytorch_tabnet_tabnet():
    return (of('pytorch_tabnet.tab_network.TabNet', 10, 2, group_attention_matrix=torch.eye(10)), (numbers(10),))


def torch_encoder():
    return (transformer_layer(), (numbers(20, 64),))


def torch_lstm():
    return (torch.nn.LSTM(32, 64, 2, batch_first=True, dropout=0.1), (numbers(20, 32),))
