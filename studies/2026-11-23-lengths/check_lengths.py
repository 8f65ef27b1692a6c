"""Records with the sequence length free, asked at batches and lengths that were not watched.

    python studies/2026-11-23-lengths/check_lengths.py [NAME ...]

Each model of transformers, small, is recorded at batch 2 and length 48 with its length free, and asked at the batches
and lengths below, of which some lie outside what was watched. Per model a line: CPU seconds of the recording, the step
between the lengths that the record holds for, and the lengths that were watched. Per question a line as in
check_models.py: the program less the model's own code, in bytes.
"""
from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings

import torch

import onnx_mem
from check_models import FIGURES, SMALL, asked, difference, summary

RECORDED = 48
ASKED = ((7, 56), (3, 88), (5, 120), (1, 200), (6, 400), (11, 77), (4, 131))     # (batch, length)
POSITIONS = dict(max_position_embeddings=512)


def ids(batch, length):
    return torch.randint(0, 100, (batch, length))


def language(model, config, **sizes):
    def make():
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(**sizes))
    return make, lambda batch, length: {"input_ids": ids(batch, length)}


def both_sides(model, config, **sizes):
    make, _ = language(model, config, **sizes)
    return make, lambda batch, length: {"input_ids": ids(batch, length), "decoder_input_ids": ids(batch, length)}


def masked(model, config, **sizes):
    make, inputs = language(model, config, **sizes)
    return make, lambda batch, length: {**inputs(batch, length),
                                        "attention_mask": torch.ones((batch, length), dtype=torch.int64)}


GPT2 = ("GPT2LMHeadModel", "GPT2Config")
T5 = ("T5ForConditionalGeneration", "T5Config")
T5_SIZES = dict(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=200)
GPT2_SIZES = dict(n_embd=64, n_layer=2, n_head=4, vocab_size=200)
LLAMA = dict(SMALL, num_key_value_heads=2, **POSITIONS)
MODELS = {
    "gpt2": language(*GPT2, **GPT2_SIZES),
    "gpt2-eager": language(*GPT2, attn_implementation="eager", **GPT2_SIZES),
    "gpt2-checkpointed": (lambda: checkpointed(language(*GPT2, **GPT2_SIZES)[0]()), language(*GPT2)[1]),
    "bert": masked("BertForMaskedLM", "BertConfig", **SMALL),
    "bert-eager": masked("BertForMaskedLM", "BertConfig", attn_implementation="eager", **SMALL),
    "llama": language("LlamaForCausalLM", "LlamaConfig", **LLAMA),
    "llama-eager": language("LlamaForCausalLM", "LlamaConfig", attn_implementation="eager", **LLAMA),
    "llama-mask": masked("LlamaForCausalLM", "LlamaConfig", **LLAMA),
    "qwen3": language("Qwen3ForCausalLM", "Qwen3Config", head_dim=16, **LLAMA),
    "t5": both_sides(*T5, **T5_SIZES),
    "t5-eager": both_sides(*T5, attn_implementation="eager", **T5_SIZES),
    "mamba": language("MambaForCausalLM", "MambaConfig", hidden_size=64, num_hidden_layers=2, vocab_size=200),
}


def checkpointed(model):
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def question(program, path, model, inputs, batch, length):
    """[(name, ours, measured)]"""
    kwargs, rows = inputs(batch, length), []
    for optimizer in ("adam", "momentum"):
        run, _ = asked(program, path, batch, optimizer, ["--dim", f"seq={length}"])
        took = onnx_mem.measure(model, (), kwargs=kwargs, optimizer=optimizer)
        rows += [(f"{optimizer} {name}", run["training"][name], getattr(took, name)) for name in FIGURES]
    took = onnx_mem.measure(model, (), kwargs=kwargs, training=False)
    return [*rows, ("inference peak_bytes", run["inference"]["peak_bytes"], took.peak_bytes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    program, results, refused = os.environ["ONNX_MEM_PROGRAM"], [], 0
    for name in options.names or MODELS:
        make, inputs = MODELS[name]
        torch.manual_seed(0)
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            path, begin = os.path.join(folder, "model.eager"), time.process_time()
            onnx_mem.export(model, (), path, kwargs=inputs(2, RECORDED), free={"seq": 1})
            free = onnx_mem.read_record(path)[0].free
            print(f"{name:20} {time.process_time() - begin:.1f} s", free or "the batch alone is free", flush=True)
            for batch, length in ASKED if free else ():
                try:
                    rows = question(program, path, model, inputs, batch, length)
                except onnx_mem.Error as error:
                    refused += 1
                    print(f"  {batch} x {length:4}", error.code, str(error).replace("\n", " ")[:200], flush=True)
                    continue
                results.append(rows)
                print(f"  {batch} x {length:4}", " ".join(difference(ours, of) for _, ours, of in rows), flush=True)
    print(f"{refused} questions refused; {summary(results)}")


if __name__ == "__main__":
    main()
