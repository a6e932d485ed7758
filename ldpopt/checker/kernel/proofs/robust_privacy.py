"""Robust local differential privacy: privacy against every member of a confidence set, and value.

Statement. A mechanism W on inputs (s, u) is private against F at the level ε if for every P ∈ F,
every output y and s ≠ z, R_s·c_s ≤ E R_z·c_z with R_s = P_{U|s}, c_s = W[(s, ·), y] and E = e^ε
(Lopuhaä-Zwakenberg and Goseling 2021, Definition 1). F and what is known of its members stand in
``confidence_set.py``. Three proofs of rising cost and strength; one of them must succeed for each pair:

Lemma 1 (:func:`simplex_private`; Theorem 11). R_s ≥ p for every p ≤ P^min_s, so R_s·c lies between
p·c + (1 − Σp) min c and p·c + (1 − Σp) max c. ∎ With p in whole multiples of 2^−BITS, rounded down,
and the entries of the file, both are exact rational numbers.

Lemma 2 (``linear_minimum.py``). R·c is bounded over {R : Σ_u q_u²/R_u ≤ r} by a guessed level ν. With
r = (1 + t/p̂_s)² this is the product of the conditional sets.

Lemma 3 (:meth:`PrivacyProof.pair_private`). Two secrets share the slack (Lemma 2 of
``confidence_set.py``), so for fixed ν, ν' the difference R_s·c_s − E R_z·c_z is at most the largest
g(x) = −ν − A²/(1 + x k)² − E (ν' + C²/(1 + (1−x) m)²), k = t/p̂_s, m = t/p̂_z, x ∈ [0, 1]. g is
concave, so g(x) ≤ g(x₀) + max(g'(x₀) (1 − x₀), −g'(x₀) x₀) for every x₀. ∎ ν, ν' and x₀ are
guesses.

Value. The least information over F stands in ``least_information.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import chain, islice

from ..arithmetic import DOWN, NEAREST, ONE, ZERO, Interval, below, enclose, exp_below
from ..budget import tick
from ..claims import Claim, decided
from ..fixed_point import UNIT, whole
from ..reading import UnreadableError
from ..schema import Joint, List, Number, Record, Whole
from ..section import Case
from .confidence_set import RobustStatement, Uncertain, is_member, uncertain
from .falling_roots import falling_root
from .least_information import robust_information
from .linear_minimum import FAR, Level, alike, least, point
from .private_rows import stochastic
from .robust_claims import audit_claims, empirical_value

Side = tuple[list[Decimal], list[Interval]]
"""The different entries of the column of one secret, and the probability of each."""

# ---------------------------------------------------------------- privacy


def is_robustly_private(
    matrix: Sequence[Sequence[float]], question: RobustStatement, level: Fraction | None = None
) -> bool:
    """Return whether P(Y=y|S=s) ≤ e^level P(Y=y|S=z) is proven for all y, s ≠ z and every P ∈ F.

    Args:
        matrix: the mechanism, one row per input (s, u).
        question: p̂ and its uncertainty set F, and the level ε.
        level: the level to prove; ε if not given.
    """
    return are_robustly_private(zip(*matrix, strict=True), question, level)


def are_robustly_private(
    columns: Iterable[Sequence[float]], question: RobustStatement, level: Fraction | None = None
) -> bool:
    """Return whether the same is proven for columns that come one by one, and are not kept.

    Args:
        columns: the entries of every output, one per input (s, u).
        question: p̂ and its uncertainty set F, and the level ε.
        level: the level to prove; ε if not given.
    """
    F = uncertain(question)
    proof = PrivacyProof(F, exp_below(question.epsilon if level is None else level))
    a2 = len(question.p_hat[0])
    return all(proof.holds(split(column, a2)) for column in columns)


def split(column: Sequence[float], a2: int) -> list[Sequence[float]]:
    """Split a column into one block per secret."""
    return [column[i : i + a2] for i in range(0, len(column), a2)]


NEAR = 1e-7
"""Gains whose ratio is so close to 1 end the search for a share: their levels are guessed no closer."""
MOST_STEP = 1e90
"""Larger steps are not cubed in floats: the guess is one half."""


class Simplices:
    """Lemma 1: the sets {R ≥ p} with p just below P^min, in units, and the level E, rounded down."""

    def __init__(self, F: Uncertain, E: Fraction) -> None:
        self.p = [[max(below(entry), 0) for entry in row] for row in F.p_min]
        self.free = [UNIT - sum(row) for row in self.p]
        self.E = E

    def ends(self, s: int, block: Sequence[int]) -> tuple[int, int]:
        """Compute the extreme values of R·c, exactly."""
        fixed = sum(w * c for w, c in zip(self.p[s], block, strict=True))
        return fixed + self.free[s] * min(block), fixed + self.free[s] * max(block)

    def open_pairs(self, blocks: list[Sequence[float]], own: bool = False) -> list[tuple[int, int]]:
        """List the pairs (s, z) that Lemma 1 does not prove; ``own``: also s = z."""
        entries = iter(whole(chain.from_iterable(blocks))[0])
        ends = [self.ends(s, list(islice(entries, len(own)))) for s, own in enumerate(blocks)]
        top, bottom = self.E.numerator, self.E.denominator
        return [
            (s, z)
            for s, (_, high) in enumerate(ends)
            for z, (low, _) in enumerate(ends)
            if (own or s != z) and high * bottom > low * top
        ]


class PrivacyProof:
    """Lemmas 1 to 3, for one set and one level."""

    def __init__(self, F: Uncertain, E: Fraction) -> None:
        self.F, self.simplices = F, Simplices(F, E)
        self.E = Interval(enclose(E).low, enclose(E).low)

    def holds(self, blocks: list[Sequence[float]]) -> bool:
        """Return whether the privacy of one output is proven."""
        tick()
        pairs = self.simplices.open_pairs(blocks)
        if not pairs:
            return True
        F = self.F
        sides = {s: alike(blocks[s], F.given[s]) for s in {s for pair in pairs for s in pair}}
        r = {s: _square(ONE + F.step[s]) for s in sides}
        high = {s: least(*_negated(sides[s]), r[s])[0].copy_negate() for s in {s for s, _ in pairs}}
        low = {z: least(*sides[z], r[z])[0] for z in {z for _, z in pairs}}
        return all(
            high[s] <= DOWN.multiply(self.E.low, low[z]) or self.pair_private(sides[s], sides[z], (s, z))
            for s, z in pairs
        )

    def pair_private(self, first: Side, second: Side, pair: tuple[int, int]) -> bool:
        """Prove a pair by Lemma 3; the levels and x₀ follow from a bisection for the worst share.

        Args:
            first: the column of the first secret, exact.
            second: the column of the second.
            pair: the two secrets.
        """
        F, E = self.F, self.E
        s, z = pair
        k, m = F.step[s], F.step[z]
        mine, theirs = _negated(first), second
        low, high = Fraction(0), Fraction(1)
        x = self._share_guess(mine, theirs, pair)
        for step in range(60):
            tick()
            share, rest = enclose(x), enclose(1 - x)
            _, v, A = least(*mine, _square(ONE + share * k))
            _, w, C = least(*theirs, _square(ONE + rest * m))
            gain, loss = A * A * k, E * C * C * m
            best = _best_share(gain, loss, k, m)
            if self._worst(best, (v, A, w, C), k, m) <= 0:
                return True
            cube, other = ONE + share * k, ONE + rest * m
            slope = gain / (cube * cube * cube) - loss / (other * other * other)
            low, high = (x, high) if slope.low + slope.high > 0 else (low, x)
            x = best if step % 2 and low < best < high else (low + high) / 2
        return False

    def _share_guess(self, mine: Side, theirs: Side, pair: tuple[int, int]) -> Fraction:
        """Guess the worst share of the slack, in floats: where more of it helps both secrets alike.

        On the scale of log x/(1 − x) the logarithm of the ratio of the two gains is almost linear.
        """
        k, m, E = (float(x.low) for x in (self.F.step[pair[0]], self.F.step[pair[1]], self.E))
        if not (0 < k < MOST_STEP and 0 < m < MOST_STEP):
            return Fraction(1, 2)
        own, other = Level(*mine), Level(*theirs)

        def gain(z: float) -> float:
            x = 1 / (1 + math.exp(-z))
            a, c = x * k, (1 - x) * m
            gained = own.log_reach(a) + math.log(k) - 3 * math.log1p(a)
            return gained - other.log_reach(c) - math.log(E * m) + 3 * math.log1p(c)

        return Fraction(1 / (1 + math.exp(-falling_root(gain, -FAR, FAR, NEAR))))

    def _worst(
        self, x: Fraction, levels: tuple[Decimal, Interval, Decimal, Interval], k: Interval, m: Interval
    ) -> Decimal:
        """Bound g on [0, 1] from above, by the tangent at x."""
        v, A, w, C = levels
        root, other = ONE + enclose(x) * k, ONE + enclose(1 - x) * m
        mine, theirs = A * A / _square(root), C * C / _square(other)
        value = -(point(v) + mine) - self.E * (point(w) + theirs)
        two = enclose(2)
        slope = two * mine * k / root - self.E * two * theirs * m / other
        rise = slope * enclose(1 - x)
        fall = -slope * enclose(x)
        return (value + Interval(ZERO.low, max(rise.high, fall.high, ZERO.low))).high


def _best_share(gain: Interval, loss: Interval, k: Interval, m: Interval) -> Fraction:
    """Find about the x ∈ [0, 1] where gain/(1 + x k)³ = loss/(1 + (1−x) m)³."""
    if gain.low <= 0 or loss.low <= 0:
        return Fraction(0) if gain.low <= 0 else Fraction(1)
    with localcontext(NEAREST):
        ratio = ((loss.low / gain.low).ln() / 3).exp()
        return Fraction(min(max((1 + m.low - ratio) / (m.low + ratio * k.low), Decimal(0)), Decimal(1)))


def _square(x: Interval) -> Interval:
    return x * x


def _negated(side: Side) -> Side:
    return [e.copy_negate() for e in side[0]], side[1]


# ---------------------------------------------------------------- the claims


def private_words(question: RobustStatement) -> str:
    """Say what privacy against the set is."""
    return (
        f"tell two secrets apart by at most a factor e^{question.epsilon!r}, for every "
        f"distribution in the χ² set of n = {float(question.n)!r}, alpha = {float(question.alpha)!r}"
    )


def robust_members(case: Case) -> Iterator[Claim]:
    """Check the claims that a mechanism is stochastic and robustly private."""
    question = case.question.robust
    yield stochastic(case.answer)
    words = f"its outputs {private_words(question)}"
    test = partial(is_robustly_private, case.answer, question)
    yield decided("privacy", words, test, value=question.epsilon)


def information_value(case: Case) -> Iterator[Claim]:
    """Check the claim about the information, under p̂ or under every member, as the objective says.

    What is not proven of every member is refuted.
    """
    if case.question.objective == "empirical":
        yield from empirical_value(case)
        return
    words = f"for every distribution in the set its mutual information is at least {case.value!r}"

    def test() -> bool:
        return Fraction(case.value) <= robust_information(case.answer, case.question.robust)

    yield case.claim_value(words, test)


AUDIT = Record(
    {},
    {
        "level": Number(0),
        "output": Whole(0, 10**9),
        "secrets": List(Whole(0, 10**9), 2, 2),
        "witness": Joint(2, 2),
    },
)


def robust_audit(case: Case) -> Iterator[Claim]:
    """Check the claims about a stated level: a member of F attains it, and none exceeds it, to 1e-9."""
    question, matrix = case.question.robust, case.answer
    audit = AUDIT.read(case.audit, "certificate.audit")
    if set(audit) != set(AUDIT.optional):
        raise UnreadableError(f"certificate.audit needs the keys {', '.join(AUDIT.optional)}")
    y, (s, z), P = audit["output"], audit["secrets"], audit["witness"]
    a1, a2 = len(question.p_hat), len(question.p_hat[0])
    if (len(P), len(P[0])) != (a1, a2) or y >= len(matrix[0]) or s == z or max(s, z) >= a1:
        raise UnreadableError(
            f"certificate.audit must name an output of the mechanism, two of {a1} secrets, and a "
            f"witness of {a1} × {a2} cells"
        )

    def private(level: Fraction) -> bool:
        return _follows(case, level) or is_robustly_private(matrix, question, level)

    yield from audit_claims(matrix, audit, "the set", lambda: is_member(P, question), private)


def _follows(case: Case, level: Fraction) -> bool:
    """Return whether privacy at the level ε was proven before, and the level is not below ε.

    Lemma. What holds at the level ε holds at every level above: e^ε ≤ e^level, and R_z·c_z ≥ 0. ∎
    """
    proven = any(claim.what == "privacy" and claim.holds for claim in case.proven)
    return proven and level >= Fraction(case.question.robust.epsilon)
