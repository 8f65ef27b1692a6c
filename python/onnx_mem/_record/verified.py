"""The program's answer from a record, held against the model: its figures, and the bytes alive at each operator."""
from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from typing import Any

from .._measure.measured import Measured, Moment
from .._program import run_json
from .record import Record

_PHASES = ("forward", "loss", "backward")          # an optimizer's step is one of the program's, and many operators
_FIGURES = ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes")


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first operator at which the program has other bytes alive than the model; None where one of them has ended.
    number: how many of the model's operators allocated before it."""
    number: int
    model: Moment | None
    program: Moment | None

    def __str__(self) -> str:
        at = self.model or self.program
        return (f"operator {self.number + 1} that allocates, in {at.phase}: "
                f"{_moment_text(self.model, 'the model')}; {_moment_text(self.program, 'the program')}")


def _moment_text(moment: Moment | None, who: str) -> str:
    if moment is None:
        return f"{who} has ended"
    where = f" in {moment.module}" if moment.module else ""
    return f"{who} has {moment.live:,} B alive at {moment.operator}{where}"


def first_difference(model: list[Moment], program: list[Moment]) -> Difference | None:
    """Where the course of live bytes parts. What is one operator on one side may be several on the other: those before
    its last, at which less is alive, are passed over."""
    model = [m for m in model if m.phase in _PHASES and m.allocated > 0]
    program = [m for m in program if m.phase in _PHASES and m.allocated > 0]
    i = j = 0
    while i < len(model) and j < len(program):
        a, b = model[i], program[j]
        if _meet(a, b):
            i, j = i + 1, j + 1
        elif j + 1 < len(program) and b.live < a.live and _meet(a, program[j + 1]):
            j += 1
        elif i + 1 < len(model) and a.live < b.live and _meet(model[i + 1], b):
            i += 1
        else:
            return Difference(i, a, b)
    if i == len(model) and j == len(program):
        return None
    return Difference(i, model[i] if i < len(model) else None, program[j] if j < len(program) else None)


def _meet(a: Moment, b: Moment) -> bool:
    return a.phase == b.phase and a.live == b.live


@dataclasses.dataclass
class Verified:
    """What the program says from a record, beside the model itself, or where no model was given beside the record's
    replay in PyTorch. `same` where no byte differs.

    Attributes:
      replayed: the record, run in PyTorch.
      model: the model's own code; None where no model was given.
      program: the program's figures: peak_bytes, first_step_peak_bytes, saved_activation_bytes.
      difference: the first operator of forward and backward at which the program has other bytes alive; None where
        there is none.
    """
    replayed: Measured
    model: Measured | None
    program: dict[str, int | None]
    difference: Difference | None

    @property
    def same(self) -> bool:
        truth = self.model or self.replayed
        reported = all(self.program[f] == getattr(truth, f) for f in _FIGURES)
        return reported and self.difference is None and self.replay_is_the_model

    @property
    def replay_is_the_model(self) -> bool:
        return self._parted is None

    @property
    def _parted(self) -> str | None:
        """The first figure in which the record's replay is not the model."""
        fields = (*_FIGURES, "parameter_bytes")
        return next((f for f in fields if self.model and getattr(self.replayed, f) != getattr(self.model, f)), None)

    def __str__(self) -> str:
        rows = [f"record:  {self.replayed}"]
        if self.model is not None:
            rows.append(f"model:   {self.model}")
        rows.append("program: " + ", ".join(f"{name} {value:,} B" for name, value in self.program.items()
                                            if value is not None))
        return "\n".join([*rows, self._verdict()])

    def _verdict(self) -> str:
        if self.same:
            return "the same"
        where = f", first at {self.difference}" if self.difference else ""
        if (parted := self._parted) is None:
            return f"they differ: the program does not take what the record says{where}"
        replay, model = getattr(self.replayed, parted), getattr(self.model, parted)
        program = "takes what the model does" if not where else f"differs from the model{where}"
        return (f"they differ: {parted} of the record's replay is {replay:,} B, of the model {model:,} B; "
                f"the program {program}")


def ask(record: Record, path: Any, truth: Measured, length: int | None) -> tuple[dict[str, Any], list[Moment]]:
    """(figures, course) of the program.

    Args:
      path: the file that holds the record; None: it is written as bare text.
      truth: what the run is to be held against: batch, optimizer, loss.
      length: of the record's free size.
    """
    with tempfile.TemporaryDirectory(prefix="onnx-mem-") as folder:
        path = path or record.save(os.path.join(folder, "model.eager"))
        trace = os.path.join(folder, "course.trace")
        mode = "train" if truth.training else "infer"
        words = [os.fspath(path), "--batch", str(truth.batch), "--mode", mode, "-o", trace]
        if truth.training:
            words += ["--optimizer", truth.optimizer]
            words += ["--loss", truth.loss] if truth.loss not in ("output", "custom") else []
        if length is not None and record.free is not None:
            words += ["--dim", f"{record.free.name}={length}"]
        run = run_json(words)["runs"][0]
        with open(trace, encoding="utf-8") as f:
            course = _course(json.load(f)["traceEvents"])
    figures = run["training" if truth.training else "inference"]
    return {name: figures.get(name) for name in _FIGURES}, course


def _course(events: list[dict[str, Any]]) -> list[Moment]:
    phases = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    alive = {e["ts"]: sum(e["args"].values()) for e in events if e["ph"] == "C"}
    return [Moment(phases[e["tid"]], e["args"]["node"] or e["name"], e["args"]["module"], e["args"]["allocated"],
                   alive[e["ts"]]) for e in events if e["ph"] == "X"]
