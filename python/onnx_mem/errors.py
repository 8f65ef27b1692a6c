"""What can go wrong, as exceptions with the codes of the command line."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Error(Exception):
    """Something could not be done. `code` is stable (the command's codes, such as "bad-model"); the message is for
    people.

    Attributes:
      code: short name of the kind of error.
      exit_code: what the program exited with, where it was the program that failed (1: the answer is no, 2: could not).
    """

    def __init__(self, message: str, code: str = "error", exit_code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


class CannotRecord(Error):
    """The model's forward cannot be recorded; nothing was written.

    Attributes:
      mode: "eval" or "train", where it failed; None before either was tried.
      module: path of the module whose forward was running, "" for the model itself, None where it is not known.
      where: "file:line" of the innermost line of code outside the framework, None where it is not known.
    """

    def __init__(self, reason: str, mode: str | None = None, module: str | None = None,
                 where: str | None = None) -> None:
        text = f"{mode}: {reason}" if mode else reason
        if module:
            text += f" (in module '{module}')"
        if where:
            text += f" at {where}"
        super().__init__(text, "cannot-record")
        self.reason, self.mode, self.module, self.where = reason, mode, module, where


INSTALL = {"torch": "pip install torch", "onnx": "pip install onnx", "onnxscript": "pip install onnxscript",
           "onnx_ir": "pip install onnxscript", "transformers": "pip install transformers",
           "lightning": "pip install lightning"}


def missing(error: ModuleNotFoundError) -> Error | None:
    """The Error for a package that is not installed, with the line that installs it; None for one that is not ours to
    name (a package that the model's own code imports)."""
    package = (error.name or "").split(".")[0]
    if package not in INSTALL:
        return None
    return Error(f"this needs {package}, which is not installed\n  try: {INSTALL[package]}", "not-installed")


def reported(function: Callable[P, R]) -> Callable[P, R]:
    """The function with what the system refuses, and packages that are not there, as Error."""
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as e:
            error = missing(e)
            if error is None:
                raise
            raise error from e
        except OSError as e:
            where = f"'{e.filename}': " if e.filename else ""
            code = "not-found" if isinstance(e, FileNotFoundError) else "cannot-access"
            raise Error(f"{where}{e.strerror or e}", code) from e
    return call
