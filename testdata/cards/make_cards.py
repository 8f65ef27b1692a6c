#!/usr/bin/env python3
"""Writes the records of testdata/cards: what the programs ran whose figures scripts/real_cards compares.

usage: make_cards.py [--litgpt FOLDER] [NAME ...]     (needs torch, transformers and onnx_mem; no GPU, no weights)

FOLDER has lit_gpt of Lightning-AI/litgpt at commit 0cc02afa, which brought the table of figures. NAME: records to
write, all without one. They are packed into records.tar.xz.
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


PRECISIONS = {}  # of records that are asked in others than their own


def row(name, *precisions):
    """Registers a function that returns model, arguments, keyword arguments."""
    def add(make):
        RECORDS[name] = make
        PRECISIONS[name] = precisions
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


# Liger-Kernel's benchmark of modules: the providers "huggingface" and "torch". One x serves all iterations, so that its
# gradient is there as those of parameters are.

class Own(nn.Module):
    """`module` on an x of its own; `tick` has no bytes. `beside`: what other providers or iterations left there."""

    def __init__(self, module, shape, dtype=torch.float32, beside=()):
        super().__init__()
        self.module, self.x = module, nn.Parameter(torch.zeros(shape, dtype=dtype))
        for i, tensor in enumerate(beside):
            self.register_buffer(f"beside{i}", tensor)

    def forward(self, tick, *targets):
        return self.module(self.x, *targets)


def own(name, module, shape, dtype=torch.float32, targets=(), beside=()):
    RECORDS[name] = lambda: (Own(module(), shape, dtype, [t() for t in beside]),
                             (torch.zeros(1, 0), *(t() for t in targets)), {})


def mlp(width, hidden, act):
    config = transformers.LlamaConfig(hidden_size=width, intermediate_size=hidden, hidden_act=act)
    return LlamaMLP(config).to(HALF)


def empty(*shape, dtype=torch.float32):
    return lambda: torch.empty(shape, dtype=dtype)


ACTS = {"silu": "silu", "gelu": "gelu_pytorch_tanh"}
WORKSPACE = empty(8519680, dtype=torch.uint8)
for width, hidden, short, rows in ((4096, 11008, "silu", (4096, 8192, 16384, 32768)),
                                   (4096, 11008, "gelu", (8192, 16384, 32768, 65536)),
                                   (2048, 4096, "silu", (2048, 8192, 16384, 32768)),
                                   (2048, 4096, "gelu", (2048, 4096, 8192, 16384))):
    for n in rows:
        make = lambda w=width, h=hidden, a=ACTS[short]: mlp(w, h, a)  # noqa: E731
        own(f"mlp_{short}_{width}_{n}", make, (n, width), HALF)
        own(f"mlp_{short}_{width}_{n}_after", make, (n, width), HALF, beside=[WORKSPACE])


class Loss(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return {"loss": self.function(x, y)}


def kl_div(x, y):
    return F.kl_div(x.log_softmax(-1), y, reduction="batchmean")


for size in (4096, 8192, 16384, 32768, 65536, 131072):
    own(f"cross_entropy_{size}", lambda: Loss(F.cross_entropy), (16384, size),
        targets=[empty(16384, dtype=torch.int64)])
own("kl_div_16384", lambda: Loss(kl_div), (16384, 16384), targets=[empty(16384, 16384)])
for size in (1024, 2048, 4096, 8192, 16384):
    own(f"layer_norm_{size}", lambda s=size: nn.LayerNorm(s), (4096, size))
    own(f"layer_norm_{size}_both", lambda s=size: nn.LayerNorm(s), (4096, size), beside=[empty(size)] * 2)
for size in (32, 64, 512, 1024, 2048):
    own(f"group_norm_{size}", lambda s=size: nn.GroupNorm(s // 4, s), (128, size, 512))
    own(f"group_norm_{size}_both", lambda s=size: nn.GroupNorm(s // 4, s), (128, size, 512), beside=[empty(size)] * 2)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4096, 128256, bias=False, dtype=HALF)

    def forward(self, x, y):
        return {"loss": F.cross_entropy(self.lin(x), y)}


for rows in (4096, 8192, 16384, 32768):
    for both in ([], [empty(128256, 4096, dtype=HALF)]):
        own(f"lm_head_{rows}" + "_both" * len(both), Head, (rows, 4096), HALF,
            targets=[empty(rows, dtype=torch.int64)], beside=both)


class RmsNorm(nn.Module):
    """LlamaRMSNorm with a weight in float32, as the benchmark has it."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


