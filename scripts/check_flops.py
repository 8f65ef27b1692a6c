#!/usr/bin/env python3
"""Compares FLOPs with what torch.utils.flop_counter counted (truth.json of the measured models): forward in evaluation
mode, and forward and backward in training. Differences are listed with their files; --known names those that are
understood.

  check_flops.py BINARY TRUTH_FOLDER [--known MODEL,...]
"""
import argparse
import json
import os
import subprocess
import sys


def flops_of(binary, model, flags):
    command = [binary, model, *flags, "--by", "category", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None
    found = json.loads(done.stdout)["runs"][0]["flops"]
    return found["forward"], found["forward"] + found["backward"]


def flags_of(measurement, input_names=None):
    flags = ["--optimizer", "none"]
    if input_names:
        for name, shape in zip(input_names, measurement["input_shapes"], strict=False):
            flags += ["--input", f"{name}={'x'.join(map(str, shape))}"]
    else:
        flags += ["-b", str(measurement["batch"])]
        if measurement.get("seq"):
            flags += ["-d", f"seq={measurement['seq']}"]
    if measurement.get("attention"):
        flags += ["--attention", measurement["attention"]]
    if measurement.get("loss") == "mse":
        flags += ["--loss", "mse"]
    return flags


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("truth")
    parser.add_argument("--known", default="")
    parser.add_argument("--only", default="", help="these models alone")
    options = parser.parse_args()
    with open(os.path.join(options.truth, "truth.json")) as file:
        models = json.load(file)
    models = models.get("models", models)
    known = set(filter(None, options.known.split(",")))
    equal, differing = 0, []
    only = set(filter(None, options.only.split(",")))
    for name, model in models.items():
        if only and name not in only:
            continue
        for measurement in model["measurements"]:
            flops, onnx = measurement.get("flops"), (measurement.get("onnx") or {}).get("train")
            plain = measurement["dtype"] == "float32" and not measurement.get("amp")
            if not flops or not onnx or not plain:
                continue
            path = os.path.join(options.truth, onnx)
            found = flops_of(options.binary, path, flags_of(measurement))
            if found is None:  # a length that is baked into the file, which whole shapes may change
                found = flops_of(options.binary, path, flags_of(measurement, model["input_names"]))
            if found is None:
                continue  # sizes that the file does not take
            wanted = (flops["fwd"], flops["fwd_bwd"])
            if found == wanted:
                equal += 1
            else:
                differing.append((name, onnx, wanted, found))
            break  # one size says it
    for name, onnx, wanted, found in differing:
        print(f"{name} ({onnx}): forward {found[0]} against {wanted[0]}, with backward {found[1]} against {wanted[1]}")
    print(f"{equal} of {equal + len(differing)} models have the FLOPs that torch counted")
    return 1 if {name for name, *_ in differing} - known or equal == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
