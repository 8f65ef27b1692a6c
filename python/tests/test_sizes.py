"""Sizes as functions of a length."""
import pytest

import onnx_mem
from onnx_mem._record.sizes import at_length, fit_lengths
from onnx_mem._record.text import number

LENGTHS = (40, 41, 73, 107)


@pytest.mark.parametrize("value, text", [(lambda s: 3 * s * s - s + 2, "3SS-S+2"), (lambda s: 5, "5"),
                                         (lambda s: 4 * (-(-s // 32) * 32), "4R"), (lambda s: s, "S")])
def test_what_follows_a_length(value, text):
    fitted = fit_lengths([value(s) for s in LENGTHS], LENGTHS)
    assert number(fitted) == text
    assert at_length(fitted, 300) == value(300)


def test_of_the_batch_and_the_length():
    fitted = fit_lengths([{"B": [str(2 * s), str(-s * s)]} for s in LENGTHS], LENGTHS)
    assert number(fitted) == "2BS-SS"
    assert at_length(fitted, 10) == {"B": ["20", "-100"]}


@pytest.mark.parametrize("value", [lambda s: s ** 3, lambda s: s % 7, lambda s: [0] * (s % 2), lambda s: str(s)])
def test_what_does_not_follow_is_refused(value):
    with pytest.raises(onnx_mem.CannotRecord, match="length 40"):
        fit_lengths([value(s) for s in LENGTHS], LENGTHS)


def test_a_record_holds_in_its_steps():
    record = onnx_mem.Record.from_text("eager 1\ntorch 2\nfree S seq 40 step 8 seen 40 176\nprogram eval\n"
                                       "%0 input x f32[B,S]\nreturn %0\ntree 1\n")
    assert record.at(48).programs["eval"]["values"][0]["shape"] == [{"B": ["1", "0"]}, 48]
    with pytest.raises(onnx_mem.Error) as told:
        record.at(45)
    assert told.value.code == "record-sizes"
