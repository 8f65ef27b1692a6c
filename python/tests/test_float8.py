"""torchao's training in float8: its matrices are made in a function whose backward runs other functions."""
import pytest
import torch
from test_own_step import really
from torch import nn

import onnx_mem

float8 = pytest.importorskip("torchao.float8")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 128), nn.Linear(128, 64)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def in_float8(**options):
    return float8.convert_to_float8_training(Net(), config=float8.Float8LinearConfig(**options))


def training(net):
    optimizer = torch.optim.AdamW(net.parameters(), foreach=True)

    def step(x, _=None):
        optimizer.zero_grad()
        loss = (out := net(x)).mean()  # noqa: F841  (held to the end)
        loss.backward()
        optimizer.step()
    return step


def peaks(found):
    return found.first_step_peak_bytes, found.peak_bytes


@pytest.mark.parametrize("batch", [48, 400])
def test_products_in_full_precision_take_what_they_take_with_data(batch, program):
    """emulate=True: the CPU runs the same operators. A card's product in float8 makes its result alone."""
    x = torch.rand(48, 64)
    took = really(lambda: training(in_float8(emulate=True)), batch)
    expected = tuple(n - 8 * batch for n in took)    # without its labels
    assert peaks(onnx_mem.measure(step=training(in_float8(emulate=True)), args=(x,), batch=batch)) == expected
    assert peaks(onnx_mem.measure(in_float8(emulate=True), x, optimizer="adamw", loss="mean", batch=batch)) == expected
    assert peaks(onnx_mem.analyze(in_float8(emulate=True), x, optimizer="adamw", loss="mean",
                                  batch=batch).training) == expected


RECIPES = ["tensorwise", "rowwise", "rowwise_with_gw_hp"]


@pytest.fixture
def product_of_a_card():
    """The CPU's kernel makes tensors for its own run; a card's makes its result alone."""
    def product(a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
        return torch.empty(len(a), b.shape[1], dtype=out_dtype)
    library = torch.library.Library("aten", "IMPL")
    library.impl("_scaled_mm", product, "CPU", allow_override=True)
    yield
    library._destroy()


def is_of_the_cpu(operators):
    """An operator of two types copies its operands on a CPU, where a card's kernel casts what it reads (compute_types
    in TensorIterator.cpp): a product in bfloat16, multiplied in place by row-wise scales in float32. A copy that turns
    a matrix has a buffer there (copy_transpose_valid in Copy.cpp)."""
    return "aten::mul_/" in operators or operators.endswith("aten::copy_/aten::empty")


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("batch", [48, 400])
def test_products_in_float8_take_what_they_take_with_data(batch, recipe, product_of_a_card):
    def net():
        return float8.convert_to_float8_training(Net(), config=float8.Float8LinearConfig.from_recipe_name(recipe))
    took = really(lambda: training(net()), batch, is_of_the_cpu=is_of_the_cpu, taken_apart={"aten::mm"})
    assert peaks(onnx_mem.measure(net(), torch.rand(48, 64), optimizer="adamw", loss="mean",
                                  batch=batch)) == tuple(n - 8 * batch for n in took)


@pytest.mark.parametrize("recipe", RECIPES)
def test_products_in_float8_are_recorded_at_batches_that_they_run_at(recipe, program):
    def net():
        return float8.convert_to_float8_training(
            Net(), config=float8.Float8LinearConfig.from_recipe_name(recipe))
    x = torch.rand(48, 64)
    record = onnx_mem.record(net(), x)
    for batch in (48, 400):
        asked = {"optimizer": "adamw", "loss": "mean", "batch": batch}
        assert peaks(onnx_mem.analyze(record, **asked).training) == peaks(onnx_mem.measure(net(), x, **asked))


def test_a_step_in_float8_is_recorded(program):
    record = onnx_mem.record(step=training(in_float8()), args=(torch.rand(48, 64),))
    for batch in (48, 400):
        measured = onnx_mem.measure(step=training(in_float8()), args=(torch.rand(batch, 64),))
        assert peaks(onnx_mem.analyze(record, batch=batch).training) == peaks(measured)
