#!/usr/bin/env python3
"""Scores a program against measured models: how often it is right, and how often it knows when it is not.

usage: scripts/blind_accuracy.py BINARY ROOT [--json FILE] [--form REGEX] [--model REGEX] [-j JOBS]

ROOT holds truth.json (format of testdata/blind) and models/, or models.tar.xz. Per export form and quantity:

  <=0.1%, <=1%   share of the cases whose figure is that close to the measured one
  holds          share whose interval holds the measured figure (0.1 % of it allowed either way)
  zero           share whose interval has no width: the program says that it is sure
  silent>0.1%    share that is sure (no width) and off by more than 0.1 %; silent>1% likewise
  unsaid>1%      share off by more than 1 % where the report has no warning at all (notes do not count)
  width          median and 95th percentile of the interval's width over the figure, of those with a width

A run that fails counts as a miss that the program has admitted. Parameters have no interval. Where truth.json says
`"closed": true` nothing of a single case is written, whatever is asked: nobody may look at the misses of a set that is
to stay blind.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile

LOSS = {"ce": "cross-entropy", "ce1d": "cross-entropy", "seg": "cross-entropy", "mse": "mse", "mean": "mean", "sum": "sum"}
OPTIMIZER = {"sgd_momentum": "momentum", "adam": "adam"}
SLACK = 0.001


def run(binary, words):
    try:
        done = subprocess.run([binary, *words, "--format", "json"], capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        return None, "timeout"
    if done.returncode not in (0, 1):
        return None, (done.stderr.strip().splitlines() or ["exit %d" % done.returncode])[0][:200]
    try:
        return json.loads(done.stdout), None
    except ValueError as e:
        return None, "not JSON: %s" % e


def fits(f, m):
    """Whether a measurement is of what the file holds: not of a chain, another type, autocast or another length."""
    same_type = f.get("dtype") == m.get("dtype") and not m.get("amp")
    same_length = m.get("seq") is None or f.get("seq") in (None, "dynamic", m["seq"])
    return not f.get("chain") and same_type and same_length and "train" in m and "inference" in m


def cases(truth, form, model):
    """Every file with every measurement and optimizer, None where the model cannot be trained: (model, its entry, file,
    measurement, optimizer)."""
    for name, entry in sorted(truth["models"].items()):
        if model and not re.search(model, name):
            continue
        for f in entry.get("files", []):
            if form and not re.search(form, form_of(f)):
                continue
            for m in filter(lambda m: fits(f, m), entry["measurements"]):
                for optimizer in sorted(m["train"]) or [None]:
                    yield name, entry, f, m, optimizer


def form_of(f):
    unoptimised = f["exporter"] == "dynamo" and not f.get("constant_folding", True)
    return "%s.%s%s" % (f["mode"], f["exporter"], ".noopt" if unoptimised else "")


def words_of(root, case):
    """The words of the command line that describe what runs, for any command."""
    _, _, f, m, _ = case
    words = [os.path.join(root, f["file"]), "--batch", str(m["batch"])]
    if m.get("seq") is not None and f.get("seq") == "dynamic":
        words += ["--dim", "seq=%d" % m["seq"]]
    return words + (["--attention", m["attention"]] if m.get("attention") else [])


def rows_of(binary, root, case, more=()):
    """The figures of one run: inference and parameters are taken from the first optimizer's run alone."""
    name, entry, f, m, optimizer = case
    given = ["--optimizer", OPTIMIZER[optimizer]] if optimizer else []
    report, failure = run(binary, [*words_of(root, case), *given, "--loss", LOSS[m["loss"]], *more])
    found = report["runs"][0] if report else {}
    diagnostics = report.get("diagnostics", []) if report else []
    base = dict(model=name, file=os.path.basename(f["file"]), form=form_of(f), batch=m["batch"], optimizer=optimizer,
                diagnostics=sorted({"%s:%s" % (d["severity"], d["code"]) for d in diagnostics}), failure=failure)

    def row(quantity, part, key, measured):
        values = found.get(part) or {}
        return dict(base, quantity=quantity, measured=measured, figure=values.get(key),
                    interval=values.get("peak_interval_bytes"))

    steps = [m["train"][optimizer]["step2"]["peak"]] if optimizer else []
    rows = [row("training", "training", "peak_bytes", peak) for peak in steps]
    if optimizer in (None, *sorted(m["train"])[:1]):
        rows.append(row("inference", "inference", "peak_bytes", m["inference"]["peak"]))
        rows.append(dict(base, quantity="parameters", measured=entry["params"], interval=None,
                         figure=report["model"]["parameters"] if report else None))
    return rows


