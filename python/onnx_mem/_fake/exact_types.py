"""Code that asks whether the type of a tensor is torch.Tensor itself. Tensors without data are of a class derived from
it, so that such code takes them for something else, and fails later."""
from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from collections.abc import Iterator
from types import CodeType

from torch._subclasses.fake_tensor import FakeTensor


def name_compared(error: BaseException) -> str | None:
    """The name of a tensor without data whose type a function was compared with in which `error` arose; None where
    there is none."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        held = frame.f_locals
        if any(isinstance(x, FakeTensor) for x in held.values()):
            for name in _compared(frame.f_code):
                if isinstance(held.get(name), FakeTensor):
                    return name
    return None


def _compared(code: CodeType) -> Iterator[str]:
    """`x` of each `type(x) is torch.Tensor` and `type(x) == torch.Tensor`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):                 # no source is there
        return
    for node in ast.walk(tree):
        if (isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.Eq))
                and (name := _whose_type(node.left)) and _is_tensor_class(node.comparators[0])):
            yield name


def _whose_type(x: ast.expr) -> str | None:
    is_type = isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "type" and len(x.args) == 1
    return x.args[0].id if is_type and isinstance(x.args[0], ast.Name) else None


def _is_tensor_class(x: ast.expr) -> bool:
    return (isinstance(x, ast.Attribute) and x.attr == "Tensor") or (isinstance(x, ast.Name) and x.id == "Tensor")
