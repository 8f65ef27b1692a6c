#!/usr/bin/env python3
"""What each rewrite is worth: takes it out and counts the measured figures that come closer and that move away.

usage: scripts/ablate_rewrites.py BINARY ROOT [NAME ...] [-j JOBS]

ROOT as for scripts/blind_accuracy.py (testdata/handwritten, testdata/blind/blind-1), never a closed set. Per rewrite of
analyzer/prepare/rewrite_table.inc:

  models        models of the set with a figure that moves without it
  worse, better measured peaks that are further off, and closer, without it (by more than 1e-6 of the peak)
  lost <=0.1%   cases that were within 0.1 % and are not any more, less those that come within

A rewrite that moves nothing in any set has nothing to show for itself.
"""
import argparse, concurrent.futures, json, os, pathlib, re, runpy, sys, tarfile, tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCORE = runpy.run_path(str(HERE / "blind_accuracy.py"))
NEAR, SAME = 1e-3, 1e-6


def rewrites():
    table = (HERE.parent / "analyzer/prepare/rewrite_table.inc").read_text()
    return re.findall(r'^ROW\(\w+,\s*"([\w-]+)"', table, re.M)


def scored(pool, binary, root, cases, words=()):
    """The error of each peak, by file, batch, optimizer and quantity."""
    run = SCORE["run"]
    SCORE["rows_of"].__globals__["run"] = lambda b, w: run(b, [*w, *words])
    rows = [r for some in pool.map(lambda c: SCORE["rows_of"](binary, root, c), cases) for r in some]
    SCORE["rows_of"].__globals__["run"] = run
    return {(r["model"], r["file"], r["batch"], r["optimizer"], r["quantity"]): abs(SCORE["error"](r))
            for r in rows if r["quantity"] != "parameters"}


def line(name, base, without):
    change = {key: without[key] - base[key] for key in base}
    moved = {key[0] for key, by in change.items() if abs(by) > SAME}
    worse = sum(by > SAME for by in change.values())
    better = sum(by < -SAME for by in change.values())
    lost = sum(base[key] <= NEAR for key in base) - sum(without[key] <= NEAR for key in base)
    return "%-22s %6d %6d %6d %6d  %s" % (name, len(moved), worse, better, lost, " ".join(sorted(moved)[:4]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("root")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-j", type=int, default=2)
    args = parser.parse_args()
    truth = json.loads((pathlib.Path(args.root) / "truth.json").read_text())
    if truth.get("meta", {}).get("closed", False):
        sys.exit("this set is closed: nobody may see which model a rewrite moves")
    with tempfile.TemporaryDirectory() as unpacked, concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        root = args.root
        if not os.path.isdir(os.path.join(root, "models")):
            with tarfile.open(os.path.join(root, "models.tar.xz")) as packed:
                packed.extractall(unpacked, filter="data")
            root = unpacked
        cases = list(SCORE["cases"](truth, None, None))
        base = scored(pool, args.binary, root, cases)
        print("%-22s %6s %6s %6s %6s  moves (of %d figures)" % ("without", "models", "worse", "better", "<=0.1%", len(base)))
        for name in args.names or rewrites():
            print(line(name, base, scored(pool, args.binary, root, cases, ["--no-rewrite", name])), flush=True)


if __name__ == "__main__":
    main()
