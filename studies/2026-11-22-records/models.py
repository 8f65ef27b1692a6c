"""Models whose records are kept in testdata/records: small ones that each show one trap, and library models scaled
down.

Each entry of MODELS makes (model, args, kwargs, what it shows). Inputs are of batch 2."""
from __future__ import annotations

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn

BATCH = 2


class NamedLocals(nn.Module):
    """Names of forward outlive their last use; SiLU in place; dropout in training only."""

    def __init__(self):
        super().__init__()
        self.conv, self.act, self.drop = nn.Conv2d(3, 8, 3, padding=1), nn.SiLU(inplace=True), nn.Dropout(0.1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        y = self.act(self.conv(x))
        z = y.mean((2, 3))
        return self.head(self.drop(z))


class InPlace(nn.Module):
    """ELU, LeakyReLU and += in place; dropout in place; a clamp that is not."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.drop, self.head = nn.Dropout(0.2, inplace=True), nn.Linear(16, 4)

    def forward(self, x):
        x = F.elu(self.a(x), inplace=True)
        y = self.b(x)
        y += x
        y = F.leaky_relu(y, inplace=True)
        y = self.drop(y.clamp(min=-1.0))
        return self.head(y.flatten(2).mean(-1))


class Views(nn.Module):
    """chunk, transpose, reshape that copies, slices written into, expand, unfold."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(24, 72), nn.Linear(24, 6)
        self.scale = nn.Parameter(torch.ones(1, 1, 24))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        b, t, c = q.shape
        q, k, v = (y.view(b, t, 4, c // 4).transpose(1, 2) for y in (q, k, v))
        a = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        a = a.transpose(1, 2).reshape(b, t, c) * self.scale.expand(b, t, c)
        mixed = torch.zeros_like(a)
        mixed[:, 1:] = a[:, :-1]
        return self.out(mixed.unfold(1, 4, 2).mean(-1)).sum(1)


class TiedWithCache(nn.Module):
    """An output layer that is the embedding; positions made by the first call and kept outside the buffers."""

    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Embedding(100, 32), nn.Linear(32, 32)
        self.head = nn.Linear(32, 100, bias=False)
        self.head.weight = self.embed.weight
        self.positions = None

    def forward(self, ids):
        if self.positions is None:
            self.positions = torch.arange(ids.shape[1], device=ids.device).float()[:, None].repeat(1, 32)
        return self.head(F.gelu(self.mix(self.embed(ids) + self.positions)))


class Frozen(nn.Module):
    """A frozen trunk, a branch under no_grad, detach, `.data`, and a leaf made in forward."""

    def __init__(self):
        super().__init__()
        self.trunk, self.side = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 40)), nn.Linear(20, 40)
        self.head = nn.Linear(40, 5)
        self.trunk.requires_grad_(False)

    def forward(self, x):
        h = self.trunk(x)
        with torch.no_grad():
            target = self.side(x).tanh()
        s = self.side(x).sigmoid()
        gate = torch.zeros(40, device=x.device, requires_grad=True)
        return self.head(h * s + target * s.detach() + gate * s.data)


class Swish(torch.autograd.Function):
    """x * sigmoid(x) that keeps only x."""

    @staticmethod
    def forward(ctx, x):
        result = x * torch.sigmoid(x)
        ctx.save_for_backward(x)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s * (1 + x * (1 - s)))


class NormTwoD(torch.autograd.Function):
    """LayerNorm over channels, by hand, with a weight; keeps a tensor as an attribute of ctx too."""

    @staticmethod
    def forward(ctx, x, weight, eps):
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        y = (x - mu) / (var + eps).sqrt()
        ctx.save_for_backward(y, weight)
        ctx.var, ctx.eps = var, eps
        return weight.view(1, -1, 1, 1) * y

    @staticmethod
    def backward(ctx, grad_output):
        y, weight = ctx.saved_tensors
        g = grad_output * weight.view(1, -1, 1, 1)
        mean_g = g.mean(dim=1, keepdim=True)
        mean_gy = (g * y).mean(dim=1, keepdim=True)
        gx = 1.0 / torch.sqrt(ctx.var + ctx.eps) * (g - y * mean_gy - mean_g)
        return gx, (grad_output * y).sum(dim=3).sum(dim=2).sum(dim=0), None


swish = Swish.apply                  # bound at import, as packages do


