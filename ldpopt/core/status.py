"""How an attempt to solve a problem ended."""

from __future__ import annotations

from enum import Enum

from ldpopt.core.exact import GAP_FLOOR


class Status(Enum):
    """The end of a solve. Only a crash raises; everything else is one of these."""

    OPTIMAL = "optimal"
    """Feasible; the :func:`relative_gap` of value and bound is at most the one asked for and 1e-6.

    As that gap is relative to at least 1e-4, value and bound must also differ by at most 1 %; those of
    leakages by at most 1 % or 1e-15.
    """
    GAP = "gap"
    """Feasible with a proven bound, but farther from it than :attr:`OPTIMAL` allows."""
    FEASIBLE = "feasible"
    """Feasible; nothing proven about better ones."""
    INFEASIBLE = "infeasible"
    """Proven: there is no answer."""
    UNBOUNDED = "unbounded"
    """There are answers of any value."""
    LIMIT = "limit"
    """Stopped by a limit before anything feasible was found."""


def relative_gap(value: float, bound: float | None) -> float | None:
    """Compute |bound − value| relative to the larger of the two (at least 1e-4).

    The gap is None if nothing is proven.

    The floor keeps the default gap of 1e-9 within what floats can express (1e-13 nats).

    >>> relative_gap(0.5, 0.625)
    0.2
    """
    if bound is None:
        return None
    return abs(bound - value) / max(abs(value), abs(bound), GAP_FLOOR)
