"""Watches one forward: the operators below autograd in order, where Python releases each value, the module calls.

Two facts make this possible. A dispatch mode sees every operator after autograd has taken composites apart; and hooks
for saved tensors that keep nothing leave Python's own references as the only ones, so that finalizers fire where Python
releases it. What autograd keeps is not observed: it follows from the operators.
"""
from __future__ import annotations

import contextlib
import gc
import inspect
import warnings
import weakref
from collections.abc import Iterable
from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_leaves, treespec_dumps

from .._fake.held import Held
from .._fake.inputs import input_names
from .._fake.packed import beside_packed
from .._fake.precision import autocast
from .._fake.tensors import RESET_OR_DETACH, patch, refuse_what_is_strange
from .._fake.wrapped import are_wrappers, is_composite, is_wrapper, parts_of, refuse_read_sparse
from ..errors import CannotRecord
from .calls import Given, UnruledCall, has_no_rule
from .spans import GradientsTurnedOn, watch_spans

_STATE_LIMIT = 1024                  # bytes; scalars that a module keeps for its statistics are let pass
# They change what a tensor is, or how large its storage is, behind the back of those that hold it.
_REFUSED = {"resize_", "resize_as_", "set_", "_resize_output_"}
# They read how large a tensor is and not what is in it; no gradient passes through them.
_OF_SHAPE = {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones",
             "new_empty", "new_full"}


class _Packed:
    """What autograd gets to keep in place of a tensor. `tensor` only while an autograd.Function's backward is
    awaited."""
    __slots__ = ("values", "tensor")

    def __init__(self, values: list[int], tensor: torch.Tensor | None = None) -> None:
        self.values, self.tensor = values, tensor


