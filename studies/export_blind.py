"""Exports models of a list as users do and measures them: a folder as testdata/blind has them.

usage: python studies/export_blind.py LIST FOLDER [--models REGEX]
       scripts/blind_accuracy.py BINARY FOLDER           scores a program against it

LIST is a study, such as 2026-11-24-exports, or the path of a folder with a models.toml.

Three exports of each model as it was just built, with a free batch: `train.dynamo`, `eval.dynamo` and `train.ts`. A file
that still has the batch of the example in it does not describe the batches that are measured, and one that contradicts
itself runs nowhere: neither is part of the set, and both are listed with what the exporter does not take. fault_of says
which, and looks at the file with onnx alone. Weights over 1 KiB stay in a file that is not written. Truth, of models
that have a file left: onnx_mem.measure on fake tensors of a GPU, mean of the outputs as loss. A model has a process for
its exports and one to measure it, each with a time limit of its own: what fails is listed, not left out. They are
forked from one that has loaded the packages, which takes longer than a small model's export.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import resource
import sys
import tempfile
import traceback

from makers import listed

BATCHES = (2, 8)
LIMIT = 240  # CPU seconds for the exports of a model, and again to measure it
OPTIMIZERS = {"adam": "adam", "sgd_momentum": "momentum"}
FORMS = (("train", "dynamo"), ("eval", "dynamo"), ("train", "ts"))


def models_of(path):
    return {f"{package}_{name}": make for package, made in listed(path).items() for name, make in made.items()}


def made_of(make):
    import torch
    torch.manual_seed(0)
    model, args, *rest = make()
    return model, tuple(args), rest[0] if rest else {}, rest[1] if len(rest) > 1 else 0


def strip(path):
    """Tensors over 1 KiB become external data of a file that does not exist."""
    import onnx
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 1024:
            length = len(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="stripped.bin")
            tensor.external_data.add(key="length", value=str(length))
    onnx.save(model, path)
    if os.path.exists(path + ".data"):
        os.remove(path + ".data")


def fault_of(path, batch, batch_dim):
    """Why a file is no part of a set, "" where it is: it has the batch of the example fixed, or contradicts itself."""
    import onnx
    model = onnx.load(path)
    given = {tensor.name for tensor in model.graph.initializer}
    shapes = [i.type.tensor_type.shape.dim for i in model.graph.input if i.name not in given]
    sizes = [shape[batch_dim] for shape in shapes if len(shape) > batch_dim]
    if any(size.dim_value == batch for size in sizes) or all(size.HasField("dim_value") for size in sizes):
        return f"the batch is fixed at {batch} in the file"
    try:
        onnx.checker.check_model(path)
        onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return f"the file contradicts itself: {error}"
    return ""


def export(made, mode, exporter, path):
    """The reason why the file is no part of the set, "" where it is."""
    import torch
    model, args, kwargs, batch_dim = made
    model.train(mode == "train")
    batch = next(t for t in [*args, *kwargs.values()] if isinstance(t, torch.Tensor)).shape[batch_dim]
    is_batched = [isinstance(t, torch.Tensor) and t.ndim > batch_dim and t.shape[batch_dim] == batch for t in args]
    options = dict(kwargs=kwargs or None, dynamo=exporter == "dynamo")
    if exporter == "dynamo":
        options["dynamic_shapes"] = tuple({batch_dim: torch.export.Dim.DYNAMIC} if b else None for b in is_batched)
        if kwargs:
            options["dynamic_shapes"] += tuple(None for _ in kwargs)
    else:
        training = torch.onnx.TrainingMode.TRAINING if mode == "train" else torch.onnx.TrainingMode.EVAL
        names = [f"input_{i}" for i in range(len(args))]
        options |= dict(training=training, do_constant_folding=False, input_names=names,
                        dynamic_axes={n: {batch_dim: "batch"} for n, b in zip(names, is_batched) if b})
    torch.onnx.export(model, args, path, **options)
    fault = fault_of(path, batch, batch_dim)
    strip(path)
    return fault


def measured(make, batch):
    import onnx_mem
    model, args, kwargs, batch_dim = made_of(make)
    given = dict(args=args, kwargs=kwargs, batch=batch, batch_dim=batch_dim)
    train = {}
    for name, optimizer in OPTIMIZERS.items():
        found = onnx_mem.measure(model, optimizer=optimizer, loss="mean", **given)
        train[name] = {"step1": {"peak": found.first_step_peak_bytes}, "step2": {"peak": found.peak_bytes}}
    inference = onnx_mem.measure(model, training=False, **given)
    return dict(batch=batch, loss="mean", attention=None, inference={"peak": inference.peak_bytes}, train=train)


def exported(list_path, name, folder):
    make = models_of(list_path)[name]
    entry = dict(family=name.split("_")[0], params=sum(p.numel() for p in made_of(make)[0].parameters()), files=[],
                 failures=[])
    for mode, exporter in FORMS:
        file = f"models/{name}.{mode}.{exporter}.onnx"
        path = os.path.join(folder, file)
        try:
            fault = export(made_of(make), mode, exporter, path)
        except Exception as error:  # whatever an exporter throws is a result
            fault = f"{type(error).__name__}: {error}"
        if not fault:
            entry["files"].append(dict(file=file, mode=mode, exporter=exporter, batch="dynamic"))
            continue
        entry["failures"].append([file, True, fault[:300]])
        for left in (path, path + ".data"):
            if os.path.exists(left):
                os.remove(left)
    write(entry, folder, "forms", name)


def one(list_path, name, folder):
    with open(os.path.join(folder, "forms", name + ".json")) as forms:
        entry = json.load(forms)
    make = models_of(list_path)[name]
    entry["measurements"] = [measured(make, batch) for batch in BATCHES] if entry["files"] else []
    write(entry, folder, "parts", name)


def write(entry, folder, kind, name):
    with open(os.path.join(folder, kind, name + ".json"), "w") as out:
        json.dump(entry, out, indent=1)


def in_child(work):
    """Runs `work` in a process of its own; the last line that it wrote of an error, "" where there was none."""
    with tempfile.TemporaryFile("w+") as errors:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            try:
                work()
            except BaseException:  # whatever a model throws is a result
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        errors.seek(0)
        lines = errors.read().strip().splitlines()
        return "" if status == 0 else lines[-1][:200] if lines else f"died, or over {LIMIT} s"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list")
    parser.add_argument("folder")
    parser.add_argument("--models", default="")
    asked = parser.parse_args()
    for part in ("models", "forms", "parts"):
        os.makedirs(os.path.join(asked.folder, part), exist_ok=True)
    for package in ("torch", "torchvision", "timm", "transformers", "onnxscript", "onnx_mem"):
        importlib.import_module(package)
    failed = {}
    for name in models_of(asked.list):
        part = os.path.join(asked.folder, "parts", name + ".json")
        if os.path.exists(part) or not re.search(asked.models, name):
            continue
        error = in_child(lambda name=name: exported(asked.list, name, asked.folder))
        error = error or in_child(lambda name=name: one(asked.list, name, asked.folder))
        if error:
            failed[name] = error
        print(name, error or "done", flush=True)
    models = {}
    for file in sorted(os.listdir(os.path.join(asked.folder, "parts"))):
        with open(os.path.join(asked.folder, "parts", file)) as part:
            models[file.removesuffix(".json")] = json.load(part)
    with open(os.path.join(asked.folder, "truth.json"), "w") as out:
        json.dump(dict(meta=dict(closed=True, failed=failed), models=models), out, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
