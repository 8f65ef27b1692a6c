"""Operators that the program has no rule for: a record notes what their backward runs."""
import pytest
import torch
from between import Between

import onnx_mem


def matrices(x):
    return x.view(-1, 8, 8)


def numbers(x, y):
    return torch.complex(x, y)


def definite(x):
    return matrices(x) @ matrices(x).mT


# What a model of two layers runs between them, of x and y as they come out of the first.
CALLS = {
    "qr": lambda x, y: torch.linalg.qr(matrices(x))[0].flatten(1) * y,
    "svd": lambda x, y: torch.linalg.svd(matrices(x), full_matrices=False)[2].flatten(1) * y,
    "eigh": lambda x, y: torch.linalg.eigh(definite(x))[1].flatten(1) * y,
    "eigvalsh": lambda x, y: torch.linalg.eigvalsh(definite(x)).sum(1, keepdim=True) * y,
    "lu": lambda x, y: torch.linalg.lu_solve(*torch.linalg.lu_factor(definite(x)), matrices(y)).flatten(1),
    "matrix_exp": lambda x, y: torch.linalg.matrix_exp(matrices(x)).flatten(1) * y,
    "pinv": lambda x, y: torch.linalg.pinv(x.view(-1, 16, 4)).flatten(1) * y,
    "householder": lambda x, y: torch.linalg.householder_product(matrices(x), y[:, :8]).flatten(1),
    "renorm": lambda x, y: torch.renorm(x, 2, 0, 1.0) * y,
    "index_reduce": lambda x, y: x.index_reduce(1, torch.arange(4, device=x.device), y[:, :4], "mean"),
    "diagonal_scatter": lambda x, y: matrices(x).diagonal_scatter(y[:, :8], 0, 1, 2).flatten(1),
    "aminmax": lambda x, y: (x - torch.aminmax(x, dim=1, keepdim=True)[0]) * y,
    "nansum": lambda x, y: x.nansum(1, keepdim=True) * y,
    "entr": lambda x, y: torch.special.entr(x) * torch.special.log_ndtr(y),
    "i1e": lambda x, y: torch.special.i1e(x) + torch.special.xlog1py(x, y),
    "integers": lambda x, y: torch.gcd(x.long(), y.long()) * x + torch.isin(y.long(), x[0].long()) * torch.signbit(y),
    "product": lambda x, y: (numbers(x, y) * numbers(y, x)).imag,
    "squares": lambda x, y: (numbers(x, y) * numbers(x, y).conj()).real * y,
    "matrices": lambda x, y: (numbers(matrices(x), matrices(y)) @ numbers(matrices(y), matrices(x))).real.flatten(1),
    "imaginary": lambda x, y: (1j * x + y).exp().real * (2j * numbers(x, y)).imag,
    "angle": lambda x, y: torch.angle(numbers(x, y)) * numbers(x, y).sum(1, keepdim=True).abs(),
    "powers": lambda x, y: numbers(x, y).exp().real + numbers(x, y).pow(2).imag,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_without_a_rule_takes_what_it_takes(program, name):
    x = torch.zeros(8, 64)
    record = onnx_mem.record(Between(CALLS[name]), x)
    said = onnx_mem.analyze(record, batch=512)
    assert not [each for each in said.diagnostics if "no memory rule" in each["message"]]
    measured = onnx_mem.measure(Between(CALLS[name]), x, batch=512)
    assert (said.training.peak_bytes, said.training.first_step_peak_bytes, said.training.saved_activation_bytes) == (
        measured.peak_bytes, measured.first_step_peak_bytes, measured.saved_activation_bytes)
    assert said.inference.peak_bytes == onnx_mem.measure(Between(CALLS[name]), x, batch=512, training=False).peak_bytes


@pytest.mark.parametrize("name", ["qr", "aminmax", "squares"])
def test_the_record_runs_as_the_model_does(program, name):
    x = torch.zeros(6, 64)
    replayed = onnx_mem.verify(onnx_mem.record(Between(CALLS[name]), x), Between(CALLS[name]), x, batch=24)
    assert replayed.replay_is_the_model, str(replayed)


def test_a_result_that_nothing_differentiates_gives_no_gradient(program):
    """Of a decomposition of which one factor alone is read, the formula runs without a gradient of the other."""
    text = onnx_mem.record(Between(CALLS["qr"]), torch.zeros(8, 64)).text()
    opened = next(line for line in text.splitlines() if line.strip().startswith("backward "))
    assert "function operator.linalg_qr" in text
    assert opened.count(" of ") == 1


def test_forward_is_as_without_formulas(program):
    """The second call of the operator has no part in the model: no name of it lives longer."""
    x = torch.zeros(8, 64)
    model = Between(CALLS["qr"])
    assert onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=24, training=False).same
