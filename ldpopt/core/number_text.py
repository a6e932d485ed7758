"""Write numbers in full, or rounded in one direction: up after "at most", down after "at least".

Rounded to the nearest, a proven bound of 1.23826 would be called "1.238", which is not proven. A number
is rounded once, and here: rounded to twelve digits before, 1.2380000000001 would be "1.238", too.
"""

from __future__ import annotations

import decimal
import math

from ldpopt.core.exact import exp


def at_most(number: float | decimal.Decimal, digits: int = 4) -> str:
    """Write a number rounded up to the given number of digits.

    >>> at_most(1.23826), at_most(0.1), at_most(math.inf), at_most(-1.23826)
    ('1.239', '0.1', '∞', '-1.238')
    """
    return _written(number, digits, decimal.ROUND_CEILING)


def at_least(number: float, digits: int = 4) -> str:
    """Write a number rounded down to the given number of digits.

    >>> at_least(1.23876), at_least(0.7), at_least(123456.0)
    ('1.238', '0.7', '1.234e+05')
    """
    return _written(number, digits, decimal.ROUND_FLOOR)


def bound_text(bound: float, sense: str, digits: int = 4) -> str:
    """Write a proven bound: rounded up where the problem maximises, down where it minimises.

    Args:
        bound: what no answer exceeds, or undercuts where the problem minimises.
        sense: "maximise" or "minimise".
        digits: how many digits are written.

    >>> bound_text(1.23826, "maximise"), bound_text(1.23826, "minimise")
    ('1.239', '1.238')
    """
    return (at_least if sense == "minimise" else at_most)(bound, digits)


def value_text(value: float, sense: str, digits: int = 4) -> str:
    """Write a proven value: rounded to the other side than its bound.

    Args:
        value: the value of the answer.
        sense: "maximise" or "minimise".
        digits: how many digits are written.
    """
    return (at_most if sense == "minimise" else at_least)(value, digits)


def percent(share: float, decimals: int = 1) -> str:
    """Write a share in percent; what is below all of it is never written as 100 %.

    >>> percent(0.12345), percent(0.99999), percent(1.0)
    ('12.3%', '99.9%', '100.0%')
    """
    return f"{min(share, 1 - 10.0 ** -(decimals + 2)) if share < 1 else share:.{decimals}%}"


def in_full(number: float) -> str:
    """Write a number with as many digits as tell it from every other float.

    >>> in_full(1.0), in_full(1.0000004), in_full(0.05), in_full(math.inf)
    ('1', '1.0000004', '0.05', '∞')
    """
    return repr(float(number)).removesuffix(".0").replace("inf", "∞")


def factor_at_most(level: float, digits: int = 3) -> str:
    """Write e^level rounded up, from an upper end of it: the float of log 3 is a little more than log 3.

    >>> factor_at_most(1.0), factor_at_most(0.7), factor_at_most(math.log(3)), factor_at_most(math.inf)
    ('2.72', '2.02', '3.01', '∞')
    """
    return at_most(exp(level).high if math.isfinite(level) else level, digits)


def _written(number: float | decimal.Decimal, digits: int, side: str) -> str:
    if not math.isfinite(number):
        return f"{number:g}".replace("inf", "∞")
    exact = number if isinstance(number, decimal.Decimal) else decimal.Decimal(repr(float(number)))
    return f"{float(decimal.Context(prec=digits, rounding=side).plus(exact)):.{digits}g}"


def plain_number(number: float | None) -> float | str | None:
    """Write a number for the JSON that a command prints: JSON has no infinity, so "inf" stands for it.

    Null keeps its meaning: there is no such number.

    >>> plain_number(math.inf), plain_number(-math.inf), plain_number(0.5), plain_number(None)
    ('inf', '-inf', 0.5, None)
    """
    return str(number) if number is not None and math.isinf(number) else number
