"""torch.nn.functional.linear as it runs where no dispatch mode looks on."""
from __future__ import annotations

from typing import Any

import torch

from .wrapped import is_wrapper

LINEAR = torch.nn.functional.linear  # the framework's own


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """A bias is added in place to the product with an input that is not contiguous. Under a mode the framework adds it
    out of place (isTensorSubclassLike in aten/src/ATen/native/Linear.cpp), which is one result more."""
    if bias is None or input.dim() == 2 or input.is_contiguous() or _is_cast_or_wrapped(input, weight, bias):
        return LINEAR(input, weight, bias)
    return torch.matmul(input, weight.t()).add_(bias)


def _is_cast_or_wrapped(*tensors: Any) -> bool:
    """Whether autocast replaces these tensors, or the framework takes one for a subclass in a run too."""
    return torch.is_autocast_enabled("cuda") or any(
        is_wrapper(t) or torch._C._functorch.is_functorch_wrapped_tensor(t) for t in tensors)
