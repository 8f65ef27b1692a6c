"""The text says everything that the record holds."""
import pathlib

import pytest

import onnx_mem

RECORDS = sorted((pathlib.Path(__file__).resolve().parents[2] / "testdata" / "records").glob("*.eager"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda p: p.stem)
def test_committed_records_are_read_and_written_alike(path):
    text = path.read_text()
    record = onnx_mem.Record.from_text(text)
    assert record.text() == text
    assert onnx_mem.Record.from_text(record.text()) == record


def test_there_are_committed_records():
    assert len(RECORDS) >= 20


@pytest.mark.parametrize("text", ["", "eager 2\ntorch 2\nprogram eval\n", "eager 1\ntorch 2.15\n%0 param w f32[1]\n",
                                  "eager 1\nprogram eval\n%0 f32[1\n"])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.Record.from_text(text)
    assert e.value.code == "bad-record"


EVERYTHING = """\
eager 1
torch 2.15.0
program train
%0 param a.weight f32[4,4]
tied %0 b.weight
%1 param c f32[4] frozen
%2 buffer t i64[B,1]/[0,1]
%3 input x bf16[B,4]/[8,1]+2
tied %3 y
%4 const f32[2]:cpu
leaf %3
call a
  %5 f32[1/2B-1,4] = ns::op.over %3 2B 1.5 inf T F - [1,[B,2]] f32 @cuda !strided "a \\"b\\"" key=-1 other=[] drop %4
ret
grad off
function pkg.Swish
  %6 f32[4] = sigmoid %1
endfunction %6 %0 held %1
backward %7 f32[4] of %6
  %8 f32[4] = mul.Tensor %7 %6
endbackward %8 to %1, %8 to %0
checkpoint reentrant %6 %5
  %6 = relu_ %6
  = print %6
endcheckpoint
loss %6
return %6 - %5
tree [1, {}]
"""


def test_every_construct_of_the_format_survives():
    record = onnx_mem.Record.from_text(EVERYTHING)
    assert record.text() == EVERYTHING
    program = record.programs["train"]
    assert program["values"][0]["tied"] == ["b.weight"]
    assert program["values"][1]["trained"] is False
    assert program["values"][5]["shape"] == [{"B": ["1/2", "-1"]}, 4]
    assert program["returned"] == [6, None, 5]
    assert program["loss"] == 6
    assert {"endfunction": [6, 0], "held": [1]} in program["lines"]
    assert {"endbackward": [[8, 1], [8, 0]]} in program["lines"]
    assert {"checkpoint": [6, 5], "reentrant": True} in program["lines"]
