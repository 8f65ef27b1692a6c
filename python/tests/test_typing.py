"""What a type checker sees of the commands: every option, and no other name."""
import ast
import pathlib
import subprocess
import sys

import pytest

import onnx_mem

STUB = pathlib.Path(onnx_mem.__file__).with_name("_signatures.pyi")
SCRIPT = """
import onnx_mem

report = onnx_mem.analyze("m.onnx", batch=[1, 8], optimizer="adamw", amp="bf16", freeze=["a", "b"], lora="8:attn",
                          base_bits="4", for_="onnxruntime", cudnn_benchmark=True, dim="seq=512", strict=True)
peak: int | None = report.runs[0].training.peak_bytes if report.runs[0].training else None
plan = onnx_mem.plan("m.onnx", budget="4GiB", max_slowdown="10%", time_limit=2.5, method="chain")
code: str = plan.code
fit: onnx_mem.Fit = onnx_mem.fit("m.onnx", gpu="RTX 4090")
compared = onnx_mem.compare("a.json", "b.onnx", like="base", max_increase=2.0)
"""


def mypy(folder: pathlib.Path, text: str) -> str:
    pytest.importorskip("mypy")
    script = folder / "script.py"
    script.write_text(text)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--cache-dir",
                           str(folder / "cache"), str(script)], capture_output=True, text=True, check=False,
                          env={"MYPYPATH": str(STUB.parents[1]), "PATH": ""})
    return done.stdout + done.stderr


def test_a_strict_checker_knows_the_options_and_fields(tmp_path):
    assert "no issues" in mypy(tmp_path, SCRIPT)


@pytest.mark.parametrize("call", ['analyze("m.onnx", optimiser="adam")', 'analyze("m.onnx", amp="bf61")',
                                  'fit("m.onnx", budget_on="live")', 'plan("m.onnx", iterations="many")'])
def test_a_strict_checker_refuses_what_is_none(tmp_path, call):
    assert "error: " in mypy(tmp_path, f"import onnx_mem\n\nonnx_mem.{call}\n")


def test_the_stub_has_the_functions_of_the_module():
    from onnx_mem import commands
    functions = [node.name for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert functions == ["analyze", "plan", "fit", "compare"]
    assert all(callable(getattr(commands, name)) for name in functions)
