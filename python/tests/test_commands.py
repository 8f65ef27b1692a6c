"""The program's commands, with a program that says what it was asked."""
import json
import sys
import types

import pytest

import onnx_mem
from onnx_mem import _program

PROGRAM = '''#!{python}
import json, sys
a = sys.argv[1:]
if a == ["--version"]:
    print("onnx-mem 9"); sys.exit(0)
if "missing.onnx" in a:
    error = {{"code": "not-found", "message": "cannot open it", "details": ["x"]}}
    print(json.dumps({{"schema": "onnx-mem/1", "error": error}}))
    sys.exit(2)
command = a[0] if a[0] in ("plan", "fit", "compare") else "analyze"
if command == "analyze" and any(w.endswith(".svg") for w in a) and "--batch" in a and "," in a[
        a.index("--batch") + 1]:
    print(json.dumps({{"error": {{"code": "usage", "message": "format svg shows one batch"}}}})); sys.exit(2)
for name in (a[i + 1] for i, word in enumerate(a) if word == "-o" and a[i + 1].endswith(".txt")):
    with open(name, "w") as f:
        print("the screen of", command, "in run", len(sys.argv), file=f)
peak = {{"phase": "forward", "step": 0, "node": None, "module": "", "op": "add"}}
both = dict.fromkeys(["allocated_peak_bytes", "reserved_peak_bytes", "device_bytes", "workspace_bytes",
                      "context_bytes"], 4)
both.update(dict.fromkeys(["allocated_interval_bytes", "device_interval_bytes", "context_interval_bytes"], [4, 5]),
            peak=peak)
train = dict.fromkeys(["first_step_peak_bytes", "end_of_forward_bytes", "saved_activation_bytes"], 9)
answer = {{"schema": "onnx-mem/1", "command": command, "asked": a, "model": {{"nodes": 3}}, "source": "record",
          "bindings": {{"batch": 8}}, "new_field": 1}}
if command == "analyze":
    answer["runs"] = [{{"batch": 8, "training": {{**both, **train, "peak_bytes": 10, "peak_interval_bytes": [10, 10],
                       "breakdown": {{"inputs": 1}}, "steps": 5}},
                       "inference": {{**both, "peak_bytes": 4}}, "flops": {{"macs": 2}}}}]
if command == "plan":
    answer.update(status="infeasible", chosen=None, budget_bytes=5, plans=[{{"id": 0}}])
if command == "analyze" and "--format" not in a:
    print("the screen of analyze")
    sys.exit(0)
print(json.dumps(answer))
sys.exit(1 if command == "plan" else 0)
'''


@pytest.fixture(autouse=True)
def program(tmp_path, monkeypatch):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setenv("ONNX_MEM_PROGRAM", str(path))
    return path


def test_report_has_the_names_of_the_contract():
    report = onnx_mem.analyze("m.onnx", batch=[8, 16], optimizer="adam", gpu=None, no_rewrite=["a", "b"], strict=True)
    assert report.json["asked"][:10] == ["m.onnx", "--batch", "8,16", "--optimizer", "adam", "--no-rewrite", "a",
                                         "--no-rewrite", "b", "--strict"]
    assert report.training.peak_bytes == 10 and report.training.peak_interval_bytes == [10, 10]
    assert report.inference.peak_bytes == 4 and report.runs[0].flops == {"macs": 2}
    assert report.source == "record" and report.model == {"nodes": 3} and report.json["new_field"] == 1
    assert report.training.json["steps"] == 5
    assert str(report).startswith("the screen of analyze") and "the screen of analyze" in report._repr_html_()


def test_what_is_printed_is_the_answer_that_is_held(program):
    report = onnx_mem.analyze("m.onnx")
    program.unlink()                                # no second run can answer
    assert str(report).startswith("the screen of analyze")


@pytest.mark.parametrize("name", ["plan", "-v.onnx", "fit", "-"])
def test_a_file_may_be_called_as_a_word_of_the_command_line(name):
    assert onnx_mem.analyze(name).json["asked"][0] == "./" + name
    assert onnx_mem.analyze(name).json["command"] == "analyze"


def test_inputs_come_as_a_tuple_one_by_one_or_by_name():
    torch = pytest.importorskip("torch")
    x, y = torch.zeros(7, 3), torch.ones(7, 3)

    class Sum(torch.nn.Linear):
        def forward(self, a, b):
            return super().forward(a + b)
    model = Sum(3, 2)
    for args, inputs in [((x, y), {}), (((x, y),), {}), (([x, y],), {}), ((x,), {"b": y}), ((), {"a": x, "b": y}),
                         ((), {"kwargs": {"a": x}, "b": y})]:
        assert onnx_mem.analyze(model, *args, **inputs, optimizer="sgd").json["asked"][1:5] == [
            "--optimizer", "sgd", "--batch", "7"]
        assert onnx_mem.measure(model, *args, **inputs).batch == 7
        assert onnx_mem.record(model, *args, **inputs) == onnx_mem.record(model, (x, y))
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.measure(model, x, kwargs={"b": y}, b=y)
    assert e.value.code == "bad-argument"


