#!/usr/bin/env python3
"""The rows of include/onnx_mem/figures.inc as the dataclasses of python/onnx_mem/_figures.py.

usage: make_python_figures.py [--check]     --check: fails where the file is another, and writes it with
                                            ONNX_MEM_UPDATE_GOLDEN=1 alone
"""
import re
import sys
import textwrap

from made_files import ROOT, write_or_check

TABLE = ROOT / "include/onnx_mem/figures.inc"
MADE = ROOT / "python/onnx_mem/_figures.py"

HEAD = '''"""Figures of an answer. Made by scripts/make_python_figures.py from include/onnx_mem/figures.inc."""
from __future__ import annotations

import dataclasses
'''


CLASSES = [    # name, part, words
    ("TrainingFigures", "training", "Of one training step. Bytes; ranges are [lowest, highest]."),
    ("InferenceFigures", "inference", "Of one forward in evaluation mode under no_grad. Bytes."),
    ("FitFigures", "fit", "The batches that fit a card. None where the file's batch is fixed."),
]


def rows() -> list[tuple[str, list[str]]]:
    """Of each row its kind, "PLAN_PEAK", and what stands in it."""
    found = re.findall(r"^ONNX_MEM_(\w+) *\((.*)\)$", TABLE.read_text(), re.MULTILINE)
    return [(kind, [cell.strip('" ') for cell in re.findall(r'"[^"]*"|[^,"]*[^,"\s]', cells)]) for kind, cells in found]


def fields(part: str) -> list[tuple[str, str, str]]:
    """(name, type, words) of a part of a run, "training", or of "fit". What may be unknown is None then."""
    found = []
    for kind, cells in rows():
        if part != "fit" and kind.endswith(("PEAK", "SHARE", "RANGE")) and cells[1].lower() in ("both", part):
            is_range = kind.endswith("RANGE")
            name = f"{cells[0]}_interval_bytes" if is_range else cells[0]
            known = "list[int]" if is_range else "int"
            found.append((name, f"{known} | None = None" if kind == "OPEN_RANGE" else known, cells[-1]))
        elif kind.endswith("PASS") and cells[1] == part:
            found.append((cells[2], "int | None = None" if kind == "PLAN_PASS" else "int", cells[-1]))
        elif kind == "BATCH" and part == "fit":
            found.append((cells[1], ("bool" if cells[0] == "bool" else "int") + " | None = None", cells[-1]))
    return found


def class_text(name: str, part: str, words: str) -> str:
    lines = ["", "", "@dataclasses.dataclass(kw_only=True)", f"class {name}:", f'    """{words}', "", "    Attributes:"]
    for field, _, meaning in fields(part):
        lines += textwrap.wrap(f"{field}: {meaning}", 114, initial_indent=" " * 6, subsequent_indent=" " * 8)
    lines.append('    """')
    lines += [f"    {field}: {kind}" for field, kind, _ in fields(part)]
    return "\n".join(lines)


def main() -> int:
    text = HEAD + "\n".join(class_text(*row) for row in CLASSES) + "\n"
    return write_or_check(MADE, text, str(TABLE.relative_to(ROOT)))


if __name__ == "__main__":
    sys.exit(main())
