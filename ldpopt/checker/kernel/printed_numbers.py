"""Numbers as they are printed, for questions in which a tie decides: exposure, safety, weights.

"Less than a fraction 0.1 of the users" means the decimal 0.1. The double nearest to it is a little
larger, and 3 of 30 users would be less than that. So here a number of the file is read as a double, and
stands for the shortest decimal that reads back as the double: what Python, and the file, print.

Lemma (order). x < y as doubles if and only if x < y as such decimals. Proof: each decimal lies in the
rounding interval of its double, and these intervals are disjoint and in order.

Growth. A decimal has at most 17 digits over 10^k, k ≤ 340; k numbers divided by their sum are whole
numbers of some 1130 bits over one sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .reading import UnreadableError
from .schema import SUM_TOLERANCE, List, Number, Schema

MOST_DIGITS = 4000
"""The most digits of a whole number that is written as a string."""


def printed(number: float) -> Fraction:
    """Return the decimal that is printed for a number, exactly."""
    return Fraction(repr(float(number)))


@dataclass(frozen=True)
class Printed(Schema):
    """A number of the file, as the decimal that is printed for it."""

    number: Number

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return self.number.words()

    def read(self, value: Any, where: str) -> Fraction:
        """Read the decimal."""
        return printed(self.number.read(value, where))


@dataclass(frozen=True)
class PrintedDistribution(Schema):
    """Probabilities as printed, divided by their exact sum; those that are 0 are left out."""

    most: int

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"a list of 1 to {self.most} non-negative numbers that sum to 1 within 1e-9"

    def read(self, value: Any, where: str) -> list[Fraction]:
        """Read the positive probabilities; they sum to exactly 1."""
        numbers = List(Printed(Number(0, 1 + float(SUM_TOLERANCE))), 1, self.most).read(value, where)
        total = sum(numbers, Fraction(0))
        if abs(total - 1) > SUM_TOLERANCE:
            raise UnreadableError(f"{where} must sum to 1 within 1e-9, but sums to {float(total)!r}")
        return [x / total for x in numbers if x]


class Digits(Schema):
    """A whole number ≥ 0 of any practical size, as a string of digits."""

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"a string of 1 to {MOST_DIGITS} digits"

    def read(self, value: Any, where: str) -> int:
        """Read the whole number."""
        if not isinstance(value, str) or not 0 < len(value) <= MOST_DIGITS:
            raise self.refuse(value, where)
        if not (value.isascii() and value.isdigit()):
            raise self.refuse(value, where)
        return int(value)
