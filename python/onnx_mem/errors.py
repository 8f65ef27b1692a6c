"""What can go wrong, as exceptions with the codes of the command line."""
from __future__ import annotations


class Error(Exception):
    """Something could not be done. `code` is stable (the command's codes, such as "bad-model"); the message is for
    people.

    Attributes:
      code: short name of the kind of error.
      exit_code: what the program exited with, where it was the program that failed (1: the answer is no, 2: could not).
    """

    def __init__(self, message: str, code: str = "error", exit_code: int | None = None):
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

    def __init__(self, reason: str, mode: str | None = None, module: str | None = None, where: str | None = None):
        text = f"{mode}: {reason}" if mode else reason
        if module:
            text += f" (in module '{module}')"
        if where:
            text += f" at {where}"
        super().__init__(text, "cannot-record")
        self.reason, self.mode, self.module, self.where = reason, mode, module, where
