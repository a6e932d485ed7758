"""Robust local differential privacy: privacy against every member of a confidence set, and value.

Statement. A mechanism W on inputs (s, u) is private against F at the level ε if for every P ∈ F,
every output y and s ≠ z, R_s·c_s ≤ E R_z·c_z with R_s = P_{U|s}, c_s = W[(s, ·), y] and E = e^ε
(Lopuhaä-Zwakenberg and Goseling 2021, Definition 1). F and what is known of its members stand in
``confidence.py``. Three proofs of rising cost and strength; one of them must succeed for each pair:

Lemma 1 (:func:`simplex_private`; Theorem 11). R_s ≥ p for every p ≤ P^min_s, so R_s·c lies between
p·c + (1 − Σp) min c and p·c + (1 − Σp) max c. ∎ With p in whole multiples of 2^−BITS, rounded down,
and the entries of the file, both are exact rational numbers.

Lemma 2 (:func:`_least`). If Σ_u q_u²/R_u ≤ r, then R·c ≥ ν + A²/r, A = Σ_u q_u √(c_u − ν), for
every ν ≤ min c. Proof. R·c = ν + Σ R (c − ν), and A² ≤ Σ q²/R · Σ R (c − ν) by Cauchy–Schwarz. ∎ ν
is guessed in floats; A and the bound are intervals, so cancellation widens them. The same for −c
gives the largest value. With r = (1 + t/p̂_s)² this is the product of the conditional sets.

Lemma 3 (:meth:`PrivacyProof.pair_private`). Two secrets share the slack (Lemma 2 of
``confidence.py``), so for fixed ν, ν' the difference R_s·c_s − E R_z·c_z is at most the largest
g(x) = −ν − A²/(1 + x k)² − E (ν' + C²/(1 + (1−x) m)²), k = t/p̂_s, m = t/p̂_z, x ∈ [0, 1]. g is
concave, so g(x) ≤ g(x₀) + max(g'(x₀) (1 − x₀), −g'(x₀) x₀) for every x₀. ∎ ν, ν' and x₀ are
guesses.

Value. I(X; Y) under p̂ is enclosed by ``columns.py``. The least information over F:

Lemma 4 (:func:`_robust_column`; Theorem 12). μ_P(T) = Σ P T log T − Q log Q, Q = P·T, equals min_λ
e^(λ−1) + P·(T log T − λ T), attained at λ = 1 + log Q. Let m(λ) ≤ min_P P·(T log T − λ T) by Lemma
2 for the whole table (r = B + 1). The minimum is concave in λ, so on [a, b] it is at least the
chord through m(a) and m(b); and e^(λ−1) plus a line is convex, hence at least its tangent at any
point. ∎ [a, b] runs over pieces of an interval that contains 1 + log Q for every member; where Q
may be 0, the column counts as 0, which is below every μ_P(T) by Jensen's inequality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any

from .arithmetic import DOWN, NEAREST, ONE, ZERO, Interval, enclose, exp, exp_below, log, total
from .budget import tick
from .claims import Claim, decided
from .columns import ColumnStatement, utility_of
from .confidence import RobustStatement, Uncertain, is_member, size, uncertain
from .fixed import UNIT, below
from .form import Case
from .mechanism import Rows, read_matrix, stochastic
from .reading import UnreadableError
from .schema import Joint, List, Number, Record, Whole

AUDIT_ERROR = Fraction(1, 10**9)
"""How far a stated robust level may be from what its witness and the proof show."""

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
    """Return the same for columns that come one by one, and are not kept.

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
        ends = [self.ends(s, block) for s, block in enumerate(_whole(blocks))]
        top, bottom = self.E.numerator, self.E.denominator
        return [
            (s, z)
            for s, (_, high) in enumerate(ends)
            for z, (low, _) in enumerate(ends)
            if (own or s != z) and high * bottom > low * top
        ]


