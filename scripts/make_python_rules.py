#!/usr/bin/env python3
"""The operators of analyzer/record/aten/rows.inc and table.cc, and ATen's of one tensor in analyzer/ops/ops.inc, as the
set of python/onnx_mem/_record/ruled.py: those for which a record needs no formula. And those of them whose rule holds
for complex numbers: what moves elements, and the families of complex numbers.

usage: make_python_rules.py [--check]     --check: fails where the file is another, and writes it with
                                          ONNX_MEM_UPDATE_GOLDEN=1 alone
"""
import re
import sys
import textwrap

from made_files import ROOT, write_or_check

ROWS, FACTS = ROOT / "analyzer/record/aten/rows.inc", ROOT / "analyzer/ops/ops.inc"
LISTS = ROOT / "analyzer/record/aten/table.cc"
MADE = ROOT / "python/onnx_mem/_record/ruled.py"
HEAD = '''"""ATen operators that the program has a rule for. Made by scripts/make_python_rules.py from its tables."""

RULED = frozenset("""
'''

COMPLEX = {"kComplex", "kView", "kShape", "kSelect"}


def names(families: set[str] | None = None) -> list[str]:
    """families: of those alone."""
    facts = re.findall(r'^OP\("([^"]+)",\s*(\w+)([^)]*)\)', FACTS.read_text(), re.MULTILINE)
    chosen = {name for name, family, _ in facts if families is None or family in families}
    table = re.findall(r'^ATEN\("([^"]+)", "([^"]+)"', ROWS.read_text(), re.MULTILINE)
    rows = [aten for aten, op in table if op in chosen]
    lists = re.findall(r"to_array<std::string_view>\(\s*\{([^}]*)\}", LISTS.read_text())
    listed = [name for each in lists for name in re.findall(r'"([^"]+)"', each)]
    unary = [name for name, _, traits in facts if "kAtenUnary" in traits and name in chosen]
    return sorted({*rows, *listed, *unary})


def words(chosen: list[str]) -> str:
    return "\n".join(textwrap.wrap(" ".join(chosen), 118, break_on_hyphens=False)) + '\n""".split())\n'


def main() -> int:
    text = HEAD + words(names()) + '\nRULED_OF_COMPLEX = frozenset("""\n' + words(names(COMPLEX))
    return write_or_check(MADE, text, str(ROWS.relative_to(ROOT)))


if __name__ == "__main__":
    sys.exit(main())
