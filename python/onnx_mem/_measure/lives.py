"""Counts the storages of a step of the user's own: which operator made each, and before which it is gone."""
from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor
from torch.utils._pytree import tree_leaves

from .._fake.libraries import is_library
from .._fake.wrapped import are_wrappers
from ..errors import Error
from .measured import Moment
from .storages import StorageTracker

aten = torch.ops.aten
_CATEGORIES = {"param": "parameters", "buffer": "buffers", "input": "inputs", "grad": "gradients",
               "opt_state": "optimizer_state"}
_OF_PHASE = {"backward": "activation_gradients", "optimizer": "optimizer_temporaries",
             "update": "optimizer_temporaries"}
_HERE = __file__.rsplit("_measure", 1)[0]


class Op(NamedTuple):
    """An operator that ran."""
    op: str
    phase: str
    module: str
    line: str
    view: bool = False     # it only gives what is there another shape


class LifeTracker(StorageTracker):
    """A storage lives from the operator that made it (`made_by`, -1: it was there before) up to the one before which it
    is gone.

    phases: "backward" while autograd runs; "optimizer" in step() of one; else "update" for what runs without gradients
    outside of modules (clipping, averages); else "forward"."""

    def __init__(self, categories: Mapping[int, tuple[str, str]], paths: Mapping[int, str],
                 inputs: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self.calls: list[int] = []                        # at which operator each call of the step begins, and the end
        self.parameters = 0                               # how many numbers they are
        self.made_at: list[tuple[str, str]] = []          # module and source line, of each storage
        self._made_by: list[int] = []
        self._gone: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._known, self._paths = categories, paths
        self._inside: list[str] = []
        self._phases: list[str] = []
        self._live: list[int] = []                        # live_bytes(), once it is known
        self._backwards: list[int] = []                   # at which operator each backward began
        self._warned = False
        self.values_are_given = False                     # of the integers among the inputs
        self.before_each: Callable[[], None] = lambda: None          # operator
        self.phase = "before"
        for name, t in inputs.items():
            self.see(t, "input")
            self._name(t, name)

    # -- what happens --------------------------------------------------------------------------------------------------
    def see_named(self, tensors: Iterable[torch.Tensor]) -> None:
        """What was there before the step."""
        for t in tensors:
            category, name = self._known.get(id(t), ("input", ""))
            before = len(self.seen)
            self.see(t, category)
            self.parameters += t.numel() if category == "param" and len(self.seen) > before else 0
            self._name(t, name)

    def see_gradients(self, tensors: Iterable[torch.Tensor]) -> None:
        """Those that the step gave its parameters itself, too."""
        for t in tensors:
            if isinstance(t, FakeTensor) and t.is_leaf and t.grad is not None:
                self.saw(t.grad, "grad")

    def start_call(self, call: int) -> None:
        self.calls.append(len(self.ops))
        self.phase, self.step = "forward", call

    def end(self) -> None:
        self.calls.append(len(self.ops))

    def enter(self, module: torch.nn.Module) -> None:
        self._inside.append(self._paths.get(id(module), self._inside[-1] if self._inside else ""))

    def leave(self) -> None:
        self._inside.pop()

    @contextlib.contextmanager
    def backward(self) -> Iterator[None]:
        """Around a call of autograd's engine."""
        self._backwards.append(len(self.ops))
        self._phases.append("backward")
        inside, self._inside = self._inside, []
        try:
            yield
        finally:
            self._phases.pop()
            self._inside = inside

    def start_optimizer(self) -> None:
        self._phases.append("optimizer")

    def end_optimizer(self, optimizer: Any) -> None:
        for state in optimizer.state.values():
            for key, v in state.items() if isinstance(state, Mapping) else ():
                if isinstance(v, torch.Tensor):
                    self.see(v, "opt_state")
                    self._name(v, str(key))
        self._phases.pop()

    def saw(self, t: torch.Tensor, what: str) -> None:
        """Of the engine: see there."""
        s = self.see(t, "grad" if what == "grad" else None)
        if s is not None and what == "saved":
            s.saved = True
        if s is not None and what == "unwanted" and s.node == self._node and s.category is None and s.counted:
            s.counted = False                             # the real engine does not have it made
            self._count(-s.bytes)

    def _name(self, t: torch.Tensor, name: str) -> None:
        number = self._number.get(t.untyped_storage()._cdata)
        if number is not None and name:
            self._names.setdefault(number, name)

    def see(self, t: torch.Tensor, category: str | None = None) -> Any:
        before = len(self.seen)
        s = super().see(t, category)
        if len(self.seen) > before:
            self._made_by.append(len(self.ops) - 1)
            self.made_at.append(self.ops[-1][2:4] if self.ops and self.step >= 0 else ("", ""))
        return s

    def _dead(self, key: Any, number: Any) -> None:
        super()._dead(key, number)
        self._gone[number] = len(self.ops)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if are_wrappers(types):
            return NotImplemented
        self.before_each()
        line = _line()
        if func is aten._local_scalar_dense.default:
            try:
                return func(*args, **(kwargs or {}))
            except DataDependentOutputException:
                if not (args[0].is_floating_point() or self.values_are_given):
                    raise                             # lengths, branches: they may follow from the example's integers
                return self._stand_in(args[0], line)
        self._refuse_data(func, args, kwargs, line)
        self.phase = self._phases[-1] if self._phases else ("forward" if self._inside or torch.is_grad_enabled() else
                                                            "update")
        self.module = self._inside[-1] if self._inside else ""
        self.ops.append(Op(str(func).removeprefix("aten."), self.phase, self.module, line,
                           func.is_view or func.namespace in ("prim", "profiler")))
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _refuse_data(self, func: Any, args: Any, kwargs: Any, line: str) -> None:
        for t in tree_leaves((args, kwargs)):
            if not isinstance(t, torch.Tensor) or isinstance(t, FakeTensor) or t.dim() == 0:
                continue
            if func in (aten.lift_fresh.default, aten.lift_fresh_copy.default):
                continue
            at = line and f" at {line}"
            if t.grad_fn is not None:
                raise Error(f"a tensor kept from an earlier call still has its graph{at}: detach it where it is kept",
                            "cannot-measure")
            raise Error(f"the step reads a tensor{at} that it does not reach through its arguments, closure or "
                        "globals: hand it to the step\n  try: onnx_mem.measure(step=step, args=(x, y))",
                        "cannot-measure")

    def _stand_in(self, t: torch.Tensor, line: str) -> Any:
        at = line and f" at {line}"
        if t.dtype == torch.bool:
            raise Error(f"the step branches on a value of a tensor{at}; tensors have no data here", "cannot-measure")
        if not self._warned:
            warnings.warn(f"the step reads a value of a tensor{at}; there is none here, and 1 stands for it",
                          stacklevel=2)
        self._warned = True
        return 1.0 if t.is_floating_point() else 1

    # -- what it was ---------------------------------------------------------------------------------------------------
    def made_by(self, number: int) -> int:
        """The operator that made a storage; -1: it was there before the step."""
        return self._made_by[number]

    def gone_before(self, number: int) -> int:
        return self._gone.get(number, len(self.ops))

    def category_of(self, number: int) -> str:
        s = self.seen[number]
        if s.category is not None:
            return _CATEGORIES[s.category]
        return _OF_PHASE.get(s.phase) or ("saved_activations" if s.saved else "transient_activations")

    def name_of(self, number: int) -> str:
        return self._names.get(number, "")

    def alive_at(self, at: int) -> list[int]:
        """Those that are counted, while operator `at` runs."""
        return [n for n, s in enumerate(self.seen) if s.counted and self._made_by[n] <= at < self.gone_before(n)]

    def live_bytes(self) -> list[int]:
        """While each operator runs."""
        if len(self._live) < len(self.ops):
            change = [0] * (len(self.ops) + 1)
            for n, s in enumerate(self.seen):
                if s.counted:
                    change[max(self._made_by[n], 0)] += s.bytes
                    change[self.gone_before(n)] -= s.bytes
            self._live = list(itertools.accumulate(change[:-1]))
        return self._live

    def peak_of(self, call: int) -> tuple[int, int]:
        """Most bytes alive in a call of the step, and the first operator at which they were."""
        live = self.live_bytes()
        at = max(range(self.calls[call], self.calls[call + 1]), key=lambda i: (live[i], -i))
        return live[at], at

    def most_before_backward(self, call: int) -> int | None:
        """Most bytes alive right before a backward of this call; None where it runs none."""
        live = self.live_bytes()
        begins = [b for b in self._backwards if self.calls[call] < b <= self.calls[call + 1]]
        return max((live[b - 1] for b in begins), default=None)

    def course_of(self, call: int) -> list[Moment]:
        live = self.live_bytes()
        made: dict[int, int] = {}
        for n, s in enumerate(self.seen):
            if s.counted:
                made[self._made_by[n]] = made.get(self._made_by[n], 0) + s.bytes
        return [Moment(op.phase, op.op, op.module, made[i], live[i])
                for i, op in enumerate(self.ops[self.calls[call]:self.calls[call + 1]], self.calls[call])
                if i in made]


def _line() -> str:
    """Of the code that runs, outside of libraries and of this package: "file:line"."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_library(name) and not name.startswith(_HERE) and not name.startswith("<"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""

