"""Reporting protocols: what their parameters mean, and whether a mechanism is of its kind.

The protocols, and the lemma of :func:`of_kind`, stand in ``reporting.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

from .arithmetic import ONE, Interval, enclose, exp
from .budget import reserve, tick
from .confidence import RobustStatement, uncertain
from .fixed import BITS, UNIT, below, rounded
from .mechanism import Rows

ENTRY_ERROR = Fraction(1, 10**9)
"""How far an entry may be from that of the protocol."""


class Reporting(NamedTuple):
    """The robust statement, the protocol, and what its blocks are."""

    robust: RobustStatement
    protocol: str
    blocks: str


class Protocol:
    """What the parameters mean: E, d and d_s, enclosed."""

    def __init__(self, question: Reporting) -> None:
        self.name, p_hat = question.protocol, question.robust.p_hat
        self.p_hat = p_hat
        self.secrets = [sum(row, Fraction(0)) for row in p_hat]
        self.given = [[p / mass for p in row] for row, mass in zip(p_hat, self.secrets, strict=True)]
        self.E = exp(question.robust.epsilon)
        steps = uncertain(question.robust).step
        radii = [_radius(min(q), k * (k + enclose(2))) for q, k in zip(self.given, steps, strict=True)]
        if self.name == "independent-reporting":
            apart = max(
                sum((abs(a - b) for a, b in zip(q, r, strict=True)), Fraction(0))
                for q in self.given
                for r in self.given
            )
            widest = Interval(max(r.low for r in radii), max(r.high for r in radii))
            sum_ = enclose(2) * widest + enclose(apart)
            two = enclose(2)
            radii = [Interval(min(sum_.low, two.low), min(sum_.high, two.high))]
        self.radii = radii
        self.most = self.E.sqrt() if self.name == "ue-conditional" else self.E

    def first_odds(self, g: Fraction) -> Interval:
        """Compute g/E."""
        return enclose(g) / self.E

    def block_odds(self, g: Fraction) -> list[Interval]:
        """Compute 1/(1 + 2 (g − 1)/d), for d or every d_s."""
        return [d / (d + enclose(2 * (g - 1))) for d in self.radii]

    def lam(self, g: Fraction, kappa: Fraction) -> Interval:
        """Compute κ/(κ + (1 − κ) E/g)."""
        k = enclose(kappa)
        return k / (k + enclose(1 - kappa) * self.E / enclose(g)) if kappa else k


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


def of_kind(matrix: Rows, question: Reporting) -> bool:
    """Return whether the mechanism is the protocol with some parameters, up to ENTRY_ERROR per entry."""
    parts = Protocol(question)
    read = {
        "independent-reporting": _read_independent,
        "grr-conditional": _read_conditional,
        "ue-conditional": _read_unary,
    }
    return any(
        _agrees(matrix, columns, len(parts.p_hat)) for columns in read[question.protocol](matrix, parts)
    )


def _agrees(matrix: Rows, columns: Columns, secrets: int) -> bool:
    most = rounded(ENTRY_ERROR) - 4 * (secrets + 2)
    for x, row in enumerate(matrix):
        tick()
        for entry, should in zip(row, columns(x), strict=True):
            if abs(rounded(Fraction(entry)) - should) > most:
                return False
    return True


def _clamped(g: Fraction, parts: Protocol) -> Fraction:
    return min(max(g, Fraction(1)), Fraction(parts.most.low))


def _from_first(lies: Fraction, told: Fraction, parts: Protocol) -> Iterator[Fraction]:
    """Find g from the odds g/E of the report of s."""
    if told:
        yield _clamped(lies / told * Fraction(parts.E.low), parts)


def _from_block(same: Fraction, other: Fraction, parts: Protocol) -> Iterator[Fraction]:
    """Find g from the odds 1/(1 + 2 (g − 1)/d) of the report of u."""
    if other:
        yield _clamped(1 + (same / other - 1) * Fraction(parts.radii[0].low) / 2, parts)


def _response(k: int, odds: Interval) -> tuple[int, int]:
    """Compute the probabilities of the true and of another value, in units, rounded down."""
    bottom = ONE + enclose(k - 1) * odds
    return below(ONE / bottom), max(below(odds / bottom), 0)


def _read_independent(matrix: Rows, parts: Protocol) -> Iterator[Columns]:
    a1, a2 = len(parts.p_hat), len(parts.p_hat[0])
    if len(matrix[0]) != a1 * a2:
        return
    (own, other), lie = map(Fraction, matrix[0][:2]), Fraction(matrix[a2][0])
    for g in (*_from_first(lie, own, parts), *_from_block(own, other, parts)):
        yield partial(_independent, parts, _response(a1, parts.first_odds(g)), g)


def _independent(parts: Protocol, first: tuple[int, int], g: Fraction, x: int) -> Iterator[int]:
    a1, a2 = len(parts.p_hat), len(parts.p_hat[0])
    (right, wrong), (same, other) = first, _response(a2, parts.block_odds(g)[0])
    s, u = divmod(x, a2)
    for r, v in product(range(a1), range(a2)):
        yield (right if r == s else wrong) * (same if v == u else other) >> BITS


BlockRows = tuple[list[tuple[int, int]], list[list[int]]]


def _block_rows(parts: Protocol, g: Fraction) -> BlockRows:
    """Build for every s the response to u, and its output for a value drawn from p̂_{U|s}."""
    a2 = len(parts.p_hat[0])
    blocks = [_response(a2, odds) for odds in parts.block_odds(g)]
    drawn = [
        [(rounded(p) * (same - other) >> BITS) + other for p in q]
        for q, (same, other) in zip(parts.given, blocks, strict=True)
    ]
    return blocks, drawn


def _read_conditional(matrix: Rows, parts: Protocol) -> Iterator[Columns]:
    a1, a2 = len(parts.p_hat), len(parts.p_hat[0])
    if len(matrix[0]) != a1 * a2:
        return
    told, lies = (sum(map(Fraction, row[:a2]), Fraction(0)) for row in (matrix[0], matrix[a2]))
    own, other = map(Fraction, matrix[0][:2])
    for g in (*_from_first(lies, told, parts), *_from_block(own, other, parts)):
        yield partial(_conditional, parts, _response(a1, parts.first_odds(g)), _block_rows(parts, g))


def _conditional(parts: Protocol, first: tuple[int, int], rows: BlockRows, x: int) -> Iterator[int]:
    a1, a2 = len(parts.p_hat), len(parts.p_hat[0])
    (right, wrong), (blocks, drawn) = first, rows
    s, u = divmod(x, a2)
    for r, v in product(range(a1), range(a2)):
        if r == s:
            yield right * (blocks[r][0] if v == u else blocks[r][1]) >> BITS
        else:
            yield wrong * drawn[r][v] >> BITS


def _read_unary(matrix: Rows, parts: Protocol) -> Iterator[Columns]:
    """Read outputs that are all vectors of values or silence.

    With κ = 1 those without silence, with κ = 0 silence alone.
    """
    a1, a2 = len(parts.p_hat), len(parts.p_hat[0])
    outputs = len(matrix[0])
    if outputs not in (1, a2**a1, (1 + a2) ** a1):
        return
    values = {1: [-1], a2**a1: list(range(a2))}.get(outputs, list(range(-1, a2)))
    reserve(outputs * a1, "the outputs of unary encoding")
    labels = list(product(values, repeat=a1))
    said = [
        sum(
            (Fraction(p) for p, label in zip(matrix[0], labels, strict=True) if label[0] == v),
            Fraction(0),
        )
        for v in range(a2)
    ]
    kappa = min(sum(said, Fraction(0)), Fraction(1)) if outputs > 1 else Fraction(0)
    most = Fraction(parts.most.low) if kappa else Fraction(1)
    g = next(_from_block(said[0], said[1], parts), most)
    if outputs == a2**a1:
        kappa = Fraction(1)
    lam = below(parts.lam(g, kappa))
    blocks, drawn = _block_rows(parts, g)
    true = rounded(kappa)

    def row(x: int) -> Iterator[int]:
        s, u = divmod(x, a2)
        tables = []
        for t in range(a1):
            chance = true if t == s else lam
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

    yield row
