"""A second opinion: another checker, written from ``docs/certificates.md`` alone, with other algorithms.

It shares no line with ``ldpopt/checker``. Where that one branches and bounds, this one lists all
corners; where that one encloses an inverse by its residual, this one inverts rational matrices exactly;
logarithms and exponentials are intervals of ``mpmath`` instead of directed decimals. So it is slow, and
small. What it leaves open (None) is listed in ``docs/certificates.md``: above all large files.
"""

from second_checker.deciding import COVERED, opinion

__all__ = ["COVERED", "opinion"]