class Observer(TorchDispatchMode):
    """Collects `events` and `values`.

    A value is one window (shape, strides, offset, dtype) on one storage; two Python objects of one window are one
    value, except across `.data`, which cuts the graph.

    Events are tuples: ("op", name, args, kwargs, outs), ("gone", value), ("storage_gone", storage), ("call", path),
    ("ret",), ("grad", on), ("leaf", value), ("function", class name), ("endfunction", saved, held),
    ("backward", [(gradient, output)]), ("endbackward", [(gradient, input)]), ("checkpoint", reentrant, values),
    ("endcheckpoint",).
    """

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[Any, ...]] = []
        self.values: list[dict[str, Any]] = []
        self.saved_storages: set[int] = set()
        self.pending = None                         # an autograd.Function whose forward has run, see spans.py
        self.grad_on = False
        self.in_backward = False                    # of an autograd.Function
        self.quiet = 0                              # >0: operators are part of one line and are not noted
        self._value_of: dict[int, int] = {}         # id(tensor) -> value, while that object lives
        self._by_window: dict[tuple[Any, ...], int] = {}      # (storage, shape, strides, offset, dtype) -> value
        self._storage_of: dict[int, int] = {}       # address of the C++ storage -> number, while it lives
        self._first_of: dict[int, int] = {}         # storage -> first value on it
        self._last_of: dict[int, int] = {}          # storage -> newest value on it
        self._storages = 0
        self.differentiable: set[int] = set()
        self.unruled: list[UnruledCall] = []        # calls of operators that the program has no rule for
        self._resolved: dict[int, tuple[int, Given]] = {}     # copy that a kernel reads -> the conjugate that is saved

    # -- identity ----------------------------------------------------------------------------------------------------
    def storage(self, t: torch.Tensor) -> int:
        storage = t.untyped_storage()
        key = storage._cdata
        if key not in self._storage_of:
            self._storage_of[key] = n = self._storages
            self._storages += 1
            weakref.finalize(storage, self._storage_gone, key, n).atexit = False
        return self._storage_of[key]

    def _storage_gone(self, key: Any, n: Any) -> None:
        if self._storage_of.get(key) == n:          # addresses are used again
            del self._storage_of[key]
        self.events.append(("storage_gone", n))

    def attribute(self, t: torch.Tensor, left: bool) -> None:
        """A tensor that a module keeps beside its parameters and buffers: a table, or what a call before left on the
        device."""
        if t.layout == torch.strided and id(t) not in self._value_of:
            found = self._by_window.get(self._window(t))
            known = self.values[self.new(t, "const") if found is None else found]
            known.setdefault("attribute", True)
            known.setdefault("left", left and t.device.type != "cpu")

    def _gone(self, key: Any, value: Any) -> None:
        if self._value_of.get(key) == value:
            del self._value_of[key]
        self.events.append(("gone", value))

    def _window(self, t: torch.Tensor) -> Any:
        return self.storage(t), tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.dtype

    def _bind(self, t: torch.Tensor, value: Any) -> None:
        self._value_of[id(t)] = value
        weakref.finalize(t, self._gone, id(t), value).atexit = False

    def new(self, t: torch.Tensor, kind: str, name: str | None = None) -> int:
        if t.layout != torch.strided:
            raise CannotRecord(f"a tensor stored as {t.layout}; only strided tensors are recorded")
        window = self._window(t)
        value = len(self.values)
        self.values.append(dict(kind=kind, name=name, storage=window[0], root=self._first_of.get(window[0]),
                                shape=list(window[1]), strides=list(window[2]), offset=window[3],
                                dtype=str(window[4])[6:], device=t.device.type,
                                bytes=t.untyped_storage().nbytes()))
        self._first_of.setdefault(window[0], value)
        self._last_of[window[0]] = value
        self._by_window[window] = value
        self._bind(t, value)
        return value

    def value(self, t: torch.Tensor) -> int:
        """Number of a tensor that is read; one never seen before is a constant."""
        if id(t) in self._value_of:
            return self._value_of[id(t)]
        if t.untyped_storage()._cdata not in self._storage_of:
            return self.new(t, "const")
        found = self._by_window.get(self._window(t))
        if found is not None:
            if not (self.grad_on and self.pending is None and found in self.differentiable and not t.requires_grad):
                self._bind(t, found)
                return found
            cut = self.new(t, "value")              # x.data: the same window without a history
            self.events.append(("op", "detach", [{"v": found}], {}, [cut]))
            return cut
        base = self._last_of[self.storage(t)]       # a window that was made without a dispatch
        found = self.new(t, "value")
        v = self.values[found]
        self.events.append(("op", "as_strided", [{"v": base}, v["shape"], v["strides"], v["offset"]], {}, [found]))
        return found

    def known(self, t: torch.Tensor) -> int | None:
        """Number of the value that `t` is, None where it was never an argument nor a result."""
        if id(t) in self._value_of:
            return self._value_of[id(t)]
        if t.untyped_storage()._cdata not in self._storage_of:
            return None
        return self._by_window.get(self._window(t))

    def refuse_old_graph(self, t: torch.Tensor) -> None:
        """Raises CannotRecord where autograd would go on into the call before."""
        if self.grad_on and t.requires_grad and not t.is_leaf and (
                self.values[self.value(t)]["kind"] in ("const", "buffer")):
            raise CannotRecord(f"a tensor kept from an earlier call still has its graph; {RESET_OR_DETACH}")

    # -- what happens ------------------------------------------------------------------------------------------------
    def encode(self, a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            v = self.value(a)
            if v in self._resolved and not a.requires_grad:
                v = self._resolved[v][0]
                self.differentiable.add(v)
            elif self.grad_on and self.pending is None and a.requires_grad:
                self.differentiable.add(v)
                known = self.values[v]
                self.refuse_old_graph(a)
                if a.is_leaf and known["kind"] in ("value", "const", "input") and not known.get("leaf"):
                    known["leaf"] = True
                    self.events.append(("leaf", v))
            return {"v": v}
        if isinstance(a, (list, tuple)):
            return [self.encode(x) for x in a]
        if isinstance(a, (bool, int, float, complex, str)) or a is None:
            return a
        if isinstance(a, torch.dtype):
            return {"dtype": str(a)[6:]}
        if isinstance(a, torch.device):
            return {"device": a.type}
        if isinstance(a, (torch.layout, torch.memory_format)):
            return {"enum": str(a)[6:]}
        raise CannotRecord(f"an argument of type {type(a).__name__}")

    def note_resolved(self, func: Any, args: Any, out: Any) -> None:
        """A kernel that knows no conjugates and negatives gets a copy, below autograd, which has the view."""
        t = args[0] if func is torch.ops.aten.clone.default and self.grad_on and self.pending is None else None
        if t is not None and t.requires_grad and (t.is_conj() or t.is_neg()):
            self._resolved[self.value(out)] = self.value(t), Given(t)

    def given(self, t: torch.Tensor) -> Given:
        known = self._resolved.get(self.value(t))
        return Given(t) if known is None or t.requires_grad else known[1]

    def note_op(self, name: str, args: Any, kwargs: dict[str, Any], out: Any) -> None:
        """One line: an operator with its arguments (encoded) and its results."""
        outs = []
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor):
                known = self._value_of.get(id(t))
                if known is not None and self._is_reshaped(t, known):  # squeeze_, t_ and their like: a view
                    known, name = None, _as_view(name)
                outs.append(self.new(t, "value") if known is None else known)
        self.events.append(("op", name, args, kwargs, outs))

    def _is_reshaped(self, t: torch.Tensor, value: int) -> bool:
        """Whether an operator gave the tensor another shape or other strides in place."""
        v = self.values[value]
        return (v["shape"], v["strides"]) != (list(t.shape), list(t.stride()))

    def detach_(self, t: torch.Tensor) -> torch.Tensor:
        """Cuts the history of a tensor that has its name still. No operator below autograd."""
        if self.pending is not None:
            self.pending.before_next_line(dispatching=False)
        was = self.value(t) if t.requires_grad and not t.is_leaf and not self.quiet else None
        torch._C.TensorBase.detach_(t)
        if was is not None:
            self.note_grad_mode()
            self.events.append(("op", "detach", [{"v": was}], {}, [self.new(t, "value")]))
        return t

    def refuse_way_back(self, inputs: Any, out: Any) -> None:
        """Raises CannotRecord where a tensor on the host, whose gradients are computed there, comes to the device."""
        if not self.grad_on or self.pending is not None:
            return
        at_home = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor) and t.device.type == "cpu"]
        away = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.device.type != "cpu"]
        if away and any(t.requires_grad for t in at_home):
            raise CannotRecord("gradients go through a tensor on the host; what the device holds meanwhile is not "
                               "recorded")

    def note_grad_mode(self) -> None:
        if torch.is_grad_enabled() != self.grad_on:
            if self.in_backward:
                raise GradientsTurnedOn("gradients are turned on")
            self.grad_on = not self.grad_on
            self.events.append(("grad", self.grad_on))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim" or self.quiet:
            return func(*args, **kwargs)
        if are_wrappers(types):
            self._refuse_differentiated(func, args, kwargs)
            return NotImplemented                   # its own code runs, on the tensors that it wraps
        refuse_what_is_strange(types)
        refuse_read_sparse(func, (args, kwargs))
        if is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        of_function = self.pending if self.pending is not None and self.pending.is_view_of_output(func, args) else None
        if self.pending is not None and of_function is None:
            self.pending.before_next_line()
        schema = func._schema
        name = schema.name.removeprefix("aten::")
        if name in _REFUSED:
            raise CannotRecord(f"{name} changes a tensor's storage; its lines do not say what it takes")
        if name == "embedding" and torch.is_grad_enabled() and (len(args) > 4 and args[4] or kwargs.get("sparse")):
            raise CannotRecord("embedding with sparse=True gives sparse gradients, whose size depends on the data")
        if self.pending is None:
            self.note_grad_mode()
        elif torch.is_grad_enabled():
            raise CannotRecord(f"{self.pending.name} turns gradients on inside an autograd.Function")
        differentiates, self.grad_on = self.grad_on, self.grad_on and name not in _OF_SHAPE
        encoded = [self.encode(a) for a in args], {k: self.encode(v) for k, v in kwargs.items()}
        self.grad_on = differentiates
        out = func(*args, **kwargs)
        self.refuse_way_back((args, kwargs), out)
        if func._overloadname != "default":
            name += "." + func._overloadname
        self.note_op(name, *encoded, out)
        if differentiates and self.pending is None and self.events[-1][4] and has_no_rule(func, name, args, out):
            self.unruled.append(UnruledCall(len(self.events) - 1, func, args, kwargs, self.given))
        self.note_resolved(func, args, out)
        if of_function is not None:
            of_function.view_of_output(args[0], out)
        return out

    def _refuse_differentiated(self, func: Any, args: Any, kwargs: Any) -> None:
        """Raises CannotRecord where autograd differentiates an operator on a tensor that wraps others: what it saves
        is of that operator, not of those which run on what is wrapped."""
        if self.pending is None and torch.is_grad_enabled() and any(
                t.requires_grad for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)):
            kind = next(type(t).__name__ for t in tree_leaves((args, kwargs)) if is_wrapper(t))
            raise CannotRecord(f"autograd differentiates {func} of a {kind}; this is not recorded")

    def pack(self, t: torch.Tensor) -> _Packed:
        """What autograd keeps instead of `t`."""
        values = []
        for _, part in parts_of(t):
            if part.untyped_storage()._cdata in self._storage_of:
                self.saved_storages.add(self.storage(part))
                values.append(self.known(part))
        packed = _Packed([v for v in values if v is not None], t if self.pending is not None else None)
        if self.pending is not None:
            self.pending.packed.append(packed)
        return packed

    @staticmethod
    def unpack(packed: _Packed) -> Any:
        if packed.tensor is None:
            raise CannotRecord("forward runs autograd itself (torch.autograd.grad or backward)")
        return packed.tensor


