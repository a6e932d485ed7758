"""When the value of an answer counts as optimal: value and bound are close, however small both are.

A gap relative to a tiny value asks more than floats can tell, so it is relative to at least 1e-4. That
alone would call a useless answer optimal where little can be had, or where a question is rescaled: so
value and bound must also differ by at most 1 %. Only a form whose questions cannot be rescaled may allow
the noise of floats around an optimum of zero (:attr:`ldpopt.checker.kernel.section.Decider.noise`).
"""

from __future__ import annotations

from fractions import Fraction

OPTIMAL_GAP = 1e-6
"""The largest gap at which a result may call itself optimal."""
OPTIMAL_PART = Fraction(1, 100)
"""However small both are: an optimal value is within 1 % of its bound."""
GAP_FLOOR = 1e-4
"""A gap is relative to the larger of value and bound, or to this number if both are smaller."""
NOISE = 1e-15
"""What value and bound may differ by where the optimum is zero, of forms that allow it."""


def relative_gap(value: float, bound: float) -> Fraction:
    """Compute |bound − value| relative to the larger of the two, at least to :data:`GAP_FLOOR`."""
    apart = abs(Fraction(bound) - Fraction(value))
    return apart / Fraction(max(abs(value), abs(bound), GAP_FLOOR))


def is_optimal(value: float, bound: float, asked: float, noise: float = 0.0) -> bool:
    """Tell whether value and bound are so close that the value is called optimal.

    The gap is at most the one asked for and :data:`OPTIMAL_GAP`; and value and bound differ by at most
    :data:`OPTIMAL_PART` of the larger, or by the noise.

    Args:
        value: the value of the answer.
        bound: what no answer exceeds, or undercuts where the problem minimises.
        asked: the gap that was asked for.
        noise: what the form allows where the optimum is zero but for the rounding of floats.
    """
    apart, larger = abs(Fraction(bound) - Fraction(value)), max(abs(value), abs(bound))
    near = max(Fraction(larger) * OPTIMAL_PART, Fraction(noise))
    gap = Fraction(min(asked, OPTIMAL_GAP))  # compared as in relative_gap, without its division
    return apart <= gap * Fraction(max(larger, GAP_FLOOR)) and apart <= near
