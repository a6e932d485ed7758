"""Reporting protocols: what their parameters mean, and whether a mechanism is of its kind.

The protocols, and the lemma of :func:`of_kind`, stand in ``reporting.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import NamedTuple

from ..arithmetic import ONE, Interval, above, below, enclose, exp
from ..budget import reserve, tick
from ..fixed_point import BITS, UNIT, units_down
from .confidence_set import RobustStatement, most_share, uncertain
from .private_rows import Rows
from .response_limits import Limit, first, lowest, pair, pair_back, spread
from .unary_encoding import Response, Unary

ENTRY_ERROR = Fraction(1, 10**12)
ROUNDING = Fraction(1, 2**50)


def entry_error(question: Reporting, entries: int) -> Fraction:
    """Compute how far an entry may be from that of the protocol, as its repair to floats changes it.

    Rounding to multiples of 2^−52 costs a share of ε. Mixing with the uniform mechanism makes up for
    that, and changes entries in proportion to the number of entries of a row, and to 1/ε.
    """
    return max(ENTRY_ERROR, entries * ROUNDING / Fraction(question.robust.epsilon))


class Reporting(NamedTuple):
    """The robust statement, the protocol, what its blocks are, and how their levels are chosen."""

    robust: RobustStatement
    protocol: str
    blocks: str
    calibrate: bool


class Member(NamedTuple):
    """A distribution in the set, two secrets that it tells apart, and what is reported for each."""

    distribution: list[list[Fraction]]
    secrets: list[int]
    values: list[int]

    def shares(self) -> tuple[Fraction, Fraction]:
        """Compute the probability of each reported value given its secret."""
        rows = (self.distribution[s] for s in self.secrets)
        found = [row[v] / sum(row, Fraction(0)) for row, v in zip(rows, self.values, strict=True)]
        return found[0], found[1]


class Protocol:
    """What the split g means: the limits of the responses on s and on u, in units.

    Every limit is rounded to the weaker side. ``members`` are those of the proof, known to lie in F.
    """

    def __init__(self, question: Reporting, members: list[Member]) -> None:
        self.name, self.calibrate = question.protocol, question.calibrate
        self.independent = self.name == "independent-reporting"
        self.p_hat = question.robust.p_hat
        self.secrets, self.given = question.robust.secrets, question.robust.given
        self.exact = exp(question.robust.epsilon)
        self.E = above(self.exact)
        self.first = first(len(self.p_hat), self.E)
        self.F = uncertain(question.robust)
        self.sizes = [k * (k + enclose(2)) for k in self.F.step]
        self.limits: list[list[Limit]]
        if not self.calibrate:
            self.limits = [[spread(self.width, below(d))] for d in self.distances()]
        elif self.independent:
            self.limits = [[self._of_member(member) for member in members]]
        else:
            self.limits = self._of_values(weaker=True)

    @property
    def width(self) -> int:
        """The number of values of u."""
        return len(self.p_hat[0])

    @property
    def top(self) -> int:
        """The greatest g, rounded up; unary encoding by Theorem 19 spends on u twice."""
        twice = self.name == "ue-conditional" and not self.calibrate
        return above(self.exact.sqrt()) if twice else self.E

    def rights(self, g: int) -> list[int]:
        """Compute how often the response on u is right, for every block."""
        return [lowest(limits, g, g)[0] for limits in self.limits]

    def _of_member(self, member: Member) -> Limit:
        a, b = member.shares()
        return pair(self.width, units_down(a), units_down(b) + 1)

    def _of_values(self, weaker: bool) -> list[list[Limit]]:
        """Limit every block by P^max, p̂ and P^min of its values, rounded to the weaker side or not."""
        down, up = (below, above) if weaker else (above, below)
        less, more = (0, 1) if weaker else (1, 0)
        found = []
        for row, b, least in zip(self.given, self.sizes, self.F.p_min, strict=True):
            limits = []
            for q, low in zip(row, least, strict=True):
                limits.append(pair(self.width, down(most_share(q, b)), units_down(q) + more))
                back = units_down(q) + less, up(low)
                if self.name == "ue-conditional":
                    limits.append(pair(self.width, *back))
                else:
                    limits.append(pair_back(self.width, *back, self.E))
            found.append(limits)
        return found

    @cached_property
    def _stronger(self) -> list[list[Limit]]:
        return self._of_values(weaker=False)

    def odds_above(self, g: int) -> list[int]:
        """Bound the odds of every block of a calibrated unary encoding from above."""
        rights = (lowest(limits, g, g)[0] - 1 for limits in self._stronger)
        return [-(-((UNIT - right) << BITS) // ((self.width - 1) * right)) for right in rights]

    def distances(self) -> list[Interval]:
        """Enclose d_s of (65), or d of (66)."""
        radii = [_radius(min(q), b) for q, b in zip(self.given, self.sizes, strict=True)]
        if not self.independent:
            return radii
        apart = max(
            sum((abs(a - b) for a, b in zip(q, r, strict=True)), Fraction(0))
            for q in self.given
            for r in self.given
        )
        widest = Interval(max(r.low for r in radii), max(r.high for r in radii))
        sum_ = enclose(2) * widest + enclose(apart)
        two = enclose(2)
        return [Interval(min(sum_.low, two.low), min(sum_.high, two.high))]

    def lam(self, g: int, kappa: int) -> int:
        """Compute κ/(κ + (1 − κ) E/g), rounded down."""
        others = (UNIT - kappa) * self.E // g
        return (kappa << BITS) // (kappa + others + 1) if kappa else 0


def _radius(least: Fraction, B: Interval) -> Interval:
    """Enclose d_s of (65): √B for B < 1, else (154) at the least q; if B may be 1, both."""
    root = B.sqrt()
    m = enclose(least)
    spread = (B * B + enclose(4) * B * m * enclose(1 - least)).sqrt()
    other = (B * enclose(1 - 2 * least) + spread) / (B + ONE)
    if B.high < 1:
        return root
    return other if B.low >= 1 else Interval(min(root.low, other.low), max(root.high, other.high))


# ---------------------------------------------------------------- membership


Columns = Callable[[int], Iterator[int]]
"""The row of an input: an entry in units for every output."""


def of_kind(answer: Rows | Unary, question: Reporting) -> bool:
    """Return whether the answer is the protocol with some parameters, up to :func:`entry_error`."""
    parts, most = Protocol(question, []), units_down(entry_error(question, entries(answer)))
    if isinstance(answer, Unary):
        return _is_unary(answer, parts, most)
    most -= 4 * (len(parts.p_hat) + 2)
    read = _read_unary if question.protocol == "ue-conditional" else _read_responses
    return any(_agrees(answer, columns, most) for columns in read(answer, parts))


def entries(answer: Rows | Unary) -> int:
    """Count the numbers that one row, or the list of parameters, has."""
    return 2 + len(answer.rights) if isinstance(answer, Unary) else len(answer[0])


def _agrees(matrix: Rows, columns: Columns, most: int) -> bool:
    for x, row in enumerate(matrix):
        tick()
        for entry, should in zip(row, columns(x), strict=True):
            if abs(units_down(entry) - should) > most:
                return False
    return True


def _clamped(g: Fraction, parts: Protocol) -> int:
    return min(max(units_down(g), UNIT), parts.top)


def _splits(rights: list[int], kappa: Fraction, lam: Fraction, parts: Protocol) -> Iterator[int]:
    """Find candidates of g of a unary encoding: from how often blocks are right, and from κ and λ."""
    yield _split_of(rights, parts)
    if 0 < kappa < 1 and lam < 1:
        yield _clamped(lam * (1 - kappa) / (kappa * (1 - lam)) * Fraction(parts.E, UNIT), parts)


def _share(part: Fraction, whole: Fraction, k: int) -> int:
    """Compute how often a response on k values is right, between 1/k and 1."""
    right = units_down(part / whole) if whole else UNIT
    return min(max(right, UNIT // k), UNIT)


def _block_rows(parts: Protocol, rights: Sequence[int]) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """Build for every s the response to u, and its output for a value drawn from p̂_{U|s}."""
    responses = [Response(parts.width, right) for right in rights]
    blocks = [(response.right, response.wrong) for response in responses]
    drawn = [
        [(units_down(p) * (same - other) >> BITS) + other for p in q]
        for q, (same, other) in zip(parts.given, blocks, strict=True)
    ]
    return blocks, drawn


def _read_responses(matrix: Rows, parts: Protocol) -> Iterator[Columns]:
    """Read how often s and, for every s, u are reported rightly, or the split of the level."""
    a1, a2 = len(parts.p_hat), parts.width
    if len(matrix[0]) != a1 * a2:
        return
    truth, lies = (sum(map(Fraction, row[:a2]), Fraction(0)) for row in (matrix[0], matrix[a2]))
    rights = [_share(Fraction(matrix[s * a2][s * a2]), truth, a2) for s in range(len(parts.limits))]
    if parts.calibrate:
        yield _responses(parts, _share(truth, Fraction(1), a1), rights)
        return
    by_secret = [_clamped(lies / truth * Fraction(parts.E, UNIT), parts)] if truth else []
    for g in (*by_secret, _split_of(rights[:1], parts)):
        yield _responses(parts, lowest([parts.first], g, g)[0], parts.rights(g))


def _responses(parts: Protocol, first: int, rights: list[int]) -> Columns:
    """Report s, and u; where s is a lie, independent reporting tells u, and else a value is drawn.

    Args:
        parts: the protocol.
        first: how often s is reported rightly.
        rights: how often u is, for every s; once for independent reporting.
    """
    a1, a2 = len(parts.p_hat), parts.width
    own = Response(a1, first)
    blocks, drawn = _block_rows(parts, rights * a1 if parts.independent else rights)

    def row(x: int) -> Iterator[int]:
        s, u = divmod(x, a2)
        for r, v in product(range(a1), range(a2)):
            said = blocks[r][v != u] if r == s or parts.independent else drawn[r][v]
            yield (own.right if r == s else own.wrong) * said >> BITS

    return row


def _read_unary(matrix: Rows, parts: Protocol) -> Iterator[Columns]:
    """Read a mechanism whose outputs are all vectors of values or silence.

    With κ = 1 only vectors without silence are outputs, with κ = 0 only the vector of silence.
    """
    a1, a2 = len(parts.p_hat), parts.width
    outputs = len(matrix[0])
    if outputs not in (1, a2**a1, (1 + a2) ** a1):
        return
    values = {1: [-1], a2**a1: list(range(a2))}.get(outputs, list(range(-1, a2)))
    reserve(outputs * a1, "the outputs of unary encoding")
    labels = list(product(values, repeat=a1))
    kappa = {1: 0, a2**a1: UNIT}.get(outputs)
    if kappa is None:
        kappa = UNIT - units_down(_total(matrix[0], labels, 0, -1))
    chance, lam = Fraction(kappa, UNIT), 1 - _total(matrix[a2], labels, 0, -1)
    rights = [_share(_total(matrix[t * a2], labels, t, 0), chance, a2) for t in range(a1)]
    for g in _splits(rights if parts.calibrate else rights[:1], chance, lam, parts):
        yield _unary(parts, labels, kappa, g)


def _total(row: list[float], labels: list[tuple[int, ...]], t: int, value: int) -> Fraction:
    """Compute the probability that secret t is reported with a value."""
    return sum((Fraction(p) for p, y in zip(row, labels, strict=True) if y[t] == value), Fraction(0))


def _is_unary(answer: Unary, parts: Protocol, most: int) -> bool:
    """Return whether stated parameters are those of some split g."""
    kappa, rights = units_down(answer.kappa), [units_down(y) for y in answer.rights]
    return any(
        abs(units_down(answer.lam) - parts.lam(g, kappa)) <= most
        and all(abs(a - b) <= most for a, b in zip(parts.rights(g), rights, strict=True))
        for g in _splits(rights, answer.kappa, answer.lam, parts)
    )


def _split_of(rights: list[int], parts: Protocol) -> int:
    """Find about the least g at which the first blocks may be right as often as they are: bisection."""
    low, high = UNIT, parts.top
    while high - low > UNIT >> 80:
        tick()
        middle = (low + high) // 2
        fits = all(most >= r for most, r in zip(parts.rights(middle), rights, strict=False))
        low, high = (low, middle) if fits else (middle, high)
    return high


def _unary(parts: Protocol, labels: list[tuple[int, ...]], kappa: int, g: int) -> Columns:
    a1, a2 = len(parts.p_hat), parts.width
    lam = parts.lam(g, kappa)
    blocks, drawn = _block_rows(parts, parts.rights(g))

    def row(x: int) -> Iterator[int]:
        s, u = divmod(x, a2)
        tables = []
        for t in range(a1):
            chance = kappa if t == s else lam
            table = {-1: UNIT - chance}
            for v in range(a2):
                own = blocks[t][0] if v == u else blocks[t][1]
                table[v] = chance * (own if t == s else drawn[t][v]) >> BITS
            tables.append(table)
        for label in labels:
            found = UNIT
            for table, v in zip(tables, label, strict=True):
                found = found * table[v] >> BITS
            yield found

    return row
