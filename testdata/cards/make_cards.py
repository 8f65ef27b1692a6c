#!/usr/bin/env python3
"""Writes the records of testdata/cards: what the programs ran whose figures scripts/real_cards compares.

usage: make_cards.py [--litgpt FOLDER] [NAME ...]     (needs torch, transformers and onnx_mem; no GPU, no weights)

FOLDER has lit_gpt of Lightning-AI/litgpt at commit 8641822. NAME: records to write, all without one. They are packed
into records.tar.xz.
"""
import argparse
import pathlib
import sys
import tarfile
import tempfile
import warnings

import torch
import transformers
from torch import nn
from torch.nn import functional as F
from transformers.models.llama.modeling_llama import LlamaMLP

import onnx_mem

HERE = pathlib.Path(__file__).resolve().parent
HALF = torch.bfloat16
warnings.filterwarnings("ignore")
RECORDS = {}


def row(name):
    """Registers a function that returns model, arguments, keyword arguments."""
    def add(make):
        RECORDS[name] = make
        return make
    return add


def ids(batch, length):
    return torch.zeros(batch, length, dtype=torch.int64)


def tokens(batch, length, **more):
    return {"input_ids": ids(batch, length), "attention_mask": ids(batch, length), "labels": ids(batch, length), **more}


# Hugging Face's Trainer (optimum-benchmark: batch 2, 16 tokens, 224 x 224).

@row("bert")
def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig()), (), tokens(2, 16, token_type_ids=ids(2, 16))


@row("bert_forward")
def bert_forward():
    inputs = tokens(2, 16, token_type_ids=ids(2, 16))
    del inputs["labels"]
    return transformers.BertForMaskedLM(transformers.BertConfig()), (), inputs


@row("gpt2_today")
def gpt2_today():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)), (), tokens(2, 16)


@row("gpt2_masks")
def gpt2_masks():
    """transformers 4.4x kept the causal mask of each block as buffers."""
    model, args, kwargs = gpt2_today()
    for block in model.transformer.h:
        block.attn.register_buffer("bias", torch.empty(1, 1, 1024, 1024, dtype=torch.bool), persistent=False)
        block.attn.register_buffer("masked_bias", torch.empty(()), persistent=False)
    return model, args, kwargs


@row("vit")
def vit():
    model = transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000))
    return model, (), {"pixel_values": torch.zeros(2, 3, 224, 224), "labels": torch.zeros(2, dtype=torch.int64)}


# Liger-Kernel's benchmark of modules: the providers "huggingface" and "torch". Rows of x are the batch.

def mlp(width, hidden, act):
    config = transformers.LlamaConfig(hidden_size=width, intermediate_size=hidden, hidden_act=act)
    return LlamaMLP(config).to(HALF), (torch.zeros(8, width, dtype=HALF),), {}


for width, hidden in ((4096, 11008), (2048, 4096)):
    for short, act in (("silu", "silu"), ("gelu", "gelu_pytorch_tanh")):
        RECORDS[f"mlp_{short}_{width}"] = lambda w=width, h=hidden, a=act: mlp(w, h, a)