def _as_view(name: str) -> str:
    """squeeze_.dim -> squeeze.dim; transpose_ -> transpose.int, as the operator out of place is called."""
    plain, _, overload = name.partition(".")
    plain = plain.removesuffix("_")
    known = getattr(torch.ops.aten, plain).overloads()
    overload = overload or ("default" if "default" in known else known[0])
    return plain if overload == "default" else f"{plain}.{overload}"


def observe(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], train: bool,
            check_state: bool = False, precision: str | None = None,
            own: Iterable[torch.Tensor] = ()) -> dict[str, Any]:
    """One forward of the fake `model`: raw events, values, outputs. train: with autograd, which is given nothing to
    keep. own: tensors that the model held before it first ran.

    Garbage collection is off meanwhile: an object is freed when its last reference is dropped, as in the measured
    program."""
    o = Observer()
    names: dict[int, int] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        for part_name, part in parts_of(p, name):
            if id(part) not in names:
                names[id(part)] = o.new(part, "param", part_name)
                o.values[names[id(part)]].update(trained=p.requires_grad, tied=[])
            else:
                o.values[names[id(part)]]["tied"].append(part_name)
    for name, b in [*model.named_buffers(remove_duplicate=False), *beside_packed(model).items()]:
        for part_name, part in parts_of(b, name):
            if id(part) not in names:
                names[id(part)] = o.new(part, "buffer", part_name)
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    for name, t in zip(input_names(model, args, kwargs), tensors, strict=False):
        if id(t) not in names:
            names[id(t)] = o.new(t, "input", name)
            o.values[names[id(t)]]["tied"] = []
        elif o.values[names[id(t)]]["kind"] == "input":                 # labels=ids
            o.values[names[id(t)]]["tied"].append(name)
    handles = []
    for name, m in model.named_modules():
        if name:
            handles.append(m.register_forward_pre_hook(lambda m, a, name=name: _module_event(o, ("call", name))))
            handles.append(m.register_forward_hook(lambda m, a, r: _module_event(o, ("ret",)), always_call=True))
    before = {id(t) for t in own}
    for t in Held(model).tensors:
        o.attribute(t, left=id(t) not in before)
    tensors = t = p = b = part = None                # what forward replaces dies where it does
    casts = contextlib.ExitStack()               # the loss is under autocast too: what it keeps outlives forward
    gc.collect()
    gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(train))
            stack.enter_context(watch_spans(o))
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(o.pack, o.unpack))
            patch(stack, torch.autograd.graph.saved_tensors_hooks, "__enter__", _refuse_hooks)
            for owner in (torch, torch.Tensor):
                patch(stack, owner, "detach_", lambda t: o.detach_(t))
            o.grad_on = train
            stack.enter_context(o)
            casts.enter_context(autocast(precision))
            out = model(*args, **kwargs)
            if o.pending is not None:
                o.pending.before_next_line(dispatching=False)
        flat, spec = tree_flatten(out)
        _refuse_results(flat, train)
        returned = [o.value(t) if isinstance(t, torch.Tensor) else None for t in flat]
        loss_tensor = _own_loss(out, train)
        loss = o.value(loss_tensor) if loss_tensor is not None else None
        events = list(o.events)
        casts.close()
        try:
            tree = treespec_dumps(spec)
        except NotImplementedError:                  # a class that has no name to be stored under: a plain list
            tree = treespec_dumps(tree_flatten(list(flat))[1])
        keeps_graph = check_state and train and _keeps_graph(model, flat)
        del out, flat, loss_tensor
        if check_state:
            _refuse_growth(o, model, events)
            if keeps_graph:
                warnings.warn(_SAID_OF_KEPT_GRAPH, stacklevel=2)
        return dict(events=events, values=o.values, returned=returned, tree=tree, loss=loss,
                    saved_storages=o.saved_storages, unruled=o.unruled, differentiable=o.differentiable)
    finally:
        casts.close()
        gc.enable()
        for h in handles:
            h.remove()


