"""Names of a model's tensor inputs, from the signature of its forward."""
from __future__ import annotations

import inspect

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path


def input_names(model: torch.nn.Module, args: tuple, kwargs: dict) -> list[str]:
    """One name per tensor leaf of (args, kwargs), in the order of tree_leaves: "ids", "batch.mask", "xs.0"."""
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
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
