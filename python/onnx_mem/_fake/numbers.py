"""Numbers that forward makes on the host and asks for again: torch.arange(1, x.dim()).tolist()."""
from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
_FACTORIES = {aten.arange.default, aten.arange.start, aten.arange.start_step, aten.linspace.default, aten.eye.default,
              aten.full.default, aten.ones.default, aten.zeros.default, aten.scalar_tensor.default}
_MOST = 1024                            # elements of a tensor that is a list of numbers


class FakeMode(FakeTensorMode):
    """Tensors without data, except small ones on the host whose values follow from their arguments alone."""

    def dispatch(self, func, types, args=(), kwargs=None):
        out = super().dispatch(func, types, args, kwargs)
        if (func in _FACTORIES and isinstance(out, FakeTensor) and out.device.type == "cpu" and out.numel() <= _MOST
                and not any(isinstance(a, torch.Tensor) for a in tree_leaves((args, kwargs)))):
            with no_dispatch():
                out.constant = func(*args, **(kwargs or {}))
            self.fake_tensor_converter.add_constant_storage_mapping(out)   # forgotten once it is written over
        return out
