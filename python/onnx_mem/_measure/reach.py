"""What a function of the user's reaches: the tensors of its models, optimizers and scalers, which lose their data for
a while and stay the same objects, and the containers that are afterwards as they were."""
from __future__ import annotations

import collections
import contextlib
import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from .._fake.libraries import is_library
from .._fake.numbers import tell_example
from .._fake.packed import beside_packed, codes_of_packed, not_packed_yet
from .._fake.tensors import refuse_what_is_not_plain, without_data
from .._fake.wrapped import is_wrapper, parts_of
from ..errors import Error

_PLAIN = (str, bytes, int, float, complex, type(None), torch.dtype, torch.device, torch.Generator)


class _Kept(NamedTuple):
    """A container, what it held, and how it gets that again."""
    container: Any
    was: Any
    put_back: Callable[[Any, Any], object]


class _Name(NamedTuple):
    """A global."""
    scope: dict[str, Any]
    name: str

    def put(self, value: object) -> None:
        self.scope[self.name] = value


class Reach:
    """Found by visit(): tensors with a name where they have one, models by their names, optimizers."""

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}
        self.modules: dict[str, torch.nn.Module] = {}
        self.optimizers: list[torch.optim.Optimizer] = []
        self._kept: list[_Kept] = []
        self._snapshots: collections.Counter[int] = collections.Counter()     # by id: how many of ours hold it
        self._swapped: list[tuple[torch.Tensor, torch.Tensor, dict[str, Any]]] = []
        self._loose: list[tuple[torch.Tensor, torch.Tensor, dict[str, Any]]] = []     # of no model and no optimizer
        self._seen: dict[int, object] = {}         # held, as what is gone leaves its id
        self._labels: dict[int, str] = {}          # of tensors
        self._inside: set[int] = set()             # modules that are parts of others

    def visit(self, root: object, label: str) -> None:
        """Everything behind `root`."""
        todo: list[tuple[object, str]] = [(root, label)]
        while todo:
            x, label = todo.pop()
            if isinstance(x, _PLAIN) or id(x) in self._seen:
                continue
            self._seen[id(x)] = x
            todo += reversed(list(self._parts(x, label)))

    def _parts(self, x: Any, label: str) -> Iterator[tuple[object, str]]:
        if is_wrapper(x):                                    # its parts lose their data, in place
            yield from ((part, name) for name, part in parts_of(x, label))
        elif isinstance(x, torch.Tensor):
            self.tensors[id(x)] = x
            self._labels[id(x)] = label
            if "SCB" in vars(x):                             # scales and codes of a packed weight
                yield vars(x), label
        elif isinstance(x, torch.nn.Module):
            yield from self._module(x, label)
        elif isinstance(x, types.FunctionType):
            yield from self._function(x)
        elif isinstance(x, types.MethodType):
            yield from ((x.__self__, ""), (x.__func__, ""))
        elif isinstance(x, functools.partial):
            yield from ((x.func, ""), (x.args, ""), (x.keywords, ""))
        elif isinstance(x, dict):
            was = _held_by(x)
            self._keep(x, was, _refill_dict)
            yield from ((k, "") for k in was)
            yield from ((v, str(k) if isinstance(k, str) else "") for k, v in was.items())
        elif isinstance(x, (list, deque)):
            self._keep(x, list(x), _refill_list)
            yield from ((v, f"{label}.{i}" if label else "") for i, v in enumerate(x))
        elif isinstance(x, (tuple, set, frozenset)):
            yield from ((v, f"{label}.{i}" if label else "") for i, v in enumerate(x))
        elif not isinstance(x, (type, types.ModuleType)) and hasattr(x, "__dict__") and not _of_stdlib(type(x)):
            if isinstance(x, torch.optim.Optimizer):
                self.optimizers.append(x)
            yield x.__dict__, ""
            yield from ((f, "") for f in _own_functions(type(x)))

    def _module(self, x: torch.nn.Module, label: str) -> Iterator[tuple[object, str]]:
        refuse_what_is_not_plain(x, ())
        if id(x) not in self._inside and (waiting := not_packed_yet(x)):
            raise Error(f"'{waiting[0]}' has few bits only once it was moved to a device, which a step of your own "
                        "does not do: move the model before\n  try: model.to(\"cpu\")", "cannot-measure")
        if id(x) not in self._inside:
            name = label or type(x).__name__
            while name in self.modules:
                name += "_"
            self.modules[name] = x
        for part in x.modules():
            self._inside.add(id(part))
            if part._backward_hooks or part._backward_pre_hooks:
                raise Error(f"a {type(part).__name__} has a backward hook of its own (register_full_backward_hook), "
                            "which measure(step=...) does not run: remove it", "cannot-measure")
            self._seen[id(part)] = part
            yield part.__dict__, ""
            yield from ((f, "") for f in _own_functions(type(part)))

    def _function(self, f: types.FunctionType) -> Iterator[tuple[object, str]]:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):              # an empty cell
                was = cell.cell_contents
                self._keep(cell, [was], lambda to, was: setattr(to, "cell_contents", was[0]))
                yield was, name
        yield from ((v, "") for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))
        yield f.__dict__, ""
        if is_library(f.__code__.co_filename):
            return
        for name in _names_of(f.__code__):
            if name in f.__globals__:
                was = f.__globals__[name]
                self._keep(_Name(f.__globals__, name), [was], lambda to, was: to.put(was[0]))
                yield was, name

    def _keep(self, container: Any, was: Any, put_back: Any) -> None:
        self._kept.append(_Kept(container, was, put_back))
        self._snapshots.update(map(id, was.values() if isinstance(was, dict) else was))

    # -- tensors without data --------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def without_data(self, values: bool = False) -> Iterator[None]:
        """The tensors are fake ones on the GPU, in place: whoever holds one holds it still. Afterwards all that was
        visited is as it was. Call it inside fake_cuda().

        values: integers and booleans have theirs.

        A tensor that has a graph stays as it is: what reads it is refused (lives.py)."""
        try:
            self._swap_all(values)
            yield
        finally:
            for swapped in (self._swapped, self._loose):
                while swapped:
                    _swap(*swapped.pop())
            for kept in self._kept:
                kept.put_back(kept.container, kept.was)

    def _swap_all(self, values: bool) -> None:
        tensors = [t for t in self.tensors.values() if t.grad_fn is None]
        fakes, named = without_data(tensors), self.names()
        for t in tensors:
            if values or t.dim() == 0 and id(t) in named:      # counters: which path a call takes
                tell_example(fakes[id(t)], t)
            own, fake = dict(t.__dict__), fakes[id(t)]
            _swap(t, fake, {**own, **fake.__dict__})
            (self._swapped if id(t) in named else self._loose).append((t, fake, own))

    def release_tensors(self) -> None:
        """What the step has dropped and only we hold, to put it back, gets its data back: it takes no memory."""
        for i in reversed(range(len(self._loose))):
            if self._is_ours_alone(self._loose[i][0], 3):          # `_seen`, `tensors`, `_loose`
                _swap(*self._loose.pop(i))

    def release_containers(self) -> None:
        """The same of containers, which get what they held."""
        for kept in self._kept:
            # `_seen` and `_kept` hold a container; cells and globals are in `_kept` alone, and no step drops them.
            if id(kept.container) in self._seen and self._is_ours_alone(kept.container, 2):
                kept.put_back(kept.container, kept.was)

    def _is_ours_alone(self, x: object, lists: int) -> bool:
        """`lists`: how many of ours hold it, beside the snapshots."""
        return sys.getrefcount(x) - 2 <= lists + self._snapshots[id(x)]       # 2: the argument here, and that there

    def names(self) -> dict[int, tuple[str, str]]:
        """By id of a tensor: its category, "param", "buffer" or "opt_state", and its name."""
        found: dict[int, tuple[str, str]] = {}
        for label, module in self.modules.items():
            before = f"{label}." if len(self.modules) > 1 else ""
            for name, p in module.named_parameters(remove_duplicate=True):
                for part_name, part in parts_of(p, before + name):
                    found.setdefault(id(part), ("param", part_name))
            for name, b in [*module.named_buffers(), *beside_packed(module).items()]:
                for part_name, part in parts_of(b, before + name):
                    found.setdefault(id(part), ("buffer", part_name))
            for name, t in codes_of_packed(module):
                found.setdefault(id(t), ("param", before + name))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    found.setdefault(id(p), ("param", self._labels.get(id(p), "")))
            for state in optimizer.state.values():
                for key, v in state.items() if isinstance(state, Mapping) else ():
                    if isinstance(v, torch.Tensor):
                        found[id(v)] = ("opt_state", str(key))
        return found

    def paths(self) -> dict[int, str]:
        """By id of a module: where it is."""
        several = len(self.modules) > 1
        return {id(m): ".".join(x for x in (label if several else "", name) if x)
                for label, module in self.modules.items() for name, m in module.named_modules()}


