"""Plans of which tensors wait in host memory: which do must change nothing but memory and time."""
import copy
import gc
import pickle
import random
import re

import pytest
import torch
from test_kept_calls import SEGMENTS, calls_of, counted, net, same, step

import onnx_mem
from onnx_mem._checkpoint import applied


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Tensors of these small networks move too."""
    monkeypatch.setattr(applied, "_LEAST_BYTES", 1)


def drawn(calls, choose):
    """A plan that keeps, moves and makes again what `choose` says."""
    plan = []
    for modules in SEGMENTS:
        entry = {"modules": modules, "keep": {}}
        moved = {}
        for key in calls[tuple(modules)]:
            kind = choose.random()
            if kind < 0.5:
                (entry["keep"] if kind < 0.25 else moved)[key] = choose.choice(([], [0]))
        if choose.random() < 0.9:
            entry["offload"] = {"calls": moved, "inputs": choose.random() < 0.5,
                                "when": choose.choice(("overlapped", "waiting"))}
        plan.append(entry)
    return plan


def settled(plan, run):
    """What `run` gives with the plan, less what cannot move because it is written over."""
    refused = 0
    while True:
        try:
            return run(onnx_mem.checkpoint(net(), copy.deepcopy(plan))), refused
        except RuntimeError as e:
            op = re.search(r"writes over what (\S+) made, which the plan moves to the host", str(e))
            if op is None:
                raise
            refused += 1
            for entry in plan:
                moved = entry.get("offload", {}).get("calls", {})
                for key in [key for key in moved if op[1] in key]:
                    del moved[key]


@pytest.mark.parametrize("amp", [False, True])
def test_any_set_of_calls_on_the_host_computes_the_same(amp):
    expected, refusals = step(net(), amp), 0
    calls = calls_of(net(), SEGMENTS, lambda model: step(model, amp))
    for seed in range(12):
        plan = drawn(calls, random.Random(seed))
        got, refused = settled(plan, lambda model: step(model, amp))
        refusals += refused
        assert same(expected, got), plan
    assert refusals > 0


def hosted(when="waiting", inputs=True):
    return [{"modules": ["blocks.0", "blocks.1", "blocks.2"], "keep": {"blocks.0.norm:native_layer_norm": [1, 2]},
             "offload": {"calls": {"blocks.0.fc:aten.addmm.default#0": [0], "blocks.0.fc:aten.addmm.default#1": [0],
                                   "blocks.2.out:addmm": [0]}, "inputs": inputs, "when": when}},
            {"modules": ["blocks.3"], "offload": {"inputs": inputs, "calls": {"blocks.3.fc:addmm": [0]}, "when": when}}]


class Moves:
    """Storages that went to the host and came back."""

    def __init__(self, monkeypatch):
        self.out, self.back = [], []
        init, begin = applied._Stored.__init__, applied._Stored.begin_return

        def __init__(stored, t):
            init(stored, t)
            self.out.append(tuple(t.shape))

        def begin_return(stored):
            if stored.device is None:
                self.back.append(stored)
            begin(stored)
        monkeypatch.setattr(applied._Stored, "__init__", __init__)
        monkeypatch.setattr(applied._Stored, "begin_return", begin_return)


@pytest.mark.parametrize("when", ["overlapped", "waiting"])
def test_what_the_plan_names_moves_and_comes_back(monkeypatch, when):
    moves = Moves(monkeypatch)
    expected = step(net())
    got = step(onnx_mem.checkpoint(net(), hosted(when)))
    assert same(expected, got)
    # In each of two steps: of the run of blocks its input and three results, of the block that is called twice its
    # input and a result each time.
    assert len(moves.out) % 2 == 0 and moves.out[:len(moves.out) // 2] == moves.out[len(moves.out) // 2:]
    assert len(moves.out) == 2 * (1 + 3 + 2 * 2)
    # The last call's stay until the next such call has run, which there is not.
    assert len(moves.back) == len(moves.out) - (0 if when == "waiting" else 2 * 2)


def test_a_call_on_the_host_does_not_run_again():
    kept = [{"modules": ["blocks.3"], "keep": {"blocks.3.fc:addmm": [0]}}]
    moved = [{"modules": ["blocks.3"], "offload": {"calls": {"blocks.3.fc:addmm": [0]}, "when": "waiting"}}]
    assert (counted(onnx_mem.checkpoint(net(), kept))["aten.addmm.default"]
            == counted(onnx_mem.checkpoint(net(), moved))["aten.addmm.default"])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_move_their_own(copied):
    expected = step(net())
    planned = onnx_mem.checkpoint(net(), hosted())
    assert same(expected, step(copied(planned)))
    assert same(expected, step(onnx_mem.restore(copied(planned)))) and same(expected, step(planned))


def test_a_step_leaves_nothing_for_the_garbage_collector():
    planned = onnx_mem.checkpoint(net(), hosted())
    step(planned)
    gc.collect()
    gc.disable()
    try:
        step(planned)
        assert not [each for each in gc.get_objects() if type(each) is applied._Stored]
    finally:
        gc.enable()


@pytest.mark.parametrize("offload, why", [
    ({"calls": {"blocks.3.fc:addmm": [0]}}, "both on the device and on the host"),
    ({"calls": {"blocks.2.fc:addmm": [0]}}, "is a call of none of the segment's modules"),
])
def test_what_cannot_be_is_refused_when_applied(offload, why):
    entry = {"modules": ["blocks.3"], "keep": {"blocks.3.fc:addmm": [0]}, "offload": offload}
    with pytest.raises(onnx_mem.Error, match=why):
        onnx_mem.checkpoint(net(), [entry])


def test_what_is_written_over_meanwhile_is_refused():
    class Doubles(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            y = torch.tanh(self.first(x))
            z = self.second(y)
            with torch.no_grad():
                y.mul_(2)
            return z
    model = onnx_mem.checkpoint(torch.nn.Sequential(torch.nn.Linear(8, 8), Doubles()),
                                [{"modules": ["1.second"], "offload": {"inputs": True}},
                                 {"modules": ["0"], "offload": {"inputs": True}}])
    x = torch.randn(4, 8, requires_grad=True)
    held = model(x)
    with pytest.raises(RuntimeError, match="was written over while it was copied"):
        model(x)
    del held
