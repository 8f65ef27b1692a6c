"""Tensor subclasses that carry something along and leave the framework's operators as they are."""
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import onnx_mem


class Named(torch.Tensor):
    """Of the default kind: results are of it too."""


class Carries(torch.Tensor):
    """Hands on what it carries, in its own code."""

    def __new__(cls, x, **carried):
        made = x.as_subclass(cls)
        made.__dict__.update(carried)
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Carries) and hasattr(args[0], "scale"):
            result.scale = args[0].scale
        return result

    def scaled(self):
        return self * self.scale


class Handed(Carries):
    """Replaces all that a result carries."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super(Carries, cls).__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Handed):
            result.__dict__ = dict(args[0].__dict__)
        return result


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.first(x).as_subclass(Named)
        assert isinstance(y.relu(), Named)
        halves = y.relu().chunk(2, 1)
        return self.second(torch.cat(halves, 1).relu_())


class Scales(Body):
    def forward(self, x):
        return self.second(Carries(self.first(x), scale=3).tanh().scaled())


class Hands(Body):
    def forward(self, x):
        return self.second(Handed(self.first(x), scale=3).tanh().scaled())


class Off(torch.Tensor):
    """Results are plain tensors."""
    __torch_function__ = torch._C._disabled_torch_function_impl


class TurnsOff(Body):
    def forward(self, x):
        y = self.first(x).as_subclass(Off).tanh()
        assert not isinstance(y, Off)
        return self.second(y)


class Convolves(Body):
    """Backward of a convolution has a kernel in Python for tensors without data."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        y = self.convolution(x.view(-1, 1, 2, 4).repeat(1, 1, 2, 1).as_subclass(Named))
        return self.second(y.flatten(1))


class Plain(Body):
    def forward(self, x):
        return self.second(Carries(self.first(x), scale=3).tanh().as_subclass(torch.Tensor).exp())


class Detaches(Body):
    def forward(self, x):
        return self.second(torch.Tensor._make_subclass(Named, self.first(x)).tanh())


class Holds(Body):
    """A table of such a class, a buffer and an attribute."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", Carries(torch.ones(8), scale=5))
        self.table = Carries(torch.ones(8), scale=7)

    def forward(self, x):
        return self.second(self.first(x) * self.buffer.scaled() + self.table.scaled())


MODELS = [Body, Scales, Hands, Plain, TurnsOff, Convolves, Detaches, Holds]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", MODELS)
def test_it_is_recorded_as_it_is_measured(program, make, training):
    model, x = make(), torch.zeros(3, 8)
    verified = onnx_mem.verify(onnx_mem.record(model, x), model, x, batch=11, training=training)
    assert verified.same, str(verified)


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func).removeprefix("aten.").removesuffix(".default"))
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("make", MODELS)
def test_operators_are_those_of_a_run(make):
    model, x = make(), torch.zeros(3, 8)
    with Operators() as ran:
        model(x)
    lines = onnx_mem.record(model, x).programs["train"]["lines"]
    # A mode that looks on does not see the aliases which have the class, but what autograd detaches to keep.
    beside = ("alias", "detach")
    assert [line["op"] for line in lines if line.get("op", "alias") not in beside] == [
        name for name in ran.names if name not in beside]


def test_an_input_may_be_one(program):
    class Reads(Body):
        def forward(self, x):
            return self.second(self.first(x.scaled()))
    x = Carries(torch.zeros(3, 8), scale=2)
    verified = onnx_mem.verify(onnx_mem.record(Reads(), x), Reads(), x, batch=11)
    assert verified.same, str(verified)


def test_afterwards_the_framework_is_as_it_was():
    onnx_mem.measure(Body(), torch.zeros(3, 8))
    assert not {"as_subclass", "_make_subclass"} & set(vars(torch.Tensor))
    assert type(torch.ones(2).as_subclass(Named)) is Named


class Calls(Body):
    def forward(self, x):
        return self.second(Named(self.first(x)).tanh())


class CallsOtherwise(Body):
    """What the error says to write."""

    def forward(self, x):
        t = self.first(x)
        return self.second(t.as_subclass(Named).tanh())


def test_a_class_that_is_called_on_a_tensor_has_a_way_out(program):
    x = torch.zeros(3, 8)
    with pytest.raises(onnx_mem.CannotRecord, match=r"forward calls Named on a tensor; t.as_subclass\(Named\) makes"):
        onnx_mem.record(Calls(), x)
    verified = onnx_mem.verify(onnx_mem.record(CallsOtherwise(), x), CallsOtherwise(), x, batch=11)
    assert verified.same, str(verified)