class CustomFunctions(nn.Module):
    """autograd.Function: what it saves and what its backward runs."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 12, 3, padding=1)
        self.weight, self.head = nn.Parameter(torch.ones(12)), nn.Linear(12, 7)

    def forward(self, x):
        x = swish(self.a(x))
        x = NormTwoD.apply(self.b(x), self.weight, 1e-6)
        return self.head(Swish.apply(x).mean((2, 3)))


class Checkpointed(nn.Module):
    """torch.utils.checkpoint in the model's code."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(32, 64)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(3))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        return self.head(x.mean(1))


class Spectral(nn.Module):
    """Fourier transforms, complex weights, pairs of real numbers as complex ones, in half spectra and whole ones."""

    def __init__(self, width=8, size=16):
        super().__init__()
        self.lift, self.skip = nn.Conv2d(3, width, 1), nn.Conv2d(width, width, 1)
        self.weight = nn.Parameter(torch.randn(width, width, 5, 4, dtype=torch.complex64))
        self.pairs = nn.Parameter(torch.randn(width, size, size // 2 + 1, 2))

    def forward(self, x):
        x = self.lift(x)
        spectrum = torch.fft.rfft2(x)
        low = torch.zeros_like(spectrum)
        low[:, :, :5, :4] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :5, :4], self.weight)
        x = torch.fft.irfft2(low) + self.skip(x)
        x = torch.fft.irfft2(torch.fft.rfft2(x.relu()) * torch.view_as_complex(self.pairs))
        whole = torch.fft.fft(x, dim=1)
        return torch.polar(whole.abs(), x).real * torch.complex(x, x.tanh()).imag


class Recurrent(nn.Module):
    """nn.LSTM and nn.GRU, as the native path runs them."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.lstm, self.gru = nn.LSTM(16, 24, 2, batch_first=True), nn.GRU(24, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, ids):
        x, (h, c) = self.lstm(self.embed(ids))
        y, _ = self.gru(x)
        return self.head(y[:, -1])


class DictInOut(nn.Module):
    """Inputs and outputs in dicts; one module called twice; a list that keeps every stage alive."""

    def __init__(self):
        super().__init__()
        self.image, self.text = nn.Conv2d(3, 16, 4, stride=4), nn.Embedding(60, 16)
        self.shared = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
        self.norm = nn.BatchNorm1d(16)

    def forward(self, batch, *, scale):
        a = self.image(batch["image"]).flatten(2).transpose(1, 2)
        b = self.text(batch["ids"])
        stages = [a, b]
        for _ in range(2):
            stages.append(self.shared(stages[-2]) * scale)
        pooled = [self.norm(s.mean(1)) for s in stages]
        return {"image": pooled[0] + pooled[2], "text": (pooled[1], pooled[3])}


class MaskedAttention(nn.Module):
    """scaled_dot_product_attention with a bool mask and with dropout; a causal one; stochastic depth by bernoulli_."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.head = nn.Linear(48, 144), nn.Linear(48, 48), nn.Linear(48, 9)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 4, 12).permute(2, 0, 3, 1, 4).unbind(0)
        p = 0.1 if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :], dropout_p=p)
        z = F.scaled_dot_product_attention(q, k, y, is_causal=True)
        y = self.out(z.transpose(1, 2).reshape(b, t, c))
        if self.training:
            y = y * y.new_empty(b, 1, 1).bernoulli_(0.8).div_(0.8)
        return self.head((x + y).mean(1))


class UNet(nn.Module):
    """Lists of stages that forward walks, with skip connections: no nn.Sequential at the top."""

    def __init__(self, width=16, classes=4):
        super().__init__()

        def stage(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                                 nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
        w = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(stage(a, b) for a, b in zip([3] + w, w))
        self.up = nn.ModuleList(stage(a + b, b) for a, b in zip(w[:0:-1], w[-2::-1]))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for i, stage in enumerate(self.down):
            x = stage(x if i == 0 else self.pool(x))
            skips.append(x)
        skips.pop()
        for stage in self.up:
            x = F.interpolate(x, scale_factor=2.0)
            x = stage(torch.cat([x, skips.pop()], 1))
        return self.head(x)


class OwnLoss(nn.Module):
    """A model that returns its loss, with labels among the inputs, and weight normalisation."""

    def __init__(self):
        super().__init__()
        self.body = nn.utils.parametrizations.weight_norm(nn.Linear(30, 40))
        self.head = nn.Linear(40, 11)

    def forward(self, x, labels):
        logits = self.head(torch.tanh(self.body(x)))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


def _images(n=64, size=BATCH):
    return torch.zeros(size, 3, n, n)


def _tokens(n=32, size=BATCH):
    return torch.zeros(size, n, dtype=torch.int64)


def _torchvision(name, n=64, **options):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(**options), (_images(n),), {}
    return make


def _timm(name, n=64, **options):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, **options), (_images(n),), {}
    return make


