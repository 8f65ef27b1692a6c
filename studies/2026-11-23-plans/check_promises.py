"""What fit and plan promise of a recorded model, held against the model's own code.

    python studies/2026-11-23-plans/check_promises.py [NAME ...]

NAME is a model of check_models.py. Each is recorded at batch 2, in float32 and, for fit's rows in half precision, in
bfloat16 and under autocast; models of transformers without the cache, which a checkpoint switches off. Asked at batch 8.
Of a memory that is too small by three shares of the step, fit names ways
to make it fit: each row that Python can follow (batch, accumulation, optimizer, precision, frozen layers, checkpoints)
is done to the model and measured. Then the largest batch that fits, and plans of two budgets, applied.

One line per promise: model, what, bytes promised, what was measured beside it. A summary by kind at the end.
"""
from __future__ import annotations

import argparse
import copy
import json
import os
import re
import subprocess
import tempfile
import warnings

import torch

import onnx_mem
from check_models import RECORDED, chosen
from onnx_mem._checkpoint.hugging_face import without_cache

NAMES = ("regnet", "edgenext", "poolformer", "mistral", "electra", "opt", "transformers/gpt_neox", "diffusers/unet",
         "segmentation_models_pytorch/unet", "x_transformers/rotary", "vit_pytorch/vit", "monai/unet",
         "asteroid/convtasnet", "torch/encoder")
ASKED = 8
SHARES = (0.97, 0.8, 0.6)        # of the step, which the memory leaves for it
BUDGETS = (0.7, 0.4)             # of what plans can save, which the budget leaves
PRECISIONS = ("bf16", "amp-bf16")


def asked(program, *words):
    done = subprocess.run([program, *map(str, words), "--format", "json"], capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise onnx_mem.Error(answer["error"]["message"], answer["error"]["code"])
    return answer


def pairs(flags):
    """[(option, value)]; a flag without a value has None."""
    found = []
    for flag in flags:
        if flag.startswith("-"):
            found.append((flag, None))
        else:
            found[-1] = (found[-1][0], flag)
    return found


def optimizer_of(name, implementation):
    makers = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD,
              "momentum": torch.optim.SGD}
    more = {"momentum": 0.9} if name == "momentum" else {}
    on = {"foreach": {"foreach": True}, "fused": {"fused": True}, "for-loop": {"foreach": False}}[implementation]
    return lambda parameters: makers[name](parameters, lr=0.01, **more, **on)


def followed(model, flags):
    """(model, words of measure) that do what the flags say, or None where Python cannot."""
    words, segments, optimizer, implementation, model = {}, [], "adam", None, copy.deepcopy(model)
    for option, value in pairs(flags):
        if option == "-b":
            words["batch"] = int(value)
        elif option == "--accumulate":
            words["accumulate"] = int(value)
        elif option == "--optimizer":
            optimizer = value
        elif option == "--optimizer-impl":
            implementation = value
        elif option == "--dtype":
            words["precision"] = value
        elif option == "--amp":
            words["precision"] = "amp-" + value
        elif option == "--segment":
            segments.append({"modules": value.split(",")})
        elif option == "--freeze":
            for name, parameter in model.named_parameters():
                if re.search(value, name):
                    parameter.requires_grad_(False)
        else:
            return None
    if optimizer == "adam8bit" or implementation == "fused":     # neither runs without a device
        return None
    words["optimizer"] = optimizer_of(optimizer, implementation) if implementation else optimizer
    return (onnx_mem.checkpoint(model, segments) if segments else model), words


