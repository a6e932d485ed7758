"""The reporting protocols: what their parameters mean, and the best split by Taylor's theorem.

A response on k values is stated by its odds o = (1 − r)/((k − 1) r), r how often it is right: 1 if it
tells nothing, 0 if it is always right. A pair of the page limits them from below by D/(D + G − 1), with
D = a − G b > 0, which falls where G grows. Without calibration they are 1/(1 + 2(g − 1)/d).
"""

import itertools
import math
from fractions import Fraction

from mpmath import iv

from second_checker.fidelity import larger
from second_checker.intervals import bottom, interval, root, top
from second_checker.jets import ONE, Jet, entropy, jet

MOST_BOXES = 2000


def radius(q, k):
    """Enclose d_s of a secret; where b may be 1, both formulas."""
    b, m = k * (k + 2), interval(min(q))
    small, large = root(b), (b - 2 * b * m + root(b * b + 4 * b * m * (1 - m))) / (b + 1)
    if top(b) < 1:
        return small
    if bottom(b) >= 1:
        return large
    return iv.mpf([min(small.a, large.a, key=float), max(small.b, large.b, key=float)])


def greatest_share(q, k):
    """Enclose P^max of a value with conditional probability q."""
    b, q = k * (k + 2), interval(q)
    return (b + 2 * q + root(b * b + 4 * b * q * (1 - q))) / (2 * b + 2)


def response(k, odds):
    """The probability of the true value and that of another one, in randomised response on k values."""
    return 1 / (1 + (k - 1) * odds), odds / (1 + (k - 1) * odds)


def noise(k, odds):
    """N(k, ·): the entropy of a response."""
    right, wrong = response(k, odds)
    return entropy(right) + (k - 1) * entropy(wrong)


def told(p, odds):
    """I(p, ·): what randomised response tells about a value of distribution p."""
    right, wrong = response(len(p), odds)
    return sum((entropy((right - wrong) * x + wrong) for x in p), Jet(0)) - noise(len(p), odds)


class ByDistance:
    """The odds for blocks whose distributions are at most d apart."""

    def __init__(self, d):
        self.d = d

    def jet(self, g):
        return 1 / (1 + (g - 1) * 2 / self.d)

    def limits(self, g):
        return True

    def near(self, g):
        return 0.0  # there is no other

    def split(self, odds):
        """The split that has these odds."""
        return 1 + (1 / odds - 1) * bottom(self.d) / 2 if odds else None

    def at(self, g):
        return self.jet(jet(g)).value


class ByPair:
    """The least odds for a value of the probabilities a and b, and G = g or, with a ``square``, E²/g."""

    def __init__(self, a, b, square=None):
        self.a, self.b, self.square = interval(a), interval(b), square
        self.rough = [float(x.mid) for x in (self.a, self.b, interval(1 if square is None else square))]

    def near(self, g):
        """The odds in floats, to choose among limits: any choice is valid."""
        a, b, square = self.rough
        G = g if self.square is None else square / g
        return (a - G * b) / (a - G * b + G - 1) if a > G * b else 0.0

    def split(self, odds):
        """The G with these odds, o + (1 − o)a over o + (1 − o)b."""
        low = odds + (1 - odds) * bottom(self.b)
        return (odds + (1 - odds) * bottom(self.a)) / low if low else None

    def parts(self, g):
        """D and G as jets."""
        G = g if self.square is None else g.inverse() * self.square
        return G * -self.b + self.a, G

    def limits(self, g):
        """Whether D is certainly above 0."""
        return bottom(self.parts(g)[0].value) > 0

    def jet(self, g):
        """The odds where D is above 0."""
        D, G = self.parts(g)
        return D / (D + G - 1)

    def at(self, g):
        """Enclose the odds at a split: they rise with D."""
        D, G = self.parts(jet(g))
        low, high = (
            interval(x) / (interval(x) + G.value - 1) if x > 0 else iv.mpf(0)
            for x in (bottom(D.value), top(D.value))
        )
        return iv.mpf([low.a, high.b])


