"""Functions under torch.compile that forward calls: they run as if they were not compiled, and it is reported."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .tensors import patch


@contextlib.contextmanager
def compiled_calls() -> Iterator[list[bool]]:
    """A list that has an entry once a compiled function has been called. Empty where the framework has other names."""
    called: list[bool] = []
    import torch._dynamo.eval_frame as frames
    choose = getattr(frames, "_callback_from_stance", None)
    if choose is None:
        yield called
        return

    def noted(callback: Any) -> Any:
        if callback not in (None, False) and not called:     # None: a function that is never compiled
            called.append(True)
        return choose(callback)
    with contextlib.ExitStack() as stack:
        patch(stack, frames, "_callback_from_stance", noted)
        yield called