class Check:
    def __init__(self, program, name, make, folder):
        torch.manual_seed(0)
        made = make()
        self.name, self.program, self.rows = name, program, []
        self.model, args = made[:2]
        self.given = dict(args=args, kwargs=made[2] if len(made) > 2 else {},
                          batch_dim=made[3] if len(made) > 3 else 0)
        self.path = os.path.join(folder, "model.eager")
        with without_cache(self.model):
            onnx_mem.export(self.model, path=self.path, precisions=PRECISIONS, **self.given)
        first = next(t for t in [*args, *self.given["kwargs"].values()] if isinstance(t, torch.Tensor))
        self.batch = first.shape[0] * ASKED // RECORDED

    def note(self, kind, what, promised, measured):
        self.rows.append((self.name, kind, promised, measured))
        told = f"{measured:,} ({100 * (promised / measured - 1):+.3f} %)" if isinstance(measured, int) else measured
        print(f"{self.name:34} {kind:12} {what[:60]:60} {promised:>14,}  {told}", flush=True)

    def measured(self, model, **words):
        with without_cache(model):
            return onnx_mem.measure(model, **{"batch": self.batch, **self.given, **words}).peak_bytes

    def ways(self):
        run = asked(self.program, self.path, "--batch", self.batch)["runs"][0]["training"]
        seen = set()
        for share in SHARES:
            memory = run["device_bytes"] - int((1 - share) * run["peak_bytes"])
            answer = asked(self.program, "fit", self.path, "--batch", self.batch, "--gpu-memory", f"{memory}B")
            for way in answer["ways"]:
                if tuple(way["flags"]) in seen:
                    continue
                seen.add(tuple(way["flags"]))
                self.way(way)
        return answer

    def way(self, way):
        kinds = [option.lstrip("-") for option, _ in pairs(way["flags"])]
        kind = kinds[-1] if kinds[-1] != "b" else "batch"
        try:
            done = followed(self.model, way["flags"])
            if done is not None:
                self.note(kind, way["change"], way["peak_bytes"], self.measured(done[0], **done[1]))
        except Exception as error:      # what cannot be done as promised is a miss too
            self.note(kind, way["change"], way["peak_bytes"], f"{type(error).__name__}: {str(error)[:200]}")

    def largest(self, answer):
        batch = answer["largest_batch"]
        if not batch or answer.get("at_least"):
            return
        said = asked(self.program, self.path, "--batch", batch)["runs"][0]["training"]
        if said["device_bytes"] != answer["largest_batch_device_bytes"]:
            self.note("largest", f"batch {batch}: other bytes than analyze", answer["largest_batch_device_bytes"], "-")
        self.note("largest", f"batch {batch}", said["peak_bytes"], self.measured(self.model, batch=batch))

    def plans(self):
        words = dict(batch=self.batch, budget_on="live", iterations=120, time_limit=0)
        base = onnx_mem.plan(self.path, **words)
        top = base.baseline["peak_bytes"]
        for share in BUDGETS:
            budget = int(base.minimum_bytes + share * (top - base.minimum_bytes))
            plan = onnx_mem.plan(self.path, budget=f"{budget}B", **words)
            chosen_plan = plan.chosen_plan
            if not plan.fits or not chosen_plan["segments"]:
                continue
            try:
                took = self.measured(plan.apply(copy.deepcopy(self.model)))
            except Exception as error:
                took = f"{type(error).__name__}: {str(error)[:200]}"
            what = f"{len(chosen_plan['segments'])} segments, {chosen_plan['peak_bytes'] / top:.0%} of no plan"
            self.note("plan", what, chosen_plan["peak_bytes"], took)


def summary(rows):
    kinds = dict.fromkeys(kind for _, kind, _, _ in rows)
    for kind in (*kinds, None):
        of = [(p, m) for _, k, p, m in rows if kind in (k, None)]
        off = [abs(p / m - 1) if isinstance(m, int) else float("inf") for p, m in of]
        models = len({name for name, k, _, _ in rows if kind in (k, None)})
        print(f"{kind or 'all':12} {len(of)} promises on {models} models: {sum(o == 0 for o in off)} exact, "
              f"{sum(o <= 0.001 for o in off)} within 0.1 %, worst {100 * max(off):.3f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    program, rows = os.environ["ONNX_MEM_PROGRAM"], []
    for name, make in chosen(options.names or NAMES).items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                check = Check(program, name, make, folder)
                check.largest(check.ways())
                check.plans()
            except Exception as error:
                print(f"{name:34} {type(error).__name__} {str(error)[:300]}", flush=True)
            else:
                rows += check.rows
    if rows:
        summary(rows)


if __name__ == "__main__":
    main()
