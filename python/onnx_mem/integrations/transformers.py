"""A callback of transformers.Trainer."""
from __future__ import annotations

from typing import Any

import torch
import transformers

from ._first_step import Step, never_raises, report, start, taken, without_data

_NO_INPUT = ("num_items_in_batch",)    # a count for the loss


class MemoryReport(transformers.TrainerCallback):
    """Prints the predicted memory of the first optimizer step beside what it took.

        trainer = transformers.Trainer(model=model, args=args, train_dataset=data, callbacks=[MemoryReport()])
    """

    def __init__(self) -> None:
        self._inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self._hook: Any = None
        self._done = False

    @never_raises
    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        if self._done or self._hook is not None or not state.is_world_process_zero:
            return
        self._hook = model.register_forward_pre_hook(self._saw, with_kwargs=True)
        start()

    def _saw(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._inputs is None and module.training:
            self._inputs = without_data((args, {k: v for k, v in kwargs.items() if k not in _NO_INPUT}))

    @never_raises
    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None,
                    **kwargs: Any) -> None:
        if self._done or self._hook is None:
            return
        measured = taken()
        self._done = True
        self._hook.remove()
        if self._inputs is None or args.world_size > 1:
            return
        amp = "bf16" if args.bf16 else "fp16" if args.fp16 else None
        report(Step(model, *self._inputs, optimizer, amp, args.gradient_accumulation_steps), measured)

    @never_raises
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._hook is not None:
            self._hook.remove()
