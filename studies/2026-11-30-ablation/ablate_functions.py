#!/usr/bin/env python3
"""What each function with a switch (switch_functions.py) is worth: the measured figures that move without it.

usage: studies/2026-11-30-ablation/ablate_functions.py PROGRAM ROOT[,ROOT...] [NAME ...] [--cap N] [--at-most N] [-j JOBS]

ROOT as for scripts/ablate_rewrites.py; cases are chosen as there. PROGRAM first answers each case with all functions;
then each NAME (default: all that ever said anything but no, in at most N cases) is switched off in those cases, or in N of
them, evenly spread. Columns as of scripts/ablate_rewrites.py; `wide T`, `wide I`: the sum of the intervals' widths over
the figures without it, less with it, of training and inference.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import runpy
import subprocess
import tarfile
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
SCORE, REWRITES = (runpy.run_path(str(SCRIPTS / name)) for name in ("blind_accuracy.py", "ablate_rewrites.py"))
NEAR, SAME = 1e-3, 1e-6


def opened(root, into):
    truth = json.loads((pathlib.Path(root) / "truth.json").read_text())
    if truth.get("meta", {}).get("closed", False):
        raise SystemExit("this set is closed")
    if not os.path.isdir(os.path.join(root, "models")):
        into = os.path.join(into, os.path.basename(root))
        with tarfile.open(os.path.join(root, "models.tar.xz")) as packed:
            packed.extractall(into, filter="data")
        root = into
    return [(root, case) for case in REWRITES["largest"](list(SCORE["cases"](truth, None, None)))]


def answer(program, root, case, off="", fired=None):
    """Of training and inference: the figure, both ends of its interval, what was measured."""
    m, optimizer = case[3], case[4]
    words = [*SCORE["words_of"](root, case), "--loss", SCORE["LOSS"][m["loss"]], "--format", "json"]
    words += ["--optimizer", SCORE["OPTIMIZER"][optimizer]] if optimizer else []
    env = dict(os.environ, ONNX_MEM_OFF=off, **({"ONNX_MEM_FIRED": fired} if fired else {}))
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=180, env=env)
    run = json.loads(done.stdout)["runs"][0] if done.returncode in (0, 1) else {}
    measured = {"T": m["train"][optimizer]["step2"]["peak"]} if optimizer else {}
    measured["I"] = m["inference"]["peak"]
    parts = {"T": run.get("training"), "I": run.get("inference")}
    return {q: (part["peak_bytes"], *part["peak_interval_bytes"], measured[q])
            for q, part in parts.items() if part and part["peak_bytes"] is not None and q in measured}


def error(figure):
    return abs(figure[0] - figure[3]) / figure[3]


def holds(figure):
    return figure[1] <= figure[3] * (1 + SCORE["SLACK"]) and figure[2] >= figure[3] * (1 - SCORE["SLACK"])


def width(figure):
    return (figure[2] - figure[1]) / figure[0] if figure[0] else 0.0


def compared(pairs):
    """Of (case, quantity, with, without)."""
    sums = collections.Counter()
    for _, quantity, with_it, without in pairs:
        by = error(without) - error(with_it)
        sums["moved"] += with_it[0] != without[0]
        sums["worse"] += by > SAME
        sums["better"] += by < -SAME
        sums["near"] += (error(with_it) <= NEAR) - (error(without) <= NEAR)
        sums["holds"] += holds(with_it) - holds(without)
        sums["ranges"] += with_it[0] == without[0] and with_it != without
        sums["wide" + quantity] += width(without) - width(with_it)
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("roots")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cap", type=int, default=40)
    parser.add_argument("--at-most", type=int, default=40)
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        cases = [case for root in args.roots.split(",") for case in opened(root, folder)]
        files = [os.path.join(folder, "fired%d" % i) for i in range(len(cases))]
        base = list(pool.map(lambda i: answer(args.program, *cases[i], fired=files[i]), range(len(cases))))
        fired = collections.defaultdict(list)
        for i, path in enumerate(files):
            for line in pathlib.Path(path).read_text().splitlines() if os.path.exists(path) else []:
                if line.endswith(" 1"):
                    fired[line.split(" ")[0]].append(i)
        print("%-75s %5s %6s %5s %6s %6s %5s %6s %7s %7s" % (
            "without", "cases", "moved", "worse", "better", "<=0.1%", "holds", "ranges", "wide T", "wide I"))
        for name in args.names or sorted(n for n, some in fired.items() if len(some) <= args.at_most):
            some = fired[name][::max(1, -(-len(fired[name]) // args.cap))]
            without = pool.map(lambda i, name=name: answer(args.program, *cases[i], off=name), some)
            pairs = [(i, q, base[i][q], new[q]) for i, new in zip(some, without) for q in base[i] if q in new]
            sums = compared(pairs)
            print("%-75s %5d %6d %5d %6d %6d %5d %6d %+7.3f %+7.3f" % (
                name, len(fired[name]), sums["moved"], sums["worse"], sums["better"], sums["near"], sums["holds"],
                sums["ranges"], sums["wideT"], sums["wideI"]), flush=True)


if __name__ == "__main__":
    main()
