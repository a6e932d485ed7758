"""Unary encoding that is stated by its parameters: κ, λ, and how often each response is right."""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import both, interval, surely, total, xlogx
from second_checker.jets import jet
from second_checker.membership import odds_of, split_of, within
from second_checker.pairs import Pair
from second_checker.protocols import greatest_share, response
from second_checker.reading import demand, keys, number, numbers

NEAR, FAR = Fraction(1, 10**12), 1000
"""How near the parameters are to those of a split; what is so many times farther away is of none."""


class Stated:
    """The parameters of an answer, for a protocol."""

    def __init__(self, protocol, answer):
        keys(answer, {"kappa", "lambda", "right"})
        self.protocol, k = protocol, protocol.a2
        self.kappa, self.lam = number(answer["kappa"], 0, 1), number(answer["lambda"], 0, 1)
        self.right = numbers(answer["right"], protocol.a1, least=0)
        grid = [self.kappa, self.lam, *self.right]
        demand(all((x * 2**52).denominator == 1 for x in grid), "multiples of 2^-52")
        demand(self.lam <= self.kappa and all(Fraction(1, k) <= y <= 1 for y in self.right), "ranges")
        self.wrong = [(1 - y) / (k - 1) for y in self.right]
        self.odds = [odds_of(y, k) for y in self.right]

    def heard(self, s, p):
        """W: how often a value of this probability is reported for s."""
        return self.wrong[s] + (self.right[s] - self.wrong[s]) * p

    def is_private(self):
        """The three conditions of the page, for all secrets and values."""
        robust, E = self.protocol.robust, self.protocol.E
        up, down, answers = {}, {}, [True]
        for s, k in enumerate(robust.steps):
            for v, (q, low) in enumerate(zip(robust.given[s], robust.least[s], strict=True)):
                own = interval(self.heard(s, q))
                up[s, v] = self.heard_within(s, greatest_share(q, k)), own
                down[s, v] = own, self.heard_within(s, low)
        say, hide = self.kappa * (1 - self.lam), self.lam * (1 - self.kappa)
        answers += [surely(interval(say) * x, E * interval(hide) * y) for x, y in up.values()]
        answers += [surely(interval(hide) * x, E * interval(say) * y) for x, y in down.values()]
        if self.kappa * self.lam and False not in answers:
            for (s, v), (z, w) in itertools.product(up, down):
                (a, b), (c, d) = up[s, v], down[z, w]
                if s != z and not surely(a * c, E * b * d):
                    answers.append(self.pair(s, v, z, w).holds())
        return both(*answers)

    def heard_within(self, s, p):
        return interval(self.wrong[s]) + interval(self.right[s] - self.wrong[s]) * p

    def pair(self, s, v, z, w):
        """The third condition as a column: R_s·c_s ≤ E R_z·c_z."""
        robust, a2 = self.protocol.robust, self.protocol.a2
        column = [Fraction(0)] * robust.cells
        for i, said, scale in (
            (s, v, self.heard(z, robust.given[z][w])),
            (z, w, self.heard(s, robust.given[s][v])),
        ):
            for u in range(a2):
                column[i * a2 + u] = scale * (self.right[i] if u == said else self.wrong[i])
        return Pair(robust, s, z, column, self.protocol.E)

    def utility(self):
        """Enclose the utility of the page at these parameters."""
        k, kappa, lam = self.protocol.a1, self.kappa, self.lam
        bits = total(xlogx(x) for x in (kappa, 1 - kappa)) + (k - 1) * total(
            xlogx(x) for x in (lam, 1 - lam)
        )
        for chosen in itertools.product((0, 1), repeat=k):
            j, mass = (
                sum(chosen),
                sum(m for m, b in zip(self.protocol.robust.secrets, chosen, strict=True) if b),
            )
            inside = kappa * lam ** max(j - 1, 0) * (1 - lam) ** (k - j)
            outside = (1 - kappa) * lam**j * (1 - lam) ** max(k - 1 - j, 0)
            bits -= xlogx(Fraction(mass * inside + (1 - mass) * outside))
        return bits + interval(kappa) * self.protocol.second(map(jet, self.odds)).value

    def is_member(self):
        """Whether λ and all y are those of a split that one of them shows."""
        E, kappa = self.protocol.E, interval(self.kappa)
        splits = [split_of(o, s, self.protocol) for s, o in enumerate(self.odds)]
        if self.kappa < 1 and self.lam:
            splits.append(
                Fraction(float(E.mid)) * self.lam * (1 - self.kappa) / (self.kappa * (1 - self.lam))
            )
        apart = []
        for g in {within(g, self.protocol) for g in splits}:
            lam = kappa / (kappa + (1 - kappa) * E / interval(g)) if self.kappa else iv.mpf(0)
            rights = [response(self.protocol.a2, jet(o))[0].value for o in self.protocol.odds(g)]
            pairs = [(lam, self.lam), *zip(rights, self.right, strict=True)]
            apart.append([abs(x - interval(y)) for x, y in pairs])
        room = max(NEAR, (2 + len(self.right)) * Fraction(1, 2**50) / self.protocol.robust.e)
        if any(all(surely(x, room) for x in row) for row in apart):
            return True
        return False if all(any(surely(x, FAR * room) is False for x in row) for row in apart) else None


def claims(found, protocol):
    """The claims about the parameters, each with its answer; that of the bound is as for a matrix."""
    demand(not found["certificate"].get("audit"), "no audit")
    stated = Stated(protocol, found.get("answer"))
    yield "member", stated.is_member()
    yield "private", stated.is_private()
    yield "value", surely(Fraction(found["value"]), stated.utility())
