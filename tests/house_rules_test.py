#!/usr/bin/env python3
"""Does house_rules.py see what it is there for? One file at a time, in an otherwise empty tree."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LONG = "int F(int a,\n      int b) {\n" + "  ++a;\n" * 40 + "  return a;\n}\n"


def refused(files: dict[str, str], known: str = "") -> str:
    with tempfile.TemporaryDirectory() as made:
        root = pathlib.Path(made)
        for name, text in {**files, "tests/house_rules.txt": known}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        ran = subprocess.run([sys.executable, HERE / "house_rules.py", "--root", root], capture_output=True, text=True)
        return ran.stdout if ran.returncode else ran.stderr


CASES = [
    ({"analyzer/a/a.cc": "int Told(int asking);\n"}, "", "word analyzer/a/a.cc: 1 (told)"),
    ({"analyzer/a/a.cc": "// A value goes here\n"}, "", "word analyzer/a/a.cc: 1 (goes)"),
    ({"analyzer/a/a.cc": "// Python lets go of it\n"}, "", "lets go"),
    ({"analyzer/a/a.cc": 'F("it was told");  // masked, unmasked\n'}, "", ""),
    ({"docs/a.md": "It is asked.\n"}, "", "word docs/a.md: 1 (asked)"),
    ({"docs/a.md": "```\nIt is asked.\n```\n"}, "", ""),
    ({"analyzer/a/a.cc": LONG}, "", "function analyzer/a/a.cc:F: 44"),
    ({"analyzer/a/a.cc": LONG.replace("  ++a;\n" * 40, "  G({\n" + '      {"a", 1},\n' * 60 + "  });\n")}, "", ""),
    ({"analyzer/a/a.cc": LONG.replace("  ++a;\n", "  // why\n\n")}, "", ""),
    ({"analyzer/a/a.cc": "int a;\n" * 301}, "", "file analyzer/a/a.cc: 301"),
    ({"analyzer/a/a.cc": "int a;\n" * 301}, "file analyzer/a/a.cc 301\n", ""),
    ({"analyzer/a/a.cc": "int a;\n" * 302}, "file analyzer/a/a.cc 301\n", "listed with 301"),
    ({"analyzer/a/a.cc": "int a;\n"}, "file analyzer/a/a.cc 301\n", "keeps the rule now"),
    ({f"analyzer/a/a{i}.cc": "" for i in range(31)}, "", "folder analyzer/a: 31"),
    ({"planner/a.cc": "struct A {\n};\n", "cli/b.cc": "class A final : public B {\n};\n"}, "", "class A: 2"),
    ({"planner/a.cc": "struct A {\n  struct Row {\n};\n", "cli/b.cc": "struct B {\n  struct Row {\n};\n"}, "", ""),
    ({"planner/a.cc": 'if (op == "layer_norm") F();\n'}, "", 'operator planner/a.cc: 1 (layer_norm)'),
    ({"analyzer/eager/a.cc": 'if (op == "layer_norm") F();\n'}, "", ""),
    ({"analyzer/a/a.cc": "bool IsGptBlock();  // as BERT has one\n"}, "", "model analyzer/a/a.cc: 1 (gpt)"),
]

for files, known, message in CASES:
    said = refused(files, known)
    if (message not in said) if message else said:
        sys.exit(f"{files} with {known!r}: wanted {message!r}, got {said!r}")