for size in (1024, 2048, 4096, 8192, 16384, 32768):
    own(f"rms_norm_{size}", lambda s=size: RmsNorm(s), (2048, size), HALF)
    own(f"rms_norm_{size}_both", lambda s=size: RmsNorm(s), (2048, size), HALF,
        beside=[empty(size), empty(2048, size, dtype=HALF)])


@row("llama_3b")
def llama_3b():
    """Llama 3.2 3B at the limit of the lengths of PEFT's comparison."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=128256, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24,
        num_key_value_heads=8, head_dim=128, max_position_embeddings=131072, rope_theta=500000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=True))
    return model.to(HALF), (), tokens(4, 768)


# litgpt's LoRA (tutorials/resource-tables.md): the old code, its loss over chunks of 128 tokens.

class Chunks(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        for block in self.model.transformer.h:
            if hasattr(block.attn, "adapter_kv_cache"):
                block.attn.adapter_kv_cache = None
        return self.model(input_ids, lm_head_chunk_size=128)


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


def litgpt(kind, name, length, dtype=HALF, asked=False):
    """`asked`: the model alone, which hands its logits out in chunks, as the loop calls it."""
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
    if asked:
        return Chunks(model), (ids(2, length),), {}
    return Step(model), (ids(2, length), ids(2, length)), {}


for short, name, length in (("phi", "phi-1_5", 1044), ("stablelm", "stablelm-base-alpha-3b", 1034),
                            ("llama7b", "Llama-2-7b-hf", 1304), ("llama13b", "Llama-2-13b-hf", 1304)):
    RECORDS[f"litgpt_lora_{short}"] = lambda n=name, t=length: litgpt("lora", n, t)
    RECORDS[f"litgpt_lora_{short}_asked"] = lambda n=name, t=length: litgpt("lora", n, t, asked=True)
for short, name, length in (("stablelm", "stablelm-base-alpha-3b", 1034), ("llama7b", "Llama-2-7b-hf", 1304)):
    RECORDS[f"litgpt_adapter_{short}"] = lambda n=name, t=length: litgpt("adapter", n, t)
    RECORDS[f"litgpt_adapter_{short}_asked"] = lambda n=name, t=length: litgpt("adapter", n, t, asked=True)
for asked in (False, True):
    RECORDS["litgpt_lora_stablelm_mixed" + "_asked" * asked] = lambda a=asked: litgpt(
        "lora", "stablelm-base-alpha-3b", 1034, torch.float32, a)


@row("llama_8b", "bf16")
def llama_8b():
    """Llama 3.1 8B, by its published configuration, as torchtitan trained it."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=131072, rope_theta=500000.0, use_cache=False)
    return transformers.LlamaForCausalLM(config), (), {"input_ids": ids(2, 8192)}


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
                onnx_mem.export(model, args, folder / f"{name}.eager", kwargs=kwargs or None,
                                precisions=PRECISIONS.get(name, ()))
                print(name, (folder / f"{name}.eager").stat().st_size, flush=True)
            except Exception as error:
                print(name, type(error).__name__, str(error)[:600], flush=True)
        with tarfile.open(packed, "w:xz") as out:
            for path in sorted(folder.iterdir()):
                out.add(path, arcname=path.name, filter=lambda info: info.replace(mtime=0, uid=0, gid=0, uname="",
                                                                                  gname="", deep=False))


if __name__ == "__main__":
    main()
