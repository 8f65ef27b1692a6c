"""Weights that are a tensor subclass around plain tensors: a small one of our own, and torchao's."""
import warnings

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import return_and_correct_aliasing

import onnx_mem

DIM = 64


class Eighth(torch.Tensor):
    """A weight in eight bits with a scale for each row. Its product is plain operators, seen by autograd."""

    @staticmethod
    def __new__(cls, data, scale):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=scale.dtype, device=data.device)

    def __init__(self, data, scale):
        self.data_, self.scale = data, scale

    def __tensor_flatten__(self):
        return ["data_", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["data_"], inner["scale"])

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is nn.functional.linear:
            x, w, bias = args
            return x @ (w.data_.to(w.scale.dtype) * w.scale).t() + bias
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return return_and_correct_aliasing(func, args, kwargs or {}, cls(args[0].data_, args[0].scale))
        raise NotImplementedError(f"{func}")


class Below(Eighth):
    """One whose product is its own, below autograd."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.t.default:
            return cls(args[0].data_.t(), args[0].scale.t())
        if func is torch.ops.aten.addmm.default:
            bias, x, w = args
            return bias + x @ (w.data_.to(w.scale.dtype) * w.scale)
        return super().__torch_dispatch__(func, types, args, kwargs)


class Linear(nn.Linear):
    """A frozen layer with such a weight, and a small one beside it that is trained."""

    def __init__(self, kind=Eighth):
        super().__init__(DIM, DIM)
        wrapped = kind(torch.zeros(DIM, DIM, dtype=torch.int8), torch.ones(DIM, 1))
        self.weight, self.beside = nn.Parameter(wrapped, requires_grad=False), nn.Linear(DIM, DIM)

    def forward(self, x):
        return super().forward(x) + self.beside(x).relu()


def model(layer=Linear):
    return nn.Sequential(layer(), layer(), nn.Linear(DIM, 10))


def held_against_itself(made, x, **how):
    """The program's answer from a record is the model's own, to the byte, at another batch as well."""
    record = onnx_mem.record(made, x)
    for batch in (len(x), 3 * len(x)):
        found = onnx_mem.verify(record, made, x, batch=batch, **how)
        assert found.same, str(found)
    return record


@pytest.mark.parametrize("training", [True, False])
def test_a_record_holds_what_the_weight_wraps(training):
    record = held_against_itself(model(), torch.randn(4, DIM), training=training)
    assert f"param 0.weight.data_ i8[{DIM},{DIM}] frozen" in record.text()
    assert f"param 0.weight.scale f32[{DIM},1] frozen" in record.text()


class Buffered(Linear):
    """The weight is no parameter: a buffer, in whose place it stands."""

    def __init__(self):
        super().__init__()
        weight = self.weight
        del self.weight
        self.register_buffer("weight", Eighth(weight.data_, weight.scale))


@pytest.mark.parametrize("training", [True, False])
def test_a_buffer_takes_what_it_wraps(training):
    record = held_against_itself(model(Buffered), torch.randn(4, DIM), training=training)
    assert f"buffer 0.weight.data_ i8[{DIM},{DIM}]" in record.text()


def test_the_weight_takes_what_it_wraps():
    x = torch.randn(4, DIM)
    plain = onnx_mem.measure(model(lambda: nn.Sequential(nn.Linear(DIM, DIM), nn.Linear(DIM, DIM))), x, training=False)
    wrapped = onnx_mem.measure(model(), x, training=False)
    assert plain.parameter_bytes - wrapped.parameter_bytes == 2 * (4 * DIM * DIM - DIM * DIM - 4 * DIM)


def test_a_step_of_ones_own_and_measure_agree():
    made, x = model(), torch.randn(4, DIM)
    optimizer = torch.optim.SGD([p for p in made.parameters() if p.requires_grad], 0.1, foreach=True)

    def step(x):
        optimizer.zero_grad()
        out = made(x)
        loss = out.mean()
        loss.backward()
        optimizer.step()
    weight = made[0].weight
    own = onnx_mem.measure(step=step, args=(x,))
    assert own.peak_bytes == onnx_mem.measure(made, x, optimizer="sgd", loss="mean").peak_bytes
    assert own.parameter_bytes == onnx_mem.measure(made, x).parameter_bytes
    assert made[0].weight is weight and weight.data_.device.type == "cpu"


@pytest.mark.parametrize("make, precisions, words", [
    (lambda: model(lambda: Linear(Below)), (), ["autograd differentiates aten.addmm", "a Below"]),
    (lambda: model().requires_grad_(True), (), ["'0.weight' is a", "Eighth that is trained", "requires_grad_(False)"]),
    (model, "bf16", ["'0.weight' is a Eighth", "in that precision"]),
], ids=["below", "trained", "precision"])
def test_refused_with_a_reason(make, precisions, words):
    with pytest.raises(onnx_mem.CannotRecord) as e:
        onnx_mem.record(make(), torch.randn(4, DIM), precisions=precisions)
    for word in words:
        assert word in str(e.value)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("config", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig",
                                    "IntxWeightOnlyConfig", "Float8WeightOnlyConfig",
                                    "Int8DynamicActivationIntxWeightConfig"])
def test_layers_of_torchao(config, training):
    quantization = pytest.importorskip("torchao.quantization")
    made = model(lambda: Linear(lambda data, scale: torch.randn(DIM, DIM)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantization.quantize_(made, getattr(quantization, config)(),
                               lambda m, name: isinstance(m, Linear))
    assert type(made[0].weight).__module__.startswith("torchao.")
    held_against_itself(made, torch.randn(8, DIM), training=training)
