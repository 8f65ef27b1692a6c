"""record(step=...): the program replays a step at other batches and lengths, against measure(step=...) there."""
import pathlib

import pytest
import torch
import torch.nn.functional as F
from test_own_step import STEPS, Net, accumulated, adam, by_hand, inputs, plain
from torch import nn

import onnx_mem


@pytest.mark.parametrize("make", STEPS, ids=lambda f: f.__name__)
def test_the_program_answers_at_another_batch(program, make):
    record = onnx_mem.record(step=make(), args=inputs())
    assert onnx_mem.Record.from_text(record.text()) == record
    first, last = record.batches
    assert (first, last) == ((1, None) if make is not accumulated else (45, 48))      # chunk(4) makes other pieces
    for batch in (7, 400):
        if last is not None and not first <= batch <= last:
            with pytest.raises(onnx_mem.Error, match="takes another path"):
                onnx_mem.analyze(record, batch=batch)
            continue
        measured = onnx_mem.measure(step=make(), args=inputs(), batch=batch)
        training = onnx_mem.analyze(record, batch=batch).training
        assert (training.peak_bytes, training.first_step_peak_bytes) == (measured.peak_bytes,
                                                                         measured.first_step_peak_bytes)
        assert {k: n for k, n in training.breakdown.items() if n} == measured.breakdown
        assert training.peak_bytes <= training.allocated_peak_bytes <= training.reserved_peak_bytes


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.attention = nn.Embedding(100, 64), nn.MultiheadAttention(64, 4, batch_first=True)
        self.head = nn.Linear(64, 100)

    def forward(self, ids):
        x = self.embedding(ids)
        return self.head(self.attention(x, x, x, need_weights=False)[0])


def decoder():
    net = Decoder()
    optimizer = torch.optim.AdamW(net.parameters())

    def step(ids):
        optimizer.zero_grad()
        out = net(ids)
        F.cross_entropy(out.flatten(0, 1), ids.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return step


def test_it_follows_a_length_too(program, tmp_path):
    ids = torch.zeros(4, 160, dtype=torch.long)
    path = onnx_mem.export(step=decoder(), args=(ids,), path=tmp_path / "step.eager", free={"seq": 1})
    for batch, length in ((3, 96), (9, 300)):
        measured = onnx_mem.measure(step=decoder(), args=(torch.zeros(batch, length, dtype=torch.long),))
        assert onnx_mem.analyze(path, batch=batch, dim={"seq": length}).training.peak_bytes == measured.peak_bytes


def test_the_batch_is_no_other_size(tmp_path):
    with pytest.raises(onnx_mem.Error, match="is the batch") as e:
        onnx_mem.export(step=plain(), args=inputs(), path=tmp_path / "step.eager", free={"seq": 0})
    assert e.value.code == "bad-argument" and not (tmp_path / "step.eager").exists()


def test_a_graph_that_is_retained_is_gone_before_the_next_batch_of_a_step(program):
    """With accumulate as with measure(accumulate=): a function runs each batch, so its loss does not meet the next."""
    net, (x, y) = Net(), inputs()
    optimizer = adam(net)

    def one_batch(x, y):
        out = net(x)
        loss = F.cross_entropy(out, y)
        loss.backward(retain_graph=True)

    def step(x, y):
        optimizer.zero_grad()
        one_batch(x, y)
        one_batch(x, y)
        optimizer.step()
    answer = onnx_mem.analyze(onnx_mem.record(net, x), batch=400, mode="train", loss="cross-entropy", accumulate=2,
                              retain_graph=True)
    assert answer.training.peak_bytes == onnx_mem.measure(step=step, args=(x, y), batch=400).peak_bytes


def test_the_allocator_reserves_what_it_does_for_a_model_with_the_same_step(program):
    """Segments of step 1, in which state appears, stay for the others."""
    net, (x, y) = Net(512), inputs()
    step = by_hand(net, adam(net))
    own = onnx_mem.analyze(onnx_mem.record(net, x), batch=4000, loss="cross-entropy").training
    mine = onnx_mem.analyze(onnx_mem.record(step=step, args=(x, y)), batch=4000).training
    assert (mine.peak_bytes, mine.allocated_peak_bytes) == (own.peak_bytes, own.allocated_peak_bytes)
    assert mine.reserved_peak_bytes == own.reserved_peak_bytes


def test_fit_finds_the_largest_batch(program):
    record = onnx_mem.record(step=plain(), args=inputs())
    fit = onnx_mem.fit(record, gpu="T4", mode="train")
    assert fit.largest_batch > 10000
    assert onnx_mem.analyze(record, batch=fit.safe_batch, gpu="T4").verdict == "fits"


def test_what_a_recorded_step_has_not_is_said(program, tmp_path):
    record = onnx_mem.record(step=plain(), args=inputs())
    with pytest.raises(onnx_mem.Error, match="taken as it ran"):
        onnx_mem.plan(record, batch=64, budget="1GiB")
    with pytest.raises(onnx_mem.Error, match="without inference"):
        onnx_mem.analyze(record, batch=64, mode="infer")
    with pytest.raises(onnx_mem.Error, match="is of one card"):
        onnx_mem.analyze(record, batch=64, ddp="2")
    with pytest.raises(onnx_mem.Error, match="has a record and no graph"):
        onnx_mem.export(step=plain(), args=inputs(), path=tmp_path / "step.onnx")
    alone = onnx_mem.record(step=lambda: torch.zeros(8, device="cuda").sum())
    with pytest.raises(onnx_mem.Error, match="holds for batch 1 alone"):
        onnx_mem.analyze(alone, batch=2)
    assert onnx_mem.analyze(alone).training.peak_bytes == 36


def test_records_that_are_not_well_formed_are_refused(program, tmp_path):
    text = onnx_mem.record(step=plain(), args=inputs()).text()
    broken = [text.replace("step later", "step first"), text.replace("step later", "program train"),
              text.split("step later")[0], text.replace("live parameters", "live paper", 1),
              text.replace(" 0 1 ", " 1 1 "), text.replace("op forward", "op sideways", 1)]
    assert len(set(broken)) == len(broken)
    for i, one in enumerate(broken):
        path = pathlib.Path(tmp_path / f"{i}.eager")
        path.write_text(one)
        with pytest.raises(onnx_mem.Error) as e:
            onnx_mem.analyze(path, batch=48)
        assert e.value.code == "bad-record", i


def test_fit_looks_at_training_alone(program):
    record = onnx_mem.record(step=plain(), args=inputs())
    training = onnx_mem.analyze(record, batch=7).training
    fit = onnx_mem.fit(record, gpu="T4", batch=7)
    assert (fit.device_bytes, fit.inference) == (training.device_bytes, None)
