#!/usr/bin/env python3
"""Checks advice by running it: each row of "savings" and "ways" is a run of its own once its flags are appended to the
command line, and must need the bytes that the row says; the largest batch of `fit` must fit and one more must not.

  check_advice.py BINARY MODEL... [--gpus "T4,RTX 4090"] [--batch 8] [--dims seq=128] [--batches-only]
"""
import argparse
import json
import subprocess
import sys


def run(arguments):
    done = subprocess.run(arguments + ["--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


def training(binary, model, flags):
    return run([binary, model, "-m", "train", *flags, "--by", "category"])["runs"][0]["training"]


def check_rows(binary, model, flags, rows, faults):
    for row in rows:
        found = training(binary, model, flags + row["flags"])
        for key in ("device_bytes", "peak_bytes"):
            if found[key] != row[key]:
                faults.append(f"{model}: {row['change']}: {key} {row[key]}, with {row['flags']} it is {found[key]}")
    return len(rows)


def check_batch(binary, model, flags, gpu, part, mode, usable, faults):
    largest = part["largest_batch"]
    if largest is None or part["at_least"]:
        return
    for batch, fits in ((largest, True), (largest + 1, False)):
        if batch == 0:
            continue
        found = run([binary, model, *flags[2:], "-m", mode, "-b", str(batch), "--gpu", gpu, "--by",
                     "category"])["runs"][0]   # what a card takes differs by its kind
        bytes_ = found["training" if mode == "train" else "inference"]["device_bytes"]
        if (bytes_ <= usable) != fits:
            faults.append(f"{model} on {gpu}: batch {batch} needs {bytes_} of {usable}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--gpus", default="T4,RTX 4090")
    parser.add_argument("--batch", default="8")
    parser.add_argument("--dims", default="", help="seq=128,...: for models that have them")
    parser.add_argument("--batches-only", action="store_true", help="check the largest batches alone")
    options = parser.parse_args()
    faults, rows, batches = [], 0, 0
    for model in options.models:
        flags = ["-b", options.batch]
        for binding in filter(None, options.dims.split(",")):
            command = [options.binary, model, *flags, "-d", binding, "-q"]
            if subprocess.run(command, capture_output=True).returncode == 0:
                flags += ["-d", binding]
        if not options.batches_only:
            report = run([options.binary, model, *flags])
            rows += check_rows(options.binary, model, flags, report.get("savings", []), faults)
            needs = report["runs"][0]["training"]["device_bytes"]
            tight = run([options.binary, "fit", model, *flags, "--gpu-memory", str(needs - needs // 8) + "B"])
            rows += check_rows(options.binary, model, flags, tight["ways"], faults)
        for gpu in options.gpus.split(","):
            fit = run([options.binary, "fit", model, *flags, "--gpu", gpu])
            for mode, name in (("train", "training"), ("infer", "inference")):
                check_batch(options.binary, model, flags, gpu, fit[name], mode, fit["gpu"]["usable_bytes"], faults)
                batches += 1
    print("\n".join(faults))
    print(f"{rows} rows, {batches} largest batches, {len(faults)} faults")
    return 1 if faults or rows + batches == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
