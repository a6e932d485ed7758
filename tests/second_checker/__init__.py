"""A second opinion: another checker, written from ``docs/certificates.md`` alone, with other algorithms.

It shares no line with ``ldpopt/checker``. Where that one branches and bounds, this one lists all
corners; where that one encloses an inverse by its residual, this one inverts rational matrices exactly;
logarithms and exponentials are intervals of ``mpmath`` instead of directed decimals. So it is slow, and
small: what is too large for it, or of a kind that it does not cover, it leaves open (None).
"""

from second_checker.deciding import COVERED, opinion

__all__ = ["COVERED", "opinion"]
