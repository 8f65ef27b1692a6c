#!/usr/bin/env python3
"""What each rewrite is worth: takes it out and counts the measured figures that come closer and that move away.

usage: scripts/ablate_rewrites.py BINARY ROOT [NAME ...] [--full] [--json FILE] [-j JOBS]

ROOT as for scripts/blind_accuracy.py (testdata/handwritten, testdata/blind/blind-1, a folder of public models), never a
closed set. Of each file and attention kernel the largest batch is taken, with the first optimizer, whose run is scored
for inference as well (--full: all of them), and a rewrite that `check` tells of is taken out of those files alone of
which it does. Per rewrite of analyzer/prepare/rewrite_table.inc:

  cases         those of which it is taken out
  models        models of the set with a figure that moves without it
  worse, better measured peaks that are further off, and closer, without it (by more than 1e-6 of the peak)
  <=0.1%        cases that were within 0.1 % and are not any more, less those that come within
  holds         cases whose interval held the measured peak and does not any more, less those that come to hold
  narrow, wide  cases with the same figure whose interval is narrower, and wider, without it

A rewrite that moves nothing in any set has nothing to show for itself. --json writes every case that moves.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import runpy
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCORE = runpy.run_path(str(HERE / "blind_accuracy.py"))
NEAR, SAME = 1e-3, 1e-6


def rewrites():
    """The names of the table, and those that `check` does not tell of by name."""
    table = (HERE.parent / "analyzer/prepare/rewrite_table.inc").read_text()
    rows = re.findall(r'^ROW\(\w+,\s*"([\w-]+)",[^()]*?Told::(\w+)', table, re.M)
    return [name for name, _ in rows], {name for name, told in rows if told == "kByItself"}


def kind_of(case):
    return case[2]["file"], case[3].get("attention")


def largest(cases):
    """Of each file and attention kernel the largest measurement, with its first optimizer: that run has inference."""
    best = {}
    for case in cases:
        _, _, _, m, optimizer = case
        size = (m["batch"], m.get("seq") or 0, optimizer in (None, *sorted(m["train"])[:1]))
        key = kind_of(case)
        if key not in best or size > best[key][0]:
            best[key] = (size, case)
    return [case for _, case in best.values()]


def fired(binary, root, case):
    """The rewrites that `check` tells of."""
    report, _ = SCORE["run"](binary, ["check", *SCORE["words_of"](root, case)])
    return {d["code"].removeprefix("rewrite-") for d in report["diagnostics"]} if report else set(rewrites()[0])


def scored(pool, binary, root, cases, words=()):
    """The error of each peak, whether the interval holds it, and its width: by file, batch, optimizer and quantity."""
    out = {}
    for case, rows in zip(cases, pool.map(lambda c: SCORE["rows_of"](binary, root, c, words), cases)):
        for r in rows:
            if r["quantity"] != "parameters":
                key = (r["model"], r["file"], r["batch"], case[3].get("attention") or "", case[3].get("seq") or 0,
                       r["optimizer"], r["quantity"])
                out[key] = (SCORE["error"](r), SCORE["holds"](r), SCORE["width"](r) or 0.0)
    return out


def line(name, cases, base, without):
    pairs = [(base[key], without[key]) for key in without]
    change = {key: abs(without[key][0]) - abs(base[key][0]) for key in without}
    moved = {key[0] for key in without if abs(without[key][0] - base[key][0]) > SAME}
    still = [n[2] - b[2] for b, n in pairs if abs(n[0] - b[0]) <= SAME]
    return "%-22s %5d %6d %5d %6d %6d %5d %6d %4d  %s" % (
        name, cases, len(moved), sum(by > SAME for by in change.values()), sum(by < -SAME for by in change.values()),
        sum(abs(b[0]) <= NEAR for b, _ in pairs) - sum(abs(n[0]) <= NEAR for _, n in pairs),
        sum(b[1] for b, _ in pairs) - sum(n[1] for _, n in pairs), sum(by < -SAME for by in still),
        sum(by > SAME for by in still), " ".join(sorted(moved)[:4]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("root")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--full", action="store_true", help="every measurement and optimizer of every file")
    parser.add_argument("--json", help="file for every case that moves")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    truth = json.loads((pathlib.Path(args.root) / "truth.json").read_text())
    if truth.get("meta", {}).get("closed", False):
        sys.exit("this set is closed: nobody may see which model a rewrite moves")
    names, untold = rewrites()
    with tempfile.TemporaryDirectory() as unpacked, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        root = args.root
        if not os.path.isdir(os.path.join(root, "models")):
            with tarfile.open(os.path.join(root, "models.tar.xz")) as packed:
                packed.extractall(unpacked, filter="data")
            root = unpacked
        cases = list(SCORE["cases"](truth, None, None))
        cases = cases if args.full else largest(cases)
        base = scored(pool, args.binary, root, cases)
        kinds = largest(cases)
        told = dict(zip(map(kind_of, kinds), pool.map(lambda c: fired(args.binary, root, c), kinds)))
        print("%-22s %5s %6s %5s %6s %6s %5s %6s %4s  moves (of %d figures)" % (
            "without", "cases", "models", "worse", "better", "<=0.1%", "holds", "narrow", "wide", len(base)))
        moves = {}
        for name in args.names or names:
            some = [c for c in cases if name in untold or name in told[kind_of(c)]]
            without = scored(pool, args.binary, root, some, ["--no-rewrite", name])
            print(line(name, len(some), base, without), flush=True)
            moves[name] = [dict(case=key, with_it=base[key], without=without[key]) for key in without
                           if without[key] != base[key]]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(moves, indent=1))


if __name__ == "__main__":
    main()
