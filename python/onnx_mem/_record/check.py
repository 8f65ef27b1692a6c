"""Holds a record against the model: the replay counted as measure() counts, and its live bytes operator by operator."""
from __future__ import annotations

from typing import Any

import torch

from .._fake.tensors import DEVICE, fake_cuda
from .._measure.measured import Measured
from .._measure.step import run_step
from .._measure.storages import StorageTracker
from .record import Record
from .replay import Replay
from .settle import reads
from .sizes import at_batch


def _inputs(record: Record, batch: int) -> Any:
    declared = [v for v in at_batch(next(iter(record.programs.values())), batch)["values"] if v["kind"] == "input"]

    def make() -> Any:
        return tuple(torch.empty_strided(v["shape"], v["strides"], dtype=getattr(torch, v["dtype"]),
                                         device=DEVICE if v["device"] == "cuda" else v["device"]) for v in declared), {}
    return make


def vocabulary_of(record: Record) -> frozenset[int]:
    """Rows of the tables that integers are looked up in, where integers are fed; empty elsewhere."""
    p = next(iter(record.programs.values()))
    tables = [reads(x["args"])[0] for x in p["lines"] if x.get("op") == "embedding"]
    fed = any(v["kind"] == "input" and v["dtype"][0] in "iu" for v in p["values"])
    return frozenset(p["values"][t]["shape"][0] for t in tables) if fed else frozenset()


def replayed(record: Record, batch: int, optimizer: Any = "adam", training: bool = True, loss: str | None = None,
             after_line: Any = None, tracker: StorageTracker | None = None) -> Measured:
    """measure() of the record itself.

    Args:
      batch: at which batch.
      loss: as measure() resolved it; default: its own resolution.
      after_line: called with each operator's line when it has run.
    """
    record.holds_at(batch)
    record = record.at()
    loss = "auto" if loss in (None, "output") else loss
    with fake_cuda():
        model = Replay(record, batch, after_line)
        return run_step(model, _inputs(record, batch), batch, optimizer, training, loss, vocabulary_of(record), tracker)


def trace(record: Record, batch: int, mode: str, loss: str | None = None) -> list[int]:
    """Live bytes after every operator line of one program, in their order, before what the line drops is dropped.

    eval: under no_grad, evaluation mode. train: the forward of step 1; autograd keeps what it saves."""
    tracker, live = StorageTracker(), []

    def after_line(line: str) -> None:
        if tracker.phase == "forward" and tracker.step == 0:
            live.append(tracker.live)
    replayed(record, batch, "sgd", mode == "train", loss, after_line, tracker)
    return live