def error(row):
    return 1.0 if row["figure"] is None else (row["figure"] - row["measured"]) / row["measured"]


def width(row):
    return (row["interval"][1] - row["interval"][0]) / row["figure"] if row["interval"] and row["figure"] else None


def holds(row):
    low, high = row["interval"] or (0, 0)
    return low <= row["measured"] * (1 + SLACK) and high >= row["measured"] * (1 - SLACK)


def summary_of(rows):
    """Shares of one group of rows."""
    off = [abs(error(r)) for r in rows]

    def share(some):
        return sum(map(bool, some)) / len(rows)

    out = dict(cases=len(rows), median=statistics.median(off), worst=max(off),
               failed=sum(r["figure"] is None for r in rows),
               within_0_1_percent=share(e <= 0.001 for e in off), within_1_percent=share(e <= 0.01 for e in off))
    if rows[0]["quantity"] == "parameters":
        return out
    sure = [width(r) == 0 for r in rows]
    widths = sorted(w for w in map(width, rows) if w)
    quiet = [r["figure"] is not None and not any(d.startswith("warning:") for d in r["diagnostics"]) for r in rows]
    return dict(out, interval_holds=share(map(holds, rows)), zero_width=share(sure),
                silent_0_1_percent=share(s and e > 0.001 for s, e in zip(sure, off, strict=False)),
                silent_1_percent=share(s and e > 0.01 for s, e in zip(sure, off, strict=False)),
                unsaid_1_percent=share(q and e > 0.01 for q, e in zip(quiet, off, strict=False)),
                median_width=statistics.median(widths) if widths else 0.0,
                width_95=widths[min(len(widths) - 1, int(0.95 * len(widths)))] if widths else 0.0)


def print_table(groups):
    print("%-10s %-14s %5s %6s %7s %7s %8s %8s %6s %6s %11s %9s %9s %15s" % (
        "quantity", "form", "cases", "failed", "<=0.1%", "<=1%", "median%", "worst%", "holds", "zero", "silent>0.1%",
        "silent>1%", "unsaid>1%", "width 50/95 %"))
    for (quantity, form), s in groups:
        def p(key, s=s):
            return "%.1f" % (100 * s[key]) if key in s else "-"

        print("%-10s %-14s %5d %6d %7s %7s %8.3f %8.2f %6s %6s %11s %9s %9s %15s" % (
            quantity, form, s["cases"], s["failed"], p("within_0_1_percent"), p("within_1_percent"), 100 * s["median"],
            100 * s["worst"], p("interval_holds"), p("zero_width"), p("silent_0_1_percent"), p("silent_1_percent"),
            p("unsaid_1_percent"), p("median_width") + "/" + p("width_95")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("root")
    parser.add_argument("--json", help="file for the summary and every case")
    parser.add_argument("--form", help="only the forms that match, as train.dynamo, train.ts, eval.dynamo, eval.ts")
    parser.add_argument("--model", help="only the models that match")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    with open(os.path.join(args.root, "truth.json")) as f:
        truth = json.load(f)
    closed = truth.get("meta", {}).get("closed", False)
    if closed and args.model:
        sys.exit("this set is closed: no model of it is scored alone")
    with tempfile.TemporaryDirectory() as unpacked:
        root = args.root
        if not os.path.isdir(os.path.join(root, "models")):
            with tarfile.open(os.path.join(root, "models.tar.xz")) as packed:
                packed.extractall(unpacked, filter="data")
            root = unpacked
        with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
            scored = pool.map(lambda c: rows_of(args.binary, root, c), cases(truth, args.form, args.model))
            rows = [r for some in scored for r in some]
    groups = collections.defaultdict(list)
    for r in rows:
        groups[(r["quantity"], r["form"])].append(r)
        groups[(r["quantity"], "all")].append(r)
    order = {"training": 0, "inference": 1, "parameters": 2}
    table = [(key, summary_of(groups[key])) for key in sorted(groups, key=lambda k: (order[k[0]], k[1] == "all", k[1]))]
    print_table(table)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(dict(summary=[dict(quantity=q, form=form, **s) for (q, form), s in table],
                           rows=[] if closed else [dict(r, error=error(r), width=width(r), holds=holds(r))
                                                   for r in rows]), f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
