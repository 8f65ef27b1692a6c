"""Values of tensors without data that follow from sizes alone, for code that asks: torch.arange(1, x.dim()).tolist(),
`if (position_ids.diff() != 1).any()`."""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
_FACTORIES = {aten.arange.default, aten.arange.start, aten.arange.start_step, aten.linspace.default, aten.eye.default,
              aten.full.default, aten.ones.default, aten.zeros.default, aten.scalar_tensor.default}
_MOST = 1 << 20                         # elements of a tensor whose values are worked out: positions, no masks


def known(t: torch.Tensor) -> torch.Tensor | None:
    """The values of a fake tensor, on the host; None where they depend on data."""
    value, version = getattr(t, "_onnx_mem_known", (None, None))
    return value if value is not None and not t.is_inference() and t._version == version else None


def _worked_out(func: Any, args: Any, kwargs: dict[str, Any]) -> torch.Tensor | None:
    """What `func` gives on the host; None where it draws numbers, writes, or reads what is not known."""
    leaves = tree_leaves((args, kwargs))
    if func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags:
        return None
    tensors = [a for a in leaves if isinstance(a, torch.Tensor)]
    if any(known(t) is None for t in tensors) or any(isinstance(a, (torch.SymInt, torch.SymBool)) for a in leaves):
        return None
    if not tensors and func not in _FACTORIES:
        return None

    def on_host(a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            return known(a)
        return torch.device("cpu") if isinstance(a, torch.device) else a
    host_args, host_kwargs = tree_map(on_host, (args, kwargs))
    try:
        with no_dispatch():
            return func(*host_args, **host_kwargs)
    except (RuntimeError, NotImplementedError):      # no kernel of this kind on the host
        return None


class FakeMode(FakeTensorMode):
    """Tensors without data, except where the values follow from arguments alone: positions, masks of ones, numbers."""

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is aten._local_scalar_dense.default and known(args[0]) is not None:
            return known(args[0]).item()
        out = super().dispatch(func, types, args, kwargs)
        made = list(out) if isinstance(out, (tuple, list)) else [out]         # unbind, which tolist() is made of
        worth = isinstance(func, torch._ops.OpOverload) and made and all(
            isinstance(t, FakeTensor) and t.numel() <= _MOST and not t.is_inference() for t in made)
        values = _worked_out(func, args, kwargs or {}) if worth else None
        for t, value in zip(made, values if isinstance(values, (tuple, list)) else [values], strict=False):
            if isinstance(value, torch.Tensor):
                t._onnx_mem_known = (value, t._version)
        return out
