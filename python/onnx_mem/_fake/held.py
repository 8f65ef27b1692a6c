"""What the modules of a model hold beside parameters and buffers, in whatever container or object: hooks that keep what
they last saw, tables in an object of the code. And a copy of it all."""
from __future__ import annotations

import copy
import functools
import io
import threading
import types
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

_OF_MODULES = ("_parameters", "_buffers", "_modules")
_PLAIN = (str, bytes, int, float, complex, type(None), torch.dtype, torch.device, type, types.BuiltinFunctionType)
# copy.deepcopy refuses them; none of them holds a tensor.
_NOT_COPIED = (torch.jit.ScriptFunction, type({}.keys()), types.ModuleType, io.IOBase, torch.Generator,
               type(threading.Lock()), type(threading.RLock()))
_IN_CELLS = (torch.nn.Module, torch.Tensor, list, dict, set, deque, types.FunctionType, types.MethodType)


class Held:
    """Found behind the attributes of the modules of `model`: as copy.deepcopy finds it, and behind functions that hold
    the model's own, as a hook in a closure does."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.tensors: list[torch.Tensor] = []
        self.containers: list[Any] = []            # lists and dicts, those of attributes among them
        self.not_copied: list[Any] = []
        self.functions: list[types.FunctionType] = []
        self.references: list[weakref.ref[torch.nn.Module]] = []
        self._seen: dict[int, object] = {}         # held, as what is gone leaves its id
        todo: list[Any] = list(model.modules())
        self._seen.update((id(t), t) for m in todo for of in (m._parameters, m._buffers) for t in of.values())
        while todo:
            x = todo.pop()
            if not isinstance(x, _PLAIN) and id(x) not in self._seen:
                self._seen[id(x)] = x
                todo += self._parts(x)
        self.references = [x for x in self.references if id(x()) in self._seen]        # of modules of the model

    def _parts(self, x: Any) -> Iterator[Any]:
        if isinstance(x, torch.Tensor):
            self.tensors.append(x)
        elif isinstance(x, _NOT_COPIED):
            self.not_copied.append(x)
        elif isinstance(x, torch.nn.Module):
            self.containers.append(x.__dict__)
            for name, own in x.__dict__.items():
                yield from own.values() if name in _OF_MODULES else (own,)
        elif isinstance(x, weakref.ref):
            if isinstance(x(), torch.nn.Module):
                self.references.append(x)
        elif isinstance(x, types.FunctionType):
            if cells := list(_cells_of(x)):
                self.functions.append(x)
                yield from cells
        elif isinstance(x, types.MethodType):
            yield x.__self__
        elif isinstance(x, functools.partial):
            yield from (x.func, x.args, x.keywords)
        elif isinstance(x, dict):
            self.containers.append(x)
            yield from dict.values(x)
        elif isinstance(x, (list, tuple, set, frozenset, deque)):
            if isinstance(x, list):
                self.containers.append(x)
            yield from x
        else:
            yield from _attributes(x)


def _attributes(x: Any) -> Iterator[Any]:
    if isinstance(own := getattr(x, "__dict__", None), dict):
        yield own
    for kind in type(x).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if isinstance(vars(kind).get(name), types.MemberDescriptorType) and hasattr(x, name):
                yield getattr(x, name)


def _cells_of(f: types.FunctionType) -> Iterator[Any]:
    """What a function's closure holds that may be a part of the model."""
    for cell in f.__closure__ or ():
        try:
            if isinstance(cell.cell_contents, _IN_CELLS):
                yield cell.cell_contents
        except ValueError:                         # not filled yet
            pass


class _Memo(dict[int, Any]):
    """Copies by id of the original, for copy.deepcopy; that of a reference is one to the copy of its module."""

    def __init__(self, memo: dict[int, Any], references: list[weakref.ref[torch.nn.Module]]) -> None:
        super().__init__(memo)
        self._modules = {id(x): x() for x in references}

    def get(self, key: int, default: Any = None) -> Any:
        if key in self._modules:
            return weakref.ref(copy.deepcopy(self._modules[key], self))
        return super().get(key, default)


def copied(model: torch.nn.Module, held: Held, memo: dict[int, Any]) -> torch.nn.Module:
    """copy.deepcopy of the model, and of the functions that hold parts of it: a hook of the copy is about the copy.

    memo: copies by id of the original."""
    memo = _Memo(memo, held.references)
    memo.update({id(x): x for x in held.not_copied})
    made = {id(f): types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__,
                                      tuple(types.CellType() for _ in f.__closure__ or ())) for f in held.functions}
    memo.update(made)
    of_model = copy.deepcopy(model, memo)
    for f in held.functions:
        made[id(f)].__dict__.update(f.__dict__)
        made[id(f)].__kwdefaults__ = f.__kwdefaults__
        for cell, own in zip(made[id(f)].__closure__ or (), f.__closure__ or (), strict=True):
            try:
                was = own.cell_contents
            except ValueError:
                continue
            cell.cell_contents = copy.deepcopy(was, memo) if isinstance(was, _IN_CELLS) else was
    return of_model
