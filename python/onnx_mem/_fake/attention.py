"""Attention as a GPU runs it. Without a GPU the framework takes the math path in silence: another program, another
memory."""
from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from .linear import LINEAR, linear

aten = torch.ops.aten
_CHOOSING = F.scaled_dot_product_attention  # the framework's own, which chooses a kernel
_LAYER = F.multi_head_attention_forward
_FLASH_LARGEST_HEAD = 256


def kernel(q: Any, k: Any, v: Any, mask: Any, causal: bool, dropout: float = 0.0, gqa: bool = False) -> str:
    """"flash", "efficient" or "math", as cuda/sdp_utils.cpp decides on sm80 and later."""
    if not q.dim() == k.dim() == v.dim() == 4 or any(t.stride(-1) != 1 for t in (q, k, v)):
        return "math"
    half = q.dtype in (torch.float16, torch.bfloat16)
    same_head = q.shape[-1] == k.shape[-1] == v.shape[-1]
    if (half and mask is None and same_head and q.shape[-1] <= _FLASH_LARGEST_HEAD
            and not (causal and q.shape[2] != k.shape[2])):
        return "flash"
    align = 8 if half else 4
    if q.shape[-1] != k.shape[-1] or q.shape[-1] % align or v.shape[-1] % align or q.shape[1] != k.shape[1]:
        return "math"
    return "math" if mask is not None and mask.stride(-1) != 1 else "efficient"


class GpuAttention(TorchFunctionMode):
    """Reaches F.scaled_dot_product_attention, and F.linear, under whatever name it was imported.

    What another function of torch.nn.functional calls does not come by here (a mode does not see what runs inside a
    function that it was handed, F.multi_head_attention_forward among them): attention() takes the name's place there,
    and linear() within that function alone: weights that wrap others look for F.linear by identity.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        if func is _CHOOSING:
            return attention(*args, **(kwargs or {}))
        if func is LINEAR:
            return linear(*args, **(kwargs or {}))
        if func is _LAYER:
            F.linear = linear
            try:
                return func(*args, **(kwargs or {}))
            finally:
                F.linear = LINEAR
        if func is torch.tensor and isinstance(args[0], (list, tuple)):   # it would read a GPU's memory past the modes
            args = (tree_map(_number, args[0]), *args[1:])
        return func(*args, **(kwargs or {}))


def _number(x: Any) -> Any:
    return x.item() if isinstance(x, torch.Tensor) and x.dim() == 0 else x


def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: Any = 0.0, is_causal: bool = False,
              scale: Any = None, enable_gqa: bool = False) -> Any:
    q, k, v = query, key, value
    del query, key, value
    if torch.is_autocast_enabled("cuda"):          # on its list of what runs in half precision
        half = torch.get_autocast_dtype("cuda")
        q, k, v = (t.to(half) for t in (q, k, v))
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.to(half)
    kind = kernel(q, k, v, attn_mask, is_causal)
    if kind == "math":
        return _CHOOSING(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if kind == "flash":
        d = q.shape[-1]
        scale = 1 / math.sqrt(d) if scale is None else scale
        q, k, v = (F.pad(t, (0, -d % 8)) if d % 8 else t for t in (q, k, v))
        out = aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal, False, scale=scale)[0]
        return out[..., :d] if d % 8 else out
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            zero = torch.scalar_tensor(0.0, dtype=q.dtype, device=q.device)
            attn_mask = torch.where(attn_mask.logical_not(), -math.inf, zero)
        if any(s % 8 for s in attn_mask.stride()[:-1]):
            n = attn_mask.shape[-1]
            attn_mask = F.pad(attn_mask, (0, 8 - n % 8))[..., :n]
        attn_mask = attn_mask.expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    need = torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))
    return aten._scaled_dot_product_efficient_attention(q, k, v, attn_mask, need, dropout_p, is_causal, scale=scale)[0]
