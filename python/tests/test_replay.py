"""A record replayed takes what the model's own code takes, to the byte, at a batch that the recorder never saw."""
import pytest
import torch
from models import SMALL

import onnx_mem
from onnx_mem._record.check import replayed, trace

UNSEEN = 11
FIELDS = ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes", "parameter_bytes", "end_of_forward_bytes")


@pytest.mark.parametrize("name", SMALL)
def test_replay_takes_what_the_model_takes(name):
    model, args, kwargs = SMALL[name]()
    record = onnx_mem.Record.from_text(onnx_mem.record(model, args, kwargs).text())
    for options in (dict(training=False), dict(optimizer="adam")):
        own = onnx_mem.measure(model, args, kwargs=kwargs, batch=UNSEEN, **options)
        again = replayed(record, UNSEEN, loss=own.loss, **options)
        assert [getattr(own, f) for f in FIELDS] == [getattr(again, f) for f in FIELDS]


def test_autocast_in_the_model_is_as_on_a_gpu():
    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)

        def forward(self, x):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                x = self.a(self.a(x).relu())
            return self.b(x.float())
    record = onnx_mem.record(Mixed(), torch.zeros(2, 16))
    casts = [x for x in record.text().splitlines() if " = _to_copy " in x and "bf16[16,16]" in x]
    assert len(casts) == 2                                      # of the weight, cached: one in each program
    for options in (dict(), dict(training=False)):
        assert onnx_mem.verify(record, Mixed(), torch.zeros(2, 16), batch=9, **options).same


def test_tables_are_those_of_the_mode():
    class BiasTable(torch.nn.Module):               # as timm's LevIT and TinyViT: gathered once for evaluation
        def __init__(self):
            super().__init__()
            self.fc, self.bias = torch.nn.Linear(16, 16), torch.nn.Parameter(torch.zeros(4))
            self.table = None

        def train(self, mode=True):
            self.table = None
            return super().train(mode)

        def forward(self, x):
            index = torch.zeros(16, dtype=torch.int64, device=x.device)
            if self.training:
                return self.fc(x) + self.bias[index]
            if self.table is None:
                self.table = self.bias[index]
            return self.fc(x) + self.table
    record = onnx_mem.record(BiasTable(), torch.zeros(2, 16))
    tables = {mode: [v["shape"] for v in p["values"] if v["kind"] == "const"] for mode, p in record.programs.items()}
    assert tables == {"eval": [[16]], "train": []}
    for options in (dict(), dict(training=False)):
        assert onnx_mem.verify(record, BiasTable(), torch.zeros(2, 16), batch=9, **options).same


def test_checkpoint_reentrant_is_marked():
    class Reentrant(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.b(torch.utils.checkpoint.checkpoint(self.a, self.a(x), use_reentrant=True))
    record = onnx_mem.record(Reentrant(), torch.zeros(2, 4))
    assert [x["reentrant"] for x in record.programs["train"]["lines"] if "checkpoint" in x] == [True]
    assert not [x for x in record.programs["eval"]["lines"] if "checkpoint" in x]


def test_trace_has_one_number_per_operator_line():
    model, args, kwargs = SMALL["custom_functions"]()
    record = onnx_mem.record(model, args, kwargs)
    for mode, program in record.programs.items():
        inside = count = 0
        for x in program["lines"]:
            inside += ("backward" in x) - ("endbackward" in x)
            count += "op" in x and not inside
        assert len(trace(record, 3, mode)) == count


def test_verify_tells_a_record_that_lacks_something():
    model, args, kwargs = SMALL["views"]()
    record = onnx_mem.record(model, args, kwargs)
    assert onnx_mem.verify(record, model, args, batch=5).same
    for program in record.programs.values():
        for line in program["lines"]:
            if "op" in line and line["drops"]:
                line["drops"] = []
    assert not onnx_mem.verify(record, model, args, batch=5, training=False).same
