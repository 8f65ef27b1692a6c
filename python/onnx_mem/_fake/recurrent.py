"""Recurrent layers as the native CUDA path runs them: cuDNN's cannot run without a device."""
from __future__ import annotations

from typing import Any

import torch

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def recurrent(name: str, *args: Any) -> Any:
    """torch.lstm, torch.gru, torch.rnn_tanh or torch.rnn_relu, step by step."""
    with torch.backends.cudnn.flags(enabled=False):
        return getattr(torch._C._VariableFunctions, name)(*args)
