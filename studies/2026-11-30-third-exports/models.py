"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def cells_of_tables():
    import torch
    from docling_ibm_models.tableformer.models.table04_rs.encoder04_rs import Encoder04
    from docling_ibm_models.tableformer.models.table04_rs.transformer_rs import Tag_Transformer

    class Tables(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = Encoder04(14, 256)
            self.tags = Tag_Transformer("cpu", 13, [], 512, 2, 2, 14, n_heads=8)

        def forward(self, images, tags):
            parts = self.tags
            seen = parts._input_filter(self.seen(images).permute(0, 3, 1, 2)).flatten(2).permute(2, 0, 1)
            words = parts._positional_encoding(parts._embedding(tags).transpose(0, 1))
            found, _ = parts._decoder(words, memory=parts._encoder(seen))
            return parts._fc(found)
    return Tables(), (image(224), ids(32, 13))


def twins():
    import torch
    from lightly.models import ResNetGenerator
    from lightly.models.modules import SimSiamPredictionHead, SimSiamProjectionHead

    class Twins(torch.nn.Module):
        def __init__(self):
            super().__init__()
            layers = list(ResNetGenerator("resnet-18").children())[:-1]
            self.backbone = torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1))
            self.project = SimSiamProjectionHead(512, 512, 128)
            self.predict = SimSiamPredictionHead(128, 64, 128)

        def seen(self, x):
            found = self.project(self.backbone(x).flatten(start_dim=1))
            return found.detach(), self.predict(found)

        def forward(self, first, second):
            return *self.seen(first), *self.seen(second)
    return Twins(), (image(64), image(64))


def streets():
    from pytorchcv.model_provider import get_model
    return get_model("dabnet_cityscapes", in_size=(256, 256)), (image(256),)


def pairs():
    from clip.model import CLIP
    return CLIP(256, 224, 6, 384, 32, 77, 8000, 256, 4, 6), (image(224), ids(77, 8000))


