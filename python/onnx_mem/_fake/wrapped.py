"""Tensor subclasses that wrap plain tensors and say so (`__tensor_flatten__`), as torchao's quantized weights do: what
they are made of. Their own code runs; what it runs on plain tensors is what is seen. Sparse tensors in coordinates are
made of these and of values; no operator may read them, as the size of what it makes depends on data."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from ..errors import CannotRecord

_INDICES, _VALUES = "indices", "values"
# By sparse tensor: its coordinates and values, which it hands out as new objects each time.
_OF_SPARSE: Any = WeakIdKeyDictionary()


def is_wrapper(t: object) -> bool:
    """Whether `t` is such a tensor, and none of PyTorch's own: a DTensor means more than its parts."""
    return isinstance(t, torch.Tensor) and (
        is_sparse(t) or is_traceable_wrapper_subclass(t) and _is_foreign(type(t)))


def is_sparse(t: torch.Tensor) -> bool:
    """Whether `t` is stored as coordinates and values."""
    return t.layout is torch.sparse_coo


def refuse_read_sparse(func: object, args: Any) -> None:
    """Raises CannotRecord where an operator reads a sparse tensor."""
    if any(isinstance(t, torch.Tensor) and is_sparse(t) for t in tree_leaves(args)):
        raise CannotRecord(f"operator {func} gets a sparse tensor, of which the size depends on data; make it dense "
                           "where it is used: .to_dense(), or an index_put of its values")


def _attributes_of(t: torch.Tensor) -> list[str]:
    return [_INDICES, _VALUES] if is_sparse(t) else t.__tensor_flatten__()[0]


def _part(t: torch.Tensor, attribute: str) -> torch.Tensor:
    if not is_sparse(t):
        return getattr(t, attribute)
    if t not in _OF_SPARSE:
        with _disable_current_modes():           # a fake one has no elements
            _OF_SPARSE[t] = {_INDICES: t._indices(), _VALUES: t._values()}
    return _OF_SPARSE[t][attribute]


def are_wrappers(kinds: Any) -> bool:
    """Whether one of these classes is such a class."""
    return any(hasattr(c, "__tensor_flatten__") and _is_foreign(c) for c in kinds)


@functools.cache
def is_composite(func: Any) -> bool:
    """Whether the framework takes an operator apart (to, reshape, contiguous). It does so above autograd; the code of a
    tensor that wraps others runs below, and so does what is in inference mode.

    Not one that a device has a kernel for, as it may for silu_backward."""
    def has(key: str) -> bool:
        return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)
    return (isinstance(func, torch._ops.OpOverload) and any("Tensor" in str(r.type) for r in func._schema.returns)
            and has("CompositeImplicitAutograd") and not has("CPU") and not has("CUDA"))


def _is_foreign(kind: type) -> bool:
    return kind.__module__.partition(".")[0] != "torch"


def parts_of(t: torch.Tensor, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """The plain tensors in `t`, each by `name` and its attribute; `t` itself where it is plain."""
    if not is_wrapper(t):
        yield name, t
        return
    for attribute in _attributes_of(t):
        yield from parts_of(_part(t, attribute), f"{name}.{attribute}")


def plain_leaves(tree: Any) -> list[torch.Tensor]:
    """The tensors of a tree, those that wrap others taken apart."""
    return [part for t in tree_leaves(tree) if isinstance(t, torch.Tensor) for _, part in parts_of(t)]


def wrapped_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers that are such tensors, by name."""
    return {name: t for name, t in [*model.named_parameters(), *model.named_buffers()] if is_wrapper(t)}


def wrapped_again(t: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """A tensor like `t` around the copies of its parts, which `memo` has by id of the original."""
    def copy(t: torch.Tensor) -> torch.Tensor:
        if not is_wrapper(t):
            return memo[id(t)]
        if is_sparse(t):
            parts = {a: copy(_part(t, a)) for a in _attributes_of(t)}
            made = torch.sparse_coo_tensor(parts[_INDICES], parts[_VALUES], t.shape, check_invariants=False,
                                           is_coalesced=t.is_coalesced())
            _OF_SPARSE[made] = parts
            return made
        attributes, context = t.__tensor_flatten__()
        inner = {a: copy(getattr(t, a)) for a in attributes}
        return type(t).__tensor_unflatten__(inner, context, t.shape, t.stride())
    made = copy(t)
    return torch.nn.Parameter(made, requires_grad=False) if isinstance(t, torch.nn.Parameter) else made


def int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torchao/kernel/intmm.py, safe_int_mm: what it runs on a card, where tensors have data."""
    if any(n == 0 or n % 8 for n in (a.shape[1], b.shape[1])):
        return torch.matmul(a.cpu().to(torch.int32), b.cpu().to(torch.int32)).to(a.device)
    return torch._int_mm(a if a.shape[0] % 8 == 0 else a.contiguous(), b.contiguous())
