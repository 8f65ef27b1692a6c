"""Calls of operators that the program has no rule for, as forward runs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from .ruled import RULED, RULED_OF_COMPLEX


class Given:
    """All of an argument but the tensor."""

    def __init__(self, t: torch.Tensor) -> None:
        self.shape, self.strides, self.dtype, self.device = tuple(t.shape), t.stride(), t.dtype, t.device
        self.requires_grad, self.is_conj, self.is_neg = t.requires_grad, t.is_conj(), t.is_neg()

    def tensor(self) -> torch.Tensor:
        made = torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=self.device)
        if self.is_conj:
            made = torch.conj(made)
        if self.is_neg:
            made = torch._neg_view(made)
        return made.requires_grad_(self.requires_grad)


class UnruledCall:
    """at: which event it is. given: of an argument that is a tensor."""

    def __init__(self, at: int, func: Any, args: Any, kwargs: Any, given: Callable[[torch.Tensor], Given]) -> None:
        self.at, self.func = at, func
        self.given = tree_map(lambda a: given(a) if isinstance(a, torch.Tensor) else a, (args, kwargs))

    def again(self) -> Any:
        """Its arguments, with tensors like those of the call."""
        return tree_map(lambda a: a.tensor() if isinstance(a, Given) else a, self.given)


def has_no_rule(func: Any, name: str, args: Any, out: Any) -> bool:
    """Whether the program has no rule for a call that makes new tensors."""
    of_complex = any(isinstance(a, torch.Tensor) and a.is_complex() for a in tree_leaves((args, out)))
    aliases = any(r.alias_info is not None for r in func._schema.returns)
    return name not in (RULED_OF_COMPLEX if of_complex else RULED) and not aliases