def _gmlp():
    from timm.models import mlp_mixer
    return mlp_mixer.MlpMixer(img_size=64, patch_size=16, num_blocks=3, embed_dim=64, mlp_ratio=6,
                              block_layer=mlp_mixer.SpatialGatingBlock, mlp_layer=mlp_mixer.GatedMlp), (_images(),), {}


def _convnext():
    from timm.models.convnext import ConvNeXt
    return ConvNeXt(depths=(1, 1, 2, 1), dims=(16, 32, 48, 64), conv_mlp=True, drop_path_rate=0.1), (_images(64),), {}


def _hf(build):
    def make():
        import transformers
        model, kwargs = build(transformers)
        return model, (), kwargs
    return make


def _gpt2(t):
    config = t.GPT2Config(n_layer=2, n_embd=96, n_head=4, vocab_size=500, n_positions=64, use_cache=False)
    return t.GPT2LMHeadModel(config), {"input_ids": _tokens()}


def _bert(t):
    config = t.BertConfig(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256,
                          vocab_size=500, attn_implementation="eager")
    return t.BertForMaskedLM(config), {"input_ids": _tokens(), "labels": _tokens()}


def _llama(t):
    config = t.LlamaConfig(hidden_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                           intermediate_size=256, vocab_size=500, use_cache=False)
    return t.LlamaForCausalLM(config), {"input_ids": _tokens()}


def _t5(t):
    config = t.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=500, use_cache=False,
                        decoder_start_token_id=0)
    return t.T5ForConditionalGeneration(config), {"input_ids": _tokens(), "labels": _tokens(16)}


def _llama_checkpointed(t):
    model, kwargs = _llama(t)
    model.activation_checkpointing_enable({"use_reentrant": False})
    return model, kwargs


def _small(cls, *args, **kwargs):
    return lambda: (cls(), args, kwargs)


SMALL = {
    "named_locals": _small(NamedLocals, _images(32)),
    "in_place": _small(InPlace, _images(16)),
    "views": _small(Views, torch.zeros(BATCH, 10, 24)),
    "tied_with_cache": _small(TiedWithCache, _tokens(12)),
    "frozen": _small(Frozen, torch.zeros(BATCH, 20)),
    "custom_functions": _small(CustomFunctions, _images(16)),
    "checkpointed": _small(Checkpointed, torch.zeros(BATCH, 9, 32)),
    "recurrent": _small(Recurrent, _tokens(7)),
    "spectral": _small(Spectral, _images(16)),
    "dict_in_out": _small(DictInOut, {"image": _images(16), "ids": _tokens(6)}, scale=torch.zeros(())),
    "masked_attention": _small(MaskedAttention, torch.zeros(BATCH, 13, 48), torch.ones(BATCH, 13, dtype=torch.bool)),
    "own_loss": _small(OwnLoss, torch.zeros(BATCH, 30), torch.zeros(BATCH, dtype=torch.int64)),
}
LIBRARY = {
    "resnet18": _torchvision("resnet18"),
    "mobilenet_v3_small": _torchvision("mobilenet_v3_small"),
    "densenet_small": _torchvision("DenseNet", growth_rate=8, block_config=(2, 3, 2), num_init_features=16),
    "swin_small": _torchvision("SwinTransformer", patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4],
                               window_size=[4, 4]),
    "gmlp": _gmlp,
    "convnext": _convnext,
    "efficientnet": _timm("efficientnet_b0", drop_path_rate=0.2),
    "gpt2": _hf(_gpt2),
    "bert": _hf(_bert),
    "llama": _hf(_llama),
    "t5": _hf(_t5),
    "llama_checkpointed": _hf(_llama_checkpointed),
}
MODELS = {**SMALL, **LIBRARY}
