"""Spans of a forward that autograd treats as one: autograd.Function, utils.checkpoint, recurrent layers.

A Function's backward is Python code. It is run at once on gradients without data, and what it runs is noted beside its
forward. Classes are watched through their own `forward`, so that `f = Swish.apply`, bound at import, is seen as well.
"""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils.checkpoint
from torch.autograd.function import Function, FunctionCtx

from .._fake.recurrent import RECURRENT, recurrent
from .._fake.tensors import patch
from .._fake.wrapped import plain_leaves
from ..errors import CannotRecord
from .reruns import is_of_checkpoint, is_rerun_of, noted_as_checkpoints, runs_again

_VIEWS = (torch.ops.aten.view.default, torch.ops.aten.alias.default, torch.ops.aten.detach.default)


class GradientsTurnedOn(CannotRecord):
    """The backward of a Function runs operators that autograd differentiates."""


class FunctionSpan:
    """One call of an autograd.Function from the start of its forward to the next line of the model."""

    def __init__(self, observer: Any, cls: Any) -> None:
        self.observer, self.cls = observer, cls
        self.name = f"{cls.__module__}.{cls.__qualname__}".replace(" ", "")
        self.begin = len(observer.events)
        self.ctx = None
        self.inputs: tuple[Any, ...] = ()
        self.outputs: tuple[Any, ...] = ()
        self.returned = False
        self.views_left = 0         # of outputs that are inputs, which the framework makes before it saves
        # While it is pending: what it saves, and what the operator behind it does, which saves before it is seen.
        self.packed: list[Any] = []

    def before_next_line(self, dispatching: bool = True) -> None:
        """Called before anything of the model is noted; once forward has returned, ends the span.

        dispatching: whether the caller is the observer's own __torch_dispatch__."""
        if not self.returned:
            return
        o, ctx = self.observer, self.ctx
        inputs, outputs = self.inputs, self.outputs
        self.ctx, self.inputs, self.outputs = None, (), ()
        o.pending = None
        if ctx is None or not len(ctx._input_metadata):         # nothing to differentiate
            o.events.append(("endfunction", [], []))
            self.let_go()
            return
        packed = [s.data for s in (ctx._raw_saved_tensors or ())]
        saved = [v for p in packed if p is not None for v in p.values]
        attributes = plain_leaves(dict(ctx.__dict__))
        held = [v for v in dict.fromkeys(o.known(t) for t in attributes) if v is not None and v not in saved]
        del attributes
        o.events.append(("endfunction", saved, held))
        self._trace_backward(ctx, inputs, outputs, set(saved) | set(held), dispatching)
        self.let_go()

    def leave(self, out: Any) -> None:
        """Forward has returned `out`."""
        self.outputs = out if isinstance(out, tuple) else (out,)
        dirty = {id(t) for t in getattr(self.ctx, "dirty_tensors", None) or ()}
        self.views_left = sum(any(t is x for x in self.inputs) and id(t) not in dirty
                              for t in self.outputs if isinstance(t, torch.Tensor))
        self.returned = True

    def is_view_of_output(self, func: Any, args: Any) -> bool:
        """Whether the framework makes the view that stands for an input which forward returned as it is: in the order
        of outputs, without gradients (set_history in custom_function.cpp)."""
        return (self.returned and self.views_left > 0 and func in _VIEWS and not torch.is_grad_enabled()
                and any(args[0] is t for t in self.outputs))

    def view_of_output(self, of: Any, view: torch.Tensor) -> None:
        """`view` is what comes out in the place of the input."""
        self.views_left -= 1
        at = next(i for i, t in enumerate(self.outputs) if t is of)
        self.outputs = (*self.outputs[:at], view, *self.outputs[at + 1:])

    def let_go(self) -> None:
        for p in self.packed:
            p.tensor = None
        self.packed = []

    def _trace_backward(self, ctx: Any, inputs: Any, outputs: Any, kept: Any, dispatching: Any) -> None:
        o = self.observer
        gradients, pairs = [], []
        o.quiet += 1
        with torch.no_grad():
            for t in outputs:
                wants = isinstance(t, torch.Tensor) and t.requires_grad and t.is_floating_point()
                gradients.append(torch.empty_like(t, requires_grad=False) if wants else None)
        o.quiet -= 1
        for g, t in zip(gradients, outputs, strict=False):
            if g is not None:
                of = o.known(t)
                if of is None:
                    raise CannotRecord(f"an output of {self.name} was made by no operator")
                pairs.append((o.new(g, "gradient"), of))
        if not pairs:
            raise CannotRecord(f"{self.name} has no output that takes a gradient")
        start = len(o.events)
        o.events.append(("backward", pairs))
        was, o.grad_on, o.in_backward = o.grad_on, False, True
        try:
            # Inside its own dispatch the observer does not watch; elsewhere it does already.
            with torch.no_grad(), o if dispatching else contextlib.nullcontext():
                results = ctx.apply(*gradients)
        except CannotRecord as e:
            forward = [x[1] for x in o.events[self.begin:start] if x[0] == "op"]
            backward = functools.partial(ctx.apply, *gradients)
            if isinstance(e, GradientsTurnedOn) and is_rerun_of(forward, o, backward):
                raise runs_again(self.cls, self.name) from e
            raise CannotRecord(f"the backward of {self.name}: {e.reason}") from e
        except Exception as e:
            raise CannotRecord(f"the backward of {self.name} failed on tensors without data: "
                               f"{type(e).__name__}: {e}") from e
        o.grad_on, o.in_backward = was, False
        results = results if isinstance(results, tuple) else (results,)
        back = []
        for t, r, needs in zip(inputs, results, ctx.needs_input_grad, strict=False):
            if isinstance(r, torch.Tensor) and isinstance(t, torch.Tensor) and needs:
                if r.layout != torch.strided:
                    raise CannotRecord(f"{self.name} gives a gradient stored as {r.layout}")
                back.append((o.value(r), o.value(t)))
        o.events.append(("endbackward", back))
        made = {v for e in o.events[start:] if e[0] == "op" for v in e[4]} | {g for g, _ in pairs}
        more = [v for e in o.events[start:] if e[0] == "op" for v in _reads([e[2], e[3]])
                if v not in made and v not in kept and o.values[v]["kind"] == "value"]
        if more:                                                # held by something that is no attribute of ctx
            saved, held = o.events[start - 1][1:]
            o.events[start - 1] = ("endfunction", saved, held + list(dict.fromkeys(more)))
        del results, gradients