class Loss(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return {"loss": self.function(x, y)}


def of_rows(function, size, target):
    return Loss(function), (torch.zeros(8, size), target(8, size)), {}


def classes(n, _):
    return torch.zeros(n, dtype=torch.int64)


def kl_div(x, y):
    return F.kl_div(x.log_softmax(-1), y, reduction="batchmean")


def tvd(x, y):
    """Liger's TorchTVDLoss: its input is a distribution."""
    return (0.5 * torch.abs(x.softmax(-1) - y)).sum() / x.size(0)


for size in (4096, 8192, 16384, 32768, 65536, 131072):
    RECORDS[f"cross_entropy_{size}"] = lambda s=size: of_rows(F.cross_entropy, s, classes)
RECORDS["kl_div_16384"] = lambda: of_rows(kl_div, 16384, torch.zeros)


class WithOther(nn.Module):
    """The benchmark builds the modules of all providers: the other one's parameters lie there, without a gradient."""

    def __init__(self, module, other):
        super().__init__()
        self.module = module
        for i, parameter in enumerate(other.parameters()):
            self.register_buffer(f"other{i}", torch.empty_like(parameter))

    def forward(self, x):
        return self.module(x)


for size in (1024, 2048, 4096, 8192, 16384):
    RECORDS[f"layer_norm_{size}"] = lambda s=size: (nn.LayerNorm(s), (torch.zeros(8, s),), {})
    RECORDS[f"layer_norm_{size}_both"] = lambda s=size: (
        WithOther(nn.LayerNorm(s), nn.LayerNorm(s)), (torch.zeros(8, s),), {})
for size in (32, 64, 512, 1024, 2048):
    RECORDS[f"group_norm_{size}"] = lambda s=size: (nn.GroupNorm(s // 4, s), (torch.zeros(8, s, 512),), {})
    RECORDS[f"group_norm_{size}_both"] = lambda s=size: (
        WithOther(nn.GroupNorm(s // 4, s), nn.GroupNorm(s // 4, s)), (torch.zeros(8, s, 512),), {})


class Head(nn.Module):
    def __init__(self, both):
        super().__init__()
        self.lin = nn.Linear(4096, 128256, bias=False, dtype=HALF)
        if both:
            self.register_buffer("other", torch.empty_like(self.lin.weight))

    def forward(self, x, y):
        return {"loss": F.cross_entropy(self.lin(x), y)}


for both in (False, True):
    RECORDS["lm_head" + "_both" * both] = lambda b=both: (
        Head(b), (torch.zeros(8, 4096, dtype=HALF), torch.zeros(8, dtype=torch.int64)), {})


class RmsNorm(nn.Module):
    """LlamaRMSNorm with a weight in float32, as the benchmark has it."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        h = x.to(torch.float32)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * h.to(x.dtype)


class Given(torch.autograd.Function):
    """y.backward(dy) with dy in another type than y."""

    @staticmethod
    def forward(ctx, y, dy):
        ctx.dy = dy
        return y.new_zeros(())

    @staticmethod
    def backward(ctx, _):
        return ctx.dy.to(torch.float32), None


class RmsStep(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = RmsNorm(size)
        self.register_buffer("other", torch.empty(size))

    def forward(self, x, dy):
        y = self.norm(x)
        return {"loss": Given.apply(y, dy), "y": y}


for size in (1024, 2048, 4096, 8192, 16384, 32768):
    RECORDS[f"rms_norm_{size}"] = lambda s=size: (RmsNorm(s), (torch.zeros(8, s, dtype=HALF),), {})
    RECORDS[f"rms_norm_{size}_step"] = lambda s=size: (
        RmsStep(s), (torch.zeros(8, s, dtype=HALF), torch.zeros(8, s, dtype=HALF)), {})


# litgpt's LoRA (tutorials/resource-tables.md): the old code, its loss over chunks of 128 tokens.

class Step(nn.Module):
    """`logits` of the loop lives through backward, and Fabric hands it out in float32."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, targets):
        from lit_gpt.utils import chunked_cross_entropy
        for block in self.model.transformer.h:
            if hasattr(block.attn, "adapter_kv_cache"):
                block.attn.adapter_kv_cache = None
        logits = [part.to(torch.float32) for part in self.model(input_ids, lm_head_chunk_size=128)]
        logits[-1] = logits[-1][..., :-1, :]
        return {"loss": chunked_cross_entropy(logits, targets[..., 1:]), "logits": logits}


def litgpt(kind, name, length, dtype=HALF):
    from lit_gpt import adapter, lora
    old = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        if kind == "lora":
            config = lora.Config.from_name(name, r=8, alpha=16, dropout=0.05, to_query=True, to_value=True)
            model = lora.GPT(config)
            lora.mark_only_lora_as_trainable(model)
        else:
            model = adapter.GPT(adapter.Config.from_name(name))
            adapter.mark_only_adapter_as_trainable(model)
        model.max_seq_length = length
    finally:
        torch.set_default_dtype(old)
    return Step(model), (ids(2, length), ids(2, length)), {}


for short, name, length in (("phi", "phi-1_5", 1044), ("stablelm", "stablelm-base-alpha-3b", 1034),
                            ("llama7b", "Llama-2-7b-hf", 1304), ("llama13b", "Llama-2-13b-hf", 1304)):
    RECORDS[f"litgpt_lora_{short}"] = lambda n=name, t=length: litgpt("lora", n, t)
for short, name, length in (("stablelm", "stablelm-base-alpha-3b", 1034), ("llama7b", "Llama-2-7b-hf", 1304)):
    RECORDS[f"litgpt_adapter_{short}"] = lambda n=name, t=length: litgpt("adapter", n, t)
RECORDS["litgpt_lora_stablelm_mixed"] = lambda: litgpt("lora", "stablelm-base-alpha-3b", 1034, torch.float32)


# What one asks of the same rows who knows the models alone.

def causal(make, length):
    return make.to(HALF), (), {"input_ids": ids(2, length), "labels": ids(2, length)}


def llama(width, hidden, depth, heads):
    return causal(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=32000, hidden_size=width, intermediate_size=hidden, num_hidden_layers=depth,
        num_attention_heads=heads, use_cache=False)), 1304)


@row("phi")
def phi():
    return causal(transformers.PhiForCausalLM(transformers.PhiConfig(use_cache=False)), 1044)


@row("stablelm")
def stablelm():
    return causal(transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
        vocab_size=50688, hidden_size=4096, num_hidden_layers=16, num_attention_heads=32, intermediate_size=16384,
        max_position_embeddings=4096, use_cache=False)), 1034)


RECORDS["llama7b"] = lambda: llama(4096, 11008, 32, 32)
RECORDS["llama13b"] = lambda: llama(5120, 13824, 40, 40)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--litgpt", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.litgpt:
        sys.path.insert(0, str(options.litgpt))
    packed = HERE / "records.tar.xz"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if options.names and packed.exists():
            with tarfile.open(packed) as old:
                old.extractall(folder, filter="data")
        for name in options.names or RECORDS:
            if name.startswith("litgpt") and not options.litgpt:
                continue
            try:
                with torch.device("meta"):
                    model, args, kwargs = RECORDS[name]()
                kwargs = {k: torch.zeros(v.shape, dtype=v.dtype) for k, v in kwargs.items()}
                args = tuple(torch.zeros(v.shape, dtype=v.dtype) for v in args)
                onnx_mem.export(model, args, folder / f"{name}.eager", kwargs=kwargs or None)
                print(name, (folder / f"{name}.eager").stat().st_size, flush=True)
            except Exception as error:
                print(name, type(error).__name__, str(error)[:600], flush=True)
        with tarfile.open(packed, "w:xz") as out:
            for path in sorted(folder.iterdir()):
                out.add(path, arcname=path.name, filter=lambda info: info.replace(mtime=0, uid=0, gid=0, uname="",
                                                                                  gname="", deep=False))


if __name__ == "__main__":
    main()