class Protocol:
    """A kind of protocol for a table: what its split g = e^e₂ means, and its utility."""

    def __init__(self, kind, robust, pairs=None):
        """Take a table; and pairs (a, b), which may be none, if the blocks are calibrated."""
        self.kind, self.robust, self.pairs = kind, robust, pairs
        self.a1, self.a2 = len(robust.table), len(robust.table[0])
        self.table, self.given = (
            [list(map(interval, row)) for row in t] for t in (robust.table, robust.given)
        )
        self.secrets = list(map(interval, robust.secrets))
        self.values = [interval(sum(column)) for column in zip(*robust.table, strict=True)]
        self.E = iv.exp(interval(robust.e))
        self.d = [radius(q, k) for q, k in zip(robust.given, robust.steps, strict=True)]
        if kind == "independent-reporting":
            apart = max(
                sum(abs(x - y) for x, y in zip(q, r, strict=True))
                for q, r in itertools.product(robust.given, repeat=2)
            )
            wide = 2 * larger(*self.d) + interval(apart)
            self.d = [wide if top(wide) <= 2 else iv.mpf(2)]
        self.limits = [[ByDistance(d)] for d in self.d] if pairs is None else self._calibrated()

    def _calibrated(self):
        """The limits of every block: the pairs of the proof, or what each secret can reach by itself."""
        if self.kind == "independent-reporting":
            return [[ByPair(a, b) for a, b in self.pairs]]
        square = self.E**2 if self.kind == "grr-conditional" else None
        return [
            [ByPair(greatest_share(p, k), p) for p in q]
            + [ByPair(p, least, square) for p, least in zip(q, low, strict=True)]
            for q, k, low in zip(self.robust.given, self.robust.steps, self.robust.least, strict=True)
        ]

    # the split

    def odds(self, g):
        """Enclose the odds of every block at a split."""
        return [larger(0, *(limit.at(interval(g)) for limit in limits)) for limits in self.limits]

    def odds_within(self, box):
        """Odds of every block that no split of a box goes below: every limit is monotone."""
        ends = list(map(interval, box))
        for limits in self.limits:
            binding = {max(limits, key=lambda x: x.near(float(g))) for g in box} if limits else ()
            least = [min(bottom(limit.at(g)) for g in ends) for limit in binding]
            yield interval(max(least, default=Fraction(0)))

    def jets(self, box):
        """At the middle of a box and on all of it: the split and the odds of every block, as jets.

        Both are of the limit that binds in the middle; where it may end in the box, the least odds.
        """
        middle, whole, odds = Jet(sum(box) / 2, ONE), Jet(hull(box), ONE), []
        for limits, least in zip(self.limits, self.odds_within(box), strict=True):
            chosen = max(limits, key=lambda x: x.near(float(sum(box) / 2)), default=None)
            limited = chosen is not None and chosen.limits(whole)
            odds.append([chosen.jet(g) if limited else jet(least) for g in (middle, whole)])
        return [(g, [pair[i] for pair in odds]) for i, g in enumerate((middle, whole))]

    # the utility

    def independent(self, first, second):
        (right, wrong), (same, other) = response(self.a1, first), response(self.a2, second)
        c, e = right - wrong, same - other
        cells = (
            entropy(c * e * p + c * other * ps + wrong * e * pu + wrong * other)
            for row, ps in zip(self.table, self.secrets, strict=True)
            for p, pu in zip(row, self.values, strict=True)
        )
        return sum(cells, Jet(0)) - noise(self.a1, first) - noise(self.a2, second)

    def second(self, odds):
        """B: what the blocks tell about u, if the secret is told."""
        parts = zip(self.secrets, self.given, odds, strict=True)
        return sum((told(q, o) * m for m, q, o in parts), Jet(0))

    def utility(self, first, odds):
        """The utility of responses with these odds, jets or constants; but for unary encoding."""
        first, odds = jet(first), list(map(jet, odds))
        if self.kind == "independent-reporting":
            return self.independent(first, odds[0])
        return told(self.secrets, first) + response(self.a1, first)[0] * self.second(odds)

    # the best split

    def most_on(self, box):
        """Bound the utility on a box by the best end of every response, or by Taylor's theorem."""
        most = top(self.utility(interval(box[0]) / self.E, self.odds_within(box)).value)
        half = interval((box[1] - box[0]) / 2)
        try:
            middle, whole = (self.utility(g / self.E, odds) for g, odds in self.jets(box))
        except ZeroDivisionError:
            return most
        bend = interval(max(top(whole.bend), 0))
        return min(most, top(middle.value + abs(middle.slope) * half + bend * half**2 / 2))

    def at_most(self, bound):
        """Whether no split gives more than the bound."""

        def breaks(g):
            return bottom(self.utility(interval(g) / self.E, self.odds(g)).value) > bound

        return none_breaks(lambda box: self.most_on(box) <= bound, breaks, top(self.E))


def hull(box):
    return iv.mpf([interval(box[0]).a, interval(box[1]).b])


def none_breaks(holds_on, breaks, last):
    """Whether a claim holds for all splits up to the last: boxes are halved until each is proven."""
    pending = [(Fraction(1), last)]
    for _ in range(MOST_BOXES):
        if not pending:
            return True
        a, b = pending.pop()
        if holds_on((a, b)):
            continue
        middle = Fraction(math.floor((a + b) * 2**119), 2**120)
        if breaks(middle):
            return False
        if not a < middle < b:
            return None
        pending += [(a, middle), (middle, b)]
    return None
