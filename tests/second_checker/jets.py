"""Jets: a value with its first and second derivatives, as intervals."""

import math

from mpmath import iv

from second_checker.intervals import bottom, interval, top


class Jet:
    """A function of a few variables on a box: enclosures of value, gradient and Hessian."""

    def __init__(self, value, slope, bend):
        self.value, self.slope, self.bend = value, slope, bend

    def _lift(self, other):
        if isinstance(other, Jet):
            return other
        zero = iv.mpf(0)
        return Jet(
            interval(other), [zero] * len(self.slope), [[zero] * len(self.slope)] * len(self.slope)
        )

    def through(self, value, first, second):
        """The jet of f(self), given f, f′ and f″ at the value."""
        size = range(len(self.slope))
        bend = [
            [first * self.bend[i][j] + second * self.slope[i] * self.slope[j] for j in size]
            for i in size
        ]
        return Jet(value, [first * s for s in self.slope], bend)

    def __add__(self, other):
        other, size = self._lift(other), range(len(self.slope))
        slope = [self.slope[i] + other.slope[i] for i in size]
        bend = [[self.bend[i][j] + other.bend[i][j] for j in size] for i in size]
        return Jet(self.value + other.value, slope, bend)

    def __mul__(self, other):
        if not isinstance(other, Jet):
            other = interval(other)
            return self.through(self.value * other, other, iv.mpf(0))
        size, a, b = range(len(self.slope)), self.value, other.value
        slope = [a * other.slope[i] + b * self.slope[i] for i in size]
        bend = [
            [
                a * other.bend[i][j]
                + b * self.bend[i][j]
                + self.slope[i] * other.slope[j]
                + self.slope[j] * other.slope[i]
                for j in size
            ]
            for i in size
        ]
        return Jet(a * b, slope, bend)

    def inverse(self):
        """1/self, where the value keeps away from 0."""
        if bottom(self.value) <= 0:
            raise ZeroDivisionError("the value may be 0")
        one = 1 / self.value
        return self.through(one, -(one**2), 2 * one**3)

    def __pow__(self, n):
        found = self._lift(1)
        for _ in range(n):
            found = found * self
        return found

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        return self * (other.inverse() if isinstance(other, Jet) else 1 / interval(other))

    def __rtruediv__(self, other):
        return self.inverse() * other

    __radd__, __rmul__ = __add__, __mul__


def variables(values):
    """The coordinates of a box as jets."""
    zero, size = iv.mpf(0), range(len(values))
    return [
        Jet(value, [iv.mpf(i == j) for j in size], [[zero for _ in size] for _ in size])
        for i, value in enumerate(values)
    ]


def entropy(p):
    """−p log p of a jet whose value keeps away from 0, or of an interval within [0, 1]."""
    if isinstance(p, Jet):
        if bottom(p.value) <= 0:
            raise ZeroDivisionError("the value may be 0")
        log = iv.log(p.value)
        return p.through(-p.value * log, -log - 1, -1 / p.value)
    if isinstance(p, float):
        return -p * math.log(p) if p > 0 else 0.0
    if bottom(p) > 0:
        return -p * iv.log(p)
    end = top(p)
    if end <= 0:
        return iv.mpf(0)
    assert end < 0.3
    return iv.mpf([0, (-interval(end) * iv.log(interval(end))).b])