def _refuse_hooks(hooks: Any) -> NoReturn:
    raise CannotRecord(f"{type(hooks).__name__} in the model's code decides what autograd keeps; it is not recorded")


def _refuse_results(flat: Any, train: bool) -> None:
    """Raises CannotRecord for results that forward has not computed yet, or that are not on the device."""
    if any(inspect.isgenerator(x) for x in flat):
        raise CannotRecord("forward gives a generator, which computes only when it is read")
    tensors = [x for x in flat if isinstance(x, torch.Tensor)]
    refuse_what_is_strange(type(t) for t in tensors)
    if train and any(t.device.type == "cpu" and t.requires_grad for t in tensors):
        raise CannotRecord("forward gives a tensor on the host; the gradients of it would be computed there")


_SAID_OF_KEPT_GRAPH = ("forward keeps results with their graph in attributes, and its outputs do not depend on them: "
                       "what that graph saves stays until the next call, and is not in the record. measure counts it; "
                       "where the model detaches what it keeps, there is none")


def _keeps_graph(model: torch.nn.Module, flat: list[Any]) -> bool:
    """Whether an attribute has a graph that a backward from the outputs does not free."""
    run = _nodes_behind([t for t in flat if isinstance(t, torch.Tensor)], {})
    kept = _nodes_behind(Held(model).tensors, run)
    return any(name.startswith("_raw_saved_") for node in kept.values() for name in dir(node))


