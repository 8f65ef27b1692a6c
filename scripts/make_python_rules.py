#!/usr/bin/env python3
"""The names of analyzer/record/aten/rows.inc, and those of ATen's operators of one tensor in analyzer/ops/ops.inc, as the
set of python/onnx_mem/_record/ruled.py: operators for which a record needs no formula.

usage: make_python_rules.py [--check]     --check: fails where the file is another, and writes it with
                                          ONNX_MEM_UPDATE_GOLDEN=1 alone
"""
import os
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS, FACTS = ROOT / "analyzer/record/aten/rows.inc", ROOT / "analyzer/ops/ops.inc"
MADE = ROOT / "python/onnx_mem/_record/ruled.py"
HEAD = '''"""ATen operators that the program has a rule for. Made by scripts/make_python_rules.py from its tables."""

RULED = frozenset("""
'''


def names() -> list[str]:
    rows = re.findall(r'^ATEN\("([^"]+)"', ROWS.read_text(), re.MULTILINE)
    facts = re.findall(r'^OP\("([^"]+)"([^)]*)\)', FACTS.read_text(), re.MULTILINE)
    return sorted({*rows, *(name for name, traits in facts if "kAtenUnary" in traits)})


def main() -> int:
    text = HEAD + "\n".join(textwrap.wrap(" ".join(names()), 118, break_on_hyphens=False)) + '\n""".split())\n'
    if "--check" not in sys.argv[1:] or os.environ.get("ONNX_MEM_UPDATE_GOLDEN"):
        MADE.write_text(text)
    if MADE.exists() and MADE.read_text() == text:
        return 0
    print(f"{MADE.relative_to(ROOT)} is not what {ROWS.relative_to(ROOT)} says: run scripts/{pathlib.Path(__file__).name}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