def private():
    import torch
    from opacus.layers import DPLSTM

    class Names(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.letters = torch.nn.Embedding(128, 64)
            self.lstm = DPLSTM(64, 128, num_layers=2, batch_first=True)
            self.kind = torch.nn.Linear(128, 18)

        def forward(self, text):
            return self.kind(self.lstm(self.letters(text))[0][:, -1])
    return Names(), (ids(20, 128),)


def quality():
    import torch
    import transformers
    from comet.modules import FeedForward, LayerwiseAttention

    class Quality(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(
                vocab_size=8000, hidden_size=256, num_hidden_layers=6, num_attention_heads=4, intermediate_size=1024,
                max_position_embeddings=130))
            self.mix = LayerwiseAttention(num_layers=7, dropout=0.1, layer_norm=True)
            self.score = FeedForward(in_dim=256 * 6, hidden_sizes=[512, 256])

        def sentence(self, text):
            mask = torch.ones_like(text)
            layers = self.words(text, mask, output_hidden_states=True).hidden_states
            return self.mix(list(layers), mask)[:, 0]

        def forward(self, source, translated, reference):
            s, t, r = map(self.sentence, (source, translated, reference))
            return self.score(torch.cat((t, r, t * r, (t - r).abs(), t * s, (t - s).abs()), dim=1))
    return Quality(), tuple(ids(48, 8000) for _ in range(3))


def colors():
    from spandrel_extra_arches.architectures.DDColor.__arch.ddcolor import DDColor
    return DDColor(
        encoder_name="convnext-t", input_size=[256, 256], num_queries=100, num_scales=3, dec_layers=3), (image(256),)


def atoms():
    import cuequivariance
    import cuequivariance_torch
    import torch

    class Atoms(torch.nn.Module):
        def __init__(self):
            super().__init__()
            def irreps(text):
                return cuequivariance.Irreps("O3", text)
            hidden, given = irreps("32x0e + 32x1o + 16x2e"), dict(layout=cuequivariance.mul_ir)
            self.rise = cuequivariance_torch.Linear(irreps("16x0e"), hidden, **given)
            self.first = cuequivariance_torch.FullyConnectedTensorProduct(hidden, irreps("1x0e + 1x1o + 1x2e"), hidden, **given)
            self.second = cuequivariance_torch.FullyConnectedTensorProduct(hidden, irreps("1x0e + 1x1o + 1x2e"), hidden, **given)
            self.read = cuequivariance_torch.Linear(hidden, irreps("1x0e"), **given)

        def forward(self, kinds, directions):
            x = self.rise(kinds)
            x = x + self.first(x, directions)
            return self.read(x + self.second(x, directions))
    return Atoms(), (numbers(16), numbers(9))


def spans():
    import torch
    from gliner.modeling.layers import CrossFuser
    from gliner.modeling.span_rep import SpanRepLayer

    class Spans(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(8000, 256)
            self.kinds = torch.nn.Embedding(50, 256)
            self.fuse = CrossFuser(256, 256, num_heads=4, num_layers=2)
            self.spans = SpanRepLayer(256, 8, "markerV0", dropout=0.3)

        def forward(self, text, kinds):
            words, kinds = self.fuse(self.words(text), self.kinds(kinds))
            places = torch.arange(text.shape[1], device=text.device)
            ends = (places[:, None] + torch.arange(8, device=text.device)).clamp(max=text.shape[1] - 1)
            found = torch.stack((places[:, None].expand_as(ends), ends), dim=-1).flatten(0, 1)
            spans = self.spans(words, found.expand(text.shape[0], -1, -1))
            return torch.einsum("blkd,bcd->blkc", spans, kinds)
    return Spans(), (ids(48, 8000), ids(6, 50))


def denoised():
    from k_diffusion.models import ImageDenoiserModelV1
    model = ImageDenoiserModelV1(
        3, 256, (2, 2, 4), (64, 128, 256), (False, True, True), patch_size=1, dropout_rate=0.05)
    return model, (image(32), numbers().sigmoid() + 0.1)


def pitch():
    from torchfcpe.models import CFNaiveMelPE
    return CFNaiveMelPE(128, 360, hidden_dims=256, n_layers=4, use_fa_norm=True, conv_only=False), (numbers(100, 128),)


def marked():
    from perth.perth_net.perth_net_implicit.model.decoder import Decoder
    return Decoder(256, 128), (numbers(1025, 200).abs(),)


def speech_tokens():
    import torch
    from s3tokenizer.model_v2 import AudioEncoderV2

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = AudioEncoderV2(128, 256, 4, 4, 2, False)

        def forward(self, sound):
            lengths = torch.full(sound.shape[:1], sound.shape[2], device=sound.device)
            return self.encoder(sound, lengths)[0]
    return Tokens(), (numbers(128, 200),)


def cut_out():
    import torch
    from transparent_background.backbones.SwinTransformer import SwinTransformer
    from transparent_background.InSPyReNet import InSPyReNet

    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            backbone = SwinTransformer(embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24], window_size=7)
            self.model = InSPyReNet(backbone, [96, 96, 192, 384, 768], 32, [224, 224], threshold=None)

        def forward(self, x):
            return self.model.forward_inspyre(x)["saliency"]
    return Cut(), (image(224),)


def codec():
    from dac.model.dac import DAC
    return DAC(32, [2, 4, 8], None, 256, [8, 4, 2], 4, 1024, 8), (numbers(1, 8192),)


def cells():
    from cellpose.resnet_torch import CPnet
    return CPnet([2, 32, 64, 128, 256], 3, 3), (image(128, 2),)


def sounds():
    from kokoro.istftnet import Decoder
    model = Decoder(
        dim_in=512, style_dim=64, dim_out=80, resblock_kernel_sizes=[3, 7], upsample_rates=[10, 6],
        upsample_initial_channel=512, resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]], upsample_kernel_sizes=[20, 12],
        gen_istft_n_fft=20, gen_istft_hop_size=5)
    return model, (numbers(512, 40), numbers(80).abs() * 100, numbers(80), numbers(64))


