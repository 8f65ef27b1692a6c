"""Checkpoints that libraries write themselves: an autograd.Function whose forward runs a function without gradients,
and whose backward runs it again with them and calls torch.autograd.backward, as torch.utils.checkpoint does with
use_reentrant=True; or torch.autograd.grad, to which parameters are arguments as well (guided-diffusion).

Seen first as a Function: its backward cannot be noted. What it runs then is compared with its forward; where it is
that, the model is recorded once more, with such calls noted as the checkpoints that they are."""
from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

import torch
from torch.autograd.function import Function, FunctionCtx
from torch.utils._python_dispatch import TorchDispatchMode

from .._fake.tensors import patch
from .._fake.wrapped import is_composite, plain_leaves
from ..errors import CannotRecord

_ALIASES = {"detach", "alias"}
_checkpoints: WeakSet[Any] = WeakSet()


class _RunsAgain(CannotRecord):
    """The backward of `function` is a second run of its forward."""
    function: Any = None


def runs_again(cls: Any, name: str) -> CannotRecord:
    """The error that `learn` knows."""
    e = _RunsAgain(f"the backward of {name} runs its forward again: torch.utils.checkpoint in its place is recorded, "
                   "and measure(model, x) takes it as it is")
    e.function = cls
    return e


def learn(error: BaseException | None) -> bool:
    """Whether an error says that a Function is such a checkpoint, which was not known: record the model again."""
    while error is not None:
        if isinstance(error, _RunsAgain):
            known, own = error.function in _checkpoints, error.function.setup_context is Function.setup_context
            _checkpoints.add(error.function)
            return own and not known
        error = error.__cause__
    return False


@contextlib.contextmanager
def noted_as_checkpoints(observer: Any) -> Iterator[None]:
    """Inside, calls of the classes that are known are noted as checkpoints of `observer`. One that code has under
    another name, as f = Again.apply, is seen as a Function."""
    def of(cls: Any, own: Any) -> Any:
        def apply(kind: Any, *args: Any) -> Any:
            if kind in _checkpoints:
                return _run_as_checkpoint(observer, kind, *args)
            return (own.__get__(None, kind) if own is not None else super(cls, kind).apply)(*args)
        return classmethod(apply)
    with contextlib.ExitStack() as stack:
        for cls in list(_checkpoints):
            patch(stack, cls, "apply", of(cls, vars(cls).get("apply")))
        yield


def is_of_checkpoint(ctx: Any) -> bool:
    """Whether forward got it of a call that is noted as a checkpoint."""
    return type(ctx) is FunctionCtx


class _AtBackward(Exception):
    """The backward has run the forward."""


class _Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if is_composite(func):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        if func.namespace != "prim":
            self.names.append(func._schema.name.removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


def is_rerun_of(forward: list[str], observer: Any, backward: Callable[[], object]) -> bool:
    """Whether `backward()` runs these operators, on views of its arguments or on them, and autograd behind them."""
    def stop(*_: Any, **__: Any) -> None:
        raise _AtBackward
    found = _Names()
    observer.quiet += 1
    try:
        with contextlib.ExitStack() as stack, found, torch.no_grad():
            for name in ("backward", "grad"):
                patch(stack, torch.autograd, name, stop)
            backward()
    except _AtBackward:
        again, first = _plain(found.names), _plain(forward)
        begin = len(again) - len(first)
        return begin >= 0 and again[begin:] == first and set(again[:begin]) <= {"view"}
    except Exception:
        return False
    finally:
        observer.quiet -= 1
    return False


def _plain(names: list[str]) -> list[str]:
    """Without overloads, and without what a run with gradients has otherwise: aliases, results in place."""
    return [x for x in (name.partition(".")[0].rstrip("_") for name in names) if x not in _ALIASES]


def _run_as_checkpoint(observer: Any, cls: Any, *args: Any) -> Any:
    """cls.apply(*args), noted as a reentrant checkpoint that holds what its forward saves."""
    if observer.pending is not None:
        observer.pending.before_next_line(dispatching=False)
    ctx = FunctionCtx()
    if not torch.is_grad_enabled():
        return cls.forward(ctx, *args)
    observer.note_grad_mode()
    for t in plain_leaves(args):
        observer.value(t)
    held: list[int] = []
    observer.events.append(("checkpoint", True, held))
    with _gradients_stay_on(inspect.unwrap(cls.forward).__code__):
        out = cls.forward(ctx, *args)
    if observer.pending is not None:
        observer.pending.before_next_line(dispatching=False)
    held += dict.fromkeys(observer.value(t) for t in plain_leaves(dict(ctx.__dict__)))
    observer.events.append(("endcheckpoint",))
    return out


@contextlib.contextmanager
def _gradients_stay_on(code: Any) -> Iterator[None]:
    """Inside, torch.no_grad() in this very function leaves them on: what it runs is noted as it will run again."""
    enter = torch.no_grad.__enter__

    def entered(grad: Any) -> None:
        if sys._getframe(1).f_code is code:
            grad.prev = torch.is_grad_enabled()
        else:
            enter(grad)
    with contextlib.ExitStack() as stack:
        patch(stack, torch.no_grad, "__enter__", entered)
        yield
