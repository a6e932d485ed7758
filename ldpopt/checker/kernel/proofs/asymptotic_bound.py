"""The bound of a proof without a floor on the privacy: the lemmas are in :mod:`asymptotic_utility`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from .. import fixed_point as units
from ..arithmetic import Interval, between
from ..budget import reserve, tick
from ..reading import UnreadableError
from ..schema import Number
from .asymptotic_value import CONTRAST_BITS, DesignStatement, utility_of
from .dirichlet_points import BITS, UNIT, prior_points
from .fisher_information import (
    KEPT,
    Known,
    Whole,
    WholeInverse,
    forms_above,
    sets_of,
    trace_above,
)

Atom = tuple[int, int]
"""(0, number of high entries) if all α are equal, else (0, set); (0, 0) is constant."""


def atoms(question: DesignStatement) -> list[Atom]:
    """List all atoms but the constant column, whose slope and leakage are 0."""
    k = len(question.alpha)
    which = range(1, k) if question.equal else range(1, 2**k - 1)
    return [(0, m) for m in which]


class Slopes(NamedTuple):
    """Φ at the reference, enclosed, and a number at least g_v for every atom."""

    value: Interval
    above: dict[Atom, Fraction]


def slopes(reference: dict[Atom, float], question: DesignStatement) -> Slopes | None:
    """Enclose the utility and bound its gradient at a reference; None if some F may be singular."""
    k, listed = len(question.alpha), atoms(question)
    reserve(2 * len(listed) + (2 << k), "the gradient")
    sums_above, low, high = dict.fromkeys(listed, 0), 0, 0
    used = _Used(reference, question)
    rule = prior_points(question.alpha, question.epsilon)
    for p, w in zip(rule.points, rule.weights, strict=True):
        tick()
        blocks = _Blocks(question, p)
        found = used.information(blocks).solved()
        if found is None:
            return None
        ends = found.log_determinant()
        low, high = low + w * ends[0], high + w * ends[1]
        for v, slope in blocks.traces(found.inverse_above()).items():
            sums_above[v] += w * slope
    unit = Fraction(1, UNIT * (2 * k - 2) << 2 * units.BITS)
    above = {v: found * unit * _weight(question, v) for v, found in sums_above.items()}
    return Slopes(utility_of(between(low, high, BITS + units.BITS), k), above)


def _weight(question: DesignStatement, v: Atom) -> Fraction:
    """Compute c², divided by the number of sets that the atom is the mean over."""
    count = math.comb(len(question.alpha), v[1]) if question.equal else 1
    return question.contrast**2 / count


class _Used:
    """The atoms of a reference with their factors in F: whole multiples of 2^−bits, rounded down.

    bits is such that the largest has KEPT bits. A block is at most the number of its sets times
    one in units and off by at most that number, so a factor f and its block are off by f · number +
    number · (UNIT + 1) together.
    """

    def __init__(self, reference: dict[Atom, float], question: DesignStatement) -> None:
        exact = {v: Fraction(t) * _weight(question, v) for v, t in reference.items() if t and v[1]}
        largest = max(exact.values(), default=Fraction(1))
        self.n = len(question.alpha) - 1
        self.bits = KEPT + largest.denominator.bit_length() - largest.numerator.bit_length()
        self.factors = {v: math.floor(f * Fraction(2) ** self.bits) for v, f in exact.items()}

    def information(self, blocks: _Blocks) -> Known:
        """Sum factor · block."""
        size, off = range(self.n), 0
        F = [[0] * self.n for _ in size]
        for v, factor in self.factors.items():
            block, number = blocks.block(v)
            off += factor * number + number * (units.UNIT + 1)
            for row, entries in zip(F, block, strict=True):
                for b in size:
                    row[b] += factor * entries[b]
        return Known(F, off, self.bits + units.BITS).trimmed()


class _Blocks:
    """Σ_S d_S d_Sᵀ/(1 + c p(S)) over the sets of every atom at one point, in whole numbers."""

    def __init__(self, question: DesignStatement, p: list[int]) -> None:
        self.question, self.k = question, len(p)
        sums = units.subset_sums(
            p[::-1]
        )  # the first input is the highest bit; renaming leaves det F alone
        one = 1 << (units.BITS + BITS + CONTRAST_BITS)
        unit = 1 << (BITS + CONTRAST_BITS)
        c = int(question.contrast * (1 << CONTRAST_BITS))
        self.shares = [one // (unit + c * s) for s in sums]  # at most 1 too small
        self.known: dict[Atom, tuple[Whole, int]] = {}

    def block(self, v: Atom) -> tuple[Whole, int]:
        """Sum over the sets of an atom, and say how far its entries may be off."""
        which = v[1]
        if v not in self.known:
            if self.question.equal:
                sets = sets_of(self.k)[which]
                self.known[v] = sets.sums(sets.pick(self.shares)), sets.number
            else:
                bits = [which >> x & 1 for x in range(self.k)]
                d = [bit - bits[-1] for bit in bits[:-1]]
                share = self.shares[which]
                self.known[v] = [[a * b * share for b in d] for a in d], 1
        return self.known[v]

    def traces(self, inverse: WholeInverse) -> dict[Atom, int]:
        """Find numbers at least tr(inverse · block), in squares of units."""
        if self.question.equal:
            return {v: trace_above(inverse, *self.block(v)) for v in atoms(self.question)}
        forms = forms_above(inverse)  # not negative, as the truth is not
        return {(j, S): forms[S] * (self.shares[S] + 1) for j, S in atoms(self.question)}


def proven_bound(proof: dict[str, Any], question: DesignStatement) -> Fraction | None:
    """Compute the largest utility that the proof allows, rounded up; None if the proof fails."""
    found = slopes(read_reference(proof["reference"], question), question)
    if found is None or shortage(found, proof["dual"], question) > 0:
        return None
    return bound_above(found.value, proof["dual"])


def shortage(found: Slopes, dual: list[float], question: DesignStatement) -> Fraction:
    """Find the largest g_v − β·v over all atoms and the constant column, rounded up.

    Args:
        found: the slopes g_v at the reference.
        dual: β, an entry per input; one for all if all α are equal.
        question: the utility to maximise.
    """
    k, beta = len(question.alpha), list(map(Fraction, dual))
    worst = -sum(beta, Fraction(0))
    for v, slope in found.above.items():
        tick()
        c = question.contrast
        if question.equal:
            mass = beta[0] * (1 + c * Fraction(v[1], k))
        else:
            high = (b for x, b in enumerate(beta) if v[1] >> (k - 1 - x) & 1)
            mass = sum(beta, Fraction(0)) + c * sum(high, Fraction(0))
        worst = max(worst, slope - mass)
    return worst


def bound_above(value: Interval, dual: list[float]) -> Fraction:
    """Compute Φ(reference) − ½ + Σβ, rounded up.

    Args:
        value: Φ at the reference.
        dual: β, an entry per input; one for all if all α are equal.
    """
    return Fraction(value.high) - Fraction(1, 2) + sum(map(Fraction, dual), Fraction(0))


def read_reference(entries: list[Any], question: DesignStatement) -> dict[Atom, float]:
    """Read the weights of the reference from pairs [[0, set or size], weight].

    Files of version 1 with a floor wrote 7 for 0: their atoms had eight levels, 0 … 7, up to ε.
    """
    known, found = {(0, 0), *atoms(question)}, {}
    for i, (label, weight) in enumerate(entries):
        where = f"certificate.proof.reference[{i}]"
        if not isinstance(label, tuple) or not all(type(part) is int for part in label):
            raise UnreadableError(f"{where} must start with the label of an atom")
        own = (0, *label[1:]) if label[:1] == (7,) and question.floor is not None else label
        if own not in known:
            raise UnreadableError(f"{where} must start with the label of an atom")
        if own in found:
            raise UnreadableError(f"{where} repeats the label of an atom")
        found[own] = Number(0).read(weight, where)
    return found
