"""Sizes that depend on the batch: three programs -> one, whose integers are m*B + c."""
from __future__ import annotations

from fractions import Fraction

from ..errors import CannotRecord


def fit(a, b, batch_a: int, batch_b: int, where: str):
    """Leaf-wise equal, or {"B": [m, c]} with m*batch + c at both batches. Floats may differ (1/B): the first is kept.

    Raises CannotRecord where the two differ in anything else: the code branches on the batch."""
    if type(a) is not type(b):
        raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
    if isinstance(a, (bool, str)) or a is None:
        if a != b:
            raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
        return a
    if isinstance(a, float):
        return a
    if isinstance(a, int):
        if a == b:
            return a
        m = Fraction(b - a, batch_b - batch_a)
        return {"B": [str(m), str(a - m * batch_a)]}
    if isinstance(a, list):
        if len(a) != len(b):
            raise CannotRecord(f"{where}: {len(a)} entries at batch {batch_a}, {len(b)} at batch {batch_b}: the code "
                               "branches on the batch" + _first_difference(a, b))
        return [fit(x, y, batch_a, batch_b, where) for x, y in zip(a, b)]
    if a.keys() != b.keys():
        raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
    here = where + (f" {a['op']}" if "op" in a else "")
    return {k: fit(a[k], b[k], batch_a, batch_b, here) for k in a}


def _short(x) -> str:
    text = str(x)
    return text if len(text) <= 80 else text[:77] + "..."


def _first_difference(a, b):
    for x, y in zip(a, b):
        if isinstance(x, dict) and isinstance(y, dict) and x.get("op", x.get("kind")) != y.get("op", y.get("kind")):
            return f" (first at {_short(x.get('op', x))} / {_short(y.get('op', y))})"
    return ""


def at_batch(x, batch: int):
    """A program at one batch: every {"B": [m, c]} replaced by its number. Raises CannotRecord where that is no
    integer."""
    if isinstance(x, dict):
        if "B" in x:
            n = Fraction(x["B"][0]) * batch + Fraction(x["B"][1])
            if n.denominator != 1:
                raise CannotRecord(f"a size of {n} at batch {batch}")
            return int(n)
        return {k: at_batch(v, batch) for k, v in x.items()}
    return [at_batch(v, batch) for v in x] if isinstance(x, list) else x


def comparable(x):
    """The program without its floats, which may depend on the batch in any way."""
    if isinstance(x, dict):
        return {k: comparable(v) for k, v in x.items()}
    return [comparable(v) for v in x] if isinstance(x, list) else ("float" if isinstance(x, float) else x)
