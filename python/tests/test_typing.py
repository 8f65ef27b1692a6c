"""What a type checker sees of the commands: every option, and no other name."""
import ast
import pathlib
import re
import subprocess
import sys

import pytest

import onnx_mem

STUB = pathlib.Path(onnx_mem.__file__).with_name("_signatures.pyi")
ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = """
import onnx_mem

report = onnx_mem.analyze("m.onnx", batch=[1, 8], optimizer="adamw", amp="bf16", freeze=["a", "b"], lora="8:attn",
                          base_bits="4", for_="onnxruntime", cudnn_benchmark=True, dim="seq=512", strict=True)
peak: int = report.training.peak_bytes + report.training.breakdown["parameters"] + report.training.peak["step"]
fits: bool = report.verdict == "fits" and report.gpus[0]["training"]["device_bytes"] < 2**30
plan = onnx_mem.plan("m.onnx", budget="4GiB", max_slowdown="10%", time_limit=2.5, method="chain")
code: str = plan.code
modules: list[str] = [name for p in plan.plans for segment in p["segments"] for name in segment["modules"]]
fit: onnx_mem.Fit = onnx_mem.fit("m.onnx", gpu="RTX 4090")
batch: int | None = fit.training["safe_batch"] if fit.training else None
compared = onnx_mem.compare("a.json", "b.onnx", like="base", max_increase=2.0)
written: str = report.save("report.html").name
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """The checker on a script of a user; what it learned of the package serves every test."""
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("mypy")

    def check(text: str) -> str:
        script = folder / "script.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports", "silent", "--cache-dir",
                               str(folder / "cache"), str(script)], capture_output=True, text=True, check=False,
                              env={"MYPYPATH": str(STUB.parents[1]), "PATH": ""})
        return done.stdout + done.stderr
    return check


def test_a_strict_checker_knows_the_options_and_fields(mypy):
    assert "no issues" in mypy(SCRIPT)


@pytest.mark.parametrize("call", ['analyze("m.onnx", optimiser="adam")', 'analyze("m.onnx", amp="bf61")',
                                  'fit("m.onnx", budget_on="live")', 'plan("m.onnx", iterations="many")',
                                  'analyse("m.onnx")', 'analyze("m.onnx").training.peek', 'analyze(3)',
                                  'export(3, path="m.onnx")', 'analyze("m.onnx").verdict == "yes"'])
def test_a_strict_checker_refuses_what_is_none(mypy, call):
    assert "error: " in mypy(f"import onnx_mem\n\nonnx_mem.{call}\n")


def test_the_stub_has_the_functions_of_the_module():
    from onnx_mem import commands
    functions = [node.name for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.FunctionDef)]
    assert functions[:4] == ["analyze", "plan", "fit", "compare"]
    assert all(callable(getattr(commands, name)) for name in functions[:4])
    assert {*functions} <= {*onnx_mem.__all__}


def public() -> list[str]:
    """What a user's editor shows: every name of the package, every field and method of its classes."""
    found = []
    for name in onnx_mem.__all__:
        value = getattr(onnx_mem, name)
        found.append(f"onnx_mem.{name}")
        if isinstance(value, type) and not issubclass(value, Exception):
            fields = getattr(value, "__dataclass_fields__", {})
            members = {*fields, *(m for c in value.__mro__[:-1] for m in vars(c))}
            found += [f"made(onnx_mem.{name}).{m}" for m in sorted(members) if not m.startswith("_")]
    return found


def test_no_public_name_is_any(mypy):
    pytest.importorskip("torch")
    names = public()
    assert "made(onnx_mem.Report).training" in names and "made(onnx_mem.Measured).breakdown" in names
    text = ("from typing import TypeVar\n\nimport onnx_mem\n\nT = TypeVar('T')\n\n\n"
            "def made(kind: type[T]) -> T:\n    raise NotImplementedError\n\n\n")
    first = text.count("\n") + 1
    answer = mypy(text + "".join(f"reveal_type({name})\n" for name in names))
    shown = dict(re.findall(r"script\.py:(\d+): note: Revealed type is (.*)", answer))
    assert len(shown) == len(names), answer
    shown = {line: kind.replace("def (*Any, **Any)", "Callable[...]") for line, kind in shown.items()}
    vague = [name for i, name in enumerate(names) if re.search(r"\bAny\b", shown[str(first + i)])]
    assert not vague, {name: shown[str(first + names.index(name))] for name in vague}


def test_the_tutorial_is_clean_in_strict_mode(mypy):
    pytest.importorskip("torch")
    assert "no issues" in mypy((ROOT / "examples/tutorial.py").read_text())
