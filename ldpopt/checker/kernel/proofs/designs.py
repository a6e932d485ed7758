"""Designs: objectives of the information J of a report, each bounded by a sum over the columns.

J = Σ_y w wᵀ/(p·w) over the columns w ≠ 0 of a mechanism, p a distribution without zeros. J p = 1, so
J⁻¹ − p pᵀ is n times the covariance of efficient estimates of the input's distribution P from n reports,
at P = p. *Queries* c_1 … c_r have the error Σ_i c_iᵀ(J⁻¹ − p pᵀ)c_i, n times the summed variance of the
estimates of c_i·P. A number added to all entries of c_i changes nothing, as (J⁻¹ − p pᵀ)1 = p − p = 0;
so let c_i·p = 0, and the error is Σ_i c_iᵀJ⁻¹c_i. Where J has no inverse, c_iᵀJ⁻¹c_i stands for aᵀJa if
c_i = Ja, and for ∞ if no such a exists. *Log-det* is log det J.

Both depend on all columns together. For vectors z_1, … of the file, g(w) = Σ_i (z_i·w)²/(p·w) is convex
and positively homogeneous, and Σ_y g(w_y) = Σ_i z_iᵀJz_i.

Lemma 1 (queries). −error ≤ Σ_y g(w_y) − 2 Σ_i z_i·c_i. Proof. If c = Ja, 0 ≤ (a − z)ᵀJ
(a − z) = aᵀJa − 2 z·c + zᵀJz; so c_iᵀJ⁻¹c_i ≥ 2 z_i·c_i − z_iᵀJz_i. Add up over i. ∎

Lemma 2 (log-det). For a square Z with the rows z_i and det Z ≠ 0, log det J ≤ Σ_y g(w_y) − k − log
det(ZᵀZ). Proof. log x ≤ x − 1 for the eigenvalues of ZJZᵀ ≽ 0, whose trace is Σ_y g(w_y). ∎

So a bound of Σ_y g(w_y) over all mechanisms, which the rules for columns give, bounds the objective.

Lemma 3 (values). Let F be the matrix of :mod:`.fisher_information`. det J = det F, and the error is Σ_i
d_iᵀF⁻¹d_i with d_i(a) = c_i(a) − c_i(k). Proof. The first is shown there. With the columns e_a − e_k of
B, F = BᵀJB. On vectors v = Bx, which sum to 0, Σ = J⁻¹ − p pᵀ has ΣJv = v − p (1·v) = v, and Σ1 = p − p
= 0; so Σ = B F⁻¹Bᵀ, and Bᵀc_i = d_i. ∎

Lemma 4 (parts). Let no column have entries other than 0 in two of several parts of the inputs. On a part
of the mass m = Σ p_x, let p' = p/m. The rows of the part are a mechanism, as the columns of other parts
are 0 there; let e be its error at p' of the queries, with entries of the part alone. Then Σ_i c_iᵀJ⁻¹c_i
is the sum over the parts of m e + Σ_i (c_i·p)²/m. Proof. J has a block for each part, 1/m times the
information J' of that mechanism at p'; its inverse is m J'⁻¹ = m (J'⁻¹ − p'p'ᵀ) + m p'p'ᵀ. ∎
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import mul
from typing import Any

from .. import fixed_point as units
from ..arithmetic import ZERO, Interval, between, enclose
from ..budget import UndecidedError, reserve
from ..fixed_point import dot, whole
from ..reading import UnreadableError
from ..schema import Distribution, Matrix, Record
from .column_utilities import Gain
from .extreme_rays import apart
from .fisher_information import Solved, adjugate, information, log_below, whole_columns
from .objective_parts import PRIOR, SIZE, Objective, Vectors, no_sum


@dataclass(frozen=True, kw_only=True)
class Design(Objective):
    """An objective of J: the error of queries of mean 0 under p, or log det J where there are none.

    It counts as a gain, to be maximised, so that an error has the sign changed.
    """

    prior: Sequence[Fraction]
    queries: Sequence[Sequence[Fraction]] | None

    @property
    def vectors(self) -> int:
        """The number of z_i that a proof needs."""
        return len(self.prior) if self.queries is None else len(self.queries)

    def worth(self, matrix: Sequence[Sequence[float]]) -> Interval:
        """Enclose the gain of a mechanism whose rows sum to 1: Lemma 3.

        Raises:
            UndecidedError: J is singular, or so nearly that the digits do not tell.
        """
        if self.queries is None:
            return between(*_solved(matrix, self.prior).log_determinant())
        held = ({x for x, entry in enumerate(column) if entry} for column in zip(*matrix, strict=True))
        ends = [end for part in apart(held, len(matrix)) for end in self._errors(matrix, part)]
        low, high = (sum(end, Fraction(0)) for end in zip(*ends, strict=True))
        return -Interval(enclose(low).low, enclose(high).high)

    def _errors(
        self, matrix: Sequence[Sequence[float]], part: list[int]
    ) -> Iterator[tuple[Fraction, Fraction]]:
        """Enclose what a part adds to the error of each query: Lemmas 3 and 4."""
        assert self.queries is not None
        mass = sum((self.prior[x] for x in part), Fraction(0))
        prior = [self.prior[x] / mass for x in part]
        solved = _solved([matrix[x] for x in part], prior) if len(part) > 1 else None
        for row in self.queries:
            own = [row[x] for x in part]
            mean = mass * dot(own, prior) ** 2
            found = (Fraction(0),) * 2  # of one input nothing is left to estimate
            if solved is not None:
                found = solved.quadratic([c - own[-1] for c in own[:-1]])
            yield mass * found[0] + mean, mass * found[1] + mean

    def tangent(self, vectors: Vectors) -> Gain:
        """Return g, which is 0 for the column of zeros."""

        def gain(column: Sequence[units.Rational]) -> Interval:
            entries = [Fraction(w) for w in column]
            mass = dot(self.prior, entries)
            squares = sum((dot(z, entries) ** 2 for z in vectors), Fraction(0))
            return enclose(squares / mass) if mass else ZERO

        return gain

    def offset(self, vectors: Vectors) -> Fraction:
        """Compute a number that the gain less Σ_y g(w_y) does not exceed."""
        if self.queries is not None:
            return -2 * sum(map(dot, vectors, self.queries), Fraction(0))
        k, scale = len(vectors), math.lcm(*(entry.denominator for z in vectors for entry in z))
        reserve(6 * k * k, "the vectors of the proof")
        rows = [[int(entry * scale) for entry in z] for z in vectors]
        columns = list(zip(*rows, strict=True))
        found = adjugate([[sum(map(mul, a, b)) for b in columns] for a in columns])
        if found is None:
            raise UnreadableError("certificate.proof.vectors must be linearly independent")
        bits = 2 * k * (scale.bit_length() - 1)  # entries are floats, so that scale is a power of two
        return -k - Fraction(log_below(found[1], bits), units.UNIT)


def _solved(matrix: Sequence[Sequence[float]], prior: Sequence[Fraction]) -> Solved:
    """Enclose the information of a report of a mechanism at a distribution, with its inverse."""
    k = len(prior)
    reserve(6 * k * k, "the information of a report")
    columns, shift = whole_columns(matrix)
    found = information(columns, shift, *whole(prior))
    solved = found.trimmed().solved()
    if solved is None:
        raise UndecidedError("the information of a report is singular, or too nearly so")
    return solved


def _log_det(name: str, given: dict[str, Any]) -> Design:
    prior = given["prior"]
    if not all(prior):
        raise UnreadableError(f"{name} needs a prior without zeros")
    words = "log det of the information of a report"
    return Design(name, len(prior), words, no_sum, prior=prior, queries=None)


def _queries(given: dict[str, Any]) -> Design:
    found, rows = _log_det("queries", given), given["queries"]
    if len(rows[0]) != found.inputs:
        raise UnreadableError(
            f"queries must have {found.inputs} entries, one for each input, not {len(rows[0])}"
        )
    if all(len(set(row)) == 1 for row in rows):
        raise UnreadableError("some query must have two different entries: else every answer is known")
    exact = [[Fraction(c) for c in row] for row in rows]
    centred = [[c - dot(row, found.prior) for c in row] for row in exact]
    words = (
        "error of the queries (n times the summed variance of efficient estimates from n reports, the "
        "inputs being distributed as the prior)"
    )
    return replace(found, words=words, queries=centred)


QUERIES = Record({"queries": Matrix(SIZE, 1, 2), "prior": Distribution(2)})
PARTS = {"log-det": (PRIOR, partial(_log_det, "log-det")), "queries": (QUERIES, _queries)}
"""What each objective may say, and what it means."""
