"""Decimals of 60 digits with a margin, for the sections that do not use intervals yet.

Exponentials and logarithms are correctly rounded by the standard library. Sums of fewer than 10^9 terms
of size below 10^27 (ε ≤ 30) have errors below 10^-22; every comparison demands a margin of 10^-20.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

DIGITS = 60
MARGIN = Decimal("1e-20")
MAX_NODES = 2_000_000
"""After so many nodes a search gives up."""


def decimal(number: Fraction) -> Decimal:
    """Round a fraction to the digits of the context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def xlogx(q: Decimal) -> Decimal:
    """Compute q log q, zero at zero."""
    return q * q.ln() if q else Decimal(0)


def information(prior: list[Decimal], T: list[Decimal]) -> Decimal:
    """Compute Σ P T log T − q log q."""
    weighted = [p * t for p, t in zip(prior, T, strict=True)]
    own = sum((w * t.ln() for w, t in zip(weighted, T, strict=True) if w), Decimal(0))
    return own - xlogx(sum(weighted, Decimal(0)))
