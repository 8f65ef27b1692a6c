"""What models.toml beside this cannot say in values."""
from __future__ import annotations

from makers import ids, image, numbers, of


def series():
    import torch
    from sktime.networks.convtran import ConvTranNetworkTorch
    model = ConvTranNetworkTorch((8, 3, 96), 10, emb_size=64, num_heads=8, activation_hidden=torch.nn.ReLU())
    return model, (numbers(96, 3),)


def denoised_sound():
    import torch
    from audiocraft.models.unet import DiffusionUnet

    class Denoised(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = DiffusionUnet(1, hidden=32, depth=4, growth=2.0, num_steps=20, bilstm=True)

        def forward(self, sound, step):
            return self.model(sound, step).sample
    return Denoised(), (numbers(1, 8192), torch.randint(0, 20, (2,)))


def brain():
    from dipy.nn.torch.synthseg import Model
    return Model(model_scale=16, n_levels=4, output_channels=20), (numbers(1, 48, 48, 48),)


def language():
    from olmo_core.nn.transformer import TransformerConfig
    return TransformerConfig.olmo2_30M(8192).build(init_device="cpu"), (ids(128, 8192),)


def sound():
    import torch
    from voxcpm.modules.audiovae.audio_vae import AudioVAE, AudioVAEConfig

    class Sound(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AudioVAE(AudioVAEConfig(
                encoder_dim=32, encoder_rates=[2, 4, 8], latent_dim=32, decoder_dim=256, decoder_rates=[8, 4, 2]))

        def forward(self, x):
            return self.model.decode(self.model.encode(x, self.model.sample_rate))
    return Sound(), (numbers(1, 8192),)


def bought():
    import torch
    from recbole.model.layers import TransformerEncoder

    class Bought(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.items = torch.nn.Embedding(5000, 64, padding_idx=0)
            self.places = torch.nn.Embedding(50, 64)
            self.norm = torch.nn.LayerNorm(64)
            self.model = TransformerEncoder(n_layers=2, n_heads=2, hidden_size=64, inner_size=256)

        def forward(self, bought):
            places = torch.arange(bought.shape[1], device=bought.device)
            mask = torch.ones(bought.shape[1], bought.shape[1], device=bought.device).tril().log()
            x = self.norm(self.items(bought) + self.places(places))
            x = self.model(x, mask[None, None], output_all_encoded_layers=True)[-1]
            return x[:, -1] @ self.items.weight.T
    return Bought(), (ids(50, 5000),)


def quantiles():
    from gymnasium import spaces
    from sb3_contrib.qrdqn.policies import QuantileNetwork
    from stable_baselines3.common.torch_layers import NatureCNN
    seen = spaces.Box(0, 255, (4, 84, 84), "uint8")
    return QuantileNetwork(seen, spaces.Discrete(6), NatureCNN(seen), 512), (numbers(4, 84, 84).abs() * 60,)


def molecules():
    import torch
    from ogb.graphproppred.mol_encoder import AtomEncoder, BondEncoder

    class Molecules(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.atoms, self.bonds = AtomEncoder(128), BondEncoder(128)
            self.layers = torch.nn.ModuleList(torch.nn.Sequential(
                torch.nn.Linear(128, 256), torch.nn.LayerNorm(256), torch.nn.ReLU(), torch.nn.Linear(256, 128))
                for _ in range(3))
            self.read = torch.nn.Linear(128, 1)

        def forward(self, atoms, bonds):
            batch, many = atoms.shape[:2]
            x = self.atoms(atoms.flatten(0, 1)).view(batch, many, -1)
            edges = self.bonds(bonds.flatten(0, 2)).view(batch, many, many, -1)
            for layer in self.layers:
                x = x + layer(x + torch.relu(x[:, None] + edges).sum(2))
            return self.read(x.mean(1))
    return Molecules(), (ids(20 * 9, 2).view(2, 20, 9), ids(400 * 3, 2).view(2, 20, 20, 3))


def sparse():
    import entmax
    import torch

    class Sparse(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(5000, 128)
            self.parts = torch.nn.ModuleList(torch.nn.Linear(128, 128) for _ in range(3))
            self.soft = entmax.Entmax15(dim=-1)
            self.kinds = torch.nn.Sequential(torch.nn.Linear(128, 50), entmax.Sparsemax(dim=-1))

        def forward(self, text):
            q, k, v = (part(self.words(text)).unflatten(-1, (4, 32)).transpose(1, 2) for part in self.parts)
            x = self.soft(q @ k.transpose(-1, -2) / 32 ** 0.5) @ v
            return self.kinds(x.transpose(1, 2).flatten(2).mean(1))
    return Sparse(), (ids(64, 5000),)


def flow():
    import torch
    import torchdiffeq

    class Speed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(
                torch.nn.GroupNorm(8, 64), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, padding=1),
                torch.nn.GroupNorm(8, 64), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3, padding=1))

        def forward(self, t, x):
            return self.net(x) * (1 + t)

    class Flow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.down = torch.nn.Conv2d(1, 64, 4, stride=2)
            self.speed = Speed()
            self.kind = torch.nn.Linear(64, 10)
            self.register_buffer("times", torch.linspace(0, 1, 3))

        def forward(self, x):
            x = torchdiffeq.odeint(self.speed, self.down(x), self.times, method="rk4")[-1]
            return self.kind(x.mean((2, 3)))
    return Flow(), (image(28, 1),)


def patches():
    import torch
    import unfoldNd

    class Patches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.unfold = unfoldNd.UnfoldNd(4, stride=2)
            self.net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64))
            self.fold = unfoldNd.FoldNd((18, 18, 18), 4, stride=2)

        def forward(self, x):
            return self.fold(self.net(self.unfold(x).transpose(1, 2)).transpose(1, 2))
    return Patches(), (numbers(1, 18, 18, 18),)


def turned():
    import torch
    import ttach
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.Conv2d(32, 5, 1))
    return ttach.SegmentationTTAWrapper(net, ttach.aliases.d4_transform(), merge_mode="mean"), (image(64),)


