"""Finds the package, the models of the committed records and the program in the checkout. Without torch, the tests that
want none are what is collected."""
import importlib.util
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "studies/2026-11-22-records")]

if importlib.util.find_spec("torch") is None:
    collect_ignore = [p.name for p in HERE.glob("test_*.py") if "\nimport torch\n" in p.read_text(encoding="utf-8")]


@pytest.fixture
def program(monkeypatch):
    """The program as it was built: $ONNX_MEM_PROGRAM, else that of build/release."""
    built = os.environ.get("ONNX_MEM_PROGRAM") or str(HERE.parents[1] / "build/release/cli/onnx-mem")
    if not os.access(built, os.X_OK):
        pytest.skip("the program is not built")
    monkeypatch.setenv("ONNX_MEM_PROGRAM", built)
    return built
