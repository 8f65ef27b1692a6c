"""A model in another precision: converted (bf16, fp16), or under autocast (amp-bf16, amp-fp16)."""
from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ..errors import Error

_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_AMP = "amp-"
PRECISIONS = (*_TYPES, *(_AMP + name for name in _TYPES))


def checked(precisions: Any) -> tuple[str, ...]:
    """The names, each once. Raises Error for one that there is not."""
    names = (precisions,) if isinstance(precisions, str) else tuple(precisions)
    for name in names:
        if name not in PRECISIONS:
            raise Error(f"no precision '{name}'; one of {', '.join(PRECISIONS)}", "bad-argument")
    return tuple(dict.fromkeys(names))


def type_of(precision: str | None) -> torch.dtype | None:
    """What module.to() would be given; None where the weights stay as they are."""
    return _TYPES.get(precision)


def converted(inputs: Any, precision: str | None) -> Any:
    """The inputs with floating ones in the type of a converted model."""
    dtype = type_of(precision)
    if dtype is None:
        return inputs
    return tree_map(lambda t: t.to(dtype) if isinstance(t, torch.Tensor) and t.is_floating_point() else t, inputs)


def autocast(precision: str | None) -> Any:
    """The context in which forward and loss run."""
    if precision is None or not precision.startswith(_AMP):
        return contextlib.nullcontext()
    return torch.autocast("cuda", _TYPES[precision.removeprefix(_AMP)])
