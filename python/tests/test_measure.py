"""Figures that can be worked out by hand."""
import json
import pathlib

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

import onnx_mem
from models import SMALL

RECORDS = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "records"


def test_inference_of_one_layer():
    m = onnx_mem.measure(nn.Linear(4, 3, bias=False), torch.zeros(2, 4), batch=5, training=False)
    assert (m.parameter_bytes, m.input_bytes, m.peak_bytes) == (48, 80, 48 + 80 + 60)
    assert m.breakdown == {"parameters": 48, "inputs": 80, "activations": 60}


def test_training_step_of_one_layer():
    m = onnx_mem.measure(nn.Linear(4, 3, bias=False), torch.zeros(5, 4), optimizer="adam")
    assert m.loss == "cross-entropy" and m.input_bytes == 80 + 5 * 8
    assert m.saved_activation_bytes == 0                          # the layer keeps its input, which is counted as input
    assert sum(m.breakdown.values()) == m.peak_bytes
    assert m.breakdown["optimizer_state"] == 2 * 48 + 4           # two moments and a step counter
    assert m.first_step_peak_bytes <= m.peak_bytes


def test_momentum_has_its_state_from_step_2_on():
    m = onnx_mem.measure(nn.Linear(400, 300, bias=False), torch.zeros(1, 400), optimizer="momentum")
    assert m.peak_phase == "backward" and m.peak_bytes > m.first_step_peak_bytes
    assert m.breakdown["optimizer_state"] == 480000


def test_frozen_parameters_have_no_gradient():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
    model[0].requires_grad_(False)
    m = onnx_mem.measure(model, torch.zeros(3, 8), optimizer="adam")
    assert m.breakdown["optimizer_state"] == 2 * (8 * 2 + 2) * 4 + 2 * 4


def test_a_second_batch_finds_the_gradients_of_the_first():
    model, x = nn.Linear(400, 300, bias=False), torch.zeros(1, 400)
    once = onnx_mem.measure(model, x, optimizer="none")
    assert onnx_mem.measure(model, x, optimizer="none", accumulate=2).peak_bytes == once.peak_bytes + 480000


def test_what_is_one_tensor_is_one_in_a_second_run():
    class Attention(nn.Module):
        def __init__(self, run):
            super().__init__()
            self.first, self.attention = nn.Linear(16, 16), nn.MultiheadAttention(16, 2, batch_first=True)
            self.run = run

        def forward(self, x):
            x = self.first(x)
            return self.run(self.attention, x, x, x)[0]

    def again(*args):
        return torch.utils.checkpoint.checkpoint(*args, use_reentrant=False)
    plain = onnx_mem.measure(Attention(lambda f, *args: f(*args)), torch.zeros(2, 6, 16))
    twice = onnx_mem.measure(Attention(again), torch.zeros(2, 6, 16))
    assert twice.saved_activation_bytes < plain.saved_activation_bytes


def test_nothing_to_train_on():
    with pytest.raises(onnx_mem.Error) as e:
        onnx_mem.measure(nn.Embedding(3, 4).requires_grad_(False), torch.zeros(2, dtype=torch.int64))
    assert e.value.code == "no-loss"


def test_the_second_run_of_attention_gets_its_query_as_its_key_again():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    x = torch.zeros(8, 32, 16)
    plain = onnx_mem.measure(Attention(), x, optimizer="sgd", loss="mean")
    planned = onnx_mem.measure(onnx_mem.checkpoint(Attention(), [["attention"]]), x, optimizer="sgd", loss="mean")
    assert planned.end_of_forward_bytes < plain.end_of_forward_bytes


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_attention_inside_a_function_of_the_framework_takes_the_kernel_of_a_gpu(dropout):
    """F.multi_head_attention_forward calls the kernel's function under its own name, where a mode does not see it."""
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 2, dropout=dropout, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    x = torch.zeros(4, 512, 16)
    scores = 4 * 2 * 512 * 512 * 4
    recorded = onnx_mem.analyze(onnx_mem.record(Attention(), x), batch=4, loss="mean")
    measured = onnx_mem.measure(Attention(), x, loss="mean")
    assert measured.peak_bytes == recorded.training.peak_bytes < scores
    # In a call that asks for the weights there is no such kernel.
    assert onnx_mem.measure(nn.MultiheadAttention(16, 2, batch_first=True), (x, x, x), loss="mean").peak_bytes > scores


@pytest.mark.parametrize("name", ["in_place", "custom_functions", "checkpointed"])
def test_committed_truth_is_what_is_measured(name):
    truth = json.loads((RECORDS / "truth.json").read_text())["models"][name]
    model, args, kwargs = SMALL[name]()
    run = truth["runs"][-1]
    for optimizer in ("adam", "momentum"):
        m = onnx_mem.measure(model, args, kwargs=kwargs, optimizer=optimizer, batch=run["batch"])
        assert m.peak_bytes == run[optimizer]["peak_bytes"]
        assert m.saved_activation_bytes == run[optimizer]["saved_activation_bytes"]
