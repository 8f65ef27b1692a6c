"""QLoRA of a model of 7 billion parameters, asked in three ways.

    python studies/2026-11-23-adapters/check_seven_billion.py [LAYERS=32]

Needs bitsandbytes, peft and transformers; no GPU, no weights: everything is on the meta device. The model has Llama 2
7B's sizes in bfloat16, 512 tokens, PEFT's adapters of rank 8 at q_proj and v_proj with dropout, AdamW. Asked: `measure`
and a record of the model with bitsandbytes' layers, and --lora with --base-bits of the record of the plain model.
"""
from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

import bitsandbytes
import peft
import torch
import transformers
from torch import nn

import onnx_mem

ADAPTED = ("q_proj", "v_proj")


class Logits(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids).logits


def plain(layers: int) -> nn.Module:
    config = transformers.LlamaConfig(hidden_size=4096, intermediate_size=11008, num_hidden_layers=layers,
                                      num_attention_heads=32, vocab_size=32000, use_cache=False)
    with torch.device("meta"):
        return transformers.LlamaForCausalLM(config).to(torch.bfloat16)


def packed(layers: int, bits: str) -> nn.Module:
    """As transformers loads it with a BitsAndBytesConfig: every linear layer but the head."""
    model = plain(layers)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name != "lm_head":
                with torch.device("meta"):
                    layer = bitsandbytes.nn.Linear4bit(child.in_features, child.out_features, False, torch.bfloat16,
                                                       bits == "4-double", "nf4")
                setattr(module, name, layer.to(torch.bfloat16).requires_grad_(False))
    return peft.get_peft_model(model, peft.LoraConfig(r=8, lora_dropout=0.05, target_modules=list(ADAPTED)))


def main() -> None:
    logging.disable(logging.WARNING)
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else 32
    ids = torch.zeros(1, 512, dtype=torch.long)
    for bits in ("4", "4-double"):
        model = Logits(packed(layers, bits))
        ways: dict[str, Callable[[], object]] = {
            "measure": lambda: onnx_mem.measure(model, ids, loss="mean", optimizer="adamw"),  # noqa: B023
            "record": lambda: onnx_mem.analyze(model, ids, loss="mean", optimizer="adamw", batch=1).training,  # noqa: B023
            "flags": lambda: onnx_mem.analyze(Logits(plain(layers)), ids, loss="mean", optimizer="adamw", batch=1,
                                              lora=f"8,0.05:{'|'.join(ADAPTED)}", base_bits=bits).training}  # noqa: B023
        for way, ask in ways.items():
            started = time.monotonic()
            answer = ask()
            print(f"{bits:9}{way:9}{answer.peak_bytes:16,}{answer.first_step_peak_bytes:16,}"
                  f"{time.monotonic() - started:8.1f} s", flush=True)


if __name__ == "__main__":
    main()
