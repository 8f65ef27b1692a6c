"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import Call, ids, image, numbers, of


def volumes():
    import torch
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet
    model = ResidualEncoderUNet(
        1, 5, [16, 32, 64, 128, 160], torch.nn.Conv3d, 3, [1, 2, 2, 2, 2], [1, 2, 2, 2, 2], 3, [1, 1, 1, 1], conv_bias=True,
        norm_op=torch.nn.InstanceNorm3d, norm_op_kwargs=dict(eps=1e-5, affine=True), nonlin=torch.nn.LeakyReLU,
        nonlin_kwargs=dict(inplace=True), deep_supervision=True)
    return model, (numbers(1, 32, 64, 64),)


def edges():
    from controlnet_aux.pidi.model import pidinet
    return pidinet(), (image(128),)


def fused():
    import torch
    from gluonts.torch.model.tft.module import TemporalFusionTransformerModel

    class Forecast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = TemporalFusionTransformerModel(
                context_length=72, prediction_length=24, d_feat_static_real=[4], d_feat_dynamic_real=[6],
                c_feat_static_cat=[10], d_hidden=64, d_var=64)

        def forward(self, past, seen, real, kind, known):
            return self.model(past, seen.sigmoid(), real, kind, known)[0][0]
    return Forecast(), (numbers(72), numbers(72), numbers(4), ids(1, 10), numbers(96, 6))


def windows():
    from groundingdino.models.GroundingDINO.backbone.swin_transformer import SwinTransformer
    return Call(SwinTransformer(pretrain_img_size=224), "forward_raw"), (image(224),)


def ensemble():
    import torch
    from pytabkit.models.nn_models.tabm import Model

    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            backbone = dict(type="MLP", n_blocks=3, d_block=512, dropout=0.1)
            self.model = Model(
                n_num_features=40, cat_cardinalities=[], n_classes=5, backbone=backbone, bins=None, arch_type="tabm", k=32,
                num_embeddings=dict(type="PeriodicEmbeddings", d_embedding=16, lite=False))

        def forward(self, x):
            return self.model(x)
    return Table(), (numbers(40),)


def lines():
    import pathlib

    import rapidocr
    import yaml
    from rapidocr.inference_engine.pytorch.networks.architectures.base_model import BaseModel
    path = pathlib.Path(rapidocr.__file__).parent / "inference_engine/pytorch/networks/arch_config.yaml"
    return BaseModel(yaml.safe_load(path.read_text())["ch_PP-OCRv4_det_mobile"]), (image(256),)


