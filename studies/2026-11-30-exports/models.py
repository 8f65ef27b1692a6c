"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def vocoder():
    from bigvgan.env import AttrDict
    config = AttrDict(
        num_mels=100, resblock="1", upsample_rates=[8, 8, 2, 2], upsample_kernel_sizes=[16, 16, 4, 4],
        upsample_initial_channel=256, resblock_kernel_sizes=[3, 7, 11], resblock_dilation_sizes=[[1, 3, 5]] * 3,
        activation="snakebeta", snake_logscale=True)
    return of("bigvgan.bigvgan.BigVGAN", config), (numbers(100, 32),)


def detector():
    from effdet import EfficientDet, get_efficientdet_config
    config = get_efficientdet_config("efficientdet_d0")
    config.image_size = [256, 256]
    return EfficientDet(config, pretrained_backbone=False), (image(256),)


def low_rank():
    import loralib
    import torch

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(256) for _ in range(2))
            self.qkv = loralib.MergedLinear(256, 768, r=8, lora_alpha=16, lora_dropout=0.1, enable_lora=[True, False, True])
            self.out = torch.nn.Linear(256, 256)
            self.up, self.down = loralib.Linear(256, 1024, r=8), loralib.Linear(1024, 256, r=8)

        def forward(self, x):
            q, k, v = (part.unflatten(-1, (4, 64)).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x))))
    model = torch.nn.Sequential(loralib.Embedding(5000, 256, r=8), *(Block() for _ in range(4)), torch.nn.Linear(256, 5000))
    loralib.mark_only_lora_as_trainable(model)
    return model, (ids(64, 5000),)


def adapted():
    import torch
    from lycoris import create_lycoris

    class Adapted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            block = torch.nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True)
            self.encoder = torch.nn.TransformerEncoder(block, 4, enable_nested_tensor=False).requires_grad_(False)
            self.adapter = create_lycoris(self.encoder, 1.0, linear_dim=16, linear_alpha=8, algo="loha")
            self.adapter.apply_to()

        def forward(self, x):
            return self.encoder(x)
    return Adapted(), (numbers(64, 256),)


def diarization():
    from pyannote.audio.core.task import Problem, Resolution, Specifications
    from pyannote.audio.models.segmentation.PyanNet import PyanNet
    model = PyanNet(sincnet=dict(stride=10))
    model.specifications = Specifications(
        problem=Problem.MULTI_LABEL_CLASSIFICATION, resolution=Resolution.FRAME, duration=2.0, classes=["a", "b", "c"],
        permutation_invariant=True)
    model.build()
    return model, (numbers(1, 32000),)


def bert():
    from pytorch_pretrained_bert.modeling import BertConfig, BertForSequenceClassification
    config = BertConfig(5000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    return BertForSequenceClassification(config, 3), (ids(64, 5000),)


def sentences():
    import tempfile

    import torch
    import transformers
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    class Embed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            with tempfile.TemporaryDirectory() as folder:
                words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(4995))]
                with open(folder + "/vocab.txt", "w") as out:
                    out.write("\n".join(words))
                transformers.BertTokenizer(folder + "/vocab.txt").save_pretrained(folder)
                transformers.BertModel(transformers.BertConfig(
                    vocab_size=5000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                    intermediate_size=1536)).save_pretrained(folder)
                self.words = Transformer(folder)
            self.pooled, self.dense, self.normal = Pooling(384), Dense(384, 256), Normalize()

        def forward(self, tokens):
            found = self.words(dict(input_ids=tokens, attention_mask=torch.ones_like(tokens)))
            return self.normal(self.dense(self.pooled(found)))["sentence_embedding"]
    return Embed(), (ids(64, 5000),)


def labels():
    import transformers
    from simpletransformers.custom_models.models import RobertaForMultiLabelSequenceClassification
    config = transformers.RobertaConfig(
        vocab_size=5000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024, num_labels=6)
    return RobertaForMultiLabelSequenceClassification(config), (ids(64, 5000),)


def rainbow():
    import torch
    from tianshou.env.atari.atari_network import RainbowNet

    class Values(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rainbow = RainbowNet(c=4, h=84, w=84, action_shape=[6])

        def forward(self, frames):
            return self.rainbow(frames)[0]
    return Values(), (numbers(4, 84, 84),)


def native():
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge import TransformerBridge
    config = TransformerBridgeConfig(
        d_model=256, d_head=64, n_heads=4, n_layers=4, n_ctx=128, d_vocab=5000, d_mlp=1024, act_fn="gelu",
        normalization_type="LN", architecture="TransformerLensNative")
    return TransformerBridge.boot_native(config), (ids(64, 5000),)


def policy():
    import torch
    from rsl_rl.modules import CNN, MLP

    class Actor(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.sees = CNN((64, 64), 3, [32, 64, 64], [8, 4, 3], [4, 2, 1], norm="batch")
            with torch.no_grad():
                wide = self.sees(torch.zeros(1, 3, 64, 64)).shape[1]
            self.acts = MLP(wide + 48, 12, [256, 256, 128])

        def forward(self, picture, joints):
            return self.acts(torch.cat([self.sees(picture), joints], -1))
    return Actor(), (image(64), numbers(48))


def patches_of_noise():
    from rectified_flow.models.dit import DiT, DiTConfig
    model = DiT(DiTConfig(input_size=32, patch_size=2, in_channels=4, out_channels=4, hidden_size=256, depth=5, num_heads=4))
    return model, (numbers(4, 32, 32), numbers().sigmoid())


def retention():
    import torch
    from torchscale.architecture.config import RetNetConfig
    from torchscale.architecture.retnet import RetNetDecoder

    class Retention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            config = RetNetConfig(
                vocab_size=5000, decoder_embed_dim=256, decoder_value_embed_dim=512, decoder_ffn_embed_dim=512,
                decoder_retention_heads=4, decoder_layers=4)
            self.decoder = RetNetDecoder(config, torch.nn.Embedding(5000, 256))

        def forward(self, tokens):
            return self.decoder(tokens)[0]
    return Retention(), (ids(64, 5000),)


def hydra():
    model = of("views_hydranet.architectures.HydraBNrecurrentUnet_06_LSTM4.HydraBNUNet06_LSTM4", 3, 32, 1, 0.1)
    return model, (numbers(3, 32, 32), numbers(32, 32, 32))


def exponential_gates():
    import torch
    from pytorch_forecasting.layers._recurrent._mlstm.network import mLSTMNetwork

    class Forecast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = mLSTMNetwork(8, 128, 2, 12)

        def forward(self, past):
            return self.network(past.transpose(0, 1))[0]
    return Forecast(), (numbers(24, 8),)


def levit():
    import timme
    return timme.create_model("levit_128s"), (image(224),)


def conv64():
    import torch
    from disent.model.ae import DecoderConv64, EncoderConv64

    class Codes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = EncoderConv64(z_size=16), DecoderConv64(z_size=16)

        def forward(self, x):
            return self.decoder(self.encoder(x)[0])
    return Codes(), (image(64),)