def entities():
    import torch
    from gliner2.layers import CountLSTMv2, SpanRepLayer

    class Entities(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(8000, 256)
            self.spans = SpanRepLayer(256, 8, "markerV0", dropout=0.3)
            self.counts = CountLSTMv2(256, max_count=5)

        def forward(self, text, kinds):
            words = self.words(text)
            places = torch.arange(text.shape[1], device=text.device)
            ends = (places[:, None] + torch.arange(8, device=text.device)).clamp(max=text.shape[1] - 1)
            found = torch.stack((places[:, None].expand_as(ends), ends), dim=-1).flatten(0, 1)
            spans = self.spans(words, found.expand(text.shape[0], -1, -1))
            counts = self.counts(self.words(kinds).flatten(0, 1), 3).unflatten(1, kinds.shape)
            return torch.einsum("blkd,cbpd->bclkp", spans, counts)
    return Entities(), (ids(48, 8000), ids(6, 8000))


def tagged():
    import torch
    from torchlibrosa.stft import LogmelFilterBank, Spectrogram

    class Tagged(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = torch.nn.Sequential(Spectrogram(512, 160), LogmelFilterBank(16000, 512, 64))
            self.norm = torch.nn.BatchNorm2d(64)
            sizes = (1, 32, 64, 128)
            self.layers = torch.nn.Sequential(*(torch.nn.Sequential(
                torch.nn.Conv2d(a, b, 3, padding=1, bias=False), torch.nn.BatchNorm2d(b), torch.nn.ReLU(),
                torch.nn.AvgPool2d(2)) for a, b in zip(sizes, sizes[1:])))
            self.kind = torch.nn.Linear(128, 50)

        def forward(self, sound):
            x = self.norm(self.seen(sound).transpose(1, 3)).transpose(1, 3)
            x = self.layers(x).mean(3)
            return self.kind(x.amax(2) + x.mean(2))
    return Tagged(), (numbers(16000),)


def separated():
    import torch
    from asteroid_filterbanks import Decoder, Encoder, FreeFB

    class Separated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = Encoder(FreeFB(256, 16, stride=8))
            self.mask = torch.nn.Sequential(
                torch.nn.GroupNorm(1, 256), torch.nn.Conv1d(256, 128, 1), torch.nn.PReLU(),
                torch.nn.Conv1d(128, 128, 3, padding=2, dilation=2, groups=128), torch.nn.PReLU(), torch.nn.Conv1d(128, 512, 1))
            self.decode = Decoder(FreeFB(256, 16, stride=8))

        def forward(self, sound):
            x = self.encode(sound)
            masks = self.mask(x).relu().unflatten(1, (2, 256))
            return self.decode(masks * x[:, None])
    return Separated(), (numbers(1, 16000),)


def poses():
    import roma
    import torch

    class Poses(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(63, 512), torch.nn.ReLU(), torch.nn.Linear(512, 24 * 9))

        def forward(self, joints, points):
            found = self.net(joints).unflatten(1, (24, 9))
            turn = roma.special_gramschmidt(found[..., :6].unflatten(-1, (3, 2)))
            return roma.Rigid(turn, found[..., 6:]).apply(points)
    return Poses(), (numbers(63), numbers(24, 3))


def kept():
    import torch
    from fairscale.nn import checkpoint_wrapper

    class Kept(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(2000, 256)
            self.layers = torch.nn.ModuleList(checkpoint_wrapper(torch.nn.TransformerEncoderLayer(
                256, 4, 1024, batch_first=True, norm_first=True)) for _ in range(4))
            self.next = torch.nn.Linear(256, 2000)

        def forward(self, text):
            x = self.words(text)
            for layer in self.layers:
                x = layer(x)
            return self.next(x)
    return Kept(), (ids(64, 2000),)


def axes():
    import torch
    from axial_positional_embedding import AxialPositionalEmbedding

    class Axes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(2000, 256)
            self.places = AxialPositionalEmbedding(256, (16, 16), (128, 128))
            self.model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True), 3)

        def forward(self, text):
            x = self.words(text)
            return self.model(x + self.places(x))
    return Axes(), (ids(256, 2000),)


def cosines():
    import torch
    from torch_dct import LinearDCT

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = torch.nn.Conv2d(3, 192, 8, stride=8)
            self.turns = torch.nn.ModuleList(LinearDCT(64, "dct", norm="ortho") for _ in range(3))
            self.layers = torch.nn.ModuleList(torch.nn.Sequential(
                torch.nn.LayerNorm(192), torch.nn.Linear(192, 384), torch.nn.GELU(), torch.nn.Linear(384, 192))
                for _ in range(3))

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            for turn, layer in zip(self.turns, self.layers):
                x = x + turn(x.transpose(1, 2)).transpose(1, 2)
                x = x + layer(x)
            return x.mean(1)
    return Mixed(), (image(64),)


def axial_images():
    import torch
    from einops_exts.torch import EinopsToAndFrom

    class Mixer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rise = torch.nn.Conv2d(3, 96, 4, stride=4)
            def layer():
                return torch.nn.TransformerEncoderLayer(96, 4, 192, batch_first=True)
            self.rows = EinopsToAndFrom("b c h w", "(b h) w c", layer())
            self.columns = EinopsToAndFrom("b c h w", "(b w) h c", layer())
            self.kind = torch.nn.Linear(96, 20)

        def forward(self, x):
            return self.kind(self.columns(self.rows(self.rise(x))).mean((2, 3)))
    return Mixer(), (image(96),)



def drawn():
    from torchcfm.models.unet import UNetModel
    model = UNetModel(dim=(3, 32, 32), num_channels=64, num_res_blocks=1, num_heads=4, num_head_channels=32, dropout=0.1)
    return model, (numbers().sigmoid(), image(32))


def vae():
    return of("torchdiff.ldm.AutoencoderLDM", 3, [64, 128], [128, 64], 3, 0.1, 4, 8, 1, 4, 4, 512), (image(64),)


def heard():
    model = of("audio_encoders_pytorch.AutoEncoder1d", in_channels=2, channels=32, multipliers=[1, 1, 2, 4], factors=[4, 4, 4],
               num_blocks=[2, 2, 2])
    return model, (numbers(2, 8192),)


def said():
    from tacotron import Tacotron
    encoder = dict(
        n_symbols=91, embedding_dim=256, prenet=dict(input_size=256, hidden_size=256, output_size=128, dropout=0.5),
        cbhg=dict(K=16, input_channels=128, channels=128, projection_channels=128, n_highways=4, highway_size=128, rnn_size=128))
    attention = dict(
        attn_rnn_size=256, hidden_size=128, static_channels=8, static_kernel_size=21, dynamic_channels=8,
        dynamic_kernel_size=21, prior_length=11, alpha=0.1, beta=0.9)
    decoder = dict(
        prenet=dict(input_size=80, hidden_size=256, output_size=128, dropout=0.5), attention=attention, input_size=128,
        n_mels=80, attn_rnn_size=256, decoder_rnn_size=256, reduction_factor=2, zoneout_prob=0.1)
    return Tacotron(encoder, decoder), (ids(30, 91), numbers(80, 20))


def strands():
    import rcps
    import torch
    model = torch.nn.Sequential(
        rcps.RCPSInput(out_kernels=32, kernel_size=9), rcps.RCPSBatchNorm(32), torch.nn.ReLU(), rcps.RCPS(32, 64, 9), rcps.RCPSBatchNorm(64),
        torch.nn.ReLU(), rcps.RCPSOutput())
    return model, (numbers(4, 500),)


def paths():
    from slices import StackedSLiCE
    return StackedSLiCE(3, 500, 128, 10, tokens=True, block_size=4), (ids(64, 500),)


def deviations():
    return of("devnet.trainer.Model", 512), (numbers(512),)


def random_features():
    return of("darkformer_pytorch.DarkformerLM", 2000, 256, 4, heads=4, max_seq_len=128), (ids(128, 2000),)


def next_word():
    from lmt.models.config import ModelConfig
    from lmt.models.gpt import GPT
    return GPT(ModelConfig(vocab_size=5000, context_length=128, embed_dim=256, num_layers=4, num_heads=4)), (ids(128, 5000),)


def film():
    from make_a_video_pytorch import SpaceTimeUnet
    model = SpaceTimeUnet(dim=32, channels=3, dim_mult=(1, 2, 4), resnet_block_depths=(1, 1, 1), temporal_compression=(False, False, True),
                          self_attns=(False, False, True), condition_on_timestep=False)
    return model, (numbers(3, 8, 32, 32),)