def parts():
    import torch
    from stanza.models.constituency.partitioned_transformer import (
        ConcatPositionalEncoding,
        PartitionedTransformerEncoder,
    )

    class Parse(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(5000, 256)
            self.places = ConcatPositionalEncoding(256, 512)
            self.layers = PartitionedTransformerEncoder(4, 512, 8, 64, 1024, 0.1, 0.1, 0.1)
            self.labels = torch.nn.Linear(512, 40)

        def forward(self, text):
            return self.labels(self.layers(self.places(self.words(text))))
    return Parse(), (ids(48, 5000),)


def quality():
    from piq.feature_extractors.clip import ModifiedResNet
    return ModifiedResNet((3, 4, 6, 3), 1024, 32, 224, 64), (image(224),)


def static_words():
    import tokenizers
    import torch
    from model2vec.train.classifier import StaticModelForClassification
    from model2vec.train.dataset import TokenBatch

    class Words(torch.nn.Module):
        def __init__(self):
            super().__init__()
            words = {"[PAD]": 0, "[UNK]": 1} | {f"w{i}": i for i in range(2, 8000)}
            tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
            self.model = StaticModelForClassification(
                vectors=torch.randn(8000, 256), tokenizer=tokenizer, n_layers=2, hidden_dim=512, out_dim=20)

        def forward(self, text):
            count, length = text.shape
            begins = torch.arange(count, device=text.device) * length
            return self.model(TokenBatch(text.flatten(), begins, torch.full_like(begins, length)))
    return Words(), (ids(64, 8000),)


def frames():
    import torch
    from open_spiel.python.pytorch.ppo import PPOAtariAgent

    class Agent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.agent = PPOAtariAgent(6, (4, 84, 84), "cpu")

        def forward(self, x):
            seen = self.agent.network(x / 255.0)
            return self.agent.actor(seen), self.agent.critic(seen)
    return Agent(), (numbers(4, 84, 84),)


def adversary():
    import torch
    from pytorch_revgrad import RevGrad

    class Domains(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = []
            for last, now in ((3, 32), (32, 64), (64, 128)):
                layers += [torch.nn.Conv2d(last, now, 5, padding=2), torch.nn.BatchNorm2d(now), torch.nn.MaxPool2d(2),
                           torch.nn.ReLU()]
            self.seen = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(8192, 512), torch.nn.ReLU())
            self.kind = torch.nn.Linear(512, 10)
            self.domain = torch.nn.Sequential(
                RevGrad(alpha=0.5), torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Linear(256, 2))

        def forward(self, x):
            seen = self.seen(x)
            return self.kind(seen), self.domain(seen)
    return Domains(), (image(64),)


def pixels():
    import torchvision
    from fastai.vision.learner import create_unet_model
    return create_unet_model(torchvision.models.resnet34, 12, (128, 128), pretrained=False), (image(128),)


def patches_in_time():
    from pypots.nn.modules.moderntcn.backbone import BackboneModernTCN
    return BackboneModernTCN(
        96, 12, 12, 8, 4, 2, 2, [1, 1], [9, 9], [3, 3], [64, 64], use_multi_scale=False), (numbers(12, 96),)


def table_network():
    import torch
    from autogluon.tabular.models.tabular_nn.torch.torch_network_modules import EmbedNet

    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            shape = dict(
                has_vector_features=True, has_embed_features=True, vector_dims=30, from_logits=False,
                num_categs_per_feature=[20, 50, 12], embed_dims=[8, 16, 6],
                params=dict(activation="relu", dropout_prob=0.1, num_layers=4, hidden_size=256, use_batchnorm=True))
            self.net = EmbedNet("multiclass", num_net_outputs=7, architecture_desc=shape, device="cpu")

        def forward(self, values, kinds):
            return self.net([values, list(kinds.unbind(1))])
    return Rows(), (numbers(30), ids(3, 12))


def voices():
    import torch
    import transformers
    from omnivoice.models.omnivoice import OmniVoice, OmniVoiceConfig

    class Codes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            words = transformers.Qwen3Config(
                vocab_size=5000, hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4,
                num_key_value_heads=2, head_dim=64)
            self.model = OmniVoice(OmniVoiceConfig(llm_config=words))

        def forward(self, codes, audio):
            return self.model(codes, audio > 0).logits
    return Codes(), (ids(8, 1000).unsqueeze(-1).repeat(1, 1, 64), numbers(64))


def late_words():
    import torch
    import transformers
    from colpali_engine.models import ColPali

    class Late(torch.nn.Module):
        def __init__(self):
            super().__init__()
            config = transformers.PaliGemmaConfig(
                text_config=dict(
                    model_type="gemma", vocab_size=5000, hidden_size=256, intermediate_size=1024, num_hidden_layers=4,
                    num_attention_heads=4, num_key_value_heads=1, head_dim=64),
                vision_config=dict(
                    model_type="siglip_vision_model", hidden_size=64, intermediate_size=128, num_hidden_layers=1,
                    num_attention_heads=4, image_size=56, patch_size=14, projection_dim=256),
                projection_dim=256, hidden_size=256, image_token_index=4999)
            self.model = ColPali(config)

        def forward(self, text):
            return self.model(input_ids=text, attention_mask=torch.ones_like(text))
    return Late(), (ids(48, 4900),)


def noisy():
    from torchebm.models import DiT
    model = DiT(input_size=32, in_channels=4, patch_size=2, embed_dim=256, depth=6, num_heads=4)
    return model, (numbers(4, 32, 32), numbers().sigmoid())


def speech():
    import torch
    from nemoasr2pytorch.models.asr.conformer import ConformerEncoder, ConformerEncoderConfig

    class Speech(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = ConformerEncoder(ConformerEncoderConfig(80, 4, 256, n_heads=4))

        def forward(self, sound):
            lengths = torch.full(sound.shape[:1], sound.shape[2], device=sound.device)
            return self.encoder(sound, lengths)[0]
    return Speech(), (numbers(80, 256),)


def reasons():
    from self_reasoning_tokens_pytorch import Transformer
    return Transformer(dim=256, num_tokens=2000, depth=4, dim_head=64, heads=4), (ids(64, 2000),), dict(num_reason_tokens=4)


def recalls():
    import torch
    from pyrila.config import RILAConfig
    from pyrila.modules.decoder import FinalDecoder

    class Recall(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder = FinalDecoder(RILAConfig(vocab_size=5000, hidden_dim=256, num_heads=4, num_layers=8))

        def forward(self, state, text, memory):
            return self.decoder(state, text, memory)
    model = Recall()
    return model, (numbers(model.decoder.config.cognitive_dim), ids(48, 5000), numbers(32, 256))


def movement():
    from deepali.networks.unet import UNet
    return UNet(3, 1, 3), (numbers(1, 32, 32, 32),)


def actions():
    from lightning_action.models.heads.tcn import DilatedTCN
    return DilatedTCN(32, 64, 4, num_lags=2), (numbers(200, 32),)


def ice():
    from torchcnnbuilder.models import ForecasterBase
    return ForecasterBase([64, 64], 4, 12, 6), (numbers(12, 64, 64),)


def rotated():
    from oriented_det.models.backbones.cspnext import CSPNeXtWithPAFPN
    return CSPNeXtWithPAFPN(), (image(256),)


def pixels_of_latents():
    from stable_diffusion_pytorch.decoder import Decoder
    return Decoder(), (numbers(4, 16, 16),)


def faces():
    return of("retinaface.model.retinaface_pth_model.RetinaFace"), (numbers(160, 160, 3),)
