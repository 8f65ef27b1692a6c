"""Tensors that a model holds in objects and closures: hooks that keep what they last saw, tables in an object."""
import functools
import threading
import warnings

import pytest
import torch
from torch import nn

import onnx_mem


class Keeps:
    """A hook that holds the last output of its module."""
    stored = None

    def __init__(self, detach=False):
        self.detach = detach

    def __call__(self, module, inputs, output):
        self.stored = output.detach() if self.detach else output


class Skips(nn.Module):
    """Adds what a hook saw, as U-Nets over somebody's encoder do; it has run once when it was built."""

    def __init__(self, hook=None):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(16, 4)
        self.watch(hook or Keeps())
        self(torch.ones(1, 8))

    def watch(self, hook):
        self.hook = hook
        self.first.register_forward_hook(hook)

    def seen(self):
        return self.hook.stored

    def forward(self, x):
        y = self.second(self.first(x).relu())
        return self.last(torch.cat([y, self.seen()], 1))


class ByMethod(Skips):
    """The hook is a method of an object that stands in a list."""

    def watch(self, hook):
        self.hooks = [hook]
        self.first.register_forward_hook(hook.__call__)

    def seen(self):
        return self.hooks[0].stored


class InAClosure(Skips):
    """The hook is a function around the model."""

    def watch(self, hook):
        self.stored = {}
        self.first.register_forward_hook(lambda module, inputs, output: self.stored.update(first=output))

    def seen(self):
        return self.stored["first"]


class Given(Skips):
    """The hook is a function around a dict, and one that was given arguments."""

    def watch(self, hook):
        self.stored = stored = {}

        def keep(name, module, inputs, output):
            stored[name] = output
        self.first.register_forward_hook(functools.partial(keep, "first"))

    def seen(self):
        return self.stored["first"]


class Table:
    __slots__ = ("rows", "lock")

    def __init__(self):
        self.rows, self.lock = torch.arange(32.).view(4, 8), threading.Lock()


class InASlot(nn.Module):
    """A table in an object with what copy.deepcopy refuses: a lock, a module of Python."""

    def __init__(self):
        super().__init__()
        self.layer, self.table, self.functional = nn.Linear(8, 8), Table(), nn.functional

    def forward(self, x):
        with self.table.lock:
            return self.functional.relu(self.layer(x)) * self.table.rows.sum(0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [Skips, lambda: Skips(Keeps(detach=True)), ByMethod, InAClosure, Given, InASlot])
def test_what_objects_hold_is_recorded_as_it_is_measured(program, make, training):
    model, x = make(), torch.zeros(3, 8)
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=11, training=training)
    assert verified.same, str(verified)


def test_the_model_keeps_what_it_held():
    for model, held in ((ByMethod(), lambda m: m.hooks[0].stored), (InAClosure(), lambda m: m.stored["first"]),
                        (Given(), lambda m: m.stored["first"])):
        was = held(model)
        onnx_mem.measure(model, torch.zeros(3, 8))
        assert held(model) is was and was.shape == (1, 8) and was.device.type == "cpu"


class Grows(Skips):
    def watch(self, hook):
        self.hook = hook
        self.first.register_forward_hook(hook)
        hook.all = []

    def forward(self, x):
        y = self.first(x)
        self.hook.all.append(torch.cat([y.detach()] * 99, 1))
        return y


def test_what_grows_in_an_object_is_refused():
    with pytest.raises(onnx_mem.CannotRecord, match="forward leaves"):
        onnx_mem.record(Grows(), torch.zeros(3, 8))


class Remembers(nn.Module):
    """Keeps a result, as layers with a prior keep its logarithm."""

    def __init__(self, detach=False, used=False):
        super().__init__()
        self.layer, self.prior, self.detach, self.used = nn.Linear(8, 4), None, detach, used

    def forward(self, x):
        y = self.layer(x)
        self.prior = self.layer.weight.exp().sum()
        if self.detach:
            self.prior = self.prior.detach()
        return y + self.prior if self.used else y


@pytest.mark.parametrize("how", [{"detach": True}, {"used": True}])
def test_a_graph_that_nothing_frees_is_said(program, how):
    x = torch.zeros(3, 8)
    with pytest.warns(UserWarning, match="forward keeps results with their graph in attributes"):
        onnx_mem.record(Remembers(), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = onnx_mem.record(Remembers(**how), x)
    verified = onnx_mem.verify(record, Remembers(**how), x, batch=11)
    assert verified.same, str(verified)
