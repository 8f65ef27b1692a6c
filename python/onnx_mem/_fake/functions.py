"""Functions of torch.nn.functional that behave otherwise on tensors without data than on a GPU."""
from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from .attention import CHOOSING, attention
from .wrapped import is_wrapper

_OPTIMIZERS = os.path.dirname(torch.optim.__file__)
_LAYER, _LINEAR = F.multi_head_attention_forward, F.linear


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """F.linear: what is neither a matrix nor contiguous is multiplied, and the bias added in place. A tensor without
    data would have it added out of place (`linear` in aten/src/ATen/native/Linear.cpp, isTensorSubclassLike).

    It still has in training, where a plan with kept calls looks on in the same way, so that both name the same calls;
    and under autocast, whose casts are kept inside the framework's own function."""
    if (bias is None or input.dim() <= 2 or input.is_contiguous() or torch.is_grad_enabled()
            or torch.is_autocast_enabled("cuda") or any(map(_is_strange, (input, weight, bias)))):
        return _LINEAR(input, weight, bias)
    return torch.matmul(input, weight.t()).add_(bias)


def _is_strange(t: torch.Tensor) -> bool:
    """Whether the framework takes it for a subclass in a run too."""
    return is_wrapper(t) or torch._C._functorch.is_functorch_wrapped_tensor(t)


# The framework's own -> what runs in its place.
_INSTEAD: dict[Any, Callable[..., Any]] = {CHOOSING: attention, _LINEAR: linear}


class AsOnAGpu(TorchFunctionMode):
    """Reaches these functions under whatever name they were imported.

    What another function of torch.nn.functional calls does not come by here (a mode does not see what runs inside a
    function that it was handed): in F.multi_head_attention_forward they take the names' places. There alone, as weights
    that wrap others look for F.linear by identity.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if isinstance(func, type(_LINEAR)) and func in _INSTEAD:
            return _INSTEAD[func](*args, **(kwargs or {}))
        if func is _LAYER:
            F.linear = linear
            try:
                return func(*args, **(kwargs or {}))
            finally:
                F.linear = _LINEAR
        if func is torch.tensor and isinstance(args[0], (list, tuple)):   # it would read a GPU's memory past the modes
            args = (tree_map(_number, args[0]), *args[1:])
        return func(*args, **(kwargs or {}))


class CpuIsTheGpu(TorchFunctionMode):
    """Where code names the CPU, the GPU is meant: what a loop takes for its device on a machine without one
    (torch.device("cuda" if torch.cuda.is_available() else "cpu"), the device of a trainer's arguments), or a model for
    the one that it was made on."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if sys._getframe(1).f_code.co_filename.startswith(_OPTIMIZERS):      # their counters stay on the host
            return func(*args, **(kwargs or {}))
        kwargs = {name: self._meant(x) for name, x in (kwargs or {}).items()}
        return func(*map(self._meant, args), **kwargs)

    def _meant(self, x: Any) -> Any:
        named = isinstance(x, torch.device) and x.type == "cpu" or isinstance(x, str) and x == "cpu"
        return self.device if named else x


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, torch.Tensor) and x.dim() == 0 else x
