"""Numbers that forward draws in Python: what they decide is another program in each call."""
from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

DRAWS = 4               # more calls that are watched where there are such numbers


def state() -> Any:
    """Of the generators of `random` and numpy, comparable."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return random.getstate(), None
    name, keys, *rest = numpy.random.get_state()
    return random.getstate(), (name, keys.tobytes(), *rest)


def seed(number: int) -> None:
    """Other numbers from here on."""
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)


@contextlib.contextmanager
def left_as_they_were() -> Iterator[None]:
    """The caller's generators are where they were."""
    numpy = sys.modules.get("numpy")
    was = random.getstate(), numpy and numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(was[0])
        if numpy is not None:
            numpy.random.set_state(was[1])