def _reads(args: Any) -> list[int]:
    if isinstance(args, dict):
        return [args["v"]] if "v" in args else [v for a in args.values() for v in _reads(a)]
    return [v for a in args for v in _reads(a)] if isinstance(args, list) else []


def _subclasses(cls: type) -> list[type]:
    out = []
    for c in cls.__subclasses__():
        out += [c, *_subclasses(c)]
    return list(dict.fromkeys(out))


@contextlib.contextmanager
def watch_spans(observer: Any) -> Iterator[None]:
    """Notes Functions, checkpoints and recurrent layers of what runs inside as spans of `observer`."""
    with contextlib.ExitStack() as stack:
        for cls in _subclasses(Function):
            for name, wrap in (("forward", _watched_forward), ("setup_context", _watched_setup)):
                if name in vars(cls):
                    own = vars(cls)[name]
                    raw = own.__func__ if isinstance(own, (staticmethod, classmethod)) else own
                    if callable(raw):
                        stack.callback(setattr, cls, name, own)
                        watched = functools.partial(wrap, observer, cls)
                        of_class = isinstance(own, classmethod)
                        setattr(cls, name, _of_class(watched, raw) if of_class else staticmethod(watched(raw)))
        stack.enter_context(noted_as_checkpoints(observer))
        if hasattr(torch.utils.checkpoint, "_checkpoint_impl"):
            patch(stack, torch.utils.checkpoint, "_checkpoint_impl", functools.partial(_checkpoint, observer))
        else:
            patch(stack, torch.utils.checkpoint, "checkpoint",
                  lambda function, *a, **k: _checkpoint_of_call(observer, function, a, k))
        for name in RECURRENT:
            patch(stack, torch._VF, name, functools.partial(_recurrent, observer, name))
        yield


