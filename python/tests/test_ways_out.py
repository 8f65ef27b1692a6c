"""What a new user writes wrongly: the message names what is near, and what it proposes works when it is pasted."""
import pathlib
import re

import pytest

import onnx_mem
from onnx_mem import _ways_out

MODELS = pathlib.Path(__file__).resolve().parents[2] / "testdata/models"
LENET, GPT2 = str(MODELS / "lenet5.train.ts.op17.onnx"), str(MODELS / "gpt2_sdpa.eval.ts.op17.onnx")


def error_of(question):
    with pytest.raises(onnx_mem.Error) as e:
        question()
    assert e.value.code and "--" not in str(e.value), e.value
    return e.value.code, str(e.value)


@pytest.mark.parametrize("options, near", [({"optimiser": "adam"}, "optimizer"), ({"batch_size": 3}, "batch"),
                                           ({"lenght": 3}, "length"), ({"ampp": "bf16"}, "amp"),
                                           ({"gpu_mem": "3GiB"}, "gpu_memory")])
def test_a_misspelled_option_has_a_near_one(program, options, near):
    code, text = error_of(lambda: onnx_mem.analyze(LENET, **options))
    assert code == "usage" and re.search(rf"did you mean: .*\b{near}\b", text)


@pytest.mark.parametrize("options, near", [({"amp": "bf61"}, "bf16"), ({"optimizer": "adamm"}, "adamw"),
                                           ({"gpu": "rtx4091"}, "RTX 4090")])
def test_a_misspelled_value_has_a_near_one(program, options, near):
    assert near in error_of(lambda: onnx_mem.analyze(LENET, **options))[1]


def test_a_misspelled_file_has_a_near_one(program):
    code, text = error_of(lambda: onnx_mem.analyze(LENET.replace(".ts.", ".")))
    assert code == "not-found" and f"'{LENET}'" in text
    assert "there is no folder 'none'" in error_of(lambda: onnx_mem.analyze("none/m.onnx"))[1]


@pytest.mark.parametrize("function, x, more", [
    ("analyze", GPT2, {"batch": 2}), ("fit", LENET, {}), ("analyze", LENET, {"gpu": "rtx4091"}),
    ("fit", GPT2, {"gpu": "T4"})])
def test_what_is_proposed_works(program, function, x, more):
    _, text = error_of(lambda: getattr(onnx_mem, function)(x, **more))
    proposed = eval(f"dict({re.search('try: (.*?)(?:   #|$)', text, re.M)[1]})")
    more.pop("gpu", None) if "gpu_memory" in proposed else None
    assert getattr(onnx_mem, function)(x, **{**more, **proposed})


def test_sizes_and_dimensions_as_python_writes_them(program):
    assert onnx_mem.plan(LENET, batch=8, budget=4 * 2**30).budget_bytes == 4 * 2**30
    assert onnx_mem.analyze(GPT2, batch=2, dim={"seq": 32}).bindings["seq"] == 32


@pytest.mark.parametrize("name", ["format", "quiet", "emit"])
def test_what_has_another_form_in_python_says_so(program, name):
    assert error_of(lambda: onnx_mem.analyze(LENET, **{name: "csv"}))[0] == "bad-option"


@pytest.mark.parametrize("x, words", [(3, "not int"), (None, "not NoneType"), (lambda x: x, "not function")])
def test_what_is_no_model(program, x, words):
    code, text = error_of(lambda: onnx_mem.analyze(x))
    assert code == "bad-argument" and words in text


def test_inputs_that_are_no_tensors(program):
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    assert "forward(input" in error_of(lambda: onnx_mem.analyze(model))[1]
    assert "try: torch.zeros(2, 3)" in error_of(lambda: onnx_mem.analyze(model, (2, 3)))[1]
    assert "not list" in error_of(lambda: onnx_mem.measure(model, input=[1.5]))[1]
    assert "Linear is a class" in error_of(lambda: onnx_mem.analyze(torch.nn.Linear, torch.zeros(2, 3)))[1]


def test_nothing_to_compare_with(program):
    assert error_of(lambda: onnx_mem.compare(LENET))[0] == "usage"
    assert onnx_mem.compare(LENET, batch=[8, 16]).delta


def test_a_misspelled_function_has_a_near_one():
    with pytest.raises(AttributeError) as e:
        onnx_mem.analyse  # noqa: B018
    assert e.value.name == "analyse" and e.value.obj is onnx_mem


def test_an_answer_is_one_line_in_a_console(program):
    shown = repr(onnx_mem.analyze(LENET, batch=8, gpu="T4"))
    assert "\n" not in shown and len(shown) < 200 and "training 422.0 MiB" in shown and "fits" in shown


def test_options_as_keywords():
    assert _ways_out.in_python("try: ... --dim past=496 --dim seq=16", "fit") == 'try: dim=["past=496", "seq=16"]'
    assert _ways_out.in_python("try: --strict -b 8 --for onnxruntime   # or --gpu X", "fit") == (
        'try: strict=True, batch="8", for_="onnxruntime"   # or gpu X')
    assert _ways_out.as_keywords(r"--freeze '^(?!fc\.)'") == r'freeze=r"^(?!fc\.)"'
    assert _ways_out.in_python("try: onnx-mem plan --help", "plan") == "try: help(onnx_mem.plan)"
