#!/usr/bin/env python3
"""Plans for many budgets: never over the budget, never dearer with more of it, and measured again as they were told.

usage: check_plans.py BINARY MODEL... [--budgets N] [--iterations N] [--live] [--time] [--again N]
                      [--dim NAME=N] [--batch N]

For each model, N random budgets between what is proven to be the least of any set of segments (else any schedule) and
what the step takes without a plan, from high to low. Every N-th chosen plan (--again) is written to a file and measured
anew by the analysis. Prints a line per model: budgets met, proven optimal, proven impossible, neither met nor proven;
exit 1 if anything is wrong.

--fastest asks another question, with the default effort: at three budgets (75, 50 and 25 % of the way), is the chosen
plan's estimated time above that of any plan that takes no more memory?  Plans are those of all runs: without a budget,
with each of them, and each with FLOPs as the price.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from random import Random


def ask(binary, words, limit=900):
    began = time.monotonic()
    done = subprocess.run([binary, *words, "--format", "json"], capture_output=True, text=True, timeout=limit)
    if done.returncode not in (0, 1):
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0])
    return json.loads(done.stdout), time.monotonic() - began


def measured_again(binary, model, words, plan, folder):
    path = os.path.join(folder, "plan.json")
    with open(path, "w") as f:
        json.dump({"segments": plan["segments"]}, f)
    training = ask(binary, [model, *words, "--mode", "train", "--plan", path])[0]["runs"][0]["training"]
    return {k: training.get(k) or 0 for k in ("peak_bytes", "device_bytes", "recompute_flops")}


def check(binary, model, args, folder):
    """What became of the budgets, by kind, what was wrong, and the longest time."""
    line = "peak_bytes" if args.live else "device_bytes"
    words = ["--batch", str(args.batch)] + [w for dim in args.dim for w in ("--dim", dim)]
    plan_words = ["plan", model, *words, "--iterations", str(args.iterations), "--time-limit", "0"]
    plan_words += ["--budget-on", "live"] if args.live else []
    plan_words += ["--cost-in", "time" if args.time else "flops"]
    cost = "recompute_ns" if args.time else "recompute_flops"
    bound = f"lower_bound_{cost}"
    base, seconds = ask(binary, plan_words)
    floor = (base["class_bound"] or {}).get("floor_bytes") or base["minimum_bytes"]
    random = Random(os.path.basename(model))
    budgets = sorted((random.randint(floor, base["baseline"][line]) for _ in range(args.budgets)), reverse=True)
    kinds, wrong, before, slowest = Counter(), [], 0, seconds
    for i, budget in enumerate(budgets):
        answer, seconds = ask(binary, plan_words + ["--budget", f"{budget}B"])
        slowest = max(slowest, seconds)
        if answer["chosen"] is None:
            before = float("inf")
            kinds["impossible" if answer["status"] == "infeasible" else "unknown"] += 1
            if answer["status"] == "infeasible" and budget >= max(floor, answer["minimum_bytes"]):
                wrong.append(f"{budget}: infeasible above the minimum")
            continue
        chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
        kinds["met"] += 1
        kinds["optimal"] += answer["optimal"]
        if chosen[line] > budget:
            wrong.append(f"{budget}: takes {chosen[line]}")
        if chosen[cost] < before:
            wrong.append(f"{budget}: cheaper than with more memory")
        if chosen[cost] < answer[bound]:
            wrong.append(f"{budget}: below the proven bound")
        before = chosen[cost]
        if args.again and i % args.again == 0:
            again = measured_again(binary, model, words, chosen, folder)
            if any(again[k] != chosen[k] for k in again):
                wrong.append(f"{budget}: measured again {again}")
    return kinds, wrong, slowest


def time_of(plan):
    return plan["recompute_ns"] + plan.get("offload_ns", 0)


def check_fastest(binary, model, args, folder):
    line = "peak_bytes" if args.live else "device_bytes"
    words = ["plan", model, "--batch", str(args.batch)] + [w for dim in args.dim for w in ("--dim", dim)]
    words += ["--budget-on", "live"] if args.live else []
    base, slowest = ask(binary, words)
    most, floor = base["baseline"][line], (base["class_bound"] or {}).get("floor_bytes") or base["minimum_bytes"]
    budgets = [None] + [int(floor + share * (most - floor)) for share in (0.75, 0.5, 0.25)]
    answers = {}
    for budget in budgets:
        for price in ("time", "flops"):
            limit = [] if budget is None else ["--budget", f"{budget}B"]
            answers[budget, price], seconds = ask(binary, [*words, *limit, "--cost-in", price])
            slowest = max(slowest, seconds)
    pool = [p for answer in answers.values() for p in answer["plans"]]
    kinds, wrong = Counter(), []
    for budget in budgets:
        answer = answers[budget, "time"]
        if answer["chosen"] is None:
            kinds["impossible" if answer["status"] == "infeasible" else "unknown"] += 1
            continue
        chosen = next(p for p in answer["plans"] if p["id"] == answer["chosen"])
        kinds["met"] += 1
        kinds["optimal"] += answer["optimal"]
        faster = [p for p in pool if p[line] <= (budget or chosen[line]) and time_of(p) < time_of(chosen)]
        if faster:
            best = min(faster, key=time_of)
            wrong.append(f"{budget}: +{chosen['time_slowdown']:.2%} where {best['label']} takes {best[line]:,} for "
                         f"+{best['time_slowdown']:.2%}")
    return kinds, wrong, slowest


def told(kinds):
    return ", ".join(f"{kinds[kind]:3} {kind}" for kind in ("met", "optimal", "impossible", "unknown"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--budgets", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=80)
    parser.add_argument("--again", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--live", action="store_true", help="the budget is on live bytes")
    parser.add_argument("--fastest", action="store_true", help="is the chosen plan the fastest of all that were found?")
    parser.add_argument("--time", action="store_true", help="recomputation costs time, not FLOPs")
    args = parser.parse_args()
    total, bad = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            try:
                asked = check_fastest if args.fastest else check
                kinds, wrong, slowest = asked(args.binary, model, args, folder)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                kinds, wrong, slowest = Counter(), [str(e)], 0
            total += kinds
            bad += [f"{os.path.basename(model)}: {w}" for w in wrong]
            print(f"{os.path.basename(model):50} {told(kinds)}  {slowest:5.1f} s  {'; '.join(wrong[:2])}", flush=True)
    print(f"{told(total)}, {len(bad)} wrong")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
