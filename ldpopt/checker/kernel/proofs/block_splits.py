"""Bound what reporting with any blocks is worth.

Theorems 15 and 17 of Lopuhaä-Zwakenberg and Goseling 2021 need only the levels of the reports. So
with ``blocks`` "optimal" every report that keeps its level is allowed. Let g = e^ε₂, E = e^ε, and d
and d_t as in (66) and (65). Then there is a g in [1, E] for which

* *independent-reporting* sends (Y₁, Y₂): Y₁ reports s with ratios of at most E/g (of two
  probabilities of one output), and Y₂, independently, reports u with ratios of at most 1 + 2 (g −
  1)/d;
* *grr-conditional* sends (Y₁, V): Y₁ reports s with ratios of at most E/g, and each of its outputs
  announces a secret t. If s = t, then V reports u with ratios of at most 1 + 2 (g − 1)/d_t; else it
  is the same report of a value drawn from p̂_{U|t}.

What the protocols are worth. Independent: Y₁ and Y₂ are independent given x, so that I(X; Y) = I(S;
Y₁) + I(U; Y₂) − I(Y₁; Y₂) ≤ I(S; Y₁) + I(U; Y₂). Conditional: given y, V has one law whatever s is,
so that I(X; Y) = Σ_y [μ(v_y) + p̂_t v_yt I_y] with v_y the column of y, Σ_y μ(v_y) = I(S; Y₁), t
the secret that y announces and I_y the information of its V on u given s = t. ∎ Both are at most
W(g, ℓ), where ℓ bounds the information on u. W is the largest Σ_y f(v_y) over reports of s with
ratios of at most E/g. Independent: f(v) = μ(v), and ℓ is added once. Conditional: f(v) = μ(v) +
max_t p̂_t ℓ_t v_t.

Lemma 1 (ends). Let V(z) be the largest Σ_y f(v_y) over mechanisms with ratios of at most 1 + z, f
sublinear. V rises, and is at most its chord as a function of 1/z. Proof. Let z₀ < z < z₁, z = (1 −
σ) z₀ + σ z₁. By Lemma 1 of ``private_cone.py`` the best columns are c_A (1 + z 1_A), for sets A of
inputs. Their sum is 1, so Σ c_A 1_A is a constant w, and Σ c_A = 1 − z w ≥ 0. f is convex, so V(z) ≤ (1
− σ) Σ c_A f(1 + z₀ 1_A) + σ Σ c_A f(1 + z₁ 1_A). The columns c_A (1 + z_i 1_A) sum to the constant 1
+ (z_i − z) w; divided by it, they are a mechanism of ratios at most 1 + z_i. Hence V(z) ≤ (1 − τ)
V(z₀) + τ V(z₁), τ = σ (1 + (z₁ − z) w) ≤ σ z₁/z; as V(z₀) ≤ V(z₁), the larger τ may be taken, and
with it 1/z = (1 − τ)/z₀ + τ/z₁. ∎ For the report of u, 1/z is proportional to 1/(g − 1). For that
of s, 1/z = E/(E − g) − 1.

Lemma 2 (:func:`line`). 1/y is convex, so a function that is at most its chord in 1/y, and rises, is
at most a line in y: put the tangent of 1/y at the middle for 1/y. It is also at most its value at
the farther end, which holds for y₀ = 0 too. ∎ Here y is g − 1, or E − g.

Lemma 3 (:meth:`Splits.above`). On a cell [g₀, g₁] let the information on u be at most the line from
ℓ₀ to ℓ₁. W rises with ℓ and is convex in it, as a maximum of convex functions. Let W(g, ℓ_i) be at
most the line from a_i to b_i. Then at g = (1 − σ) g₀ + σ g₁ the utility is at most (1 − σ) ((1 − σ)
a₀ + σ b₀) + σ ((1 − σ) a₁ + σ b₁), hence at most the largest of a₀, (b₀ + a₁)/2 and b₁. ∎

At the ends of cells dual vectors bound V (``corners.py``): for f with p̂_t ℓ_t v_t, β proves the
bound Σ β if, for every t, the vector β with p̂_t ℓ_t subtracted from its entry at t dominates μ. E
is rounded up and d down to rationals, and levels up to floats: each of these allows more reports.
Then every number of a line is a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from ..arithmetic import enclose, log, log_above, total
from ..budget import tick
from ..claims import Claim, all_of
from ..reading import UnreadableError
from ..schema import List, Nullable, Number, Record, Whole
from ..section import Case
from . import corners
from .column_utilities import MOST_DUAL
from .information_ceiling import DUAL, ceiling_claims
from .reporting_protocols import Protocol, Reporting

MOST_SPLITS = 1000
DUALS = List(Number(-MOST_DUAL, MOST_DUAL), 2)
REPORTS = {"reports": List(List(Whole(0, 10**9), 2, 2), 1)}
"""The reports that the mechanism is made of."""
CELLS = Record(
    {
        **REPORTS,
        "splits": List(Number(above=1), 0, MOST_SPLITS),
        "public": List(List(Nullable(DUALS), 1), 1),
        "secret": List(List(DUALS, 1, 4), 1),
    }
)
"""The proof of a bound by cells of splits."""
CEILING = {"ceiling": Number(), "secret_dual": DUAL}
"""The other proof: the ceiling of all private mechanisms (``information_ceiling.py``)."""
BY = {"independent-reporting": "Theorem 15", "grr-conditional": "Theorem 17"}

Line = tuple[Fraction, Fraction]
"""The values at both ends of a range."""


def line(near: Fraction, far: Fraction, start: Fraction, end: Fraction) -> Line:
    """Find a line above a function that rises and is at most its chord in 1/y: Lemma 2.

    Args:
        near: a bound of the function at the start.
        far: a bound of the function at the end.
        start: the least y of the range, at least 0.
        end: the greatest y of the range.
    """
    if start == 0 or near >= far:
        return far, far
    middle = (start + end) / 2
    slope = (far - near) / (1 / start - 1 / end)
    ends = [far - slope * (2 / middle - y / middle**2 - 1 / end) for y in (start, end)]
    return (ends[0], ends[1]) if sum(ends) < 2 * far else (far, far)


class Splits:
    """The reports that a split allows, and the bound that dual vectors prove on cells of splits."""

    def __init__(self, question: Reporting) -> None:
        parts = Protocol(question, [])
        self.conditional = question.protocol == "grr-conditional"
        self.secrets = parts.secrets
        self.publics = parts.given
        if not self.conditional:
            self.publics = [[sum(column, Fraction(0)) for column in zip(*parts.p_hat, strict=True)]]
        self.given = parts.given
        self.factor, self.distances = parts.exact, parts.distances()
        self.top = Fraction(self.factor.high)

    def secret_level(self, g: Fraction) -> float:
        """Compute the level that a split leaves for s, rounded up."""
        return _up(log_above(self.top / g))

    def public_level(self, g: Fraction, t: int) -> float:
        """Compute the level that a split leaves for u, rounded up; infinite if d may be 0."""
        d = Fraction(self.distances[t].low)
        return _up(log_above(1 + 2 * (g - 1) / d)) if d > 0 else math.inf

    def worth(self, duals: Sequence[list[float] | None]) -> list[Fraction]:
        """Bound what the reports on u are worth: Σ β, or entropy where there is no dual vector."""
        return [_worth(dual, q) for dual, q in zip(duals, self.publics, strict=True)]

    def lines(self, ends: Line, low: list[Fraction], high: list[Fraction]) -> list[Line]:
        """Bound the information on u on a cell by a line for every block.

        Args:
            ends: the splits at both ends.
            low: what the blocks are worth at the lower end.
            high: what they are worth at the upper end.
        """
        a, b = (g - 1 for g in ends)
        return [line(near, far, a, b) for near, far in zip(low, high, strict=True)]

    def weights(self, lines: Sequence[Line], end: int) -> list[Fraction]:
        """Compute p̂_t ℓ_t: what announcing t adds to f; 0 for independent reporting."""
        if not self.conditional:
            return [Fraction(0)] * len(self.secrets)
        return [p * ends[end] for p, ends in zip(self.secrets, lines, strict=True)]

    def above(self, ends: Line, lines: Sequence[Line], reached: Sequence[Fraction]) -> Fraction:
        """Bound the utility on a cell: Lemma 3.

        Args:
            ends: the splits at both ends.
            lines: the lines above the information on u.
            reached: what the reports of s are worth at the lower split for both ends of these lines,
                and, unless no level is left there, at the upper split.
        """
        near, far = self.top - ends[1], self.top - ends[0]
        found = []
        for i in (0, 1):
            most = reached[i]
            least = reached[2 + i] if near else most
            b, a = line(least, most, near, far)
            added = Fraction(0) if self.conditional else lines[0][i]
            found.append((a + added, b + added))
        (a0, b0), (a1, b1) = found
        return max(a0, (b0 + a1) / 2, b1)


def _up(x: Fraction) -> float:
    return math.nextafter(float(x), math.inf)


class Cells:
    """The proof of a bound: splits in order, and dual vectors at both ends of every cell between."""

    def __init__(self, question: Reporting, proof: dict[str, Any]) -> None:
        self.parts = Splits(question)
        self.public, self.secret = proof["public"], proof["secret"]
        self.ends = [Fraction(1), *map(Fraction, proof["splits"]), self.parts.top]
        cells = len(self.ends) - 1
        if any(a >= b for a, b in pairwise(self.ends)):
            raise UnreadableError("certificate.proof.splits must rise, and lie between 1 and e^epsilon")
        if len(self.public) != cells or len(self.secret) != cells:
            raise UnreadableError(f"certificate.proof must have dual vectors for each of {cells} cells")
        for j, (public, secret) in enumerate(zip(self.public, self.secret, strict=True)):
            ends = 1 if j + 1 == cells else 2
            wanted = ends * (2 if self.parts.conditional else 1)
            sizes = [len(q) for q in self.parts.publics]
            if [len(dual or q) for dual, q in zip(public, self.parts.publics, strict=False)] != sizes:
                raise UnreadableError("certificate.proof.public must have one dual vector per block")
            if (
                len(public) != len(sizes)
                or [len(dual) for dual in secret] != [len(self.parts.secrets)] * wanted
            ):
                raise UnreadableError(
                    f"certificate.proof.secret must have {wanted} dual vectors of one entry per secret"
                )

    def bound(self) -> Fraction:
        """Compute what the cells prove, if the dual vectors do."""
        return max(self.parts.above(ends, lines, reached) for ends, lines, reached, _ in self._cells())

    def _cells(self) -> Iterator[tuple[Line, list[Line], list[Fraction], list[list[float]]]]:
        low = [Fraction(0)] * len(self.parts.publics)
        for ends, public, secret in zip(pairwise(self.ends), self.public, self.secret, strict=True):
            tick()
            high = self.parts.worth(public)
            duals = secret if self.parts.conditional else [beta for beta in secret for _ in (0, 1)]
            reached = [sum(map(Fraction, beta), Fraction(0)) for beta in duals]
            yield ends, self.parts.lines(ends, low, high), reached, duals
            low = high

    def proven(self) -> bool | None:
        """Return whether every dual vector dominates what the bound of its cell needs."""
        return all_of(test() for test in self._tests())

    def _tests(self) -> Iterator[Callable[[], bool | None]]:
        parts, seen = self.parts, set()
        for g, public in zip(self.ends[1:], self.public, strict=True):
            for t, (dual, q) in enumerate(zip(public, parts.publics, strict=True)):
                if dual is not None:
                    yield partial(_dominates, dual, parts.public_level(g, t), q)
        for ends, lines, _, duals in self._cells():
            for i, beta in enumerate(duals):
                level = parts.secret_level(ends[i // 2])
                for lowered in _lowered(beta, parts.weights(lines, i % 2)):
                    if (level, lowered) not in seen:
                        seen.add((level, lowered))
                        yield partial(_dominates, lowered, level, parts.secrets)


def _worth(dual: list[float] | None, prior: list[Fraction]) -> Fraction:
    """Compute Σ β, or a number just above the entropy of the prior where there is no dual vector."""
    if dual is not None:
        return sum(map(Fraction, dual), Fraction(0))
    return Fraction(total(enclose(p) * log(1 / p) for p in prior if p).high)


def _lowered(beta: list[float], weights: list[Fraction]) -> set[tuple[Fraction, ...]]:
    """Subtract the weight of each secret from its entry of β, one secret at a time."""
    exact = tuple(map(Fraction, beta))
    return {(*exact[:t], exact[t] - w, *exact[t + 1 :]) for t, w in enumerate(weights)}


def _dominates(dual: Sequence[Any], level: float, prior: Sequence[Fraction]) -> bool | None:
    """Return whether β·v ≥ μ(v) for every column v whose entries differ by e^level at most."""
    if math.isinf(level):
        return None
    return corners.dominates(dual, range(len(prior)), level, [prior])


# ---------------------------------------------------------------- the claims


def read_proof(case: Case) -> dict[str, Any]:
    """Read the proof: the reports that the mechanism is made of, and what proves the bound."""
    by_ceiling = isinstance(case.proof, dict) and "ceiling" in case.proof
    if case.question.protocol not in BY:
        schema = Record(CEILING)
    elif case.stated_bound is None:
        schema = Record(REPORTS)
    else:
        schema = Record({**REPORTS, **CEILING}) if by_ceiling else CELLS
    return schema.read(case.proof, "certificate.proof")


def best_blocks(case: Case) -> Iterator[Claim]:
    """Check the claims about the best split and reports, or about the ceiling of all mechanisms."""
    question, proof = case.question, read_proof(case)
    if "ceiling" in proof:
        yield from ceiling_claims(case, proof)
        return
    cells = Cells(question, proof)

    def test() -> bool | None:
        return cells.bound() <= Fraction(case.bound) and cells.proven()

    about = (
        f"splits of the level by {BY[question.protocol]} and reports on s and u of {question.protocol}"
    )
    yield case.claim_bound(f"no {about} have a utility above {case.bound!r}", test, about)
