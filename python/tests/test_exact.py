"""What the program says of a record is what the model's own code takes, to the byte, at a batch that was not recorded.

Each module has one habit that a record once had wrong."""
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

import onnx_mem

UNSEEN = 7
TRAINING = ("peak_bytes", "first_step_peak_bytes", "saved_activation_bytes")


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(32, 32), nn.Linear(32, 32)


class ReplacesState(Body):
    """As hooks of weight_norm, and as correlation volumes that a module keeps: made anew in each call."""

    def forward(self, x):
        self.weight = self.a.weight * 2
        self.volume = [F.linear(x, self.weight), x * 3]
        return self.b(self.volume[0] + self.volume[1])


class ReplacesBuffers(Body):
    """A cell that keeps what it saw last as buffers, without values at first: they follow the batch after a call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(32))
        self.register_buffer("mean", torch.zeros(32))

    def forward(self, x):
        for _ in range(2):
            self.seen = self.a(x)
            self.mean = self.mean * 0.9 + x.mean(0).detach() * 0.1
            x = self.seen.sigmoid() + self.mean
        return self.b(x)


class HandsOnAMemory(Body):
    """What it returns beside its scores is cut from its history: no loss is made of it, and no target is loaded."""

    def forward(self, x):
        memory = self.a(x)
        with torch.no_grad():
            mean = memory.mean(1)
        return self.b(memory), memory.view(-1, 4, 8).detach()[:, 1:], mean


class HostNumbers(Body):
    def forward(self, x):
        dims = torch.arange(1, x.dim()).tolist()
        return self.b(self.a(x)) / self.a(x).mean(dims, keepdim=True)


class Undirtied(Function):
    @staticmethod
    def forward(ctx, x):
        x -= 1                                          # without mark_dirty
        y = x.clamp(0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * (ctx.saved_tensors[0] > 0)


class WritesOverItsInput(Body):
    def forward(self, x):
        return self.b(Undirtied.apply(self.a(x)).exp())


class Pads(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone().transpose(0, 1)
        halves = y.view(x.shape[1], -1, 1)
        halves += 1
        ctx.save_for_backward(x, y)
        return halves.view(x.shape[1], -1).transpose(0, 1)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return F.pad(grad[:, 1:], (0, 1)) * x * y.transpose(0, 1)


class SavesAViewThatItDrops(Body):
    def forward(self, x):
        return self.b(Pads.apply(self.a(x)))


class Statistics(Body):
    def forward(self, x):
        x = self.a(x)
        spread, middle = torch.std_mean(x, dim=1, keepdim=True)
        x = (x - middle) / (spread + 1)
        return self.b((x - x.min()) / (x.max() - x.min()))


class OnlyCompares(Body):
    def forward(self, x):
        x = self.a(x)
        empty = x.abs().amax(1, keepdim=True) == 0
        return self.b(torch.where(empty, torch.zeros_like(x), x))


class WritesOverAView(Body):
    def forward(self, x):
        y = self.a(x).view(-1, 4, 8)
        y += self.b(x).view(-1, 4, 8)
        return F.leaky_relu_(y).flatten(1)


class Gathers(Body):
    def forward(self, x):
        index = torch.zeros(16, dtype=torch.int64, device=x.device)
        x = self.a(x)
        y = x.index_select(1, index) + x.gather(1, index.expand(x.shape[0], 16)) + x[:, index]
        return self.b(torch.cat([y, y.max(1, keepdim=True).values.expand_as(y)], 1))


class ScalarAndTable(Body):
    """A table that is an attribute and no buffer; a second output without dimensions."""

    def __init__(self):
        super().__init__()
        self.table = torch.ones(32)

    def forward(self, x):
        x = self.b(self.a(x) * self.table)
        return x, x.square().mean()


class DetachesInPlace(Body):
    def forward(self, x):
        x = self.a(x)
        y = self.b(x).exp()
        y.detach_()
        return self.b(x * y)


class Pointwise(nn.Module):
    """The gradient of a 1x1 kernel has other strides than the kernel where they do not count."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 64, 1), nn.Conv2d(64, 64, 1)

    def forward(self, x):
        return self.b(self.a(x.unflatten(1, (8, 2, 2)))).mean((2, 3))


@pytest.mark.parametrize("make", [ReplacesState, ReplacesBuffers, HandsOnAMemory, HostNumbers, WritesOverItsInput,
                                  SavesAViewThatItDrops, Statistics,
                                  OnlyCompares, WritesOverAView, Gathers, ScalarAndTable, Pointwise,
                                  DetachesInPlace])
def test_the_program_is_exact(make, program, tmp_path):
    x = torch.zeros(3, 32)
    path = onnx_mem.record(make(), x).save(tmp_path / "model.eager")
    for optimizer in ("adam", "momentum"):
        ours = onnx_mem.analyze(str(path), batch=UNSEEN, optimizer=optimizer).runs[0]
        own = onnx_mem.measure(make(), x, batch=UNSEEN, optimizer=optimizer)
        assert {f: getattr(ours.training, f) for f in TRAINING} == {f: getattr(own, f) for f in TRAINING}
    assert ours.inference.peak_bytes == onnx_mem.measure(make(), x, batch=UNSEEN, training=False).peak_bytes


class Matmuls(Body):
    """At batch 1 matmul reads the heads as they are; at others it copies them."""

    def forward(self, x):
        q, k = (t.view(-1, 8, 2, 2).transpose(1, 2) for t in (self.a(x), self.b(x)))
        return (q @ k.transpose(2, 3)).flatten(1)


