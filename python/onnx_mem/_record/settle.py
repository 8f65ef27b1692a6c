"""Raw events of one forward -> a program: lines with the values that Python releases after each operator.

A program is plain data: {"values": [...], "lines": [...], "returned": [value | None], "tree": json, "loss": value |
None}. A line is a dict with one of the keys op, call, ret, grad, leaf, function, endfunction, backward, endbackward,
checkpoint, endcheckpoint.
"""

from __future__ import annotations

from typing import Any

_VALUE_KEYS = ("kind", "name", "root", "shape", "strides", "offset", "dtype", "device", "trained", "tied")


def reads(args: Any) -> list[int]:
    """Values that an argument tree names."""
    if isinstance(args, dict):
        return [args["v"]] if "v" in args else [v for a in args.values() for v in reads(a)]
    return [v for a in args for v in reads(a)] if isinstance(args, list) else []


def program_of(raw: dict[str, Any]) -> dict[str, Any]:
    """The program that `observe` saw."""
    lines = _settle(raw)
    named = {v for x in lines if "op" in x for v in x["outs"]} | {g for x in lines for g, _ in x.get("backward", ())}
    read = {v for x in lines for v in reads([x.get("args", []), x.get("kwargs", {})])}
    read.update(v for x in lines for v in [*x.get("drops", ()), *x.get("checkpoint", ()), *x.get("endfunction", ())])
    read.update(v["root"] for i, v in enumerate(raw["values"]) if i in read or i in named)
    read.update(raw["returned"])

    def is_kept(i: Any, v: Any) -> Any:
        if v.get("attribute"):
            return i in read or v["left"] and v["root"] is None
        return i in named or v["kind"] not in ("value", "gradient")
    kept = [i for i, v in enumerate(raw["values"]) if is_kept(i, v)]
    number = {v: i for i, v in enumerate(kept)}            # autograd's own clones have left gaps
    values = [{k: raw["values"][v][k] for k in _VALUE_KEYS if k in raw["values"][v]} for v in kept]
    for v in values:
        v["root"] = number.get(v["root"])
    return dict(values=values, lines=[_renumbered(x, number) for x in lines],
                returned=[number.get(v) for v in raw["returned"]], tree=raw["tree"], loss=number.get(raw["loss"]))


def _settle(raw: Any) -> Any:
    """Events -> lines. An op line gets `drops`: values whose last Python reference is freed before the next operator. A
    storage may live on without a Python object that we saw (a list of C++, a cache); then its last value is freed with
    it."""
    ops, last, windows, storage_end = [], {}, {}, {}
    inner, inner_last, of_backward = None, {}, set()        # the operators of a Function's backward, and their values
    lines = []
    for e in raw["events"]:
        kind = e[0]
        if kind == "op":
            op = dict(op=e[1], args=e[2], kwargs=e[3], outs=e[4], drops=[])
            lines.append(op)
            if inner is not None:
                inner.append(op)
                for v in e[4]:
                    if raw["values"][v]["kind"] == "value" and v not in last:
                        inner_last[v] = None
                        of_backward.add(v)
                continue
            ops.append(op)
            for v in e[4]:
                windows.setdefault(raw["values"][v]["storage"], []).append(v)
                last[v] = None
            for v in reads([e[2], e[3]]):
                if v in last:
                    last[v] = None
        elif kind == "gone":
            if inner is not None and e[1] in inner_last:
                inner_last[e[1]] = len(inner) - 1
            elif e[1] not in of_backward:
                last[e[1]] = len(ops) - 1
        elif kind == "storage_gone":
            storage_end[e[1]] = len(ops) - 1
        elif kind == "backward":
            inner, inner_last = [], {}
            lines.append(dict(backward=[list(p) for p in e[1]]))
        elif kind == "endbackward":
            results = {r for r, _ in e[1]}
            for v, i in inner_last.items():
                if i is not None and v not in results:
                    inner[i]["drops"].append(v)
            inner, inner_last = None, {}
            lines.append(dict(endbackward=[list(p) for p in e[1]]))
        elif kind == "endfunction":
            lines.append(dict(endfunction=e[1], held=e[2]))
        elif kind == "checkpoint":
            lines.append(dict(checkpoint=e[2], reentrant=e[1]))
        elif kind in ("ret", "endcheckpoint"):
            lines.append({kind: True})
        else:                                               # call, grad, leaf, function
            lines.append({kind: e[1]})
    for storage, values in windows.items():
        end = storage_end.get(storage, len(ops))
        for v in values:
            if last[v] is None or last[v] > end:
                last[v] = end
        if raw["values"][values[0]]["root"] is None and max(last[v] for v in values) < end:
            last[values[-1]] = end                          # not for views of weights and inputs: those own nothing
    for v, i in last.items():
        if 0 <= i < len(ops) and raw["values"][v]["kind"] == "value":
            ops[i]["drops"].append(v)
    for v, x in enumerate(raw["values"]):                  # what the call before left behind, and this one replaces
        state = x.get("attribute") or x["kind"] == "buffer"
        if ops and state and x["root"] is None and x["storage"] in storage_end:
            ops[max(storage_end[x["storage"]], 0)]["drops"].append(v)
    return _without_empty_calls(_without_autograds_clones(lines, raw))


def _without_autograds_clones(lines: list[dict[str, Any]], raw: Any) -> Any:
    """silu_ and its like have autograd clone what they overwrite: dispatched, but no operator of the model's code."""
    read = {v for x in lines if "op" in x for v in reads([x["args"], x["kwargs"]])} | set(raw["returned"])
    kept, before = [], None
    for i, x in enumerate(lines):
        following = lines[i + 1].get("op", "") if i + 1 < len(lines) else ""
        if (x.get("op") == "clone" and following.split(".")[0].endswith("_") and x["outs"][0] not in read
                and raw["values"][x["outs"][0]]["storage"] in raw["saved_storages"]):
            if before is not None:
                before["drops"] += [v for v in x["drops"] if v != x["outs"][0]]
            lines[i + 1]["drops"] = [v for v in lines[i + 1]["drops"] if v != x["outs"][0]]
            continue
        if "op" in x:
            before = x
        kept.append(x)
    return kept


def _without_empty_calls(lines: list[dict[str, Any]]) -> Any:
    out = []
    for x in lines:
        if "ret" in x and out and "call" in out[-1]:
            out.pop()
        else:
            out.append(x)
    return out


def _renumbered(x: Any, number: Any) -> Any:
    """Arguments name values as {"v": n}; the other fields that hold values are named here."""
    def args(a: Any) -> Any:
        if isinstance(a, dict):
            return {"v": number[a["v"]]} if "v" in a else {k: args(v) for k, v in a.items()}
        return [args(v) for v in a] if isinstance(a, list) else a
    x = dict(x)
    for key in ("args", "kwargs"):
        if key in x:
            x[key] = args(x[key])
    for key in ("outs", "drops", "endfunction", "held", "checkpoint"):
        if key in x:
            x[key] = [number[v] for v in x[key] if v in number]
    for key in ("backward", "endbackward"):
        if key in x:
            x[key] = [[number[a], number[b]] for a, b in x[key]]
    if "leaf" in x:
        x["leaf"] = number[x["leaf"]]
    return x
