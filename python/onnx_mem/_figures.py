"""Figures of an answer. Made by scripts/make_python_figures.py from include/onnx_mem/figures.inc."""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(kw_only=True)
class TrainingFigures:
    """Of one training step. Bytes; ranges are [lowest, highest].

    Attributes:
      peak_bytes: alive at once: exact sizes, each storage once
      first_step_peak_bytes: the same of step 1, in which optimizer state first appears
      allocated_peak_bytes: torch.cuda.max_memory_allocated: with the allocator's rounding and with workspaces
      allocated_interval_bytes: with what the file leaves open and what libraries may take
      reserved_peak_bytes: torch.cuda.max_memory_reserved
      device_bytes: what nvidia-smi shows: with the CUDA context
      device_interval_bytes: between which that lies
      workspace_bytes: of cuBLAS, within the allocated bytes
      context_bytes: of CUDA, within the device bytes
      context_interval_bytes: between which that lies
      peak_interval_bytes: of the peak, given what the file does not say
      end_of_forward_bytes: alive when the forward ends
      saved_activation_bytes: held for the backward when the forward ends, each storage once
      recompute_flops: of checkpointed segments
    """
    peak_bytes: int
    first_step_peak_bytes: int
    allocated_peak_bytes: int
    allocated_interval_bytes: list[int]
    reserved_peak_bytes: int
    device_bytes: int
    device_interval_bytes: list[int]
    workspace_bytes: int
    context_bytes: int
    context_interval_bytes: list[int]
    peak_interval_bytes: list[int] | None = None
    end_of_forward_bytes: int
    saved_activation_bytes: int
    recompute_flops: int | None = None


@dataclasses.dataclass(kw_only=True)
class InferenceFigures:
    """Of one forward in evaluation mode under no_grad. Bytes.

    Attributes:
      peak_bytes: alive at once: exact sizes, each storage once
      allocated_peak_bytes: torch.cuda.max_memory_allocated: with the allocator's rounding and with workspaces
      allocated_interval_bytes: with what the file leaves open and what libraries may take
      reserved_peak_bytes: torch.cuda.max_memory_reserved
      device_bytes: what nvidia-smi shows: with the CUDA context
      device_interval_bytes: between which that lies
      workspace_bytes: of cuBLAS, within the allocated bytes
      context_bytes: of CUDA, within the device bytes
      context_interval_bytes: between which that lies
      peak_interval_bytes: of the peak, given what the file does not say
    """
    peak_bytes: int
    allocated_peak_bytes: int
    allocated_interval_bytes: list[int]
    reserved_peak_bytes: int
    device_bytes: int
    device_interval_bytes: list[int]
    workspace_bytes: int
    context_bytes: int
    context_interval_bytes: list[int]
    peak_interval_bytes: list[int] | None = None


@dataclasses.dataclass(kw_only=True)
class FitFigures:
    """The batches that fit a card. None where the file's batch is fixed.

    Attributes:
      safe_batch: the largest batch that fits at the high end of its range; 0: not one sample
      largest_batch: the largest batch whose expected figure fits; 0: not one sample
      impossible_from: from it on not even the low end fits; none where there is no such batch
      at_least: no larger batch than largest_batch was looked at
      safe_batch_high_bytes: the high end at safe_batch
      next_safe_batch_high_bytes: the high end of one sample more
      largest_batch_device_bytes: expected at largest_batch
      next_batch_device_bytes: expected of one sample more
      last_possible_batch_low_bytes: the low end of one sample less than impossible_from
      impossible_from_low_bytes: the low end at impossible_from
    """
    safe_batch: int | None = None
    largest_batch: int | None = None
    impossible_from: int | None = None
    at_least: bool | None = None
    safe_batch_high_bytes: int | None = None
    next_safe_batch_high_bytes: int | None = None
    largest_batch_device_bytes: int | None = None
    next_batch_device_bytes: int | None = None
    last_possible_batch_low_bytes: int | None = None
    impossible_from_low_bytes: int | None = None
