"""A callback of Lightning's Trainer."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import lightning
import torch

from ._first_step import Step, never_raises, report, start, taken, without_data

_AUTOCAST = {"bf16-mixed": "bf16", "16-mixed": "fp16"}


class _TrainingStep(torch.nn.Module):
    """training_step() of a LightningModule as the forward of a module, with the loss as its result."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, batch: Any) -> dict[str, torch.Tensor]:
        found = self.inner.training_step(batch, 0)
        loss: torch.Tensor = found["loss"] if isinstance(found, dict) else found
        return {"loss": loss}


class MemoryReport(lightning.Callback):
    """Prints the predicted memory of the first optimizer step beside what it took.

        trainer = lightning.Trainer(callbacks=[MemoryReport()])
    """

    def __init__(self) -> None:
        self._batch: Any = None
        self._done = False

    @never_raises
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._done or self._batch is not None or not trainer.is_global_zero:
            return
        self._batch = without_data(batch)
        start()

    @never_raises
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self._done or self._batch is None or trainer.global_step < 1:
            return
        measured = taken()
        self._done = True
        if trainer.world_size > 1:
            return
        with _alone(pl_module):
            report(Step(_TrainingStep(pl_module), (), {"batch": self._batch}, trainer.optimizers[0],
                        _AUTOCAST.get(str(trainer.precision)), trainer.accumulate_grad_batches), measured)


@contextlib.contextmanager
def _alone(module: Any) -> Iterator[None]:
    """Without its trainer, whose loop a copy would take along, and to which log() would write."""
    trainer = module._trainer
    module._trainer = None
    try:
        yield
    finally:
        module._trainer = trainer
