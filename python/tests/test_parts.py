"""What the types of an answer say is what the program answers: every key, and the type of its value."""
import dataclasses
import types
import typing
from pathlib import Path

import pytest

import onnx_mem

MODELS = Path(__file__).resolve().parents[2] / "testdata/models"
RECORDS = MODELS.parent / "records"
RESNET, LENET = MODELS / "resnet18.train.ts.op17.onnx", MODELS / "lenet5.train.ts.op17.onnx"
CARDS = ["T4", "RTX 4090"]
QUESTIONS = [
    lambda: onnx_mem.analyze(RESNET, batch=8),
    lambda: onnx_mem.analyze(RESNET, batch=[1, 8], gpu=CARDS),
    lambda: onnx_mem.analyze(MODELS / "resnet18.eval.ts.op17.onnx", batch=8, gpu_memory="1GiB", budget="1GiB"),
    lambda: onnx_mem.analyze(MODELS / "resnet18.int8.eval.ts.op17.onnx", batch=8, device="cpu"),
    lambda: onnx_mem.analyze(LENET, batch=8, mode="infer"),
    lambda: onnx_mem.analyze(LENET, batch=8, by="layer", mode="train"),
    lambda: onnx_mem.analyze(LENET, batch=8, by="tensor", verbose=True),
    lambda: onnx_mem.analyze(RECORDS / "bert.eager", batch=4),
    lambda: onnx_mem.plan(RESNET, batch=8, budget="60%"),
    lambda: onnx_mem.plan(RESNET, batch=8, budget="1MiB"),
    lambda: onnx_mem.plan(RESNET, batch=8, gpu=CARDS),
    lambda: onnx_mem.plan(RESNET, batch=64, budget="1.5GiB", offload=True),
    lambda: onnx_mem.plan(RECORDS / "bert.eager", batch=4, budget="50%"),
    lambda: onnx_mem.fit(RESNET, batch=4000, gpu=CARDS),
    lambda: onnx_mem.fit(LENET, gpu_memory="1GiB"),
    lambda: onnx_mem.compare(RESNET, MODELS / "resnet18.fp16.train.ts.op17.onnx", batch=8, gpu="T4"),
    lambda: onnx_mem.compare(LENET, batch=8, measured="1GiB"),
]


def faults(value, kind, where):
    """Where a value is not of its type, a line each."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any or kind is object:
        return []
    if origin in (typing.Union, types.UnionType):
        found = [faults(value, k, where) for k in inside]
        return [] if [] in found else min(found, key=len)
    if origin is typing.Literal:
        return [] if value in inside else [f"{where}: {value!r} is none of {inside}"]
    if not isinstance(value, dict if typing.is_typeddict(kind) else origin or object):
        return [f"{where}: {value!r} is no {kind}"]
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind)
        wrong = [f"{where}: no {key}" for key in sorted(kind.__required_keys__ - value.keys())]
        wrong += [f"{where}: {key} has no type" for key in sorted(value.keys() - hints.keys())]
        return wrong + [f for k, v in value.items() if k in hints for f in faults(v, hints[k], f"{where}.{k}")]
    if dataclasses.is_dataclass(kind) and not isinstance(value, kind):
        return [f"{where}: {value!r} is no {kind}"]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        own = {f.name for f in dataclasses.fields(kind)}
        return [f for k in own for f in faults(getattr(value, k), hints[k], f"{where}.{k}")]
    if origin is list:
        return [f for i, v in enumerate(value) for f in faults(v, inside[0], f"{where}[{i}]")]
    if origin is dict:
        return [f for k, v in value.items() for f in faults(v, inside[1], f"{where}.{k}")]
    right = isinstance(value, kind) and not (kind is int and isinstance(value, bool)) or kind is float and value == 0
    return [] if right else [f"{where}: {value!r} is no {kind}"]


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_the_types_are_those_of_the_answer(program, number):
    answer = QUESTIONS[number]()
    assert faults(answer, type(answer), type(answer).__name__) == []


def test_a_wrong_type_is_found(program):
    report = onnx_mem.analyze(LENET, batch=8)
    report.training.peak["step"] = "7"
    report.model["weights"] = 3
    assert sorted(faults(report, onnx_mem.Report, "Report")) == [
        "Report.model: weights has no type", "Report.runs[0].training.peak.step: '7' is no <class 'int'>"]


def test_what_every_answer_has_is_no_optional(program):
    report = onnx_mem.analyze(LENET, batch=8, mode="infer")
    assert report.runs[0].training is None and report.inference.peak_bytes > 0
    with pytest.raises(onnx_mem.Error, match="mode=\"infer\"") as e:
        _ = report.training.peak_bytes
    assert e.value.code == "not-analyzed"
