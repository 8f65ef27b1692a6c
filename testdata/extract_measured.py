#!/usr/bin/env python3
"""Writes testdata/measured/MODEL.json for every model in testdata/models from a folder of measurements.

usage: extract_measured.py FOLDER     (FOLDER holds truth.json, as described in testdata/README.md)

A case is a file of testdata/models, the command line that describes the measured workload, and the fields of the JSON
report (docs: `onnx-mem MODEL --format json`) with the values that were measured. tests/measured_test.cc runs them.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
LOSS = {"ce": "cross-entropy", "ce1d": "cross-entropy", "seg": "cross-entropy", "mse": "mse"}
OPTIMIZER = {"sgd_momentum": "momentum", "adam": "adam"}
HALF = {"float16": "fp16", "bfloat16": "bf16"}


def shape_arguments(file, workload):
    """Words that give the file's free dimensions their measured values; None where the file cannot take them."""
    words = ["--batch", str(workload["batch"])]
    seq = workload.get("seq")
    if seq is not None and file.get("seq") == "dynamic":
        words += ["--dim", f"seq={seq}"]
    elif seq is not None and file.get("seq") not in (None, seq):
        return None
    return words


def workload_arguments(file, workload):
    words = shape_arguments(file, workload)
    if words is None:
        return None
    if file["dtype"] != workload["dtype"]:
        if file["mode"] != "train" or file["dtype"] != "float32":
            return None
        words += ["--dtype", HALF[workload["dtype"]]]
    if workload.get("amp"):
        words += ["--amp", HALF[workload["amp"]]]
    if workload.get("attention"):
        words += ["--attention", workload["attention"]]
    return words + ["--loss", LOSS[workload["loss"]]]


def run_cases(model, file):
    for workload in model["measurements"]:
        words = workload_arguments(file, workload)
        if words is None:
            continue
        for optimizer, steps in workload["train"].items():
            case = {"file": pathlib.PurePath(file["file"]).name,
                    "arguments": words + ["--optimizer", OPTIMIZER[optimizer]]}
            if workload["dtype"] == "float32":
                case["model"] = {"parameters": model["params"], "parameter_bytes": model["param_bytes"]}
            case["training"] = {"peak_bytes": steps["step2"]["peak"], "first_step_peak_bytes": steps["step1"]["peak"],
                                "saved_activation_bytes": workload["saved_fwd_bytes"]}
            if "inference" in workload:
                case["inference"] = {"peak_bytes": workload["inference"]["peak"]}
            if "flops" in workload:
                flops = workload["flops"]
                case["flops"] = {"forward": flops["fwd"], "backward": flops["fwd_bwd"] - flops["fwd"]}
            yield case


def checkpoint_cases(model, file):
    """torch.utils.checkpoint over elements of an nn.Sequential: module "i" of the file is element i."""
    for run in model["ckpt"]:
        if "step2_peak" not in run:
            continue
        cuts = [0, *run["boundaries"], model["chain"]["n"]]
        segments = [{"modules": [str(i) for i in range(a, b)]} for a, b in zip(cuts, cuts[1:], strict=False)]
        words = shape_arguments(file, run)
        if words is None:
            continue
        if run.get("attention"):
            words += ["--attention", run["attention"]]
        words += ["--loss", LOSS[model["measurements"][0]["loss"]], "--optimizer", OPTIMIZER[run["optimizer"]]]
        yield {"file": pathlib.PurePath(file["file"]).name, "arguments": words,
               "segments": segments[:-1] if run["last_plain"] else segments,
               "training": {"peak_bytes": run["step2_peak"], "recompute_flops": run["recompute_flops"]}}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    truth = json.loads((pathlib.Path(sys.argv[1]) / "truth.json").read_text())
    shipped = {path.name for path in (HERE / "models").glob("*.onnx")}
    for name, model in sorted(truth["models"].items()):
        cases = []
        for file in model["files"]:
            if pathlib.PurePath(file["file"]).name in shipped:
                cases += checkpoint_cases(model, file) if file["chain"] else run_cases(model, file)
        if not cases:
            continue
        source = model["source"] if model["source"] != "own" else "written for these measurements"
        lines = ",\n    ".join(json.dumps(case) for case in cases)
        (HERE / "measured" / f"{name}.json").write_text(
            f'{{"model": "{name}", "source": "{source}", "torch": "{truth["meta"]["torch"]}", '
            f'"made": "{truth["meta"]["made"]}",\n  "cases": [\n    {lines}\n  ]}}\n')


if __name__ == "__main__":
    main()
