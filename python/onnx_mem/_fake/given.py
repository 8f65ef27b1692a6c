"""Which of the example inputs' values a model needs, found by trying."""
from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from ..errors import Error
from .numbers import DrawnNumber
from .tensors import NOTHING, Given

T = TypeVar("T")

SAID_OF_REPEATED = ("forward reads values of its inputs: at this batch those of the example's integers and masks are "
                    "given over and over; give inputs of the batch itself for its own")
SAID_OF_VALUES = ("forward reads values of its inputs: the record is that of these integers and masks, given over and "
                  "over at other batches")


def first_given(run: Callable[[Given], T], constants: bool = False) -> tuple[T, Given]:
    """What `run` gives where it needs least: sizes alone; what the model holds beside parameters, where it holds some
    (`constants`); integers and masks of the example with their values; these, and inputs of a multiple of the batch.

    Raises what `run` does: of sizes where it needs no value of a tensor, else of values."""
    try:
        return run(NOTHING), NOTHING
    except Error as e:
        if not _asks_for_values(e):
            raise
    of_model = [Given(constants=True)] if constants else []
    values = Given(constants=constants, values=True)
    both = Given(constants=constants, values=True, multiples=True)
    errors = {}
    for given in [*of_model, values, both]:
        try:
            return run(given), given
        except Error as e:
            errors[given] = e
    raise errors[values] from errors[values].__cause__


def _asks_for_values(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, DrawnNumber):
            return False
        if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
            return True
        error = error.__cause__
    return False
