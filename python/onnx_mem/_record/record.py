"""The record: what a model's forward runs, as data."""
from __future__ import annotations

import dataclasses
import pathlib

MODES = ("eval", "train")


@dataclasses.dataclass(eq=True)
class Record:
    """The eager programs of one model. Sizes are integers, or {"B": [m, c]} for m*B + c of the batch B.

    Attributes:
      programs: mode ("eval", "train") -> program; settle.py says what a program is.
      torch_version: the framework that was watched.
    """
    programs: dict[str, dict]
    torch_version: str

    def text(self) -> str:
        """The record as text, format `eager 1` (docs/recording.md)."""
        from .text import to_text
        return to_text(self)

    @staticmethod
    def from_text(text: str) -> Record:
        """Reads what text() wrote. Raises Error with code "bad-record"."""
        from .text import from_text
        return from_text(text)

    def save(self, path) -> pathlib.Path:
        """Writes the bare text; onnx-mem reads such a file."""
        path = pathlib.Path(path)
        path.write_text(self.text(), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        counts = {mode: sum("op" in x for x in p["lines"]) for mode, p in self.programs.items()}
        said = ", ".join(f"{mode}: {n} operators" for mode, n in counts.items())
        return f"Record({said}; torch {self.torch_version})"
