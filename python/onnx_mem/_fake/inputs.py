"""Names of a model's tensor inputs, from the signature of its forward, and which of their dimensions are free."""
from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_leaves

from ..errors import Error


def input_names(model: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """One name per tensor leaf of (args, kwargs), in the order of tree_leaves: "ids", "batch.mask", "xs.0"."""
    try:
        parameters = list(inspect.signature(getattr(model, "forward", model)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            positional += [f"{p.name}.{i}" for i in range(len(args) - len(positional))]
        elif p.kind is not p.VAR_KEYWORD:
            positional.append(p.name)
    positional += [f"input{i}" for i in range(len(positional), len(args))]
    names: list[str] = []
    for path, leaf in tree_flatten_with_path((args, kwargs))[0]:
        if not isinstance(leaf, torch.Tensor):
            continue
        first = positional[path[1].idx] if path[0].idx == 0 else str(path[1].key)
        rest = [str(getattr(k, "idx", getattr(k, "key", getattr(k, "name", keystr((k,)))))) for k in path[2:]]
        name = "_".join(".".join([first, *rest]).split())
        while name in names:
            name += "_"
        names.append(name)
    return names


@dataclasses.dataclass(frozen=True)
class FreeDims:
    """A size beside the batch that inputs have: its name, where they have it, and how much it is in the example inputs.

    dims: a dimension (or several, as a tuple) of every tensor input, where it has the size that the first one has
      there; or a dict from names of inputs to these."""
    name: str
    dims: object
    length: int

    def of(self, name: str) -> tuple[int, ...]:
        """The dimensions of one input that may have it."""
        return _dims_of(self.dims, name)


def _dims_of(dims: Any, name: str) -> Any:
    found = dims.get(name, ()) if isinstance(dims, dict) else dims
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def batch_dim_of(batch_dim: Any, name: str) -> int | None:
    """Which dimension of the input `name` is the batch. A dict names inputs; those it leaves out have none."""
    return batch_dim.get(name) if isinstance(batch_dim, dict) else batch_dim


def free_dims(free: Any, inputs: Any, names: list[str], batch_dim: Any = None) -> FreeDims | None:
    """What the user's {name: dims} says of these inputs; None of None.

    Raises Error with code "bad-argument"."""
    if not free:
        return None
    if not isinstance(free, dict) or len(free) != 1:
        raise Error("one size beside the batch can be free: free={\"seq\": 1}", "bad-argument")
    (name, dims), = free.items()
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", str(name)):
        raise Error(f"'{name}' is no name for a size", "bad-argument")
    found = None
    for t, of in zip((t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)), names, strict=False):
        for dim in _dims_of(dims, of):
            if t.dim() <= dim or (found is not None and not isinstance(dims, dict)):
                continue
            if dim == batch_dim_of(batch_dim, of):
                raise Error(f"free={free!r} names dimension {dim} of '{of}', which is the batch: it varies by itself; "
                            "name the dimension of the other size, as in free={\"seq\": 1}", "bad-argument")
            if found is None:
                found = FreeDims(str(name), dims, t.shape[dim])
    if found is not None:
        return found
    raise Error(f"no input has the dimension that free={free!r} names; inputs: {', '.join(names)}", "bad-argument")
