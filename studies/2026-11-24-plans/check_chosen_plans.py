#!/usr/bin/env python3
"""Can every chosen plan be applied, and does it take what it promises?  All stock classifiers of torchvision as they
come, and architectures of timm and transformers, at five budgets each.

    check_chosen_plans.py [NAME ...] [--source record|torchscript] [--set torchvision|others] [--json FILE]

Each model is exported, planned for 90, 70, 50, 30 and 10 % of the way from the least that a plan takes to the step
without one, and measured with the plan on it (onnx_mem.measure(plan=...)): storages of the model's own code on tensors
without data. A plan is right if it is not refused and its peak is within 0.1 % of the promise. With --source
torchscript the file is that of torch.onnx.export(dynamo=False) and has no record, so the promise is an estimate: there
only refusals count. Exit 1 where a plan is not right.
"""
import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
import warnings

import torch

import onnx_mem

BATCH = 4
SHARES = (0.9, 0.7, 0.5, 0.3, 0.1)
PEAK_WITHIN = 1e-3


def images(size=224):
    return (torch.zeros(BATCH, 3, size, size),), {}


def words(length=64, **more):
    return (), {"input_ids": torch.ones(BATCH, length, dtype=torch.long),
                **{k: torch.ones(BATCH, n, dtype=torch.long) for k, n in more.items()}}


def torchvision_models():
    import torchvision
    sizes = {"inception_v3": 299}
    return {name: ((lambda name=name: torchvision.models.get_model(name)), images(sizes.get(name, 224)))
            for name in torchvision.models.list_models(module=torchvision.models)}


TIMM = ["convnext_tiny", "deit_small_patch16_224", "efficientnet_b0", "mixer_s16_224", "mobilevit_s", "regnety_008",
        "resnet50d", "xcit_nano_12_p16_224"]
HIDDEN = {"num_hidden_layers": 6, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
TRANSFORMERS = {
    "bert": ("BertForSequenceClassification", "BertConfig", HIDDEN, words()),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 6, "n_embd": 256, "n_head": 4}, words()),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**HIDDEN, "vocab_size": 4000}, words()),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", {**HIDDEN, "num_key_value_heads": 2, "vocab_size": 4000}, words()),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", HIDDEN, words()),
    "t5": ("T5ForConditionalGeneration", "T5Config", {"num_layers": 4, "d_model": 256, "d_ff": 1024, "num_heads": 4},
           words(decoder_input_ids=32)),
    "vit": ("ViTForImageClassification", "ViTConfig", HIDDEN, ((torch.zeros(BATCH, 3, 224, 224),), {})),
}


def other_models():
    import timm
    import transformers

    def hf(name, config, options):
        return lambda: getattr(transformers, name)(getattr(transformers, config)(use_cache=False, **options))
    models = {f"timm {name}": ((lambda name=name: timm.create_model(name)), images()) for name in TIMM}
    models.update({f"transformers {name}": (hf(cls, config, options), inputs)
                   for name, (cls, config, options, inputs) in TRANSFORMERS.items()})
    return models


def exported(model, inputs, source, folder):
    if source == "record":
        return onnx_mem.export(model, inputs[0], folder / "model.eager", kwargs=inputs[1])
    path = folder / "model.onnx"
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(model, inputs[0], path, kwargs=inputs[1], dynamo=False, opset_version=17,
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    return path


def made(build, source):
    """Without data where the model can be made so."""
    if source == "record":
        with contextlib.suppress(NotImplementedError), torch.device("meta"):
            return build().train()
    return build().train()


def check_budget(model, inputs, path, budget, row, source):
    """Fills `row`; its "wrong" is None for a plan that is right."""
    plan = onnx_mem.plan(path, batch=BATCH, budget=f"{budget}B")
    if not plan.fits:
        return "no plan"
    chosen = plan.chosen_plan
    row.update(segments=len(chosen["segments"]), promised=chosen["peak_bytes"], settings=plan.settings)
    try:
        measured = onnx_mem.measure(model, inputs[0], kwargs=inputs[1], plan=plan)
    except onnx_mem.Error as e:
        return f"{e.code}: {e}"
    row["measured"] = measured.peak_bytes
    off = measured.peak_bytes / chosen["peak_bytes"] - 1
    return f"peak {off:+.2%}" if source == "record" and abs(off) > PEAK_WITHIN else None


def check(name, build, inputs, source):
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        model = made(build, source)
        path = exported(model, inputs, source, pathlib.Path(folder))
        base = onnx_mem.plan(path, batch=BATCH)
        least, top = min(p["device_bytes"] for p in base.plans), base.baseline["device_bytes"]
        rows = []
        for share in SHARES:
            row = {"model": name, "share": share, "budget": int(least + share * (top - least))}
            row["wrong"] = check_budget(model, inputs, path, row["budget"], row, source)
            rows.append(row)
    wrong = [f"at {row['share']:.0%}: {row['wrong']}" for row in rows if row["wrong"]]
    off = max((abs(r["measured"] / r["promised"] - 1) for r in rows if r.get("measured")), default=0)
    print(f"{name:30} {len(rows) - len(wrong)} of {len(rows)}, peak off by {off:.4%} at most, "
          f"{time.monotonic() - began:.0f} s  {'; '.join(wrong)[:400]}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--source", default="record", choices=("record", "torchscript"))
    parser.add_argument("--set", choices=("torchvision", "others"), help="default: both")
    parser.add_argument("--json", help="a file for the figures")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    models = {} if args.set == "others" else torchvision_models()
    if args.set != "torchvision":
        models.update(other_models())
    rows = []
    for name in args.names or models:
        try:
            rows += check(name, *models[name], args.source)
        except Exception as e:    # a crash is a finding, and other models follow
            rows.append({"model": name, "wrong": f"{type(e).__name__}: {e}"})
            print(f"{name:30} {type(e).__name__}: {str(e)[:300]}", flush=True)
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1))
    bad = [row for row in rows if row["wrong"]]
    print(f"{len(rows) - len(bad)} of {len(rows)} plans are applied and take what they promise, "
          f"{len({row['model'] for row in rows})} models")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
