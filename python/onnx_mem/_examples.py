"""Example inputs as users hand them in: one tuple, one after the other, or by name. No torch is imported here."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ._ways_out import keywords_of, near_option
from .errors import Error


def positional(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """(x, y) of f(model, x, y) and of f(model, (x, y)): one tuple or list alone stands for the arguments."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)


def examples(args: Any, rest: tuple[Any, ...], kwargs: Mapping[str, Any] | None,
             inputs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(args, kwargs) of a call f(model, args, *rest, kwargs=kwargs, **inputs).

    A dict behind a tuple stands for kwargs, as in f(model, (x,), {"mask": mask})."""
    if isinstance(args, (tuple, list)) and len(rest) == 1 and isinstance(rest[0], dict) and not kwargs:
        kwargs = rest[0]
        rest = ()
    return positional((args, *rest)), joined(kwargs, inputs)


def joined(kwargs: Mapping[str, Any] | None, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword inputs from `kwargs` and from the call itself.

    Raises Error with code "bad-argument" where a name is in both."""
    twice = sorted(set(kwargs or {}) & set(inputs))
    if twice:
        raise Error(f"input '{twice[0]}' is given twice, by name and in kwargs", "bad-argument")
    return {**(kwargs or {}), **inputs}


def split(words: dict[str, Any], command: str, models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(inputs, options) of the keywords of analyze(), plan(), fit() and compare(): what holds a tensor is an input, and
    so is what is no option and forward has by name (use_cache=False).

    Raises Error with code "usage" for an unknown one that is None or False, which the program would never see."""
    torch = sys.modules.get("torch")       # who has a tensor or a module has imported it
    held: dict[str, Any] = {}
    modules: list[Any] = []
    if torch is not None:
        from torch.utils._pytree import tree_leaves
        held = {k: v for k, v in words.items() if any(isinstance(t, torch.Tensor) for t in tree_leaves(v))}
        modules = [x for x in models if isinstance(x, torch.nn.Module)]
    others = words.keys() - held.keys()
    unknown = others - set(keywords_of(command)) if others else set()
    named = {name for x in modules if unknown for name in inspect.signature(x.forward).parameters}
    held |= {k: words[k] for k in unknown & named}
    for name in sorted(unknown - held.keys()):
        if words[name] is None or words[name] is False:
            raise Error("\n  ".join([f"unknown option '{name}'", *near_option(f"unknown option '--{name}'", command),
                                     f"try: help(onnx_mem.{command})"]), "usage")
    return held, {k: v for k, v in words.items() if k not in held}


def hold_a_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises Error with code "bad-argument" where example inputs are shapes, arrays or numbers."""
    import torch
    from torch.utils._pytree import tree_leaves
    if any(isinstance(t, torch.Tensor) for t in tree_leaves((args, kwargs))):
        return
    if not args and not kwargs:
        raise Error("a model wants example inputs\n  try: (model, x), or by the names of forward (model, ids=ids)",
                    "bad-argument")
    if args and all(isinstance(n, int) for n in args):
        raise Error(f"example inputs are tensors, not shapes\n  try: torch.zeros{args}", "bad-argument")
    if any(isinstance(x, Mapping) for x in args):
        raise Error("example inputs are tensors: those of a mapping are given by name\n  try: **inputs", "bad-argument")
    kinds = ", ".join(dict.fromkeys(type(x).__name__ for x in (*args, *kwargs.values())))
    raise Error(f"example inputs are tensors, not {kinds}\n  try: torch.as_tensor(x)", "bad-argument")
