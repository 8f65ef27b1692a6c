"""Commands on files with the program itself; torch is not imported."""
import ast
import pathlib
import re

import pytest

import onnx_mem

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "testdata"
LENET = TESTDATA / "models" / "lenet5.train.ts.op17.onnx"
DECODER = TESTDATA / "models" / "decoder.eval.ts.op17.onnx"
RECORD = TESTDATA / "records" / "checkpointed.eager"


def test_a_step_of_a_file(program):
    report = onnx_mem.analyze(LENET, batch=64)
    assert report.training.peak_bytes > report.inference.peak_bytes > 0
    assert sum(report.training.breakdown.values()) == report.training.peak_bytes
    assert report.source == "graph" and "TRAINING needs" in str(report)


def test_a_step_of_a_record(program):
    report = onnx_mem.analyze(RECORD, batch=4)
    assert report.source == "record"
    assert report.training.peak_interval_bytes == [report.training.peak_bytes] * 2


def test_the_largest_batch_fits_and_one_more_does_not(program):
    fit = onnx_mem.fit(LENET, gpu_memory="1GiB", mode="train")
    largest = fit.largest_batch
    assert onnx_mem.analyze(LENET, batch=largest).training.device_bytes <= 1 << 30
    assert onnx_mem.analyze(LENET, batch=largest + 1).training.device_bytes > 1 << 30


def test_three_batches_and_three_verdicts(program):
    fit = onnx_mem.fit(LENET, batch=64, gpu_memory="1GiB", mode="train")
    assert 0 < fit.safe_batch <= fit.largest_batch < fit.impossible_from and fit.over == "batch"
    verdicts = {fit.safe_batch: "fits", fit.safe_batch + 1: "may-fit", fit.largest_batch: "may-fit",
                fit.largest_batch + 1: "does-not-fit"}
    for batch, verdict in verdicts.items():
        assert onnx_mem.analyze(LENET, batch=batch, gpu_memory="1GiB", mode="train").training.verdict == verdict


def test_each_of_several_cards_has_its_verdict(program):
    report = onnx_mem.analyze(LENET, batch=1 << 18, gpu=["T4", "H100 PCIe"])
    assert [gpu["verdict"] for gpu in report.gpus] == ["does-not-fit", "fits"]
    assert report.verdict == report.training.verdict == "does-not-fit"
    assert onnx_mem.analyze(LENET, batch=64).verdict is None


def test_a_plan_is_within_its_budget(program):
    without = onnx_mem.analyze(RECORD, batch=64).training.device_bytes
    plan = onnx_mem.plan(RECORD, batch=64, budget=f"{without}B")
    assert plan.fits


def test_a_plan_has_its_settings(program):
    plan = onnx_mem.plan(RECORD, batch=64)
    assert plan.settings == plan.chosen_plan["settings"] == {} and "SETTINGS = {}" in plan.code
    plan = onnx_mem.plan(RECORD, batch=64, allocator="expandable")
    assert plan.settings == {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    assert 'SETTINGS = {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}' in plan.code


def test_two_batches_compared(program):
    one, other = (onnx_mem.analyze(LENET, batch=b).training.peak_bytes for b in (8, 16))
    assert other > one
    assert onnx_mem.compare(LENET, LENET, batch=8).json["command"] == "compare"


def test_sizes_that_an_error_proposes_are_keywords_that_work(program):
    with pytest.raises(onnx_mem.Error) as told:
        onnx_mem.analyze(DECODER, batch=2)
    proposed = re.search(r"try: dim=(\[.*\])", str(told.value))
    assert told.value.code == "unbound-dim" and proposed
    assert onnx_mem.analyze(DECODER, batch=2, dim=ast.literal_eval(proposed[1])).inference.peak_bytes > 0


@pytest.mark.parametrize("path, options, code", [
    ("missing.onnx", {}, "not-found"),
    (LENET, {"gpu": "no such card"}, "unknown-gpu"),
    (RECORD, {"dim": "seq=7"}, "unknown-dim"),
    (LENET, {"lora": "8:nothing"}, "no-match"),
])
def test_errors_have_the_codes_of_the_program(path, options, code, program):
    with pytest.raises(onnx_mem.Error) as told:
        onnx_mem.analyze(path, **options)
    assert told.value.code == code
