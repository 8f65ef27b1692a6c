"""The examples run as they stand, in a folder of their own."""
import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch  # noqa: F401

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def shown(path):
    """What the cells of a notebook show: the last expression of each, where it has one."""
    names, out = {"__name__": "__main__"}, []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            out.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    return out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(program, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAYERS", "2")              # of the 7 B model
    if "import transformers" in path.read_text():
        pytest.importorskip("transformers")
    assert any("<svg" in text for text in shown(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_kept_without_outputs(path):
    cells = json.loads(path.read_text())["cells"]
    assert NOTEBOOKS and not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_the_tutorial_runs(program, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "python")}
    done = subprocess.run([sys.executable, str(EXAMPLES / "tutorial.py")], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "measured the same: True" in done.stdout and "[not-found]" in done.stdout
    assert (tmp_path / "before.html").stat().st_size > 10000
