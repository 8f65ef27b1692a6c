"""The CTC loss as a GPU runs it: the lengths are read on the host, and PyTorch's own kernel makes what is as long as
the longest target."""
from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import Error

aten = torch.ops.aten
FORWARD, BACKWARD = aten._ctc_loss.Tensor, aten._ctc_loss_backward.Tensor
_MEAN, _SUM = 1, 2          # torch.nn._reduction.get_enum


def _on_host(lengths: Any) -> torch.Tensor:
    return torch.as_tensor(lengths, dtype=torch.int64, device="cpu")


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: int = _MEAN, zero_infinity: bool = False) -> Any:
    """torch.ctc_loss: ctc_loss_impl of aten/src/ATen/native/LossCTC.cpp, where the tensors are no subclass."""
    if torch.is_autocast_enabled("cuda"):          # on its list of what runs in float32
        log_probs = log_probs.float()
    if blank == 0 and targets.dim() == 1 and targets.dtype == torch.int32 and log_probs.dtype == torch.float32:
        # _use_cudnn_ctc_loss of native/cudnn/LossCTC.cpp
        raise Error("cuDNN may run this CTC loss, whose memory is not known; PyTorch's own kernel does where the "
                    "targets are int64\n  try: targets.long()", "cannot-measure")
    x = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    inputs, lengths = _on_host(input_lengths), _on_host(target_lengths)
    losses = FORWARD(x, targets.to(x.device, torch.int64), inputs.reshape(-1), lengths.reshape(-1), blank,
                     zero_infinity)[0]
    if zero_infinity:
        losses = torch.where(losses == math.inf, torch.zeros((), dtype=losses.dtype, device=losses.device), losses)
    if reduction == _MEAN:
        return (losses / lengths.reshape(-1).to(losses.device, losses.dtype).clamp_min(1)).mean()
    if reduction == _SUM:
        return losses.sum()
    return losses if log_probs.dim() == 3 else losses.squeeze(0)


def made_beside(func: Any, args: Any) -> torch.Tensor | None:
    """What lives inside an operator while it runs, and is none of its results: log_beta of
    ctc_loss_backward_gpu_template (cuda/LossCTC.cu), in the CPU's too."""
    return torch.empty_like(args[6]) if func is BACKWARD else None
