"""Exports models in the ways that users do and measures them: a set that scripts/blind_accuracy.py scores.

    python studies/2026-11-23-exports/draw_truth.py LIST.py ROOT [MODEL ...]

LIST.py defines MODELS, by name a function that returns (module, inputs). Draw the list before any of its models is
scored. ROOT gets models/ (exports in training and in evaluation mode by both exporters, the batch dynamic where they
can) and truth.json (the format of testdata/blind). A form that does not export, and a model that does not run on
tensors without data, is noted under "failures". Needs torch and onnx.
"""
from __future__ import annotations

import json
import pathlib
import runpy
import sys
import warnings

import torch

import onnx_mem

BATCHES = (2, 8)  # of which the last is the example's
OPSET = 18
LOSS = {"cross-entropy": "ce", "mean": "mean"}


def export(model, args, mode, exporter, path):
    """True if the batch is dynamic in the file."""
    model.train(mode == "train")
    for dynamic in (True, False):
        try:
            if exporter == "dynamo":
                shapes = tuple({0: torch.export.Dim.DYNAMIC} for _ in args) if dynamic else None
                torch.onnx.export(model, args, path, dynamo=True, opset_version=OPSET, dynamic_shapes=shapes,
                                  external_data=False, verbose=False)
            else:
                names = [f"input_{i}" for i in range(len(args))]
                training = mode == "train"
                modes = torch.onnx.TrainingMode
                torch.onnx.export(model, args, path, dynamo=False, opset_version=OPSET, input_names=names,
                                  dynamic_axes={name: {0: "batch"} for name in names} if dynamic else None,
                                  training=modes.TRAINING if training else modes.EVAL,
                                  do_constant_folding=not training)
            return dynamic
        except Exception:
            if not dynamic:
                raise
    return False


def measured(model, args, batch):
    step = onnx_mem.measure(model, args, batch=batch, optimizer="momentum")
    inference = onnx_mem.measure(model, args, batch=batch, training=False)
    return {"batch": batch, "loss": LOSS[step.loss], "attention": None,
            "inference": {"peak": inference.peak_bytes, "op": inference.peak_operator},
            "train": {"sgd_momentum": {"step1": {"peak": step.first_step_peak_bytes},
                                       "step2": {"peak": step.peak_bytes, "phase": step.peak_phase,
                                                 "op": step.peak_operator}}}}


def draw(name, make, root):
    entry = {"files": [], "failures": {}, "measurements": []}
    fixed = False
    for mode in ("train", "eval"):
        for exporter in ("ts", "dynamo"):
            torch.manual_seed(0)
            model, args = make()
            file = f"models/{name}.{mode}.{exporter}.onnx"
            try:
                fixed |= not export(model, args, mode, exporter, str(root / file))
                entry["files"].append({"file": file, "mode": mode, "exporter": exporter, "constant_folding": True})
            except Exception as error:
                entry["failures"][f"{mode}.{exporter}"] = f"{type(error).__name__}: {error}"[:200]
    model, args = make()
    entry["params"] = sum(p.numel() for p in model.parameters())
    entry["measurements"] = [measured(model, args, batch) for batch in (BATCHES[-1:] if fixed else BATCHES)]
    return entry


def main():
    warnings.simplefilter("ignore")
    models = runpy.run_path(sys.argv[1])["MODELS"]
    root = pathlib.Path(sys.argv[2])
    (root / "models").mkdir(parents=True, exist_ok=True)
    path = root / "truth.json"
    truth = json.loads(path.read_text()) if path.exists() else {"models": {}}
    for name in sys.argv[3:] or models:
        try:
            entry = draw(name, models[name], root)
            truth["models"][name] = entry
            print(f"{name:20}", len(entry["files"]), "files", *entry["failures"].items(), flush=True)
        except Exception as error:  # a model that cannot be measured is a result too
            print(f"{name:20}", type(error).__name__, str(error).splitlines()[0][:160], flush=True)
        path.write_text(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main()
