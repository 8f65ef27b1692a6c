"""One line on a terminal that says what is being done; nothing where standard error is a file or a pipe."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

_CLEAR = "\r\033[K"


def _shown() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Shows `what` while the body runs, and takes it off again."""
    if not _shown():
        yield
        return
    print(f"{_CLEAR}onnx-mem: {what} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def say(what: str) -> None:
    """A line that stays."""
    if _shown():
        print(f"onnx-mem: {what}", file=sys.stderr)
