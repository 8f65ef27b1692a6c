"""What the framework says of a run on tensors without data, in words, with a way out."""
from __future__ import annotations

import re
import traceback

import torch
from torch.utils._pytree import tree_leaves

from .exact_types import name_compared
from .numbers import DrawnNumber
from .subclasses import is_name_of_carried

_LEAVE_OUT = ("leave out what needs it, often labels, or measure the parts that do not: "
              "onnx_mem.measure(model.backbone, x)")
_OF_VALUES = f"that follows from weights, activations or floating inputs; {_LEAVE_OUT}"
_OF_SHAPES = ("a shape depends on data, as the count of what a mask chooses does; b = torch.where(mask, a, b) has the "
              f"shape of b where b[mask] = a counts; else {_LEAVE_OUT}")
_HINTS = {"DataDependentOutputException": "a value of a tensor is read (item, int, bool or a branch on it) "
                                          + _OF_VALUES,
          "DynamicOutputShapeException": _OF_SHAPES}
# What the framework says where it does not know tensors without data -> what that means here.
_MEANS = {"HigherOrderOperator (\\w+)": "{} is one operator over functions of Python, which no line of a record holds",
          "\\.(numpy)\\(\\) is not supported": "code outside of torch ({}, a matcher) reads a value " + _OF_VALUES,
          "(torch\\.func)\\.\\{grad": "forward runs autograd itself ({}.grad, vjp or jacrev), which is not measured "
                                   f"and not recorded; {_LEAVE_OUT}",
          "self.shape_env must not be (None)": _OF_SHAPES}


def _operator_of(error: BaseException) -> tuple[str | None, bool]:
    """The framework's operator that was running, and whether a tensor that it got is sparse."""
    operator, sparse = None, False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if isinstance(frame.f_locals.get("func"), torch._ops.OpOverload):
            operator, given = str(frame.f_locals["func"]), tree_leaves(frame.f_locals.get("args"))
            sparse = sparse or any(isinstance(t, torch.Tensor) and t.layout is not torch.strided for t in given)
    return operator, sparse


def said(error: BaseException) -> str:
    """An exception of the framework in words."""
    kind = type(error).__name__
    if isinstance(error, DrawnNumber):
        return str(error)
    if kind in _HINTS:
        return f"{_HINTS[kind]}: {error}"
    operator, sparse = _operator_of(error)
    if operator and sparse:
        return (f"operator {operator} gets a sparse tensor, of which the size depends on data; make it dense where it "
                "is used: .to_dense(), or an index_put of its values")
    if operator and "NVIDIA driver" in str(error):
        return (f"operator {operator} has no kernel for tensors without data; leave out what needs it, a loss by "
                "leaving out the labels")
    if subclass := re.search("Tensor subclass (\\w+)", str(error)):
        if is_name_of_carried(subclass[1]):
            return f"forward calls {subclass[1]} on a tensor; t.as_subclass({subclass[1]}) makes the same of t"
        return f"forward makes a {subclass[1]}; tensor subclasses are not recorded"
    for pattern, means in _MEANS.items():
        found = re.search(pattern, str(error))
        if found:
            return means.format(found[1])
    if name := name_compared(error):
        return (f"{kind}: {error}; the code asks whether type({name}) is torch.Tensor, and a tensor without data is of "
                f"a class derived from it: write isinstance({name}, torch.Tensor) there, or give {name} as a number "
                "where the code takes one")
    return f"{kind}: {error}"
