"""Shapes of results for CUDA operators that the framework has no data-free kernel for."""
from __future__ import annotations

import contextlib
import functools

import torch


def _grid_sampler(x, grid):
    return x.new_empty((x.shape[0], x.shape[1], *grid.shape[1:-1]))


def _grid_sampler_backward(x, grid, grad_output):
    return torch.empty_like(x), torch.empty_like(grid)


@functools.cache
def register() -> torch.library.Library:
    """Registers them for this process, where the framework lacks them."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    for name, kernel in (("cudnn_grid_sampler", _grid_sampler), ("cudnn_grid_sampler_backward", _grid_sampler_backward)):
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            with contextlib.suppress(RuntimeError):
                library.impl(name, kernel)
    return library
