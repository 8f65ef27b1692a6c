"""Backward without the C++ engine, which asks for a device that fake CUDA tensors have not.

The order of nodes, the release of what a node saved once it has run, the sums where gradients meet and the hand-over of
gradients to parameters are the engine's (torch/csrc/autograd/engine.cpp, accumulate_grad.h)."""
from __future__ import annotations

import collections
import contextlib
import heapq
import sys
import traceback
import weakref
from collections.abc import Iterator
from typing import Any

import torch
import torch._prims_common
import torch.utils.checkpoint
from torch.autograd.function import BackwardCFunction, FunctionCtx

from .._fake.tensors import patch
from .._fake.wrapped import plain_leaves
from ..errors import Error

_LAST = -(1 << 62)
_AGAIN = ("backward runs a second time through a graph whose saved tensors are freed: say retain_graph=True where it "
          "first runs, or detach what is kept from an earlier call")


class _Holder:
    """What a node saved; emptied when the node has run. `next_node`: the number that the next node of autograd was to
    get when it was saved.

    kept: the tensor, or whatever hooks of the model's own made of it; `unpack` gives the tensor back. version: of the
    tensor when it was saved. Autograd compares it where no hooks are set (torch/csrc/autograd/saved_variable.cpp)."""
    __slots__ = ("kept", "unpack", "version", "next_node", "emptied", "__weakref__")

    def __init__(self, kept: Any, unpack: Any = None) -> None:
        self.kept, self.unpack, self.emptied = kept, unpack, False
        self.version = kept._version if unpack is None and not kept.is_inference() else None
        self.next_node = torch._C._autograd._get_sequence_nr()

    def tensor(self) -> Any:
        if self.emptied:
            raise Error(_AGAIN, "cannot-measure")
        if self.version is not None and self.kept._version != self.version:
            raise Error(f"a tensor of {tuple(self.kept.shape)} that backward needs is written over after it was saved: "
                        "PyTorch refuses the backward of this step (\"modified by an inplace operation\"); write "
                        "x = x + y in place of x += y there", "cannot-measure")
        return self.kept if self.unpack is None else self.unpack(self.kept)

    def tensors(self) -> list[torch.Tensor]:
        """Those that are kept."""
        return plain_leaves(self.kept)

    def empty(self) -> None:
        self.kept = self.unpack = None
        self.emptied = True