@pytest.mark.parametrize("free", [None, {"wide": 1}])
def test_batch_one_where_it_is_another_program(free, program, tmp_path):
    class AtAnyLength(Matmuls):
        def forward(self, x):
            return super().forward(x[..., None].expand(-1, -1, 32).flatten(0, 1))
    make, x = (Matmuls, torch.zeros(3, 32)) if free is None else (AtAnyLength, torch.zeros(2, 40))
    record = onnx_mem.record(make(), x, free=free)
    assert onnx_mem.Record.from_text(record.text()) == record
    if free is None:
        assert list(record.programs) == ["eval", "eval at 1", "train", "train at 1"]
    path = record.save(tmp_path / "model.eager")
    for batch in (1, UNSEEN):
        ours = onnx_mem.analyze(str(path), batch=batch).runs[0]
        own = onnx_mem.measure(make(), x, batch=batch)
        assert {f: getattr(ours.training, f) for f in TRAINING} == {f: getattr(own, f) for f in TRAINING}
        assert ours.inference.peak_bytes == onnx_mem.measure(make(), x, batch=batch, training=False).peak_bytes
        assert onnx_mem.verify(record, make(), x, batch=batch).same


class CastsInItsCode(Body):
    """What modules of half-precision models do: a norm and a softmax in float32, a table in float32."""

    def forward(self, x):
        wide = self.a(x).float()
        x = (wide * torch.rsqrt(wide.square().mean(1, keepdim=True))).to(x.dtype)
        q = self.b(x).view(-1, 2, 4, 4)
        weights = (q @ q.transpose(2, 3)).softmax(-1, dtype=torch.float32).to(q.dtype)
        return F.scaled_dot_product_attention(weights @ q, q * 2, q).flatten(1)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "amp-bf16", "amp-fp16"])
def test_a_precision_that_was_recorded_is_exact(precision, program, tmp_path):
    x, make = torch.zeros(3, 32), CastsInItsCode
    record = onnx_mem.record(make(), x, precisions=[precision])
    assert onnx_mem.Record.from_text(record.text()) == record
    path = record.save(tmp_path / "model.eager")
    asked = {"amp" if precision.startswith("amp-") else "dtype": precision.removeprefix("amp-")}
    ours = onnx_mem.analyze(str(path), batch=UNSEEN, **asked).runs[0]
    own = onnx_mem.measure(make(), x, batch=UNSEEN, precision=precision)
    assert {f: getattr(ours.training, f) for f in TRAINING} == {f: getattr(own, f) for f in TRAINING}
    own = onnx_mem.measure(make(), x, batch=UNSEEN, training=False, precision=precision)
    assert ours.inference.peak_bytes == own.peak_bytes


def test_a_module_is_recorded_as_it_is_asked_for(program):
    x = torch.zeros(3, 32)
    ours = onnx_mem.analyze(CastsInItsCode(), x, batch=UNSEEN, amp="bf16").runs[0]
    own = onnx_mem.measure(CastsInItsCode(), x, batch=UNSEEN, precision="amp-bf16")
    assert ours.training.peak_bytes == own.peak_bytes


@pytest.mark.parametrize("make", [ReplacesState, ReplacesBuffers, HostNumbers, SavesAViewThatItDrops])
def test_its_replay_is_exact(make):
    x = torch.zeros(3, 32)
    record = onnx_mem.record(make(), x)
    for options in (dict(), dict(training=False)):
        assert onnx_mem.verify(record, make(), x, batch=UNSEEN, **options).same


def test_what_a_call_leaves_behind_goes_where_it_is_replaced():
    lines = onnx_mem.record(ReplacesState(), torch.zeros(3, 32)).text().splitlines()
    left = [line.split()[0] for line in lines if " const " in line]
    assert len(left) == 6                                           # three tensors in each program
    assert all(any(" drop " in x and v in x.split(" drop ")[1].split() for x in lines) for v in left)


def on_rows_that_are_not_contiguous():
    """A layer and its input, as an LSTM with batch_first gives it."""
    return nn.Sequential(Transposed(), nn.Linear(16, 32)), torch.randn(4, 10, 16)


@pytest.mark.parametrize("grad", [False, True])
def test_a_bias_is_added_in_place_where_the_framework_does(grad):
    """In training the record has it as a plan sees it that looks on: out of place."""
    model, x = on_rows_that_are_not_contiguous()
    with torch.profiler.profile() as ran, torch.set_grad_enabled(grad):
        model(x)
    assert [e.name for e in ran.events() if e.name.startswith("aten::add")] == ["aten::add_"]
    lines = onnx_mem.record(model, x).programs["train" if grad else "eval"]["lines"]
    assert [line["op"] for line in lines if line.get("op", "").startswith("add")] == ["add.Tensor" if grad else
                                                                                       "add_.Tensor"]


def test_a_bias_in_place_takes_no_second_result(program):
    model, x = on_rows_that_are_not_contiguous()
    parameters, copied, result = 4 * (16 * 32 + 32), x.nbytes, 4 * 40 * 32
    measured = onnx_mem.measure(model, x, training=False)
    assert measured.peak_bytes == parameters + x.nbytes + copied + result
    assert onnx_mem.analyze(model, x, batch=4, mode="inference").inference.peak_bytes == measured.peak_bytes


class Transposed(nn.Module):
    def forward(self, x):
        return x.transpose(0, 1)
