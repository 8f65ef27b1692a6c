"""Attention as a GPU runs it. Without a GPU the framework takes the math path in silence: another program, another
memory."""
from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

aten = torch.ops.aten
CHOOSING = F.scaled_dot_product_attention  # the framework's own, which chooses a kernel
_FLASH_LARGEST_HEAD = 256
# From this version on the memory-efficient kernel takes fewer heads of keys than of queries (not on ROCm), fused ones
# take one head for all without enable_gqa, and keys without a batch get one: pytorch#191085, #192271. The same stands
# in analyzer/devices/overhead.cc.
_GROUPED_FROM = (2, 14)


def _is_grouped_version() -> bool:
    return tuple(int(part) for part in torch.__version__.split(".")[:2]) >= _GROUPED_FROM


def _heads_fit(q: Any, k: Any, v: Any, grouped: bool, one_for_all: bool) -> bool:
    """check_batch_size_and_num_heads_dense in sdp_utils_cpp.h."""
    if not q.shape[0] == k.shape[0] == v.shape[0]:
        return False
    if q.shape[1] == k.shape[1] == v.shape[1]:
        return True
    if k.shape[1] != v.shape[1]:
        return False
    return bool(grouped and q.shape[1] % k.shape[1] == 0) or (one_for_all and k.shape[1] == 1)


def kernel(q: Any, k: Any, v: Any, mask: Any, causal: bool, dropout: float = 0.0, gqa: bool = False) -> str:
    """"flash", "efficient" or "math", as cuda/sdp_utils.cpp decides on sm80 and later."""
    if not q.dim() == k.dim() == v.dim() == 4 or any(t.stride(-1) != 1 for t in (q, k, v)):
        return "math"
    new = _is_grouped_version()
    half = q.dtype in (torch.float16, torch.bfloat16)
    same_head = q.shape[-1] == k.shape[-1] == v.shape[-1]
    if (half and mask is None and same_head and q.shape[-1] <= _FLASH_LARGEST_HEAD
            and not (causal and q.shape[2] != k.shape[2]) and _heads_fit(q, k, v, gqa, new and not gqa)):
        return "flash"
    align = 8 if half else 4
    if q.shape[-1] != k.shape[-1] or q.shape[-1] % align or v.shape[-1] % align:
        return "math"
    on_cuda = new and torch.version.hip is None
    if not _heads_fit(q, k, v, gqa and on_cuda, on_cuda and not gqa):
        return "math"
    return "math" if mask is not None and mask.stride(-1) != 1 else "efficient"


def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: Any = 0.0, is_causal: bool = False,
              scale: Any = None, enable_gqa: bool = False) -> Any:
    q, k, v = query, key, value
    del query, key, value
    if q.dim() == k.dim() == v.dim() == 3 and _is_grouped_version():
        q, k, v = (t.unsqueeze(0) for t in (q, k, v))
        while attn_mask is not None and attn_mask.dim() < 4:
            attn_mask = attn_mask.unsqueeze(0)
        return attention(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa).squeeze(0)
    if torch.is_autocast_enabled("cuda"):          # on its list of what runs in half precision
        half = torch.get_autocast_dtype("cuda")
        q, k, v = (t.to(half) for t in (q, k, v))
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.to(half)
    kind = kernel(q, k, v, attn_mask, is_causal, gqa=enable_gqa)
    if kind == "math":
        return CHOOSING(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
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