class Engine:
    """Use hooks() around forward, then backward(loss); or of_a_step() around code that calls backward itself.

    start_node: called before each node. saw: called with each tensor that autograd saves, and "saved"; with each
    gradient that a leaf got, and "grad"; with one that backward made and drops because nobody wants it, and "unwanted".
    """

    def __init__(self, start_node: Any = lambda name: None, saw: Any = lambda t, what: None) -> None:
        self._start_node, self._saw = start_node, saw
        self._task, self._tasks = 1, 1             # utils.checkpoint recomputes once per task
        self._holders: list[weakref.ref[_Holder]] = []     # a node that nothing leads to any more has released its own
        self._no_zeros: set[int] = set()
        self._pack = None
        self._frames: list[Any] = []                    # of torch.utils.checkpoint, whose node's turn has not come

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        def pack(t: torch.Tensor) -> Any:
            return self._note(_Holder(t.detach()))

        def set_materialize_grads(ctx: Any, value: Any) -> None:
            if not value:
                self._no_zeros.add(id(ctx))
            ctx.materialize_grads = value
        self._pack = pack
        with contextlib.ExitStack() as stack:
            patch(stack, FunctionCtx, "set_materialize_grads", set_materialize_grads)
            frame = torch.utils.checkpoint._CheckpointFrame
            make = frame.__init__

            def noted_frame(this: Any, *args: Any, **kwargs: Any) -> None:
                make(this, *args, **kwargs)
                self._frames.append(this)
            patch(stack, frame, "__init__", noted_frame)
            _note_equal_arguments(stack)
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(pack, _Holder.tensor))
            self._compose(stack)
            yield

    def _compose(self, stack: Any) -> None:
        """Where the model sets hooks of its own, autograd keeps what these make of a tensor; a node frees that when it
        has run. Those of utils.checkpoint stay as they are (_release_frames)."""
        enter = torch.autograd.graph.saved_tensors_hooks.__enter__

        def entered(hooks: Any) -> Any:
            if isinstance(hooks, torch.utils.checkpoint._checkpoint_hook):
                return enter(hooks)
            own, back = hooks.pack_hook, hooks.unpack_hook
            torch._C._autograd._push_saved_tensors_default_hooks(lambda t: self._note(_Holder(own(t), back)),
                                                                 _Holder.tensor)
        patch(stack, torch.autograd.graph.saved_tensors_hooks, "__enter__", entered)

    def _note(self, holder: _Holder) -> _Holder:
        for t in holder.tensors():
            self._saw(t, "saved")
        self._holders.append(weakref.ref(holder))
        return holder

    def saved(self, loss: Any) -> list[torch.Tensor]:
        """What the nodes behind `loss` have saved, through hooks()."""
        return [t for held in self._held_by(graph_nodes(loss.grad_fn)).values() for h in held for t in h.tensors()]

    def _held_by(self, nodes: Any) -> dict[str, Any]:
        """What each node has saved. An operator that writes over a view is wrapped in a CopySlices, behind which its
        own node is not seen from Python. That node has the number before it; a result is saved when the CopySlices, and
        the view's new node, are there (torch/csrc/autograd/VariableTypeUtils.h, rebase_history)."""
        own = {n: _holders(n) for n in nodes}
        seen = {id(h) for held in own.values() for h in held}
        copies = {n._sequence_nr(): n for n in nodes if n.name().endswith("CopySlices")}
        for h in [r() for r in self._holders] if copies else ():
            if h is not None and id(h) not in seen and h.kept is not None:
                of = next((copies[h.next_node - i] for i in range(3) if h.next_node - i in copies), None)
                if of is not None:
                    own[of].append(h)
        return own

    def backward(self, loss: torch.Tensor) -> None:
        with contextlib.ExitStack() as stack:
            patch(stack, torch._C, "_current_graph_task_id", lambda: self._task)
            _hand_on_equal_arguments(stack)
            # A reentrant checkpoint runs forward again, and an engine over that.
            patch(stack, torch.autograd, "backward", self._inside)
            patch(stack, torch.autograd, "_engine_run_backward", self._run_as_the_engine)
            if self._pack is not None:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(self._pack, _Holder.tensor))
                self._compose(stack)
            stack.enter_context(torch.no_grad())
            ones = torch.ones_like(loss)            # torch.autograd.backward holds it until it returns
            self._run([(loss.grad_fn, loss.output_nr, ones)])

    def _inside(self, tensors: Any, grad_tensors: Any = None, **_: Any) -> None:
        if isinstance(tensors, torch.Tensor):
            tensors, grad_tensors = (tensors,), (grad_tensors,)
        with torch.no_grad():
            self._run([_root(t, g) for t, g in zip(tensors, grad_tensors, strict=False)])

    # -- a step that calls backward itself -----------------------------------------------------------------------------
    @contextlib.contextmanager
    def of_a_step(self, around: Any = contextlib.nullcontext) -> Iterator[None]:
        """backward() and torch.autograd.grad() inside run here, as often as they are called, each within around()."""
        def run(tensors: Any, gradients: Any, keep: Any, create: Any, inputs: Any,
                allow_unreachable: bool, accumulate_grad: bool) -> Any:
            with around():
                return self._run_as_the_engine(tensors, gradients, keep, create, inputs, allow_unreachable,
                                               accumulate_grad)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.hooks())
            patch(stack, torch._C, "_current_graph_task_id", lambda: self._task)
            _hand_on_equal_arguments(stack)
            patch(stack, torch.autograd, "_engine_run_backward", run)
            patch(stack, torch.Tensor, "register_hook", _register_hook)
            patch(stack, torch.Tensor, "retain_grad", _retain_grad)
            yield

    def _run_as_the_engine(self, tensors: Any, gradients: Any, keep: bool, create: bool, inputs: Any,
                           allow_unreachable: bool, accumulate_grad: bool) -> Any:
        """torch.autograd.graph._engine_run_backward."""
        roots = []
        for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
            if not t.requires_grad:
                raise Error(f"element {i} of tensors does not require grad: the loss does not depend on a parameter "
                            "that is trained", "no-loss")
            roots.append(_root(t, g))
        wanted: Any = [_edge(t) for t in inputs] or None
        outer, self._tasks = self._task, self._tasks + 1
        self._task = self._tasks
        try:
            with torch.set_grad_enabled(create):
                caught = self._run(roots, keep, wanted, accumulate_grad)
        finally:
            self._task = outer
        if accumulate_grad or wanted is None:
            return ()
        if not allow_unreachable and any(e not in caught for e in wanted):
            raise Error("one of the differentiated tensors is not used in the graph: allow_unused=True of "
                        "torch.autograd.grad() gives None for it", "cannot-measure")
        return tuple(caught.get(e) for e in wanted)

    def _run(self, roots: Any, keep: bool = False, wanted: Any = None, accumulates: bool = True) -> Any:
        """wanted: (node, number of its output) whose gradients are returned, or accumulated where these are leaves, and
        nothing else; None: all leaves get theirs."""
        nodes = list(dict.fromkeys(n for root, _, _ in roots for n in graph_nodes(root)))
        own = self._held_by(nodes)
        self._holders = [r for r in self._holders if (h := r()) is not None and not h.emptied]
        leading: Any = _leading_to(nodes, {n for n, _ in wanted}) if wanted is not None else None
        waits: dict[str, Any] = {}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None:
                    waits[m] = waits.get(m, 0) + 1
        incoming, count, ready, caught = {}, 0, [], {}
        for n, slot, g in roots:
            self._hand_on(n, slot, g, incoming, [r[2] for r in roots])
        for n in incoming:
            if not waits.get(n):
                count += 1
                heapq.heappush(ready, (_rank(n), count, n))
        given = {id(g) for _, _, g in roots}
        g = None
        while ready:
            _, _, n = heapq.heappop(ready)
            gradients = incoming.pop(n, {})
            _call_hooks(n, gradients)
            if wanted is not None:
                caught.update({(n, i): g for i, g in gradients.items() if (n, i) in wanted})
                g = None
                if not (any(m in leading for m, _ in n.next_functions)
                        or accumulates and n.name().endswith("AccumulateGrad")):
                    continue
            if n.name().endswith("AccumulateGrad"):
                if gradients:
                    shared = id(gradients[0]) in given or any(o is gradients[0] for d in incoming.values()
                                                              for o in d.values())
                    _accumulate(n.variable, gradients, shared)
                    self._saw(n.variable.grad, "grad")
                    for hook in list((n.variable._post_accumulate_grad_hooks or {}).values()):
                        hook(n.variable)
                continue
            args = [gradients.pop(i, None) for i in range(len(n._input_metadata))]
            self._start_node(n.name())
            outs = self._call(n, args) if any(a is not None for a in args) else None
            python = isinstance(n, BackwardCFunction)
            outs = list(outs) if outs is not None else [None] * len(n.needs_input_grad if python else n.next_functions)
            edges = list(n.next_functions)
            if python:                                 # one result per argument of forward, one edge per tensor of them
                outs = [g for g, needed in zip(outs, n.needs_input_grad, strict=False) if needed]
                edges = [e for e in edges if e[0] is not None]
            if leading is not None:
                for i, (m, _) in enumerate(edges):
                    if outs[i] is not None and m not in leading:
                        self._saw(outs[i], "unwanted")
                        outs[i] = None
            for i, (m, slot) in enumerate(edges):      # validate_outputs, while what came in and was saved lives
                if m is not None and outs[i] is not None:
                    outs[i] = _fitted(outs[i], m, slot)
            del args, gradients
            if not keep:
                for h in own.pop(n):
                    h.empty()
                h = None
                self._release_frames()
            for i, (m, slot) in enumerate(edges):
                g, outs[i] = outs[i], None
                if m is None:
                    continue
                if g is not None:
                    self._hand_on(m, slot, g, incoming, outs)
                del g
                waits[m] -= 1
                if waits[m] == 0 and (leading is None or m in leading):
                    count += 1
                    heapq.heappush(ready, (_rank(m), count, m))
        return caught

    def _release_frames(self) -> None:
        """What a checkpoint holds is freed with the last saved tensor of it (SavedVariable::reset_data in C++)."""
        for frame in [f for f in self._frames if f.is_recomputed.get(self._task)]:
            holders = [h for h in (w() for w in frame.weak_holders) if h is not None]
            if all(h.handles.get(self._task, frame) is None for h in holders):
                frame.saved_args, frame.recompute_fn = [], None
                self._frames.remove(frame)

    def _call(self, n: Any, args: Any) -> Any:
        if not isinstance(n, BackwardCFunction):
            outs = n(*args)
        else:
            if id(n) not in self._no_zeros:
                args = [torch.zeros(tuple(m.shape), dtype=m.dtype, device=m.device) if a is None else a
                        for a, m in zip(args, n._input_metadata, strict=False)]
            outs = n.apply(*args)
        return outs if isinstance(outs, tuple) else (outs,)

    @staticmethod
    def _hand_on(m: Any, slot: Any, g: Any, incoming: Any, others: Any) -> None:
        met = incoming.setdefault(m, {})
        if slot not in met:
            met[slot] = g
            return
        old = met.pop(slot)
        shared = any(o is old for d in incoming.values() for o in d.values()) or any(o is old for o in others)
        if (not shared and old.shape == g.shape and torch._C._storage_Use_Count(old.untyped_storage()._cdata) == 2
                and torch._prims_common.is_non_overlapping_and_dense_or_false(old)):
            old.add_(g)
            met[slot] = old
        else:
            met[slot] = old + g


