#!/usr/bin/env python3
"""Writes the records of testdata/cards: what the programs ran whose figures scripts/real_cards compares.

usage: make_cards.py [--litgpt FOLDER] [--liger FOLDER] [NAME ...]

Needs torch, transformers and onnx_mem (with --liger triton too), no GPU and no weights. litgpt: has lit_gpt of
Lightning-AI/litgpt at commit 0cc02afa, which brought the table of figures. liger: has linkedin/Liger-Kernel at commit
90fb5e4a, which brought those of the heads. NAME: records to write, all without one. They are packed into
records.tar.xz.
"""
import argparse
import pathlib
import sys
import tarfile
import tempfile
import warnings

import torch
import transformers
from liger import MODULES, liger_steps
from torch import nn

import onnx_mem

HERE = pathlib.Path(__file__).resolve().parent
HALF = torch.bfloat16
warnings.filterwarnings("ignore")
RECORDS = dict(MODULES)
PRECISIONS = {}  # of records that are asked in others than their own
FREE = {}  # of records whose length can be another


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


# optimum-benchmark (tests/test_api.py): training by Hugging Face's Trainer with batch 2 of 16 tokens or 224 x 224,
# forward with batch 1 of 2 tokens and all inputs that its generator makes.

@row("bert")
def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig()), (), tokens(2, 16, token_type_ids=ids(2, 16))


@row("bert_forward")
def bert_forward():
    inputs = tokens(1, 2, token_type_ids=ids(1, 2), position_ids=ids(1, 2))
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


@row("llama_3b")
def llama_3b():
    """Llama 3.2 3B at the limit of the lengths of PEFT's comparison, or below."""
    FREE["llama_3b"] = {"seq": 1}
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
        return self.loss(input_ids, targets)

    def loss(self, input_ids, targets):
        from lit_gpt.utils import chunked_cross_entropy
        logits = [part.to(torch.float32) for part in self.model(input_ids, lm_head_chunk_size=128)]
        logits[-1] = logits[-1][..., :-1, :]
        return {"loss": chunked_cross_entropy(logits, targets[..., 1:]), "logits": logits}


class AdapterStep(Step):
    """finetune/adapter.py runs validate() first, under no_grad. There each block keeps the keys and values of its
    prompt (lit_gpt/adapter.py, adapter_kv_cache), and training takes these: they have no history, and adapter_wte gets
    no gradient."""

    def __init__(self, model):
        super().__init__(model)
        config = model.config
        for block in self.prompted():
            for name in ("prompt_keys", "prompt_values"):
                kept = torch.zeros(1, config.n_head, config.adapter_prompt_length, config.head_size)
                block.attn.register_buffer(name, kept, persistent=False)

    def prompted(self):
        return [block for block in self.model.transformer.h if hasattr(block.attn, "adapter_kv_cache")]

    def forward(self, input_ids, targets):
        for block in self.prompted():
            block.attn.adapter_kv_cache = block.attn.prompt_keys, block.attn.prompt_values
        return self.loss(input_ids, targets)


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
        step = Chunks if asked else Step if kind == "lora" else AdapterStep
        made = step(model)
    finally:
        torch.set_default_dtype(old)
    return made, (ids(2, length),) * (1 if asked else 2), {}


for short, name, length in (("phi", "phi-1_5", 1044), ("stablelm", "stablelm-base-alpha-3b", 1034),
                            ("llama7b", "Llama-2-7b-hf", 1304), ("llama13b", "Llama-2-13b-hf", 1304)):
    RECORDS[f"litgpt_lora_{short}"] = lambda n=name, t=length: litgpt("lora", n, t)
    RECORDS[f"litgpt_lora_{short}_asked"] = lambda n=name, t=length: litgpt("lora", n, t, asked=True)
for short, name, length in (("stablelm", "stablelm-base-alpha-3b", 1034), ("llama7b", "Llama-2-7b-hf", 1304)):
    RECORDS[f"litgpt_adapter_{short}"] = lambda n=name, t=length: litgpt("adapter", n, t)
    RECORDS[f"litgpt_adapter_{short}_asked"] = lambda n=name, t=length: litgpt("adapter", n, t, asked=True)
for asked in (False, True):  # whose casts to float32 do nothing but under autocast
    name = "litgpt_lora_stablelm_mixed" + "_asked" * asked
    RECORDS[name] = lambda a=asked: litgpt("lora", "stablelm-base-alpha-3b", 1034, torch.float32, a)
    PRECISIONS[name] = ("amp-bf16",)


@row("llama_8b", "bf16")
def llama_8b():
    """Llama 3.1 8B, by its published configuration, as torchtitan trained it."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=131072, rope_theta=500000.0, use_cache=False)
    return transformers.LlamaForCausalLM(config), (), {"input_ids": ids(2, 8192)}


def write(name, path):
    with torch.device("meta"):
        model, args, kwargs = RECORDS[name]()
    kwargs = {k: torch.zeros(v.shape, dtype=v.dtype) for k, v in kwargs.items()}
    args = tuple(torch.zeros(v.shape, dtype=v.dtype) for v in args)
    onnx_mem.export(model, args, path, kwargs=kwargs or None, precisions=PRECISIONS.get(name, ()), free=FREE.get(name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--litgpt", type=pathlib.Path)
    parser.add_argument("--liger", type=pathlib.Path)
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
        steps = liger_steps(options.liger) if options.liger else {}
        for name in options.names or [*RECORDS, *steps]:
            if name.startswith("litgpt") and not options.litgpt:
                continue
            path = folder / f"{name}.eager"
            try:
                if name in steps:
                    onnx_mem.export(step=steps[name](), path=path)
                else:
                    write(name, path)
                print(name, path.stat().st_size, flush=True)
            except Exception as error:
                print(name, type(error).__name__, str(error)[:600], flush=True)
        with tarfile.open(packed, "w:xz") as out:
            for path in sorted(folder.iterdir()):
                out.add(path, arcname=path.name, filter=lambda info: info.replace(mtime=0, uid=0, gid=0, uname="",
                                                                                  gname="", deep=False))


if __name__ == "__main__":
    main()
