"""Figures that can be worked out by hand."""
import collections
import contextlib
import json
import pathlib

import pytest
import torch
import torch.utils.checkpoint
from models import SMALL
from torch import nn

import onnx_mem
from onnx_mem._measure.storages import StorageTracker

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


class Loss(nn.Module):
    """Cross-entropy in forward, inside hooks for what autograd saves."""

    def __init__(self, hooks):
        super().__init__()
        self.weight, self.hooks = nn.Parameter(torch.zeros(1)), hooks

    def forward(self, x):
        with self.hooks():
            return {"loss": nn.functional.cross_entropy(x * self.weight, torch.zeros(len(x), dtype=torch.long,
                                                                                     device=x.device))}


def test_hooks_of_the_model_are_counted_as_they_are():
    hooks = torch.autograd.graph
    x = torch.zeros(64, 1000)
    plain = onnx_mem.measure(Loss(contextlib.nullcontext), x, optimizer="sgd")
    same = onnx_mem.measure(Loss(lambda: hooks.saved_tensors_hooks(lambda t: t, lambda t: t)), x, optimizer="sgd")
    assert same == plain
    copied = onnx_mem.measure(Loss(lambda: hooks.saved_tensors_hooks(torch.clone, lambda t: t)), x, optimizer="sgd")
    assert copied.saved_activation_bytes > plain.saved_activation_bytes
    away = onnx_mem.measure(Loss(hooks.save_on_cpu), x, optimizer="sgd")
    assert away.saved_activation_bytes == 0 and away.end_of_forward_bytes < plain.end_of_forward_bytes


def test_a_graph_kept_from_an_earlier_call_is_told():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.state = nn.Linear(4, 4), None

        def forward(self, x):
            y = self.layer(x).exp()
            if self.state is not None:
                y = y + self.state.mean()
            self.state = y
            return y

    with pytest.raises(onnx_mem.Error, match="a tensor kept from an earlier call still has its graph"):
        onnx_mem.measure(Kept(), torch.zeros(2, 4))
    with pytest.raises(onnx_mem.CannotRecord, match="a tensor kept from an earlier call still has its graph"):
        onnx_mem.record(Kept(), torch.zeros(2, 4))


def test_a_buffer_that_keeps_its_graph_has_no_record():
    class Summed(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("total", torch.tensor(0.0), persistent=False)

        def forward(self, x):
            self.total = self.total + self.layer.weight.exp().sum()
            return self.layer(x)

    with pytest.raises(onnx_mem.CannotRecord, match="from an earlier call still has its graph"):
        onnx_mem.record(Summed(), torch.zeros(2, 4))


class _Names(StorageTracker):
    """The operators of a backward as measure() runs them, by name."""

    def __init__(self):
        super().__init__()
        self.phase, self.node, self.found = "backward", None, collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        node = torch._C._current_autograd_node()
        if node is not None and node is not self.node:
            self.node = node
            self.start_node(node.name())
        out = super().__torch_dispatch__(func, types, args, kwargs)
        self.found[self.op.split(".")[0]] += 1
        return out


@pytest.mark.parametrize("run", [
    torch.max, torch.minimum, torch.fmax, lambda a, b: a.clamp(min=b), lambda a, b: a.clamp(max=b), torch.atan2,
    lambda a, b: nn.functional.binary_cross_entropy_with_logits(a, b.detach().sigmoid()),
    lambda a, b: nn.functional.binary_cross_entropy_with_logits(a, b.detach().sigmoid(), weight=b.detach(),
                                                                pos_weight=b.detach()[0]),
    lambda a, b: a.max(0)[0], lambda a, b: a.topk(2, 0)[0], lambda a, b: a.sort(0)[0],
    lambda a, b: a.gather(0, torch.zeros(2, 3, dtype=torch.long)), lambda a, b: a.cummax(0)[0],
    lambda a, b: a.index_select(0, torch.tensor([0, 2])), lambda a, b: a.take(torch.tensor([1, 3])),
    lambda a, b: a[:, :3].trace(), lambda a, b: a.masked_select(b > 0)])
def test_backward_writes_over_what_it_writes_over_without_a_mode(run):
    """Under a dispatch mode formulas take other operators: held against those that the profiler sees where there is
    none."""
    torch.manual_seed(0)
    a, b = (torch.rand(4, 3, requires_grad=True) + 0.1 for _ in range(2))
    weight = torch.rand(run(a, b).shape)

    def backward():
        return torch.autograd.grad((run(a, b) * weight).sum(), (a, b), allow_unused=True)
    with torch.autograd.profiler.profile() as profile:
        backward()
    alone = collections.Counter(e.name.removeprefix("aten::") for e in profile.function_events)
    with _Names() as under:
        backward()
    over = {name: n for name, n in under.found.items() if name.endswith("_")}
    assert over and all(alone[name] >= n for name, n in over.items())
    assert not [name for name, n in under.found.items()
                if alone[name] < n and alone[name + "_"] > under.found[name + "_"]]


@pytest.mark.parametrize("name", ["in_place", "custom_functions", "checkpointed"])
def test_committed_truth_is_what_is_measured(name):
    truth = json.loads((RECORDS / "truth.json").read_text())["models"][name]
    model, args, kwargs = SMALL[name]()
    run = truth["runs"][-1]
    for optimizer in ("adam", "momentum"):
        m = onnx_mem.measure(model, args, kwargs=kwargs, optimizer=optimizer, batch=run["batch"])
        assert m.peak_bytes == run[optimizer]["peak_bytes"]
        assert m.saved_activation_bytes == run[optimizer]["saved_activation_bytes"]


class AddsTo(nn.Module):
    """Adds in place to what an activation gave, which ReLU's backward reads and GELU's does not."""

    def __init__(self, activation):
        super().__init__()
        self.linear, self.activation = nn.Linear(8, 8), activation

    def forward(self, x):
        y = self.activation(self.linear(x))
        y += x
        return y


def test_what_pytorch_refuses_has_no_figure():
    x = torch.zeros(4, 8)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        AddsTo(nn.ReLU())(x).sum().backward()
    with pytest.raises(onnx_mem.Error, match="modified by an inplace operation"):
        onnx_mem.measure(AddsTo(nn.ReLU()), x)
    AddsTo(nn.GELU())(x).sum().backward()
    assert onnx_mem.measure(AddsTo(nn.GELU()), x).peak_bytes > 0
