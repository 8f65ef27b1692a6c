"""Models with adapters of PEFT: recorded as they stand, and as --lora asks of the base's record.

    python studies/2026-11-23-adapters/check_lora.py [--precision f32,bf16] [NAME ...]

Needs peft and transformers. Each model is made at batch 2 and asked at batch 7 with Adam. Per model and precision two
lines: what the program says less what PEFT's model takes, of the training peak, the first step's, what is saved, and
the inference peak.
"""
from __future__ import annotations

import argparse
import os
import tempfile
import warnings

import torch

import onnx_mem
from check_models import FIGURES, PRECISIONS, SMALL, asked, difference

RECORDED, ASKED = 2, 7
RANK, DROPOUT = 4, 0.1


def language(model, config, **sizes):
    def make():
        import transformers
        return getattr(transformers, model)(getattr(transformers, config)(**sizes)), (torch.randint(0, 100, (2, 32)),)
    return make


def pictures():
    import transformers
    config = transformers.ViTConfig(image_size=32, patch_size=8, hidden_size=64, num_hidden_layers=2,
                                    num_attention_heads=4, intermediate_size=128)
    return transformers.ViTForImageClassification(config), (torch.randn(2, 3, 32, 32),)


# What makes the base; the layers that get adapters.
MODELS = {
    "mistral": (language("MistralForCausalLM", "MistralConfig", num_key_value_heads=2, **SMALL), ["q_proj", "v_proj"]),
    "qwen3": (language("Qwen3ForCausalLM", "Qwen3Config", num_key_value_heads=2, head_dim=16, **SMALL),
              ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
    "opt": (language("OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                     ffn_dim=128, vocab_size=200, word_embed_proj_dim=64, max_position_embeddings=64),
            ["q_proj", "v_proj", "fc1"]),
    "gpt_neox": (language("GPTNeoXForCausalLM", "GPTNeoXConfig", **SMALL), ["query_key_value", "dense_h_to_4h"]),
    "electra": (language("ElectraForSequenceClassification", "ElectraConfig", **SMALL), ["query", "value"]),
    "distilbert": (language("DistilBertForSequenceClassification", "DistilBertConfig", dim=64, n_layers=2, n_heads=4,
                            hidden_dim=128, vocab_size=200), ["q_lin", "v_lin"]),
    "vit": (pictures, ["q_proj", "v_proj"]),
}


def compared(program, path, model, args, precision, options):
    words = [] if precision is None else ["--amp" if "amp-" in precision else "--dtype", precision.split("-")[-1]]
    run, _ = asked(program, path, ASKED, "adam", [*words, *options])
    took = onnx_mem.measure(model, args, batch=ASKED, precision=precision)
    rows = [(run["training"][name], getattr(took, name)) for name in FIGURES]
    took = onnx_mem.measure(model, args, batch=ASKED, precision=precision, training=False)
    return [*rows, (run["inference"]["peak_bytes"], took.peak_bytes)]


def check(program, name, precision, folder):
    import peft
    make, targets = MODELS[name]
    torch.manual_seed(0)
    base, args = make()
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
    base = base.to(dtype)
    args = tuple(t.to(dtype) if t.is_floating_point() else t for t in args)
    # What is converted already is measured as it stands: adapters stay in float32.
    asked_of = precision if precision and precision.startswith("amp-") else None
    bare, adapted = os.path.join(folder, "base.eager"), os.path.join(folder, "adapted.eager")
    recorded = [asked_of] if asked_of else ()
    onnx_mem.export(base, args, bare, precisions=recorded)
    model = peft.get_peft_model(base, peft.LoraConfig(r=RANK, target_modules=targets, lora_dropout=DROPOUT))
    onnx_mem.export(model, args, adapted, precisions=recorded)
    lora = ["--lora", f"{RANK},{DROPOUT}:" + "|".join(rf"\.{t}\." for t in targets)]
    for what, path, options in (("as it stands", adapted, []), ("--lora", bare, lora)):
        rows = compared(program, path, model, args, asked_of, options)
        print(f"{name:12} {precision or 'f32':9} {what:13}", " ".join(difference(*row) for row in rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--precision", default="f32,bf16")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names or MODELS:
        for precision in options.precision.split(","):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    check(os.environ["ONNX_MEM_PROGRAM"], name, PRECISIONS[precision], folder)
                except Exception as error:
                    print(f"{name:12} {precision:9}", type(error).__name__, str(error).replace("\n", " ")[:300])


if __name__ == "__main__":
    main()