def _of_class(watched: Any, raw: Any) -> Any:
    """A method of its class that is watched."""
    @functools.wraps(raw)
    def call(kind: Any, *args: Any, **kwargs: Any) -> Any:
        return watched(functools.partial(raw, kind))(*args, **kwargs)
    return classmethod(call)


def _watched_forward(observer: Any, cls: Any, forward: Any) -> Any:
    @functools.wraps(forward, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        span = observer.pending
        inside = span is not None and not span.returned                  # super().forward(...), or a Function in it
        if inside or observer.quiet or args and is_of_checkpoint(args[0]):
            return forward(*args, **kwargs)
        if span is not None:
            span.before_next_line(dispatching=False)
        with_ctx = bool(args) and isinstance(args[0], FunctionCtx)
        ctx = args[0] if with_ctx else None
        actual = getattr(type(ctx), "_forward_cls", cls) if with_ctx else cls
        span = FunctionSpan(observer, actual)
        observer.events.append(("function", span.name))
        observer.pending = span
        span.ctx, span.inputs = ctx, args[1:] if with_ctx else args
        for t in plain_leaves(span.inputs):
            observer.value(t)                                            # what comes in is known before the span
            observer.refuse_old_graph(t)
        out = forward(*args, **kwargs)
        span.leave(out)
        return out
    return watched


def _watched_setup(observer: Any, cls: Any, setup_context: Any) -> Any:
    def watched(ctx: Any, inputs: Any, output: Any) -> Any:
        span = observer.pending
        if span is not None and span.returned and span.ctx is None:
            span.ctx = ctx
            span.inputs = inputs
        return setup_context(ctx, inputs, output)
    return watched


def _checkpoint_of_call(observer: Any, function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    own = {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}
    return _checkpoint(observer, function, args, {k: v for k, v in kwargs.items() if k not in own},
                       **{k: v for k, v in kwargs.items() if k in own})


def _checkpoint(observer: Any, function: Any, args: Any, kwargs: dict[str, Any], *, use_reentrant: Any = None,
                context_fn: Any = None, **others: Any) -> Any:
    if observer.pending is not None:
        observer.pending.before_next_line(dispatching=False)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    if context_fn is not None and context_fn is not getattr(torch.utils.checkpoint, "noop_context_fn", None):
        raise CannotRecord("selective checkpointing (context_fn) in the model's code is not recorded")
    reentrant = use_reentrant is None or bool(use_reentrant)
    observer.note_grad_mode()
    held = args if reentrant else (args, kwargs, _closure(function))     # a reentrant one has a node, of its arguments
    values = [observer.value(t) for t in plain_leaves(held)]
    observer.events.append(("checkpoint", reentrant, list(dict.fromkeys(values))))
    out = function(*args, **kwargs)
    if observer.pending is not None:
        observer.pending.before_next_line(dispatching=False)
    observer.events.append(("endcheckpoint",))
    return out


def _closure(function: Any) -> list[Any]:
    """What a checkpointed function holds beside its arguments: bound arguments, and the cells of a closure."""
    out = []
    while isinstance(function, functools.partial):
        out += [function.args, function.keywords]
        function = function.func
    for cell in getattr(function, "__closure__", None) or ():
        try:
            out.append(cell.cell_contents)
        except ValueError:                       # not filled yet
            pass
    return out


def _recurrent(observer: Any, name: str, *args: Any) -> Any:
    """One line for the whole layer. What it makes inside is not noted: cuDNN's own is not known, the native path's is a
    rule of whoever reads the line."""
    if observer.pending is not None:
        observer.pending.before_next_line(dispatching=False)
    if observer.quiet:
        return recurrent(name, *args)
    if len(args) > 3 and isinstance(args[3], (list, tuple)):
        raise CannotRecord(f"{name} over a packed sequence, whose sizes are data")
    observer.note_grad_mode()
    encoded = [observer.encode(a) for a in args]
    observer.quiet += 1
    try:
        out = recurrent(name, *args)
    finally:
        observer.quiet -= 1
    observer.note_op(name, encoded, {}, out)
    return out
