#!/usr/bin/env python3
"""Asks onnx-mem for what one rank of several needs, and compares with what torch had alive (testdata/distributed).

    scripts/check_ranks.py build/release/cli/onnx-mem build/release/testdata/distributed [-k REGEX] [-v]

Exit status 1 where a case differs by more than its strategy's bound. A refusal is a difference of 100 %."""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys

# The largest difference, a share of the measured peak.
BOUNDS = {
    "one device": 0.0,
    "ddp": 0.0,
    "zero1": 0.0,
    "fsdp": 2e-6,  # 1 KiB in one case
    "hsdp": 0.0,
    "pipeline": 0.0,
    "interleaved": 0.0,
    "zero bubble": 0.01,
    "tp": 0.001,
    "tp+sp": 0.001,
    "fsdp+tp": 0.001,
}


def asked(binary: str, folder: pathlib.Path, case: dict) -> tuple[int | None, str]:
    args = [arg.replace(":plans/", f":{folder}/plans/") for arg in case["args"]]
    command = [binary, str(folder / case["model"]), "-m", "train", "-f", "json", *args]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    try:
        return json.loads(run.stdout)["runs"][0]["training"]["peak_bytes"], ""
    except (ValueError, KeyError, IndexError, TypeError):
        return None, (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[0]


def without_plan(case: dict) -> dict | None:
    """The same with the plan that is to be found in the graph: of transformers that are split whole."""
    if not any(arg.endswith((":plans/gpt.json", ":plans/llama.json")) for arg in case["args"]):
        return None
    return {**case, "args": [re.sub(r":plans/.*", "", arg) for arg in case["args"]]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-k", default="", metavar="REGEX", help="cases whose id matches")
    parser.add_argument("-v", action="store_true", help="a line per case")
    options = parser.parse_args()
    truth = json.loads((options.folder / "truth.json").read_text())
    cases = [case for case in truth["cases"] if re.search(options.k, case["id"])]
    if not cases:
        parser.error(f"no case matches {options.k}")
    errors = collections.defaultdict(list)
    beyond = 0
    for case in cases:
        got, why = asked(options.binary, options.folder, case)
        error = 1.0 if got is None else abs(got / case["peak_bytes"] - 1)
        strategy = "zero bubble" if "interleaved-zb" in case["args"] else case["strategy"]
        errors[strategy].append(error)
        bad = error > BOUNDS[strategy]
        beyond += bad
        if (planless := without_plan(case)) and asked(options.binary, options.folder, planless)[0] != got:
            print(f"{case['id']}: the plan that is found gives another figure")
            beyond += 1
        if bad or options.v:
            print(f"{case['id']}: measured {case['peak_bytes']}, answered {got} ({100 * error:.4f} %) {why}")
    for strategy, found in errors.items():
        equal = sum(e == 0 for e in found)
        print(f"{strategy:12s} {len(found):4d} cases, {equal} equal, median {100 * statistics.median(found):.4f} %,"
              f" largest {100 * max(found):.4f} %")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