def _whole(blocks: list[Sequence[float]]) -> list[list[int]]:
    """Multiply all entries of a column by one power of two that makes them whole."""
    pairs = [[c.as_integer_ratio() for c in block] for block in blocks]
    common = math.lcm(*(bottom for block in pairs for _, bottom in block))
    return [[top * (common // bottom) for top, bottom in block] for block in pairs]


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
        exact = [[Decimal(c) for c in block] for block in blocks]
        ends: dict[int, tuple[Decimal, Decimal]] = {}
        for s in {s for pair in pairs for s in pair}:
            r = _square(ONE + self.F.step[s])
            q = self.F.given[s]
            ends[s] = (_least(exact[s], q, r)[0], _least(_negated(exact[s]), q, r)[0].copy_negate())
        return all(
            ends[s][1] <= DOWN.multiply(self.E.low, ends[z][0])
            or self.pair_private(exact[s], exact[z], (s, z))
            for s, z in pairs
        )

    def pair_private(self, first: list[Decimal], second: list[Decimal], pair: tuple[int, int]) -> bool:
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
        for _ in range(60):
            tick()
            x = (low + high) / 2
            share, rest = enclose(x), enclose(1 - x)
            _, v, A = _least(mine, F.given[s], _square(ONE + share * k))
            _, w, C = _least(theirs, F.given[z], _square(ONE + rest * m))
            gain, loss = A * A * k, E * C * C * m
            best = _best_share(gain, loss, k, m)
            if self._worst(best, (v, A, w, C), k, m) <= 0:
                return True
            cube, other = ONE + share * k, ONE + rest * m
            slope = gain / (cube * cube * cube) - loss / (other * other * other)
            low, high = (x, high) if slope.low + slope.high > 0 else (low, x)
        return False

    def _worst(
        self, x: Fraction, levels: tuple[Decimal, Interval, Decimal, Interval], k: Interval, m: Interval
    ) -> Decimal:
        """Bound g on [0, 1] from above, by the tangent at x."""
        v, A, w, C = levels
        root, other = ONE + enclose(x) * k, ONE + enclose(1 - x) * m
        mine, theirs = A * A / _square(root), C * C / _square(other)
        value = -(_point(v) + mine) - self.E * (_point(w) + theirs)
        two = enclose(2)
        slope = two * mine * k / root - self.E * two * theirs * m / other
        rise = slope * enclose(1 - x)
        fall = -slope * enclose(x)
        return (value + Interval(ZERO.low, max(rise.high, fall.high, ZERO.low))).high


def _least(
    c: Sequence[Decimal] | Sequence[Interval], q: Sequence[Interval], r: Interval
) -> tuple[Decimal, Decimal, Interval]:
    """Bound R·c over {R : Σ q²/R ≤ r} from below, with its level ν and A: Lemma 2."""
    entries = [_point(e) if isinstance(e, Decimal) else e for e in c]
    bottom = min(e.low for e in entries)
    spread = NEAREST.subtract(max(e.high for e in entries), bottom)
    candidates = [bottom]
    if spread > 0:
        guess = NEAREST.multiply(spread, Decimal(_level_guess(entries, bottom, spread, q, r)))
        candidates.append(DOWN.subtract(bottom, guess))
    found = []
    for v in candidates:
        level = _point(v)
        A = total(w * (e - level).sqrt() for w, e in zip(q, entries, strict=True) if w.high)
        found.append(((level + A * A / r).low, v, A))
    return max(found, key=lambda candidate: candidate[0])


def _level_guess(
    entries: list[Interval], bottom: Decimal, spread: Decimal, q: Sequence[Interval], r: Interval
) -> float:
    """Guess how far below min c the level is best, in spreads: bisection in floats."""
    gaps = [float(NEAREST.divide(NEAREST.subtract(e.low, bottom), spread)) for e in entries]
    weights, goal = [float(w.low) for w in q], min(float(r.high), 1e300)
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        roots = [math.sqrt(max(g, 0.0) + math.exp(middle)) for g in gaps]
        tension = sum(map(float.__mul__, weights, roots)) * sum(map(float.__truediv__, weights, roots))
        low, high = (middle, high) if tension > goal else (low, middle)
    return math.exp(high)


def _best_share(gain: Interval, loss: Interval, k: Interval, m: Interval) -> Fraction:
    """Find about the x ∈ [0, 1] where gain/(1 + x k)³ = loss/(1 + (1−x) m)³."""
    if gain.low <= 0 or loss.low <= 0:
        return Fraction(0) if gain.low <= 0 else Fraction(1)
    with localcontext(NEAREST):
        ratio = ((loss.low / gain.low).ln() / 3).exp()
        return Fraction(min(max((1 + m.low - ratio) / (m.low + ratio * k.low), Decimal(0)), Decimal(1)))


def _point(x: Decimal) -> Interval:
    return Interval(x, x)


def _square(x: Interval) -> Interval:
    return x * x


def _negated(c: Sequence[Decimal]) -> list[Decimal]:
    return [e.copy_negate() for e in c]


# ---------------------------------------------------------------- value


def empirical_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Fraction:
    """Compute a number just below I(X; Y) under p̂."""
    return Fraction(_information(matrix, question).low)


def _information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Interval:
    flat = tuple(entry for row in question.p_hat for entry in row)
    inputs = tuple(range(len(flat)))
    return utility_of(matrix, ColumnStatement(inputs, question.epsilon, "mutual-information", (flat,)))


def robust_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Fraction:
    """Bound min_{P∈F} I_P(X; Y) ≥ Σ_y min_P μ_P(W[:, y]) from below."""
    r = size(question) + ONE
    q = [enclose(p) for row in question.p_hat for p in row]
    parts = (_robust_column([Decimal(t) for t in T], q, r) for T in zip(*matrix, strict=True))
    return sum(map(Fraction, parts), Fraction(0))


PIECES = 32


def _robust_column(T: list[Decimal], q: list[Interval], r: Interval) -> Decimal:
    """Bound min_P μ_P(T) from below: Lemma 4."""
    tick()
    least = _least(T, q, r)[0]
    if min(T) == max(T) or least <= 0:
        return Decimal(0)
    first = Fraction((ONE + _point(least).log()).low)
    last = Fraction((ONE + _point(_least(_negated(T), q, r)[0].copy_negate()).log()).high)
    own = [_point(t).xlogx() for t in T]
    cuts = [first + (last - first) * i / PIECES for i in range(PIECES + 1)]
    ends = []
    for cut in cuts:
        slope = enclose(cut)
        ends.append(
            Fraction(_least([o - slope * _point(t) for o, t in zip(own, T, strict=True)], q, r)[0])
        )
    found = min(_chord_least(cuts[i], cuts[i + 1], ends[i], ends[i + 1]) for i in range(PIECES))
    return max(found, Decimal(0))


def _chord_least(a: Fraction, b: Fraction, at_a: Fraction, at_b: Fraction) -> Decimal:
    """Bound e^(λ−1) + the chord from (a, at_a) to (b, at_b) over λ ∈ [a, b] from below."""
    if b <= a:
        return (exp(a - 1) + enclose(min(at_a, at_b))).low
    slope = (at_b - at_a) / (b - a)
    x = a if slope >= 0 else min(max(1 + Fraction(math.log(float(-slope))), a), b)
    power = exp(x - 1)
    rise = power + enclose(slope)
    tilt = min((rise * enclose(b - x)).low, (rise * enclose(a - x)).low, Decimal(0))
    return (power + enclose(at_a + slope * (x - a)) + _point(tilt)).low


# ---------------------------------------------------------------- the claims


def robust_answer(document: dict[str, Any], question: Any) -> Rows:
    """Read the mechanism, one row per pair (s, u) of ``question.robust``, as all below take it."""
    return read_matrix(document, sum(map(len, question.robust.p_hat)))


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


def empirical_value(case: Case) -> Iterator[Claim]:
    """Check the claim about the information under p̂."""
    words = f"its mutual information under p_hat is at least {case.value!r}"

    def test() -> bool | None:
        return enclose(case.value).at_most(_information(case.answer, case.question.robust))

    yield decided("value", words, test, value=case.value)


def robust_value(case: Case) -> Iterator[Claim]:
    """Check the claim about the information under every member of the set; the unproven is refuted."""
    words = "for every distribution in the set its mutual information is at least"

    def test() -> bool:
        return Fraction(case.value) <= robust_information(case.answer, case.question.robust)

    yield decided("value", f"{words} {case.value!r}", test, value=case.value)


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
    level, y, (s, z), P = audit["level"], audit["output"], audit["secrets"], audit["witness"]
    a1, a2 = len(question.p_hat), len(question.p_hat[0])
    if (len(P), len(P[0])) != (a1, a2) or y >= len(matrix[0]) or s == z or max(s, z) >= a1:
        raise UnreadableError(
            f"certificate.audit must name an output of the mechanism, two of {a1} secrets, and a "
            f"witness of {a1} × {a2} cells"
        )
    words = "certificate.audit.witness is a distribution in the set"
    yield decided("audit", words, lambda: is_member(P, question))
    words = f"it tells the secrets {s} and {z} apart by at least a factor e^({level!r} − 1e-9)"
    yield decided("audit", words, lambda: _told_apart(matrix, P, (s, z), y, Fraction(level)))
    words = (
        f"no distribution in the set tells two secrets apart by more than a factor e^({level!r} + 1e-9)"
    )

    def test() -> bool | None:
        return is_robustly_private(matrix, question, Fraction(level) + AUDIT_ERROR) or None

    yield decided("audit", words, test, value=level)


def _told_apart(
    matrix: Rows, P: list[list[Fraction]], pair: tuple[int, int], y: int, level: Fraction
) -> bool | None:
    """Return whether log P(y|s)/P(y|z) ≥ level − AUDIT_ERROR."""
    a2 = len(P[0])
    given = [
        sum((p * Fraction(matrix[s * a2 + u][y]) for u, p in enumerate(P[s])), Fraction(0)) / sum(P[s])
        for s in pair
        if sum(P[s]) > 0
    ]
    if len(given) < 2 or given[0] == 0:
        return False
    return given[1] == 0 or enclose(level - AUDIT_ERROR).at_most(log(given[0] / given[1]))
