"""A number that knows how it was found and how far off it may be."""

from __future__ import annotations

from typing import Any, Self

ROUNDING = 1e-13
"""The error stated for values that are exact up to floating-point rounding."""


class Estimate(float):
    """A float with ``error`` and ``method``.

    For "monte-carlo" the error is a standard error. For the other methods it is an estimate of the
    numerical error, not a proven bound: the difference to a coarser rule, or the rounding of the sums.

    >>> x = Estimate(0.25, 1e-13, "closed-form")
    >>> 2 * x, x.method
    (0.5, 'closed-form')
    """

    error: float
    method: str

    def __new__(cls, value: float, error: float = ROUNDING, method: str = "closed-form") -> Self:
        """Create the value together with its error and method."""
        made = super().__new__(cls, value)
        made.error = float(error)
        made.method = method
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (float(self), self.error, self.method)

    def __repr__(self) -> str:
        return f"Estimate({float(self)!r}, error={self.error:.2g}, method={self.method!r})"

    def through(self, scale: float, shift: float = 0.0) -> Estimate:
        """Compute scale · value + shift, with the error scaled likewise."""
        return Estimate(scale * float(self) + shift, abs(scale) * self.error, self.method)