def flowing():
    import torch
    from f5_tts.model.backbones.dit import DiT

    class Speech(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = DiT(dim=256, depth=6, heads=4, ff_mult=2, text_dim=128, conv_layers=2)

        def forward(self, noisy, known, text, time):
            return self.model(x=noisy, cond=known, text=text, time=time)
    return Speech(), (numbers(100, 100), numbers(100, 100), ids(40, 250), numbers().sigmoid())


def genes():
    import torch
    from scvi.nn import DecoderSCVI, Encoder

    class Genes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder(2000, 20, n_layers=2, n_hidden=256)
            self.size = Encoder(2000, 1, n_layers=1, n_hidden=128)
            self.decoder = DecoderSCVI(20, 2000, n_layers=2, n_hidden=256, use_batch_norm=True)

        def forward(self, counts):
            x = torch.log1p(counts)
            mean, variance, z = self.encoder(x)
            size = self.size(x)[2]
            return self.decoder("gene", z, size)[:1] + self.decoder("gene", z, size)[2:] + (mean, variance)
    return Genes(), (numbers(2000).abs(),)


def scenes():
    from torchopenl3.models import PytorchOpenl3
    return PytorchOpenl3("music", "mel128", 512), (numbers(1, 48000),)


def blocks():
    import torch
    from block_recurrent_transformer_pytorch import BlockRecurrentTransformer

    class Blocks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = BlockRecurrentTransformer(
                num_tokens=2000, dim=256, depth=4, heads=4, max_seq_len=128, block_width=64, num_state_vectors=64,
                recurrent_layers=(3,))

        def forward(self, text):
            return self.model(text)[0]
    return Blocks(), (ids(128, 2000),)


def molecules():
    from se3_transformer_pytorch import SE3Transformer
    model = SE3Transformer(
        dim=32, heads=4, depth=1, dim_head=16, num_degrees=2, num_neighbors=8, valid_radius=10, output_degrees=1)
    return model, (numbers(24, 32), numbers(24, 3))


def clicks():
    import torch
    from prediction_flow.features import Category, Features, Number
    from prediction_flow.pytorch import DeepFM

    class Clicks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.names = [f"n{i}" for i in range(6)], [f"c{i}" for i in range(10)]
            features = Features(
                number_features=[Number(n, None) for n in self.names[0]],
                category_features=[Category(n, None, vocab_size=500) for n in self.names[1]])
            self.model = DeepFM(features, 2, 16, (256, 128), dropout=0.1)

        def forward(self, values, kinds):
            given = dict(zip(self.names[0], values.unbind(1))) | dict(zip(self.names[1], kinds.unbind(1)))
            return self.model(given)
    return Clicks(), (numbers(6), ids(10, 500))


def tagged():
    import torch
    from bi_lstm_crf import BiRnnCrf

    class Tagged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = BiRnnCrf(5000, 12, 128, 256, num_rnn_layers=2)

        def forward(self, text, tags):
            return self.model.loss(text, tags)
    return Tagged(), (ids(40, 5000), ids(40, 12))


def enlarged():
    return of("studiosr.models.RCAN", scale=2, n_resblocks=6, n_resgroups=4), (image(48),)


def boxes():
    import torch
    from lucid_yolo.models.build import Detector

    class Boxes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Detector("n", 20)

        def forward(self, x):
            found = self.model(x)
            return found.o2o_cls, found.o2o_box, found.o2m_cls, found.o2m_box
    return Boxes(), (image(160),)


def segments():
    from segmentation.models.all_models import model_from_name
    return model_from_name["unet_resnet18"](12, 2, pretrained=False, fixed_feature=False), (image(128),)


def masked():
    import torch
    from fast_transformer_pytorch import FastTransformer

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = FastTransformer(num_tokens=2000, dim=256, depth=4, max_seq_len=128, heads=4, absolute_pos_emb=True)

        def forward(self, text):
            return self.model(text, mask=torch.ones_like(text, dtype=torch.bool))
    return Masked(), (ids(128, 2000),)
