"""Calls of operators that the program has no rule for, as forward runs."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from .ruled import RULED


class _Given:
    """All of an argument but the tensor."""

    def __init__(self, t: torch.Tensor) -> None:
        self.shape, self.strides, self.dtype, self.device = tuple(t.shape), t.stride(), t.dtype, t.device
        self.requires_grad = t.requires_grad

    def tensor(self) -> torch.Tensor:
        made = torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=self.device)
        return made.requires_grad_(self.requires_grad)


class UnruledCall:
    """at: which event it is."""

    def __init__(self, at: int, func: Any, args: Any, kwargs: Any) -> None:
        self.at, self.func = at, func
        self.given = tree_map(lambda a: _Given(a) if isinstance(a, torch.Tensor) else a, (args, kwargs))

    @property
    def is_differentiable(self) -> bool:
        return any(isinstance(a, _Given) and a.requires_grad for a in tree_leaves(self.given))

    def again(self) -> Any:
        """Its arguments, with tensors like those of the call."""
        return tree_map(lambda a: a.tensor() if isinstance(a, _Given) else a, self.given)


def has_no_rule(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the program has no rule for a call that makes new tensors."""
    name = func._schema.name.removeprefix("aten::")
    name += "" if func._overloadname == "default" else f".{func._overloadname}"
    aliases = any(r.alias_info is not None for r in func._schema.returns)
    return name not in RULED and not func._schema.is_mutable and not aliases
