"""Records models at one batch, asks the program about another, and holds it against the model's own code.

    python studies/check_models.py [--precision P] [NAME ...]

NAME is a model of the list below ("xcit"), a package of 2026-11-23-records or 2026-11-23-second-records ("diffusers"),
or one of its models ("diffusers/vae"); without names, all of the three lists. P: f32, bf16, f16 (the model and its floating inputs), amp-bf16,
amp-f16 (forward and loss under autocast); several with commas between. The record is of the f32 model, and the program
is told --dtype or --amp; with --variants it holds the model in these precisions too.

One line per model: CPU seconds of the recording, then for Adam and momentum the differences in bytes (program less
measured) of the training peak, of that of the first step, and of what is saved for backward; then of the inference
peak, and what the program had no rule for. A summary at the end. The lists were drawn up before any of their models had
been recorded. Needs torch, torchvision, timm, transformers, and for the two others what they name.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings

import torch

import onnx_mem
from makers import listed

RECORDED, ASKED = 2, 7
SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=200)


def timm_model(name, size=64):
    def make():
        import timm
        return timm.create_model(name), (torch.randn(RECORDED, 3, size, size),)
    return make


def torchvision_model(name, size=96):
    def make():
        import torchvision
        return getattr(torchvision.models, name)(), (torch.randn(RECORDED, 3, size, size),)
    return make


def transformers_model(model, config, **sizes):
    def make():
        import transformers
        made = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        return made, (torch.randint(0, 100, (RECORDED, 32)),)
    return make


MODELS = {
    "xcit": timm_model("xcit_nano_12_p8_224"),
    "poolformer": timm_model("poolformer_s12"),
    "edgenext": timm_model("edgenext_xx_small"),
    "repvit": timm_model("repvit_m0_9"),
    "tiny_vit": timm_model("tiny_vit_5m_224", 224),
    "ghostnet": timm_model("ghostnet_100"),
    "mixnet": timm_model("mixnet_s"),
    "levit": timm_model("levit_128s", 224),
    "res2net": timm_model("res2net50_26w_4s"),
    "skresnet": timm_model("skresnet18"),
    "hrnet": timm_model("hrnet_w18_small"),
    "lcnet": timm_model("lcnet_050"),
    "cait": timm_model("cait_xxs24_224", 224),
    "inception_v4": timm_model("inception_v4", 128),
    "resnest": timm_model("resnest14d"),
    "regnet": torchvision_model("regnet_y_400mf"),
    "shufflenet": torchvision_model("shufflenet_v2_x0_5"),
    "squeezenet": torchvision_model("squeezenet1_1"),
    "mnasnet": torchvision_model("mnasnet0_5"),
    "maxvit": torchvision_model("maxvit_t", 224),
    "googlenet": torchvision_model("googlenet"),
    "albert": transformers_model("AlbertModel", "AlbertConfig", embedding_size=32, **SMALL),
    "electra": transformers_model("ElectraForSequenceClassification", "ElectraConfig", **SMALL),
    "opt": transformers_model("OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2,
                              num_attention_heads=4, ffn_dim=128, vocab_size=200, word_embed_proj_dim=64,
                              max_position_embeddings=64),
    "bloom": transformers_model("BloomForCausalLM", "BloomConfig", hidden_size=64, n_layer=2, n_head=4,
                                vocab_size=200),
    "mistral": transformers_model("MistralForCausalLM", "MistralConfig", num_key_value_heads=2, **SMALL),
    "gemma2": transformers_model("Gemma2ForCausalLM", "Gemma2Config", num_key_value_heads=2, head_dim=16, **SMALL),
    "deberta": transformers_model("DebertaV2ForSequenceClassification", "DebertaV2Config", **SMALL),
    "mpnet": transformers_model("MPNetModel", "MPNetConfig", **SMALL),
    "phi": transformers_model("PhiForCausalLM", "PhiConfig", **SMALL),
}

PRECISIONS = {"f32": None, "bf16": "bf16", "f16": "fp16", "amp-bf16": "amp-bf16", "amp-f16": "amp-fp16"}
FIGURES = ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes")


def asked(program, path, batch, optimizer, options):
    words = [program, path, "--batch", str(batch), "--optimizer", optimizer, "--format", "json", *options]
    report = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    if "error" in report:
        raise onnx_mem.Error(report["error"]["message"], report["error"]["code"])
    run = report["runs"][0]
    told = [d for d in report.get("diagnostics", []) + run.get("diagnostics", []) if d.get("code") == "assumed-op"]
    return run, " ".join(str(x) for d in told for x in d.get("details", []) if str(x).startswith("what:"))


def check(program, make, precisions, variants, folder):
    """CPU seconds of recording, and per precision ([(name, ours, measured)], what was assumed) or the exception."""
    torch.manual_seed(0)
    made = make()
    model, args = made[:2]
    kwargs, batch_dim = made[2] if len(made) > 2 else {}, made[3] if len(made) > 3 else 0
    first = next(t for t in [*args, *kwargs.values()] if isinstance(t, torch.Tensor))
    batch = first.shape[0] * ASKED // RECORDED
    path = os.path.join(folder, "model.eager")
    begin = time.process_time()
    recorded = [PRECISIONS[p] for p in precisions if p != "f32"] if variants else ()
    onnx_mem.export(model, args, path, kwargs=kwargs, batch_dim=batch_dim, precisions=recorded)
    seconds, found = time.process_time() - begin, {}
    for precision in precisions:
        try:
            given = dict(args=args, kwargs=kwargs, batch=batch, batch_dim=batch_dim, precision=PRECISIONS[precision])
            found[precision] = compared(program, path, model, given)
        except Exception as error:  # a model that does not run in this precision is a result too
            found[precision] = error
    return seconds, found


def compared(program, path, model, given):
    """[(name, ours, measured)], what was assumed."""
    batch, precision = given["batch"], given["precision"]
    options = [] if precision is None else ["--amp" if "amp-" in precision else "--dtype", precision.split("-")[-1]]
    rows = []
    for optimizer in ("adam", "momentum"):
        run, assumed = asked(program, path, batch, optimizer, options)
        measured = onnx_mem.measure(model, optimizer=optimizer, **given)
        rows += [(f"{optimizer} {name}", run["training"][name], getattr(measured, name)) for name in FIGURES]
    measured = onnx_mem.measure(model, training=False, **given)
    rows.append(("inference peak_bytes", run["inference"]["peak_bytes"], measured.peak_bytes))
    return rows, assumed


def difference(ours, measured):
    return "0" if ours == measured else f"{ours - measured:+d} ({100 * (ours / max(measured, 1) - 1):+.3f} %)"


def summary(results):
    """What share of the figures and of the models is how close."""
    if not results:
        return "nothing was recorded"
    worst = sorted(max(abs(ours - measured) / max(measured, 1) for _, ours, measured in rows) for rows in results)
    n = len(worst)
    parts = [f"{sum(w <= limit for w in worst)} of {n} within {100 * limit:g} % in everything"
             for limit in (0.0, 0.001, 0.005, 0.02)]
    return f"{'; '.join(parts)}; median {100 * worst[n // 2]:.4f} %, worst {100 * worst[-1]:.3f} %"


def chosen(names):
    every = dict(MODELS)
    for study in ("2026-11-23-records", "2026-11-23-second-records"):
        every.update({f"{package}/{name}": make for package, models in listed(study).items()
                      for name, make in models.items()})
    if not names:
        return every
    return {key: make for key, make in every.items() if key in names or key.split("/")[0] in names and "/" in key}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--precision", default="f32", help="one, or several with commas between")
    parser.add_argument("--variants", action="store_true", help="record the model in these precisions as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    program = os.environ["ONNX_MEM_PROGRAM"]
    precisions = options.precision.split(",")
    results, refused = {p: [] for p in precisions}, {p: 0 for p in precisions}
    for name, make in chosen(options.names).items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                seconds, found = check(program, make, precisions, options.variants, folder)
            except Exception as error:  # a model that cannot be recorded is a result too
                seconds, found = 0.0, {p: error for p in precisions}
        for precision, result in found.items():
            label = name if precisions == ["f32"] else f"{name} {precision}"
            if isinstance(result, Exception):
                refused[precision] += 1
                print(f"{label:36}", type(result).__name__, str(result).replace("\n", " ")[:300], flush=True)
                continue
            rows, assumed = result
            results[precision].append([row for row in rows if row[2] is not None])
            print(f"{label:36}", f"{seconds:.1f} s |", " ".join(difference(ours, of) for _, ours, of in rows), assumed,
                  flush=True)
    for precision in precisions:
        print(f"{precision}: {refused[precision]} without a record or a measurement; {summary(results[precision])}")


if __name__ == "__main__":
    main()