def _nodes_behind(tensors: list[torch.Tensor], without: dict[int, Any]) -> dict[int, Any]:
    """The nodes of the graph of these, by id, but for those of another one."""
    found: dict[int, Any] = {}
    todo = [t.grad_fn for t in tensors]
    while todo:
        node = todo.pop()
        if node is not None and id(node) not in found and id(node) not in without:
            found[id(node)] = node
            todo += [n for n, _ in node.next_functions]
    return found


def _refuse_growth(o: Observer, model: torch.nn.Module, events: list[tuple[Any, ...]]) -> None:
    """Raises CannotRecord where forward leaves more tensors of its own behind than it has released: each call would
    need more than the one before."""
    gc.collect()
    left, of, gone = {}, {}, {e[1] for e in events if e[0] == "storage_gone"}
    for t in Held(model).tensors:
        n = o._storage_of.get(t.untyped_storage()._cdata)
        if n is not None and o.values[o._first_of[n]]["kind"] in ("value", "gradient"):
            left[n] = t.untyped_storage().nbytes()
    for n, first in o._first_of.items():
        v = o.values[first]
        if v["kind"] == "const" and v.get("attribute") and n in gone:
            of[n] = v["bytes"]
    more = sum(left.values()) - sum(of.values())
    if more > _STATE_LIMIT:
        raise CannotRecord(f"forward leaves {more} bytes of tensors behind in attributes of modules, beyond those of "
                           "the call before that it replaces; such state is not recorded")


def _module_event(o: Observer, event: tuple[Any, ...]) -> None:
    if o.pending is not None:
        o.pending.before_next_line(dispatching=False)
    if not o.quiet:
        o.events.append(event)


def _own_loss(out: Any, train: bool) -> Any:
    """The loss that the model computed itself: the entry `loss` of what it returned."""
    loss = out.get("loss") if hasattr(out, "get") and hasattr(out, "keys") else getattr(out, "loss", None)
    good = isinstance(loss, torch.Tensor) and loss.dim() == 0 and loss.is_floating_point()
    return loss if good and (loss.requires_grad or not train) else None
