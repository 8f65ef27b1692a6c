"""Tensor subclasses that leave the framework's operators as they are (no `__torch_dispatch__`): a name, and what else
their own Python code carries along. That code runs; its tensors without data are of a class that is both."""
from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import get_default_nowrap_functions

# The framework's own, whatever stands in torch.Tensor.
_AS_SUBCLASS, _MAKE_SUBCLASS = torch._C.TensorBase.as_subclass, torch._C.TensorBase._make_subclass
_NO_DISPATCH = torch.Tensor.__torch_dispatch__


class _Carrying(torch.Tensor):
    """What a subclass inherits of torch.Tensor, and FakeTensor has not: results of its functions are of it too."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            return result if func in get_default_nowrap_functions() else _converted(result, cls)


def _converted(result: Any, kind: type) -> Any:
    """torch._tensor._convert."""
    if isinstance(result, torch.Tensor) and not isinstance(result, kind):
        return _as_subclass(result, kind)
    if isinstance(result, (tuple, list)):
        return type(result)(_converted(r, kind) for r in result)
    return result


def is_carried(kind: type) -> bool:
    """Whether a class of tensors is one that the framework's operators do not see."""
    return (not issubclass(kind, (FakeTensor, torch.nn.Parameter)) and kind.__module__.partition(".")[0] != "torch"
            and kind.__torch_dispatch__ is _NO_DISPATCH)


def is_name_of_carried(name: str, of: type = torch.Tensor) -> bool:
    """Whether a class of this name is one."""
    return any(c.__name__ == name and is_carried(c) or is_name_of_carried(name, c) for c in of.__subclasses__())


def carries(kind: type) -> bool:
    """Whether a class is that of such tensors without data."""
    return issubclass(kind, _Carrying)


_OWN: Any = vars(torch.Tensor)["__dict__"]
_state: set[str] = set()        # names under which a tensor without data keeps what it is


def _is_state(name: str) -> bool:
    return name in _state or name.startswith("_onnx_mem")


def _set_carried(t: torch.Tensor, carried: dict[str, Any]) -> None:
    """t.__dict__ = carried: code that hands on all that another tensor carries replaces it whole."""
    state = {k: v for k, v in _OWN.__get__(t).items() if _is_state(k)}
    _OWN.__set__(t, {k: v for k, v in carried.items() if not _is_state(k)} | state)


@functools.cache
def _without_data(kind: type) -> type:
    own: Any = getattr(kind.__torch_function__, "__func__", None)      # else it is turned off, and stays so
    inherited = own is torch.Tensor.__torch_function__.__func__

    def seen(cls: type, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if isinstance(func, torch._ops.OpOverload):      # what a mode runs again: below, where a run has no class
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return (_Carrying.__torch_function__.__func__ if inherited else own)(cls, func, types, args, kwargs)
    return type(kind.__name__, (kind, _Carrying, FakeTensor), {
        "__module__": kind.__module__, "__dict__": property(_OWN.__get__, _set_carried),
        **({"__torch_function__": classmethod(seen)} if own is not None else {})})


def _become(t: torch.Tensor, kind: type) -> torch.Tensor:
    _state.update(t.__dict__)
    t.__class__ = kind if carries(kind) else _without_data(kind)
    return t


def dressed(t: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The tensor without data `t`, of the class of `like` where that is such a class, with what `like` carries."""
    if is_carried(type(like)):
        _become(t, type(like)).__dict__.update(like.__dict__)
    return t


def _as_subclass(t: torch.Tensor, kind: type) -> torch.Tensor:
    """Tensor.as_subclass, an alias of another class; it gives a tensor without data that class alone."""
    if not isinstance(t, FakeTensor) or not (kind is torch.Tensor or carries(kind) or is_carried(kind)):
        return _AS_SUBCLASS(t, kind)
    with torch._C.DisableTorchFunctionSubclass():
        made = torch.ops.aten.alias(t)
    return made if kind is torch.Tensor else _become(made, kind)


def _make_subclass(kind: type, t: torch.Tensor, require_grad: bool = False, **how: Any) -> torch.Tensor:
    if not isinstance(t, FakeTensor) or not is_carried(kind):
        return _MAKE_SUBCLASS(kind, t, require_grad, **how)
    with torch._C.DisableTorchFunctionSubclass():
        made = t.detach()
    return _become(made, kind).requires_grad_(require_grad)


@contextlib.contextmanager
def subclasses() -> Iterator[None]:
    """Inside, tensors without data become such subclasses where code makes them so: by as_subclass, under its name in
    whatever module, and by _make_subclass."""
    modules = [m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get("as_subclass") is _AS_SUBCLASS]
    instead = {"as_subclass": _as_subclass, "_make_subclass": staticmethod(_make_subclass)}
    names = [name for name in instead if name not in vars(torch.Tensor)]      # else somebody's, which calls ours
    for module in modules:
        module.as_subclass = _as_subclass
    for name in names:
        setattr(torch.Tensor, name, instead[name])
    try:
        yield
    finally:
        for module in modules:
            module.as_subclass = _AS_SUBCLASS
        for name in names:
            delattr(torch.Tensor, name)
