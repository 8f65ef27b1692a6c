"""The record: what a model's forward runs, as data."""
from __future__ import annotations

import dataclasses
import pathlib
from typing import TYPE_CHECKING, TypedDict

from ..errors import Error

if TYPE_CHECKING:
    from .._types import Mode, Path

MODES: tuple[Mode, ...] = ("eval", "train")


class Program(TypedDict):
    """What one forward runs (settle.py): plain data. tree: how the outputs are nested, as JSON."""
    values: list[dict[str, object]]
    lines: list[dict[str, object]]
    returned: list[int | None]
    tree: object
    loss: int | None


@dataclasses.dataclass(frozen=True)
class Free:
    """A size beside the batch that a record is a function of.

    Attributes:
      name: what the user calls it ("seq").
      length: of the example inputs.
      step: the record holds at length + k * step.
      first, last: the shortest and the longest at which the model was watched.
    """
    name: str
    length: int
    step: int
    first: int
    last: int


@dataclasses.dataclass(eq=True)
class Record:
    """The eager programs of one model. Sizes are integers or functions of the batch and one more size (sizes.py).

    Attributes:
      programs: mode ("eval", "train") -> program; settle.py says what a program is. Behind a mode may stand a
        precision ("train bf16"), and " at 1" where batch 1 has another program.
      torch_version: the framework that was watched.
      free: the size beside the batch; None where there is none.
      batches: the first and the last batch at which the model takes the path that was recorded; None for no last one.
    """
    programs: dict[str, Program]
    torch_version: str
    free: Free | None = None
    batches: tuple[int, int | None] = (1, None)

    def holds_at(self, batch: int) -> None:
        """Raises Error with code "record-sizes" where the model takes another path at this batch."""
        first, last = self.batches
        if batch < first or last is not None and batch > last:
            raise Error(f"the record holds for batches {first} to {'any' if last is None else last}, not for {batch}: "
                        "the model takes another path there\n"
                        f"  try: onnx_mem.record(model, x)   # with x of batch {batch}: that record holds there",
                        "record-sizes")

    def at(self, length: int | None = None) -> Record:
        """The record at one length of its free size (default: that of the example inputs); itself where it has none.

        Raises Error with code "record-sizes" where the record does not hold there."""
        from .sizes import at_length
        if self.free is None:
            return self
        length = self.free.length if length is None else length
        if length < 1 or (length - self.free.length) % self.free.step != 0:
            raise Error(f"the record holds at {self.free.name} = {self.free.length} + k * {self.free.step}, not at "
                        f"{length}", "record-sizes")
        return Record({mode: at_length(p, length) for mode, p in self.programs.items()}, self.torch_version,
                      batches=self.batches)

    def text(self) -> str:
        """The record as text, format `eager 1` (docs/reference/record-format.md)."""
        from .text import to_text
        return to_text(self)

    @staticmethod
    def from_text(text: str) -> Record:
        """Reads what text() wrote. Raises Error with code "bad-record"."""
        from .text import from_text
        return from_text(text)

    def save(self, path: Path) -> pathlib.Path:
        """Writes the bare text; onnx-mem reads such a file."""
        path = pathlib.Path(path)
        path.write_text(self.text(), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        counts = {mode: sum("op" in x for x in p["lines"]) for mode, p in self.programs.items()}
        said = ", ".join(f"{mode}: {n} operators" for mode, n in counts.items())
        return f"Record({said}; torch {self.torch_version})"
