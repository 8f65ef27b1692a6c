"""What measure() answers."""
from __future__ import annotations

import dataclasses
from typing import NamedTuple


class Moment(NamedTuple):
    """One operator that ran, when it had: bytes that it allocated, and all that were alive."""
    phase: str
    operator: str
    module: str
    allocated: int
    live: int


class Live(NamedTuple):
    """A storage that is alive at the peak; `line` is the user's code that made it."""
    name: str
    category: str
    bytes: int
    operator: str
    module: str
    line: str


@dataclasses.dataclass
class Measured:
    """What a run took. All sizes in bytes, of distinct live storages at their exact sizes.

    Attributes:
      batch: at which batch.
      training: a training step, or inference in evaluation mode under no_grad.
      optimizer: its name; None for inference.
      loss: "cross-entropy", "mean" or "output" (the model's own); None for inference.
      peak_bytes: most live bytes; of training: in step 2, when the optimizer has its state.
      first_step_peak_bytes: of training: in step 1. None for inference.
      end_of_forward_bytes: live when the loss is there, in step 2.
      saved_activation_bytes: storages made in forward that autograd keeps for backward; those of the loss are not in
        it.
      parameter_bytes, buffer_bytes, input_bytes: what there is before the step; buffers with the tables and caches that
        a first call leaves behind, inputs with the loss's target.
      peak_phase, peak_operator: where peak_bytes was.
      breakdown: bytes per category at the peak; the sum is peak_bytes.
      live_at_peak: of measure(step=...): what is alive at the peak, the largest first.
      course: the operators of that step that allocated, each with the bytes alive then.
    """
    batch: int
    training: bool
    optimizer: str | None
    loss: str | None
    peak_bytes: int
    first_step_peak_bytes: int | None
    end_of_forward_bytes: int | None
    saved_activation_bytes: int | None
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    peak_phase: str
    peak_operator: str
    breakdown: dict[str, int]
    course: list[Moment] = dataclasses.field(default_factory=list, repr=False, compare=False)
    live_at_peak: list[Live] = dataclasses.field(default_factory=list, repr=False, compare=False)

    def __str__(self) -> str:
        what = f"training step with {self.optimizer}" if self.training else "inference"
        rows = [f"{what}, batch {self.batch}: peak {self.peak_bytes:,} B in {self.peak_phase} at {self.peak_operator}"]
        rows += [f"  {name:24}{size:>18,} B" for name, size in sorted(self.breakdown.items(), key=lambda x: -x[1])]
        return "\n".join(rows)
