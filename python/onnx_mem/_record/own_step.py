"""record(step=...): a training step of the user's own as data, each storage with its size as a function of the batch.

A program is {"lines": [{"op", "phase", "module"}], "storages": [{"category", "bytes", "begin", "end", "module",
"name"}], "first": the same two of the first call, "parameters": how many numbers they are}."""
from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import torch

from .. import _progress
from .._fake.given import SAID_OF_VALUES, first_given
from .._fake.inputs import free_dims
from .._fake.tensors import Given, batch_of
from .._measure.lives import LifeTracker
from .._measure.own_step import names_of_inputs, watched
from .record import Record
from .recorder import _first_that_fits, _grids, _of_batches, _of_lengths, _range, _Runs, _said_of_range
from .sizes import at_batch, at_length, comparable

_PHASES = {"update": "optimizer"}


def record_step(step: Callable[..., object], model: object, args: Any, kwargs: Any, batch_dim: Any,
                free: Any) -> tuple[Record, list[str]]:
    """The record, and what to warn of."""
    names = names_of_inputs(step, model, args, kwargs)
    if not names:
        return Record({"step": _program(watched(step, model, lambda: (args, kwargs), []))}, torch.__version__,
                      batches=(1, 1)), []
    batch = batch_of((args, kwargs), batch_dim, names)
    dims = free_dims(free, (args, kwargs), names, batch_dim)

    def recorded(grid: Any, given: Given) -> Record:
        runs = _Runs(batch, batch_dim, names, dims, grid, given)

        def run(n: int, length: int | None, watch: bool = True, last: bool = False) -> Any:
            if not watch:                          # every run begins with the same state
                return None
            _progress.step(f"step, batch {n}" + (f", {dims.name} {length}" if dims is not None and length else ""))
            return _program(watched(step, model, lambda: runs.inputs((args, kwargs), n, length), names, given))
        program = _of_batches(run, runs) if grid is None else _of_lengths(run, runs)
        first, last = _range(run, runs, program, (args, kwargs))
        length = grid and grid.lengths[0]
        if first == 1 and not _is_of_one(run, at_length(program, length), length):
            first = 2
        return Record({"step": program}, torch.__version__, runs.declared(), (first, last))
    grids = list(_grids(dims.length)) if dims is not None else []
    (made, why), given = first_given(
        lambda given: _first_that_fits(functools.partial(recorded, given=given), grids))
    notes = [SAID_OF_VALUES] if given.values else []
    notes += [] if why is None else [f"the record follows the batch alone: {why.reason}"]
    return made, notes + ([_said_of_range(*made.batches)] if made.batches != (1, None) else [])


def _is_of_one(run: Any, program: Any, length: Any) -> bool:
    """Whether the program is that of batch 1. One that does not run says nothing."""
    try:
        return _alike(run(1, length), at_batch(program, 1))
    except Exception:
        return True


def _alike(a: Any, b: Any) -> bool:
    return bool(comparable(a) == comparable(b))


def _program(tracker: LifeTracker) -> dict[str, Any]:
    later, first = _call(tracker, len(tracker.calls) - 2), _call(tracker, 0)
    return {**later, "first": first, "parameters": tracker.parameters}


def _call(tracker: LifeTracker, call: int) -> dict[str, Any]:
    """Without operators that only give what is there another shape."""
    begin, end = tracker.calls[call], tracker.calls[call + 1]
    storages = [(n, s, max(tracker.made_by(n), begin), min(tracker.gone_before(n), end))
                for n, s in enumerate(tracker.seen) if s.counted]
    storages = [x for x in storages if x[2] < x[3]]
    kept = sorted({begin, *(x[2] for x in storages), *(i for i in range(begin, end) if not tracker.ops[i].view)})
    number = {at: i for i, at in enumerate(kept)}
    after = _next_of(kept, begin, end)
    lines = [dict(op=op.op.rsplit(".", 1)[0], phase=_PHASES.get(op.phase, op.phase), module=_word(op.module))
             for op in (tracker.ops[i] for i in kept)]
    return dict(lines=lines, storages=[
        dict(category=tracker.category_of(n), bytes=s.bytes, begin=number[a], end=after[b - begin], on_cpu=s.on_cpu,
             module=_word(tracker.made_at[n][0]), name=_name(tracker, n)) for n, s, a, b in storages])


def _next_of(kept: list[int], begin: int, end: int) -> list[int]:
    """For each operator from `begin` on, and for the end, how many of `kept` are before it."""
    out, at = [], 0
    for i in range(begin, end + 1):
        out.append(at)
        at += at < len(kept) and kept[at] == i
    return out


def _word(text: str) -> str:
    return "_".join(text.split())


def _name(tracker: LifeTracker, number: int) -> str:
    """Its own, else the operator and the line that made it."""
    if tracker.name_of(number):
        return tracker.name_of(number)
    op, line = tracker.seen[number].op.rsplit(".", 1)[0], tracker.made_at[number][1]
    return f"{op} ({os.path.basename(line)})" if line else op

