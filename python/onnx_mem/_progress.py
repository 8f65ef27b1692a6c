"""What is being done, for who waits: a line on a terminal that is written over, one line in a notebook, and nothing
where standard error is a file or a pipe. ONNX_MEM_PROGRESS=1 writes lines there too, ONNX_MEM_PROGRESS=0 none."""
from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TextIO

VARIABLE = "ONNX_MEM_PROGRESS"
_CLEAR = "\r\033[K"
_running: list[_Line] = []


class _Line:
    """Something that is being done. `over`: the line may be written over."""

    def __init__(self, what: str, out: TextIO, over: bool) -> None:
        self.what, self.out, self.over, self.since = what, out, over, time.monotonic()

    def show(self, detail: str = "") -> None:
        text = f"onnx-mem: {self.what}" + (f" ({detail})" if detail else "") + " ..."
        if self.over:
            print(f"{_CLEAR}{text}", end="", file=self.out, flush=True)
        elif not detail:
            print(text, end="", file=self.out, flush=True)

    def end(self) -> None:
        seconds = time.monotonic() - self.since
        print(_CLEAR if self.over else f" {seconds:.1f} s\n", end="", file=self.out, flush=True)


def _output() -> tuple[TextIO, bool] | None:
    """(where to, whether a line may be written over); None: nowhere."""
    wish = os.environ.get(VARIABLE, "")
    if wish == "0":
        return None
    if sys.stderr is not None and sys.stderr.isatty():
        return sys.stderr, True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return sys.stdout, False           # a notebook colours standard error as a failure
    return (sys.stderr, False) if wish and sys.stderr is not None else None


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Shows `what` while the body runs."""
    found = _output()
    if found is None:
        yield
        return
    line = _Line(what, *found)
    _running.append(line)
    line.show()
    try:
        yield
    finally:
        _running.remove(line)
        line.end()


def step(detail: str) -> None:
    """How far what is being done has come."""
    if _running:
        _running[-1].show(detail)


def say(what: str) -> None:
    """A line that stays."""
    found = _output()
    if found is not None:
        print(f"onnx-mem: {what}", file=found[0])
