"""Guess, in floats, where a falling function crosses 0: multipliers and shares that a proof tries.

Nothing rests on a guess: what it is used for is proven in exact numbers, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable

STEPS = 200


def falling_root(f: Callable[[float], float], low: float, high: float, close: float = 1e-14) -> float:
    """Guess where a falling function crosses 0: secants of a bracket, and every third step its middle.

    The guess lies between the ends, whatever the function returns, infinities and nan included.

    Args:
        f: the function.
        low: where it should be positive; returned if it is not.
        high: where it should be negative; returned if it is not.
        close: how close to 0 the function may be to count as 0.
    """
    at_low, at_high = f(low), f(high)
    if at_low <= 0:
        return low
    if at_high >= 0:
        return high
    side = 0
    for step in range(STEPS):
        x = (low * at_high - high * at_low) / (at_high - at_low)
        if step % 3 == 2 or not low < x < high:
            x = (low + high) / 2
        if not low < x < high:
            return low
        value = f(x)
        if abs(value) <= close:
            return x
        if value > 0:
            low, at_low = x, value
            at_high, side = (at_high / 2 if side == 1 else at_high), 1
        else:
            high, at_high = x, value
            at_low, side = (at_low / 2 if side == -1 else at_low), -1
        if high - low <= 1e-13 * max(abs(low), abs(high), 1e-3):
            return x
    return (low + high) / 2