def _note_equal_arguments(stack: Any) -> None:
    """The second run of a checkpoint gets one tensor for arguments that were one: attention asks whether its query is
    its key. Without hooks autograd gives back the tensor itself; through them each argument comes back on its own."""
    frame = torch.utils.checkpoint._CheckpointFrame
    save = getattr(frame, "save_inputs", None)    # older versions save them in a node
    if save is None:
        return

    def save_inputs(this: Any, *args: Any) -> None:
        save(this, *args)
        this.first_equal = [next(i for i, other in enumerate(args) if other is arg) for arg in args]
    patch(stack, frame, "save_inputs", save_inputs)


def _hand_on_equal_arguments(stack: Any) -> None:
    frame = torch.utils.checkpoint._CheckpointFrame
    get = getattr(frame, "get_inputs", None)
    if get is None:
        return

    def get_inputs(this: Any) -> Any:
        values = get(this)
        return [values[i] for i in getattr(this, "first_equal", range(len(values)))]
    patch(stack, frame, "get_inputs", get_inputs)


def _fitted(g: Any, m: Any, slot: Any) -> Any:
    meta = m._input_metadata[slot]
    g = g if tuple(meta.shape) == tuple(g.shape) else g.sum_to_size(tuple(meta.shape))
    return g if g.dtype == meta.dtype else g.to(meta.dtype)


