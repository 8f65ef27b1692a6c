"""Backward without the C++ engine, which asks for a device that fake CUDA tensors have not.

The order of nodes, the release of what a node saved once it has run, the sums where gradients meet and the hand-over of
gradients to parameters are the engine's (torch/csrc/autograd/engine.cpp, accumulate_grad.h)."""
from __future__ import annotations

import contextlib
import heapq
import weakref
from collections.abc import Iterator
from typing import Any

import torch
import torch._prims_common
import torch.utils.checkpoint
from torch.autograd.function import BackwardCFunction, FunctionCtx
from torch.utils._pytree import tree_leaves

from .._fake.tensors import patch

_LAST = -(1 << 62)
_TASK = 1


class _Holder:
    """What a node saved; emptied when the node has run. `next_node`: the number that the next node of autograd was to
    get when it was saved.

    kept: the tensor, or whatever hooks of the model's own made of it; `unpack` gives the tensor back."""
    __slots__ = ("kept", "unpack", "next_node", "__weakref__")

    def __init__(self, kept: Any, unpack: Any = None) -> None:
        self.kept, self.unpack = kept, unpack
        self.next_node = torch._C._autograd._get_sequence_nr()

    def tensor(self) -> Any:
        return self.kept if self.unpack is None else self.unpack(self.kept)

    def tensors(self) -> list[torch.Tensor]:
        """Those that are kept."""
        return [t for t in tree_leaves(self.kept) if isinstance(t, torch.Tensor)]

    def empty(self) -> None:
        self.kept = self.unpack = None


class Engine:
    """Use hooks() around forward, then backward(loss)."""

    def __init__(self, start_node: Any = lambda name: None) -> None:
        self._start_node = start_node              # called before each node
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
            # utils.checkpoint recomputes once per task.
            patch(stack, torch._C, "_current_graph_task_id", lambda: _TASK)
            _hand_on_equal_arguments(stack)
            # A reentrant checkpoint runs forward again, and an engine over that.
            patch(stack, torch.autograd, "backward", self._inside)
            if self._pack is not None:
                stack.enter_context(torch.autograd.graph.saved_tensors_hooks(self._pack, _Holder.tensor))
                self._compose(stack)
            stack.enter_context(torch.no_grad())
            ones = torch.ones_like(loss)            # torch.autograd.backward holds it until it returns
            self._run([(loss, ones)])

    def _inside(self, tensors: Any, grad_tensors: Any = None, **_: Any) -> None:
        with torch.no_grad():
            self._run(list(zip(tensors, grad_tensors, strict=False)))

    def _run(self, roots: Any) -> None:
        nodes = list(dict.fromkeys(n for t, _ in roots for n in graph_nodes(t.grad_fn)))
        own = self._held_by(nodes)
        self._holders = []
        waits: dict[str, Any] = {}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None:
                    waits[m] = waits.get(m, 0) + 1
        incoming, count, ready = {}, 0, []
        for t, g in roots:
            incoming.setdefault(t.grad_fn, {})[t.output_nr] = g
        for n in incoming:
            if not waits.get(n):
                count += 1
                heapq.heappush(ready, (_rank(n), count, n))
        g = t = None
        while ready:
            _, _, n = heapq.heappop(ready)
            gradients = incoming.pop(n, {})
            if n.name().endswith("AccumulateGrad"):
                if gradients:
                    shared = any(o is gradients[0] for d in incoming.values() for o in d.values())
                    _accumulate(n.variable, gradients, shared)
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
            for i, (m, slot) in enumerate(edges):      # validate_outputs, while what came in and was saved lives
                if m is not None and outs[i] is not None:
                    outs[i] = _fitted(outs[i], m, slot)
            del args, gradients
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
                if waits[m] == 0:
                    count += 1
                    heapq.heappush(ready, (_rank(m), count, m))

    def _release_frames(self) -> None:
        """What a checkpoint holds is freed with the last saved tensor of it (SavedVariable::reset_data in C++)."""
        for frame in [f for f in self._frames if f.is_recomputed.get(_TASK)]:
            holders = [h for h in (w() for w in frame.weak_holders) if h is not None]
            if all(h.handles.get(_TASK, frame) is None for h in holders):
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


def _rank(n: Any) -> Any:
    return _LAST if n.name().endswith("AccumulateGrad") else -n._sequence_nr()


def _accumulate(parameter: Any, gradients: Any, shared: Any) -> None:
    g = gradients.pop(0)
    if parameter.grad is not None:
        parameter.grad.add_(g)
    else:                                       # taken over when dense with the parameter's strides, else copied
        parameter.grad = g.detach() if _laid_out_as(g, parameter) and not shared else g.clone()


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
