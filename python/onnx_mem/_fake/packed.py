"""Layers of bitsandbytes on tensors without data: their weights as they stand on a card, and what their CUDA kernels
allocate.

Sources (0.50): bitsandbytes/nn/modules.py, functional.py, backends/cuda/ops.py and, where that has no kernel of its
own, backends/default/ops.py. What a layer keeps for backward is the library's own code, whatever its version."""
from __future__ import annotations

import contextlib
import copy
import logging
import sys
from collections.abc import Iterator
from typing import Any

import torch

# Up to so many rows are multiplied by a kernel that unpacks as it reads, on every card (_GEMM_4BIT_CUSTOM_FLOOR_M).
# Above, it depends on the card whether a weight is unpacked first: here it is.
_FEW_ROWS = 4
# Parts of a state, as state_dict() names them.
_NAMES = {"code": "quant_map", "offset": "nested_offset", "state2.absmax": "nested_absmax",
          "state2.code": "nested_quant_map"}


def _library() -> Any:
    """bitsandbytes where it is loaded: who has a layer of it has loaded it."""
    library = sys.modules.get("bitsandbytes")
    return library if hasattr(getattr(library, "nn", None), "Params4bit") else None


# -- weights -----------------------------------------------------------------------------------------------------------
def packed_parameters(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """Parameters that belong to the library, by name; those of a copy without data among them."""
    if _library() is None:
        return {}
    return {name: p for name, p in model.named_parameters()
            if isinstance(p, (_library().nn.Params4bit, _library().nn.Int8Params))
            or {"quant_state", "SCB"} & set(vars(p))}


def not_packed_yet(model: torch.nn.Module) -> list[str]:
    """Names of those that the library packs where they are moved to a device, and that were not."""
    return [name for name, p in packed_parameters(model).items()
            if p.is_floating_point() and vars(p).get("quant_state") is None
            and not getattr(p, "has_fp16_weights", False)]


def beside_packed(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The tensors that belong to packed weights, scales and codes, by the names that state_dict() has for them."""
    return {f"{name}.{_NAMES.get(key, key)}": t for name, key, t in _held(model) if key != "CB"}


def codes_of_packed(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Other tensors that are a packed weight, with its name."""
    return [(name, t) for name, key, t in _held(model) if key == "CB"]


def held_by_packed(model: torch.nn.Module) -> list[torch.Tensor]:
    """All tensors that stand in the states of packed weights."""
    return [t for _, _, t in _held(model)]


def _held(model: torch.nn.Module) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Name of the weight, key in its state, tensor."""
    for name, p in packed_parameters(model).items():
        module = model.get_submodule(name.rpartition(".")[0])
        for state in (vars(p), vars(p).get("quant_state"), getattr(module, "quant_state", None),
                      getattr(module, "state", None)):
            yield from ((name, key, t) for key, t in _tensors_of(state))


def _tensors_of(state: Any, before: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    for key, v in (state if isinstance(state, dict) else getattr(state, "__dict__", {})).items():
        if isinstance(v, torch.Tensor):
            yield before + key, v
        elif key == "state2":
            yield from _tensors_of(v, "state2.")


def pack(model: torch.nn.Module, memo: dict[int, Any]) -> None:
    """Has `memo`, of copies without data by id of the original, hold the library's parameters as they stand on a card:
    packed, though the original may not have been moved to one yet."""
    for p in packed_parameters(model).values():
        made = memo[id(p)]
        if not p.is_floating_point() or vars(p).get("quant_state") is not None:
            vars(made).update({key: copy.deepcopy(v, memo) for key, v in vars(p).items() if key != "module"})
        elif isinstance(p, _library().nn.Params4bit):
            memo[id(p)] = _in_four_bits(made, p)
        else:
            memo[id(p)] = _in_eight_bits(made, p)


def _in_four_bits(made: Any, p: Any) -> Any:
    """Params4bit._quantize."""
    functional = _library().functional
    with contextlib.ExitStack() as stack:
        stack.callback(setattr, functional, "name2qmap", functional.name2qmap)
        functional.name2qmap = {}                      # a table that it would keep has no data here
        codes, state = functional.quantize_4bit(made.detach(), blocksize=p.blocksize, quant_type=p.quant_type,
                                                compress_statistics=p.compress_statistics,
                                                quant_storage=p.quant_storage)
    packed = torch.nn.Parameter(codes, requires_grad=False)
    own = {key: v for key, v in vars(p).items() if key != "module"}
    vars(packed).update(own, quant_state=state, bnb_quantized=True)
    return packed


def _in_eight_bits(made: Any, p: Any) -> Any:
    """Int8Params._quantize."""
    if p.has_fp16_weights:
        vars(made).update(vars(p))
        return made
    codes, scales, _ = _library().functional.int8_vectorwise_quant(made.detach().to(torch.float16))
    packed = torch.nn.Parameter(codes, requires_grad=False)
    vars(packed).update(vars(p), CB=packed.data, SCB=scales)
    return packed


# -- kernels -----------------------------------------------------------------------------------------------------------
class _Kernel:
    """In the place of torch.ops.bitsandbytes.NAME: runs what the CUDA kernel's host code allocates."""

    def __init__(self, run: Any) -> None:
        self.default, self.out = run, lambda *_, **__: None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.default(*args, **kwargs)


@contextlib.contextmanager
def packed_kernels() -> Iterator[None]:
    """The library's operators allocate inside what they would on a card."""
    with contextlib.ExitStack() as stack:
        if _library() is not None:
            log = logging.getLogger("bitsandbytes.autograd._functions")      # tells at each call of a cast
            stack.callback(log.setLevel, log.level)
            log.setLevel(logging.ERROR)
            ops = torch.ops.bitsandbytes
            for name, run in _KERNELS.items():
                if hasattr(ops, name):
                    stack.callback(setattr, ops, name, getattr(ops, name))
                    setattr(ops, name, _Kernel(run))
        yield


def _gemm_4bit(A: Any, B: Any, shapeB: Any, absmax: Any, blocksize: int, quant_type: str, bias: Any = None,
               absmax_8bit: Any = None, absmax_code: Any = None, absmax_offset: Any = None) -> Any:
    """_gemm_4bit_kernel_impl, _dequant_linear_fallback."""
    if A.numel() <= _FEW_ROWS * A.shape[-1] and A.shape[-1] % blocksize == 0:
        return A.contiguous().new_empty((*A.shape[:-1], shapeB[0]))
    if absmax_8bit is not None:
        unpacked = torch.empty_like(absmax_8bit, dtype=torch.float32)     # has its name to the end, as the sum has
        absmax = unpacked + absmax_offset  # noqa: F841
    return torch.nn.functional.linear(A, torch.empty(tuple(shapeB), dtype=A.dtype, device=A.device), bias)


def _gemv_4bit(A: Any, B: Any, shapeB: Any, *_: Any) -> Any:
    return A.new_empty((*A.shape[:-1], shapeB[0]))


def _dequantize_4bit(A: Any, absmax: Any, blocksize: int, quant_type: str, shape: Any, dtype: Any) -> Any:
    return torch.empty(tuple(shape), dtype=dtype, device=A.device)


def _dequantize_blockwise(A: Any, absmax: Any, code: Any, blocksize: int, dtype: Any) -> Any:
    return torch.empty_like(A, dtype=dtype)


def _int8_vectorwise_quant(A: Any, threshold: float = 0.0) -> Any:
    """How many columns hold outliers depends on the data: none are counted."""
    stats = torch.empty(A.numel() // A.shape[-1], device=A.device, dtype=torch.float32)
    rows = torch.empty(A.shape, device=A.device, dtype=torch.int8)
    if threshold == 0.0:
        return rows, stats, None
    outliers = A.abs() >= threshold  # noqa: F841  (has its name to the end)
    return rows, stats, torch.empty(0, device=A.device, dtype=torch.int64)


def _int8_double_quant(A: Any, threshold: float = 0.0) -> Any:
    rows, row_stats, outliers = _int8_vectorwise_quant(A, threshold)
    col_stats, mask = _absmax_of_columns(A, threshold)
    if mask is not None:
        A = A.masked_fill(mask, 0.0)
    cols = torch.round(A.mul(127.0) / col_stats.unsqueeze(0)).to(torch.int8)
    return rows, cols, row_stats, col_stats.flatten().float(), outliers


def _absmax_of_columns(A: Any, threshold: float) -> Any:
    mask, sizes = None, A.abs().view(-1, A.shape[-1])
    if threshold > 0.0:
        mask = sizes >= threshold
        sizes.masked_fill_(mask, 0.0)
    return sizes.amax(dim=0, keepdim=False).float(), mask


def _int8_linear_matmul(A: Any, B: Any) -> Any:
    return torch.empty((*A.shape[:-1], B.shape[0]), device=A.device, dtype=torch.int32)


def _int8_mm_dequant(A: Any, row_stats: Any, col_stats: Any, dtype: Any = None, bias: Any = None) -> Any:
    out = torch.empty_like(A, dtype=torch.float16)
    if bias is not None and bias.dtype != torch.float16:
        out.add_(bias)
    return out.to(dtype or torch.float16)


def _int8_scaled_mm(A: Any, B: Any, row_stats: Any, col_stats: Any, bias: Any = None, dtype: Any = None) -> Any:
    whole = _int8_linear_matmul(A, B)
    return _int8_mm_dequant(whole, row_stats, col_stats, dtype=dtype, bias=bias)


def _int8_mixed_scaled_mm(A: Any, CA: Any, CB: Any, SCA: Any, SCB: Any, outlier_cols: Any = None,
                          bias: Any = None) -> Any:
    none = torch.empty(0, device=A.device, dtype=A.dtype)
    return _int8_scaled_mm(CA, CB, SCA, SCB, bias, A.dtype), none


_KERNELS = {"gemm_4bit": _gemm_4bit, "gemv_4bit": _gemv_4bit, "dequantize_4bit": _dequantize_4bit,
            "dequantize_blockwise": _dequantize_blockwise, "int8_vectorwise_quant": _int8_vectorwise_quant,
            "int8_double_quant": _int8_double_quant, "int8_linear_matmul": _int8_linear_matmul,
            "int8_mm_dequant": _int8_mm_dequant, "int8_scaled_mm": _int8_scaled_mm,
            "int8_mixed_scaled_mm": _int8_mixed_scaled_mm}
