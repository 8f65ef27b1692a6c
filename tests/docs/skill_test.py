"""The Python blocks of SKILL.md, run beside the models of testdata. (Its sessions of the shell: scripts/docs_screens.)

usage: skill_test.py PROGRAM ROOT

A block that is marked "python torch" runs where PyTorch can export.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def main() -> None:
    program, root = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    text = (root / "SKILL.md").read_text()
    assert re.match(r"---\nname: onnx-mem\ndescription: >-\n(  .*\n)+---\n", text), "name and description come first"
    named = set(re.findall(r"`onnx-mem (\w+) (?:MODEL|BEFORE|COMMAND)", text))
    listed = subprocess.run([program, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert named == {"fit", "plan", "compare", "check", "help"}, named
    assert all(name in listed for name in named), named
    blocks = re.findall(r"^```python( torch)?\n(.*?)^```$", text, flags=re.M | re.S)
    assert len(blocks) == 2 and text.count("```python") == 2, "two blocks of Python"
    environment = {**os.environ, "PYTHONPATH": str(root / "python"), "ONNX_MEM_PROGRAM": str(program)}
    with tempfile.TemporaryDirectory() as folder:
        for model in (root / "testdata" / "models").glob("*.onnx"):
            (pathlib.Path(folder) / model.name).symlink_to(model)
        for wants_torch, code in blocks:
            if wants_torch and not all(map(importlib.util.find_spec, ("torch", "onnx", "onnxscript"))):
                print("skipped: no export here")
                continue
            ran = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                 text=True, check=True)
            if wants_torch:
                assert int(ran.stdout) > 0, ran.stdout
            else:
                assert re.fullmatch(r"fits \d+ \d+\nnot-found\n", ran.stdout), ran.stdout
    print("ok")


main()
