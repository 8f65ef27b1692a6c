"""Counts storages: each from its birth to its death, once, whatever tensors share it."""
from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .._fake.ctc import made_beside
from .._fake.wrapped import are_wrappers, is_composite, is_wrapper, parts_of, refuse_read_sparse
from .measured import Moment

aten = torch.ops.aten
# Backward formulas write into what they made, but not under a dispatch mode (areAnyTensorSubclassLike in
# torch/csrc/autograd/FunctionsManual.cpp and in the code generated from derivatives.yaml). Which: what operators
# a backward without a mode runs, known by the profiler, held against those under one (tests/test_measure.py).
_IN_PLACE = {aten._unsafe_index_put.default: aten.index_put_.default, aten.index_put.default: aten.index_put_.default,
             aten.index_add.default: aten.index_add_.default, aten.scatter_add.default: aten.scatter_add_.default,
             aten.index_fill.int_Tensor: aten.index_fill_.int_Tensor, aten.put.default: aten.put_.default,
             aten.scatter.src: aten.scatter_.src, aten.scatter.value: aten.scatter_.value,
             aten.masked_fill.Scalar: aten.masked_fill_.Scalar,
             aten.masked_scatter.default: aten.masked_scatter_.default,
             aten.logical_and.default: aten.logical_and_.default}
# Formulas that run these out of place in any case (scatter_reduce_backward, index_reduce_backward).
_OUT_OF_PLACE_IN = {("ScatterReduce", aten.scatter_add.default), ("IndexReduce", aten.index_add.default)}
# Elsewhere they are out of place in any case.
_IN_PLACE_IN = {("BinaryCrossEntropyWithLogits", aten.mul.Tensor): aten.mul_.Tensor,
                ("BinaryCrossEntropyWithLogits", aten.sub.Tensor): aten.sub_.Tensor}


def in_place_of(func: Any, node: str) -> Any:
    """The operator that the formula of `node` runs where there is no mode; None where it is `func`."""
    if any(of is func and node.startswith(name) for name, of in _OUT_OF_PLACE_IN):
        return None
    if func in _IN_PLACE:
        return _IN_PLACE[func]
    return next((op for (name, of), op in _IN_PLACE_IN.items() if of is func and node.startswith(name)), None)


def _padded(grad: Any) -> Any:
    """A mask's gradient as the kernel makes it, with rows of a multiple of 16 (lastDimAligned,
    cuda/attention_backward.cu).
    A tensor without data is as long as its last element is far."""
    if not isinstance(grad, torch.Tensor) or not grad.dim() or grad.shape[-1] % 16 == 0:
        return grad
    n = grad.shape[-1]
    whole = torch.empty((*grad.shape[:-1], n + -n % 16), dtype=grad.dtype, device=grad.device)
    return whole[..., :n]


class _Seen:
    __slots__ = ("bytes", "op", "phase", "step", "category", "saved", "node", "counted", "on_cpu")


class StorageTracker(TorchDispatchMode):
    """Live bytes now (`live`), and per step and phase the most there were.

    Categories: param, buffer, input, grad, opt_state as given to see(); else by phase of birth: activation (saved or
    not), backward, optimizer. Host tensors are not counted: they are no memory of the device (but
    an optimizer's step counters are, as measured truth has always counted them)."""

    def __init__(self) -> None:
        super().__init__()
        self.phase, self.step, self.op = "setup", -1, ""
        self.module = ""
        self.live = 0
        self.course: list[Moment] = []                                   # of the step that runs
        self.seen: list[_Seen] = []
        self.peaks: dict[int, tuple[int, str, str, list[int]]] = {}      # step -> bytes, phase, operator, alive then
        self._number: dict[int, int] = {}                                # storage's address -> index in seen
        self._alive: set[int] = set()
        self._node, self._node_name = 0, ""                              # of backward, that runs

    def start_node(self, name: str) -> None:
        """Called before each node of backward."""
        self._node, self._node_name = self._node + 1, name

    def see(self, t: torch.Tensor, category: str | None = None) -> _Seen | None:
        """Notes the storage of `t`, at its birth where it is new. One that wraps others has none: None, theirs are."""
        if is_wrapper(t):
            for _, part in parts_of(t):
                self.see(part, category)
            return None
        try:
            storage = t.untyped_storage()
        except NotImplementedError:
            return None
        key, size = storage._cdata, storage.nbytes()
        number = self._number.get(key)
        if number is None:
            number = len(self.seen)
            s = _Seen()
            s.bytes, s.op, s.phase, s.step, s.category, s.saved = size, self.op, self.phase, self.step, category, False
            s.node = self._node if self.phase == "backward" else None
            s.on_cpu = t.device.type == "cpu"
            s.counted = not s.on_cpu or self.phase == "optimizer"
            self.seen.append(s)
            self._number[key] = number
            weakref.finalize(storage, self._dead, key, number).atexit = False
            self._alive.add(number)
            self._count(size if s.counted else 0)
        s = self.seen[number]
        if s.bytes != size:
            self._count(size - s.bytes if s.counted else 0)
            s.bytes = size
        if category is not None:
            s.category = category
        return s

    def _count(self, more: Any) -> None:
        self.live += more
        if self.step >= 0 and self.live > self.peaks.get(self.step, (-1,))[0]:
            self.peaks[self.step] = (self.live, self.phase, self.op, list(self._alive))

    def name_rest(self, category: str) -> None:
        """What lives and has no category gets this one."""
        for number in self._alive:
            if self.seen[number].category is None:
                self.seen[number].category = category

    def start_step(self, step: int) -> None:
        self.step, self.course = step, []
        self._count(0)

    def _dead(self, key: Any, number: Any) -> None:
        if self._number.get(key) == number:
            del self._number[key]
        self._alive.discard(number)
        if self.seen[number].counted:
            self.live -= self.seen[number].bytes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if are_wrappers(types):
            return NotImplemented                  # its own code runs, on the tensors that it wraps
        if func.namespace == "prim":               # which device it is on, as autograd.Function wants to know
            return func(*args, **(kwargs or {}))
        refuse_read_sparse(func, (args, kwargs))
        if is_composite(func):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        there = in_place_of(func, self._node_name) if self.phase == "backward" else None
        if there is not None and self._is_of_this_node(args[0]):
            func = there
        self.op = str(func).removeprefix("aten.")
        if self.phase == "setup":                  # tables that are attributes and no buffers
            for t in tree_leaves((args, kwargs)):
                if isinstance(t, torch.Tensor):
                    self.see(t)
        before = len(self.seen)
        beside = made_beside(func, args)
        if beside is not None:
            self.see(beside)
        out = func(*args, **(kwargs or {}))
        if func is aten._scaled_dot_product_efficient_attention_backward.default:
            out = *out[:3], _padded(out[3])
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor):
                self.see(t)
        if self.step >= 0 and len(self.seen) > before:
            made = sum(s.bytes for s in self.seen[before:] if s.counted)
            self.course.append(Moment(self.phase, self.op, self.module, made, self.live))
        return out

    def _is_of_this_node(self, t: torch.Tensor) -> bool:
        number = self._number.get(t.untyped_storage()._cdata)
        return number is not None and self.seen[number].node == self._node