def test_a_plan_that_is_infeasible_is_an_answer():
    plan = onnx_mem.plan("m.onnx", budget="4GiB", max_slowdown="10%")
    assert not plan.fits and plan.chosen_plan is None and plan.status == "infeasible" and plan.plans == [{"id": 0}]
    assert plan.json["asked"][:6] == ["plan", "m.onnx", "--budget", "4GiB", "--max-slowdown", "10%"]


def test_a_plan_is_of_the_model_without_its_cache():
    seen = []

    torch = pytest.importorskip("torch")

    class Model(torch.nn.Linear):
        def forward(self, x):
            seen.append(self.config.use_cache)
            return super().forward(x)
    model = Model(4, 2)
    model.config = types.SimpleNamespace(use_cache=True)
    onnx_mem.plan(model, torch.zeros(2, 4), budget="4GiB", max_slowdown="10%")
    assert seen and not any(seen) and model.config.use_cache


def test_fit_and_compare():
    assert onnx_mem.fit("m.onnx", gpu="a100").json["asked"][:4] == ["fit", "m.onnx", "--gpu", "a100"]
    assert onnx_mem.compare("a.onnx", "b.onnx").json["asked"][:3] == ["compare", "a.onnx", "b.onnx"]
    measured = onnx_mem.compare("a.onnx", measured="5.61GiB")
    assert measured.json["asked"][:4] == ["compare", "a.onnx", "--measured", "5.61GiB"]
    assert measured.model == {"nodes": 3}


def test_options_that_are_words_of_python():
    report = onnx_mem.analyze("m.onnx", for_="onnxruntime", device="cpu", sessions=2)
    assert report.json["asked"][:7] == ["m.onnx", "--for", "onnxruntime", "--device", "cpu", "--sessions", "2"]


def test_errors_have_the_programs_code():
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.analyze("missing.onnx")
    assert e.value.code == "not-found" and e.value.exit_code == 2 and "cannot open it" in str(e.value)


def test_a_module_is_recorded_first():
    torch = pytest.importorskip("torch")
    report = onnx_mem.analyze(torch.nn.Linear(3, 2), torch.zeros(2, 3), batch=4)
    assert report.json["asked"][0].endswith("Linear.eager")
    with open(report.json["asked"][0], encoding="utf-8") as f:
        assert f.readline() == "eager 1\n"


def test_a_module_is_asked_about_at_the_batch_of_its_example():
    torch = pytest.importorskip("torch")
    model, x = torch.nn.Linear(3, 2), torch.zeros(7, 3)
    assert onnx_mem.analyze(model, x).json["asked"][1:3] == ["--batch", "7"]
    assert "--batch" not in onnx_mem.fit(model, x, gpu="t4").json["asked"]


def test_a_model_proto_and_a_record_are_written_first():
    onnx, torch = pytest.importorskip("onnx"), pytest.importorskip("torch")
    proto = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], []))
    assert onnx_mem.analyze(proto).json["asked"][0].endswith(".onnx")
    record = onnx_mem.record(torch.nn.Linear(3, 2), torch.zeros(2, 3))
    assert onnx_mem.analyze(record).json["asked"][0].endswith(".eager")


def test_what_is_no_model_is_refused():
    with pytest.raises(onnx_mem.Error):
        onnx_mem.analyze(3)


def test_no_program(monkeypatch, tmp_path):
    monkeypatch.delenv("ONNX_MEM_PROGRAM")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_program, "__file__", str(tmp_path / "x.py"))
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.find_program()
    assert e.value.code == "no-program"


def test_torch_is_not_needed_for_files(program):
    import subprocess
    code = ("import sys; sys.modules['torch'] = None; import onnx_mem; "
            "print(onnx_mem.analyze('m.onnx').training.peak_bytes)")
    import os
    import pathlib
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(onnx_mem.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout == "10\n"


def test_without_torch_the_error_says_what_installs_it(program):
    import os
    import pathlib
    import subprocess
    code = ("import sys; sys.modules['torch'] = None; import onnx_mem\n"
            "try: onnx_mem.measure\n"
            "except onnx_mem.Error as e: print(e.code, e)")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(onnx_mem.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    text = "not-installed this needs torch, which is not installed\n  try: pip install torch\n"
    assert done.stdout == text, done.stderr


def test_the_module_is_the_program():
    import os
    import pathlib
    import subprocess
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(onnx_mem.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "onnx_mem", "--version"], env=env, capture_output=True, text=True)
    assert done.stdout == "onnx-mem 9\n" and json.dumps(done.returncode) == "0"
