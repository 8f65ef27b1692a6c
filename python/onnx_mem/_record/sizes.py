"""Sizes that depend on the batch: three programs -> one, whose integers are m*B + c. With a second free size S, m and c
are sums of multiples of 1, S, S*S and R, which is S rounded up to a multiple of 32: eight programs -> one.

A size is an integer, {"B": [m, c]}, or {"S": [m, c]} with the four coefficients of m and of c; all are written as
fractions."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

from ..errors import CannotRecord


def fit(a: Any, b: Any, batch_a: int, batch_b: int, where: str) -> Any:
    """Leaf-wise equal, or {"B": [m, c]} with m*batch + c at both batches. Floats may differ (1/B): the first is kept.

    Raises CannotRecord where the two differ in anything else: the code branches on the batch."""
    if type(a) is not type(b):
        raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
    if isinstance(a, (bool, str)) or a is None:
        if a != b:
            raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
        return a
    if isinstance(a, (float, complex)):
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
        return [fit(x, y, batch_a, batch_b, where) for x, y in zip(a, b, strict=False)]
    if a.keys() != b.keys():
        raise CannotRecord(f"{where}: {_short(a)} at batch {batch_a}, {_short(b)} at batch {batch_b}")
    here = where + (f" {a['op']}" if "op" in a else "")
    return {k: fit(a[k], b[k], batch_a, batch_b, here) for k in a}


def _short(x: Any) -> str:
    text = str(x)
    return text if len(text) <= 80 else text[:77] + "..."


def _first_difference(a: Any, b: Any) -> str:
    for x, y in zip(a, b, strict=False):
        if isinstance(x, dict) and isinstance(y, dict) and x.get("op", x.get("kind")) != y.get("op", y.get("kind")):
            return f" (first at {_short(x.get('op', x))} / {_short(y.get('op', y))})"
    return ""


OF_LENGTH = ("", "S", "SS", "R")
_ROUNDING = 32          # of memory-efficient attention's log-sum-exp: kAlignLSE in mem_eff_attention/kernel_forward.h


def _values(length: int) -> Any:
    return 1, length, length * length, -(-length // _ROUNDING) * _ROUNDING


def fit_lengths(found: Any, lengths: Any, where: str = "program") -> Any:
    """Programs of four lengths, each with sizes m*B + c, as one whose m and c follow the length.

    Raises CannotRecord where they differ in anything else: the code branches on the length."""
    a = found[0]
    if all(_is_size(x) for x in found):
        if all(x == a for x in found):
            return a
        of_length = [x["B"] if isinstance(x, dict) else ["0", str(x)] for x in found]
        fitted = [_following(lengths, [Fraction(x[i]) for x in of_length]) for i in (0, 1)]
        if None in fitted:
            raise CannotRecord(_differ(where, found, lengths))
        return {"S": [[str(f) for f in factors] for factors in fitted]}
    if any(type(x) is not type(a) for x in found):
        raise CannotRecord(_differ(where, found, lengths))
    if isinstance(a, (float, complex)):
        return a
    if isinstance(a, list):
        if any(len(x) != len(a) for x in found):
            raise CannotRecord(_differ(where, [f"{len(x)} entries" for x in found], lengths))
        return [fit_lengths(x, lengths, where) for x in zip(*found, strict=False)]
    if isinstance(a, dict) and all(x.keys() == a.keys() for x in found):
        here = where + (f" {a['op']}" if "op" in a else "")
        return {k: fit_lengths([x[k] for x in found], lengths, here) for k in a}
    if any(x != a for x in found):
        raise CannotRecord(_differ(where, found, lengths))
    return a


def _following(lengths: Any, ys: Any) -> Any:
    """The coefficients that give `ys` at all of the lengths: of a parabola, else of a line of R. None: neither."""
    rounded = [_values(x)[3] for x in lengths]
    candidates = [_through(lengths, ys)]
    other = next((i for i, r in enumerate(rounded) if r != rounded[0]), None)
    if other is not None:
        slope = (ys[other] - ys[0]) / (rounded[other] - rounded[0])
        candidates.append([ys[0] - slope * rounded[0], Fraction(0), Fraction(0), slope])
    for factors in candidates:
        at = [sum(f * v for f, v in zip(factors, _values(x), strict=False)) for x in lengths]
        if all(a == y for a, y in zip(at, ys, strict=True)):
            return factors
    return None


def _differ(where: Any, found: Any, lengths: Any) -> str:
    reported = ", ".join(f"{_short(x)} at length {n}" for x, n in zip(found, lengths, strict=False))
    return f"{where}: {reported}: the code branches on the length"


def _is_size(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) or isinstance(x, dict) and x.keys() == {"B"}


def _through(xs: Any, ys: Any) -> Any:
    """Coefficients of the parabola through the first three points."""
    (a, b, c), (p, q, r) = xs[:3], ys[:3]
    first, second = (q - p) / (b - a), (r - q) / (c - b)
    square = (second - first) / (c - a)
    linear = first - square * (a + b)
    return [p - linear * a - square * a * a, linear, square, Fraction(0)]


def at_length(x: Any, length: int) -> Any:
    """A program at one length: every {"S": ...} replaced by its {"B": [m, c]} or number."""
    if isinstance(x, dict):
        if "S" in x:
            m, c = (sum(Fraction(f) * v for f, v in zip(factors, _values(length), strict=False)) for factors in x["S"])
            if m == 0:
                if c.denominator != 1:
                    raise CannotRecord(f"a size of {c} at length {length}")
                return int(c)
            return {"B": [str(m), str(c)]}
        return {k: at_length(v, length) for k, v in x.items()}
    return [at_length(v, length) for v in x] if isinstance(x, list) else x


def terms_of(x: Any) -> dict[tuple[int, str], Fraction]:
    """Of a size: (power of B, one of OF_LENGTH) -> coefficient, without zeros."""
    if isinstance(x, int):
        found = {(0, ""): Fraction(x)}
    elif "B" in x:
        found = {(1, ""): Fraction(x["B"][0]), (0, ""): Fraction(x["B"][1])}
    else:
        found = {(1 - i, of): Fraction(f) for i, p in enumerate(x["S"]) for of, f in zip(OF_LENGTH, p, strict=False)}
    return {term: f for term, f in found.items() if f}


def size_of(terms: dict[tuple[int, str], Fraction]) -> Any:
    """The size of these terms; None where it has none of the three forms."""
    if any(b > 1 or of not in OF_LENGTH for b, of in terms):
        return None

    def at(b: Any, of: Any = "") -> Any:
        return terms.get((b, of), Fraction(0))
    if any(of for _, of in terms):
        return {"S": [[str(at(b, of)) for of in OF_LENGTH] for b in (1, 0)]}
    if any(b for b, _ in terms):
        return {"B": [str(at(1)), str(at(0))]}
    return int(at(0)) if at(0).denominator == 1 else None


def at_batch(x: Any, batch: int) -> Any:
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


def comparable(x: Any) -> Any:
    """The program without its floats, which may depend on the batch in any way."""
    if isinstance(x, dict):
        return {k: comparable(v) for k, v in x.items()}
    return [comparable(v) for v in x] if isinstance(x, list) else ("float" if isinstance(x, (float, complex)) else x)


def alike(a: Any, b: Any) -> bool:
    """Whether two programs of one batch are the same but for floats, and for strides of dimensions of size 1."""
    return comparable(_plain(a)) == comparable(_plain(b))


def _plain(program: Any) -> Any:
    """With strides that count only."""
    values = [dict(v, strides=[n for d, n in zip(v["shape"], v["strides"], strict=False) if d != 1])
              for v in program["values"]]
    return dict(program, values=values)
