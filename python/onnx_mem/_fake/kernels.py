"""Shapes of results for CUDA operators that the framework has no data-free kernel for."""
from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch


def _grid_sampler(x: Any, grid: Any) -> Any:
    return x.new_empty((x.shape[0], x.shape[1], *grid.shape[1:-1]))


def _grid_sampler_backward(x: Any, grid: Any, grad_output: Any) -> Any:
    return torch.empty_like(x), torch.empty_like(grid)


@functools.cache
def register() -> torch.library.Library:
    """Registers them for this process, where the framework lacks them."""
    library = torch.library.Library("aten", "IMPL", "Meta")
    kernels = {"cudnn_grid_sampler": _grid_sampler, "cudnn_grid_sampler_backward": _grid_sampler_backward}
    for name, kernel in kernels.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            with contextlib.suppress(RuntimeError):
                library.impl(name, kernel)
    return library