def _root(t: torch.Tensor, g: torch.Tensor) -> Any:
    """Where backward starts: node, number of its output, gradient. One of another dtype is converted, and the copy
    lives as long as backward runs (Engine::execute: validate_outputs, GraphRoot)."""
    n, slot = _edge(t)
    return n, slot, _fitted(g, n, slot)


def _rank(n: Any) -> Any:
    return _LAST if n.name().endswith("AccumulateGrad") else -n._sequence_nr()


def _accumulate(parameter: Any, gradients: Any, shared: Any) -> None:
    g = gradients.pop(0)
    shared = shared or sys.getrefcount(g) > 2       # a hook, or whoever gave it, holds it: g here and the argument
    if parameter.grad is not None:
        if torch.is_grad_enabled():
            parameter.grad = parameter.grad + g
        else:
            parameter.grad.add_(g)
    elif torch.is_grad_enabled() or shared or not _laid_out_as(g, parameter):
        parameter.grad = g.clone()
    else:                                       # taken over when dense with the parameter's strides, else copied
        parameter.grad = g.detach()


def _edge(t: torch.Tensor) -> Any:
    """(node, number of its output) whose gradient is that of `t`."""
    edge = torch.autograd.graph.get_gradient_edge(t)
    return edge.node, edge.output_nr


