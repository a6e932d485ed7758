"""Checks of what users hand in: each returns the clean value or raises one clear sentence."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import EXACT_SUM_TOLERANCE, LEAST_EPSILON, MOST_EPSILON

__all__ = ["Array", "Cleaned", "InvalidInputError", "Whole"]
"""What others import by name, for annotations and refusals; the checks are ``validate.share`` …"""


class Cleaned:
    """The base of frozen dataclasses that check their fields and store them in one form.

    A frozen dataclass cannot assign to its own fields; so a subclass returns the clean values, and
    they are stored here.
    """

    def __post_init__(self) -> None:
        for name, value in self.cleaned().items():
            object.__setattr__(self, name, value)

    def cleaned(self) -> dict[str, Any]:
        """Check the fields; return those that are stored in another form than they were given in.

        Raises:
            InvalidInputError: a field is not what it may be; the message names it.
        """
        return {}


Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SUM_TOLERANCE = float(EXACT_SUM_TOLERANCE)
"""How far the sum of a distribution may be from 1 before it is refused."""
ROUNDING = 2.0**-50
"""A sum this close to 1 is left alone; rounding cannot bring it closer."""


def positive_number(name: str, value: Any) -> float:
    """Check that the value is a finite number > 0.

    >>> positive_number("epsilon", -1)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: epsilon must be a finite number > 0, not -1
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and number > 0):
        raise InvalidInputError(f"{name} must be a finite number > 0, not {value!r}")
    return number


def share(name: str, value: Any) -> float:
    """Check that the value is a number between 0 and 1, and neither of them.

    >>> share("level", 95)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: level must lie between 0 and 1, not 95
    """
    number = float(value) if isinstance(value, Real) else math.nan
    if not 0 < number < 1:
        raise InvalidInputError(f"{name} must lie between 0 and 1, not {value!r}")
    return number


def whole_number(name: str, value: Any, least: int) -> int:
    """Check that the value is a whole number, at least ``least``.

    Args:
        name: the name of the parameter, for the message.
        value: what was given.
        least: the smallest number allowed.

    Raises:
        InvalidInputError: the value is not such a number.

    >>> whole_number("k", 1, 2)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: k must be a whole number >= 2, not 1
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InvalidInputError(f"{name} must be a whole number >= {least}, not {value!r}")
    return int(value)


EPSILON_RANGE = (LEAST_EPSILON, MOST_EPSILON)
"""Levels outside are refused: below, a matrix of floats cannot express the mechanism; above, it
cannot be told from releasing the data."""


def epsilon(value: Any) -> float:
    """Check that the value is a privacy level, in nats.

    >>> epsilon(1)
    1.0
    """
    level = positive_number("epsilon", value)
    low, high = EPSILON_RANGE
    if not low <= level <= high:
        raise InvalidInputError(f"epsilon must lie between {low:g} and {high:g}, not {level:g}")
    return level


def array(name: str, value: Any, ndim: int) -> Array:
    """Read the value as a read-only float array of finite numbers with the given number of axes.

    Args:
        name: the name of the parameter, for the message.
        value: what was given.
        ndim: the number of axes, 1 or 2.

    Raises:
        InvalidInputError: the value is not such an array.

    >>> array("prior", [[1, 2], [3]], 2)
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: prior must be a rectangular matrix of numbers, not ragged
    """
    shape = {1: "a list of numbers", 2: "a rectangular matrix of numbers"}[ndim]
    if _has_truth_values(value):
        raise InvalidInputError(f"{name} must be {shape}, not of truth values")
    try:
        result = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        ragged = ndim == 2 and isinstance(value, (list, tuple)) and _lengths_differ(value)
        what = "ragged" if ragged else repr(value)[:60]
        raise InvalidInputError(f"{name} must be {shape}, not {what}") from None
    if result.ndim != ndim or result.size == 0:
        found = "empty" if result.size == 0 else f"of {result.ndim} axes"
        raise InvalidInputError(f"{name} must be {shape}, not {found}")
    if not np.isfinite(result).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise InvalidInputError(f"{name}{_index(place)} must be a finite number, not {result[place]}")
    result.setflags(write=False)
    return result


def distribution(name: str, value: Any, ndim: int = 1) -> Array:
    """Read a probability distribution: finite, non-negative, summing to 1 (within 1e-9).

    It is divided by its sum where that is not 1 up to rounding. The checker divides by the exact sum, so
    what is solved and what is verified are the same distribution up to the rounding of floats.

    Args:
        name: the name of the parameter, for the message.
        value: what was given.
        ndim: the number of axes: 1 for p[x], 2 for a joint distribution p[s][u].

    Raises:
        InvalidInputError: the value is not a distribution.

    >>> distribution("prior", [0.5, 0.4])
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: prior must sum to 1, but sums to 0.9
    """
    p = array(name, value, ndim)
    if (p < 0).any():
        place = tuple(int(i) for i in np.argwhere(p < 0)[0])
        raise InvalidInputError(f"{name}{_index(place)} must be at least 0, not {p[place]}")
    if p.max() > 1 + SUM_TOLERANCE:
        raise InvalidInputError(f"{name} must sum to 1, but has the entry {p.max():.12g}")
    total, off = math.fsum(p.ravel()), excess(p.ravel())
    if abs(off) > SUM_TOLERANCE:
        raise InvalidInputError(f"{name} must sum to 1, but sums to {total:.12g}")
    if abs(off) <= ROUNDING:
        return p
    scaled: Array = p / total
    scaled.setflags(write=False)
    return scaled


def excess(numbers: Array) -> float:
    """Compute the sum less 1, rounded once; to round the sum before subtracting would be coarser.

    >>> excess(np.array([0.5, 0.5 + 2.0**-53]))
    1.1102230246251565e-16
    """
    return math.fsum([*numbers, -1.0])


def row_sums(name: str, rows: Any) -> Array:
    """Compute the sums of the rows of a dense or sparse matrix, each 1 (within 1e-9).

    >>> row_sums("matrix", np.array([[0.5, 0.5], [0.5, 0.4]]))
    Traceback (most recent call last):
    ...
    ldpopt.core.errors.InvalidInputError: row 1 of the matrix must sum to 1, but sums to 0.9, off by -0.1
    """
    sums: Array = rows.sum(axis=1)
    for row in (np.abs(sums - 1) > SUM_TOLERANCE).nonzero()[0]:
        off = excess(rows[[row]].sum(axis=0))
        if abs(off) > SUM_TOLERANCE:
            raise InvalidInputError(
                f"row {row} of the {name} must sum to 1, but sums to {sums[row]:.12g}, off by {off:.3g}"
            )
    return sums


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Check that the value is one of a few words.

    Args:
        name: the name of the parameter, for the message.
        value: what was given.
        allowed: the words to choose from.

    Raises:
        InvalidInputError: the value is another word.

    >>> choice("utility", "kl", ("kl", "total-variation"))
    'kl'
    """
    if value not in allowed:
        raise InvalidInputError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return str(value)


def _index(place: tuple[int, ...]) -> str:
    return "".join(f"[{i}]" for i in place)


def _has_truth_values(value: Any) -> bool:
    """Return whether a list, or a list in it, has True or False, which numpy would read as numbers."""
    if not isinstance(value, (list, tuple)):
        return False
    kinds = set(map(type, value))
    return bool in kinds or (not kinds <= {float, int} and any(map(_has_truth_values, value)))


def _lengths_differ(rows: Any) -> bool:
    lengths = {len(row) if isinstance(row, (list, tuple)) else -1 for row in rows}
    return len(lengths) > 1