def _swap(t: torch.Tensor, other: torch.Tensor, attributes: dict[str, Any]) -> None:
    """What torch.utils.swap_tensors does, without its refusal of tensors that others know."""
    t.__class__, other.__class__ = type(other), type(t)
    t.__dict__.clear()
    t.__dict__.update(attributes)
    torch._C._swap_tensor_impl(t, other)


def _held_by(x: dict[Any, Any]) -> dict[Any, Any]:
    """What a dict holds, in order. One of a class of its own may hand out something else: x[key] makes an object."""
    keys = (collections.OrderedDict if isinstance(x, collections.OrderedDict) else dict).__iter__(x)
    return {k: dict.__getitem__(x, k) for k in keys}


def _refill_dict(to: dict[Any, Any], was: dict[Any, Any]) -> None:
    if len(to) != len(was) or any(a is not b for a, b in zip(_held_by(to).values(), was.values(), strict=True)):
        to.clear()
        to.update(was)


def _refill_list(to: Any, was: list[Any]) -> None:
    if len(to) != len(was) or any(a is not b for a, b in zip(to, was, strict=True)):
        to.clear()
        to.extend(was)


def _names_of(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_of(constant)


def _own_functions(kind: type) -> Iterator[types.FunctionType]:
    """The methods of classes that are no library's."""
    for c in kind.__mro__:
        for f in vars(c).values():
            if isinstance(f, types.FunctionType) and not is_library(f.__code__.co_filename):
                yield f


def _of_stdlib(kind: type) -> bool:
    return kind.__module__.split(".")[0] in (*sys.stdlib_module_names, "numpy")