_HOOKS = "onnx_mem"                             # a key of a node's metadata


def _call_hooks(n: Any, gradients: Any) -> None:
    """Hooks of the tensors that `n` made; of the leaf, where it accumulates."""
    if n.name().endswith("AccumulateGrad"):
        hooks = [(0, hook) for hook in (n.variable._backward_hooks or {}).values()]
    else:
        hooks = list(n.metadata.get(_HOOKS, {}).values())
    for slot, hook in hooks:
        if slot in gradients:
            other = hook(gradients[slot])
            if other is not None:
                gradients[slot] = other


def _register_hook(t: torch.Tensor, hook: Any) -> Any:
    """Tensor.register_hook. Python does not see the hooks of a node of C++: they are noted beside it."""
    if t.grad_fn is None:
        return _OWN_REGISTER_HOOK(t, hook)
    hooks = t.grad_fn.metadata.setdefault(_HOOKS, collections.OrderedDict())
    handle = torch.utils.hooks.RemovableHandle(hooks)
    hooks[handle.id] = (t.output_nr, hook)
    return handle


def _retain_grad(t: torch.Tensor) -> None:
    if t.grad_fn is None:
        return
    to = weakref.ref(t)

    def keep(g: torch.Tensor) -> None:
        there = to()
        if there is not None:
            there.grad = g.clone(memory_format=torch.contiguous_format)
    t.register_hook(keep)


_OWN_REGISTER_HOOK = torch.Tensor.register_hook


def _leading_to(nodes: Any, wanted: Any) -> Any:
    """The nodes from which one of `wanted` is reached, these among them."""
    before: dict[Any, list[Any]] = {}
    for n in nodes:
        for m, _ in n.next_functions:
            if m is not None:
                before.setdefault(m, []).append(n)
    found, todo = set(), list(wanted)
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            todo += before.get(n, ())
    return found


def _laid_out_as(g: Any, parameter: Any) -> Any:
    """torch/csrc/autograd/utils/grad_layout_contract.h: strides of dimensions of size 1 do not count."""
    if not torch._prims_common.is_non_overlapping_and_dense_or_false(parameter):
        return g.is_contiguous()
    return all(n == 1 or a == b for n, a, b in zip(g.shape, g.stride(), parameter.stride(), strict=False))


def graph_nodes(root: Any) -> list[Any]:
    """Every node behind `root`."""
    seen, todo, ids = [], [root], set()
    while todo:
        n = todo.pop()
        if n is None or n in ids:
            continue
        ids.add(n)
        seen.append(n)
        todo += [m for m, _ in n.next_functions]
    return seen


def is_of_backward(error: BaseException) -> bool:
    """Whether it was raised in a backward that an Engine ran."""
    return any(frame.f_code is Engine.backward.__code__ for frame, _ in traceback.walk_tb(error.__traceback__))


def _holders(n: Any) -> list[_Holder]:
    return [data for data in _saved_data(n) if isinstance(data, _Holder)]


def _saved_data(n: Any) -> list[Any]:
    """What hooks made of the tensors that a node saved."""
    out = []
    names = [a for a in dir(type(n)) if a.startswith("_raw_saved_")]
    for a in names:
        try:
            found = getattr(n, a)
        except RuntimeError:
            continue
        for s in found if isinstance(found, (tuple, list)) else [found]:
            data = getattr(s, "data", None) if s is not None else None
            if data is not None:
                out.append(data)
    return out
