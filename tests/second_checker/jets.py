"""Jets: a function of one variable with its first and second derivatives, as intervals."""

from mpmath import iv

from second_checker.intervals import bottom, interval, top

ZERO, ONE = iv.mpf(0), iv.mpf(1)


class Jet:
    """A function on an interval: enclosures of its value, slope and bend."""

    def __init__(self, value, slope=ZERO, bend=ZERO):
        self.value, self.slope, self.bend = interval(value), slope, bend

    def through(self, value, first, second):
        """The jet of f(self), given f, f′ and f″ at the value."""
        return Jet(value, first * self.slope, first * self.bend + second * self.slope**2)

    def __add__(self, other):
        if not isinstance(other, Jet):
            return Jet(self.value + interval(other), self.slope, self.bend)
        return Jet(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    def __mul__(self, other):
        if not isinstance(other, Jet):
            scale = interval(other)
            return Jet(self.value * scale, self.slope * scale, self.bend * scale)
        a, b = self.value, other.value
        bend = a * other.bend + 2 * self.slope * other.slope + b * self.bend
        return Jet(a * b, a * other.slope + b * self.slope, bend)

    def inverse(self):
        """1/self, where the value keeps away from 0."""
        if bottom(self.value) <= 0:
            raise ZeroDivisionError("the value may be 0")
        one = ONE / self.value
        return self.through(one, -(one**2), 2 * one**3)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __truediv__(self, other):
        return self * (other.inverse() if isinstance(other, Jet) else ONE / interval(other))

    def __rtruediv__(self, other):
        return self.inverse() * other

    __radd__, __rmul__ = __add__, __mul__


def jet(value):
    """A constant as a jet, or a jet as it is."""
    return value if isinstance(value, Jet) else Jet(value)


def entropy(p):
    """−p log p of a jet whose value lies in [0, 1] and keeps away from 0, or is constant."""
    if bottom(p.value) > 0:
        log = iv.log(p.value)
        return p.through(-p.value * log, -log - 1, -1 / p.value)
    if any(bottom(x) or top(x) for x in (p.slope, p.bend)):
        raise ZeroDivisionError("the value may be 0")
    end = top(p.value)
    assert end < 0.3  # below 1/e the function rises
    return Jet(iv.mpf([0, (-p.value * iv.log(iv.mpf(p.value.b))).b]) if end > 0 else 0)
