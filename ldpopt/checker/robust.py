"""Robust local differential privacy: the confidence set, and privacy against every member of it.

Privacy is decided from p̂, n, α and ε alone: the χ² quantile, the conditional sets and the proof that a
mechanism is private against every member are all computed here. The bounds are decided in
``polyopt.py`` and ``reporting.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

from .claims import Claim, decided
from .decimals import DIGITS, MARGIN, decimal, information, xlogx
from .form import Case
from .mechanism import read_matrix, stochastic
from .reading import UnreadableError
from .schema import EPSILON, Joint, Matrix, Number, Record


class RobustStatement(NamedTuple):
    """Mechanisms on inputs (s, u), private against every P of a χ² confidence set around p̂."""

    p_hat: list[list[Fraction]]
    n: Fraction
    alpha: Fraction
    epsilon: float
    cells: int


LEAST_ALPHA = 1e-12
"""Below, the quantile of χ² takes the series beyond the digits kept, and forever."""
MOST_COUNT = 1e12

CONFIDENCE = {
    "p_hat": Joint(2, 2),
    "n": Number(above=0),
    "alpha": Number(LEAST_ALPHA, below=1),
    "epsilon": EPSILON,
}
"""What a statement says of the set."""
PARAMS = Record(
    {"epsilon": EPSILON},
    {
        "p_hat": Joint(2, 2),
        "n": Number(above=0),
        "counts": Matrix(Number(0, MOST_COUNT), 2, 2),
        "alpha": Number(LEAST_ALPHA, below=1),
    },
)
"""The parameters of every kind about a confidence set."""


def confidence(params: dict[str, Any]) -> dict[str, Any]:
    """p̂, n, α and ε from the parameters: p̂ and n are given, or follow from counts."""
    given = ("counts" in params, "p_hat" in params, "n" in params)
    if given not in ((True, False, False), (False, True, True)):
        raise UnreadableError("a table is given by 'counts', or by 'p_hat' and 'n'")
    if "counts" in params:
        total = float(sum(sum(row) for row in params["counts"]))
        if total <= 0:
            raise UnreadableError("counts must not all be 0")
        p_hat = [[count / total for count in row] for row in params["counts"]]
    else:
        p_hat, total = params["p_hat"], params["n"]
    return {
        "p_hat": p_hat,
        "n": total,
        "alpha": params.get("alpha", 0.05),
        "epsilon": params["epsilon"],
    }


def robust_question(plain: dict[str, Any], cells: int | None = None) -> RobustStatement:
    """The uncertainty set and the level of a statement that its schema has read.

    ``cells`` is the number of cells of the whole table, where values of u have been merged.
    """
    p_hat = plain["p_hat"]
    if min(map(sum, p_hat)) <= 0:
        raise UnreadableError("every row of p_hat must have a positive sum")
    cells = cells or len(p_hat) * len(p_hat[0])
    return RobustStatement(
        p_hat, Fraction(plain["n"]), Fraction(plain["alpha"]), plain["epsilon"], cells
    )


def read_robust_question(plain: dict[str, Any], cells: int | None = None) -> RobustStatement:
    """The same for plain numbers: p_hat, n, alpha and epsilon."""
    return robust_question(Record(CONFIDENCE).read(plain), cells)


@cache
def chi_squared_quantile(degrees: int, alpha: Fraction) -> Decimal:
    """A number just above the 1 − α quantile of the χ² distribution: bisection."""
    with localcontext(Context(prec=DIGITS)):
        low, high, goal = Decimal(0), Decimal(degrees), 1 - decimal(alpha)
        while _chi_squared_cdf(degrees, high) < goal:
            low, high = high, 2 * high
        while high - low > high * MARGIN:
            middle = (low + high) / 2
            inside = _chi_squared_cdf(degrees, middle) < goal
            low, high = (middle, high) if inside else (low, middle)
        return high * (1 + MARGIN)


def _chi_squared_cdf(degrees: int, x: Decimal) -> Decimal:
    """P(d/2, x/2) by the series Σ_n z^(a+n) e^−z / Γ(a+n+1), a = d/2, z = x/2."""
    a, z = Decimal(degrees) / 2, x / 2
    gamma = Decimal(1) if degrees % 2 == 0 else Decimal(PI).sqrt()
    i = a
    while i > 0:
        gamma *= i
        i -= 1
    term = (a * z.ln() - z).exp() / gamma
    total, n = term, a
    while term > total * MARGIN * MARGIN:
        n += 1
        term *= z / n
        total += term
    return total


PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"


class Uncertain(NamedTuple):
    """What the proofs need of a χ² set; with B rounded up, and p_min rounded down."""

    given: list[list[Decimal]]  # P̂_{u|s}
    step: list[Decimal]  # t/P̂_s, t = √(B+1) − 1: the members have Σ_s P̂_s √r_s ≤ 1 + t
    p_min: list[list[Decimal]]  # P^min_{u|s}: Lemmas 8 and 9


def uncertain(question: RobustStatement) -> Uncertain:
    """Lopuhaä-Zwakenberg and Goseling 2021, Lemmas 8 and 9; call it in a context of many digits."""
    B = chi_squared_quantile(question.cells - 1, question.alpha) / decimal(question.n)
    t = B / ((B + 1).sqrt() + 1) * (1 + MARGIN)
    given, step, p_min = [], [], []
    for row in question.p_hat:
        q = [decimal(entry / sum(row)) for entry in row]
        k = t / decimal(sum(row, Fraction(0)))
        b = k * (2 + k)
        given.append(q)
        step.append(k)
        roots = [(b * b + 4 * b * e * (1 - e)).sqrt() for e in q]
        p_min.append([(1 - MARGIN) * 2 * e * e / (b + 2 * e + r) for e, r in zip(q, roots, strict=True)])
    return Uncertain(given, step, p_min)


def is_robustly_private(matrix: Sequence[Sequence[float]], question: RobustStatement) -> bool:
    """P(Y=y|S=s) ≤ e^ε P(Y=y|S=s') for all y, s ≠ s' and every P in the χ² set.

    Lopuhaä-Zwakenberg and Goseling 2021, (2). Three proofs of rising cost and strength: over the
    simplices {R ≥ P^min_{·|s}} (Theorem 11), over the product of the conditional sets, and over the set
    itself.
    """
    with localcontext(Context(prec=DIGITS)):
        F = uncertain(question)
        E = Decimal(question.epsilon).exp() * (1 - MARGIN)
        a2 = len(question.p_hat[0])
        for column in zip(*matrix, strict=True):
            entries = [Decimal(entry) for entry in column]
            blocks = [entries[i : i + a2] for i in range(0, len(entries), a2)]
            if not _column_private(blocks, F, E):
                return False
    return True


def _column_private(blocks: list[list[Decimal]], F: Uncertain, E: Decimal) -> bool:
    ends = [_simplex_ends(c, p) for c, p in zip(blocks, F.p_min, strict=True)]
    sharper: dict[int, tuple[Decimal, Decimal]] = {}

    def product_ends(s: int) -> tuple[Decimal, Decimal]:
        if s not in sharper:
            c, q, r = blocks[s], F.given[s], (1 + F.step[s]) ** 2
            sharper[s] = (-_least([-e for e in c], q, r)[0], _least(c, q, r)[0])
        return sharper[s]

    for s, (_, high) in enumerate(ends):
        for z, (low, _) in enumerate(ends):
            if s == z or high <= E * low * (1 - MARGIN):
                continue
            if product_ends(s)[0] <= E * product_ends(z)[1] * (1 - MARGIN):
                continue
            if not _pair_private(blocks[s], blocks[z], F, s, z, E):
                return False
    return True


def _simplex_ends(c: list[Decimal], p: list[Decimal]) -> tuple[Decimal, Decimal]:
    """The extreme values of R·c over {R : R_u ≥ p_u, Σ R = 1}."""
    fixed = sum((w * e for w, e in zip(p, c, strict=True)), Decimal(0))
    free = 1 - sum(p, Decimal(0))
    return fixed + free * min(c), fixed + free * max(c)


def _least(c: list[Decimal], q: list[Decimal], r: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """A lower bound of R·c over {R : Σ q²/R ≤ r}, with its level ν and A = Σ q √(c − ν).

    For every ν ≤ min c: R·c = ν + Σ R (c − ν) ≥ ν + A²/r (Cauchy–Schwarz). ν is guessed in floats.
    """
    bottom, spread = min(c), max(c) - min(c)
    if spread == 0:
        return bottom, bottom, Decimal(0)
    gaps = [float((e - bottom) / spread) for e in c]
    weights, goal = [float(e) for e in q], float(r)
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        roots = [math.sqrt(g + math.exp(middle)) for g in gaps]
        tension = sum(w * g for w, g in zip(weights, roots, strict=True)) * sum(
            w / g for w, g in zip(weights, roots, strict=True)
        )
        low, high = (middle, high) if tension > goal else (low, middle)
    level = bottom - spread * Decimal(math.exp(high))
    candidates = [bottom, level] if level < bottom else [bottom]
    found = []
    for v in candidates:
        A = sum((w * (e - v).sqrt() for w, e in zip(q, c, strict=True)), Decimal(0))
        found.append((v + A * A / r, v, A))
    return max(found)


def _pair_private(
    mine: list[Decimal], theirs: list[Decimal], F: Uncertain, s: int, z: int, E: Decimal
) -> bool:
    """R_s·c_s ≤ E R_z·c_z when s takes a share x of the slack and z the rest: a saddle point.

    For fixed levels ν, ν' of :func:`_least` the difference of both sides is at most
    −(ν + A²/ρ²) − E (ν' + A'²/ρ'²) with ρ = 1 + x k, ρ' = 1 + (1−x) k'. This is concave in x, and its
    maximum is explicit. It is convex in the levels, so that some levels prove what is true.
    """
    k, m = F.step[s], F.step[z]
    negative = [-e for e in mine]
    low, high = Decimal(0), Decimal(1)
    for _ in range(60):
        x = (low + high) / 2
        _, v, A = _least(negative, F.given[s], (1 + x * k) ** 2)
        _, w, C = _least(theirs, F.given[z], (1 + (1 - x) * m) ** 2)
        slope = A * A * k / (1 + x * k) ** 3 - E * C * C * m / (1 + (1 - x) * m) ** 3
        low, high = (x, high) if slope > 0 else (low, x)
        best = _best_share(A * A * k, E * C * C * m, k, m)
        worst = -v - A * A / (1 + best * k) ** 2 - E * (w + C * C / (1 + (1 - best) * m) ** 2)
        if worst <= -MARGIN * max(mine):
            return True
    return False


def _best_share(gain: Decimal, loss: Decimal, k: Decimal, m: Decimal) -> Decimal:
    """The x ∈ [0, 1] where gain/(1 + x k)³ = loss/(1 + (1−x) m)³."""
    if gain == 0 or loss == 0:
        return Decimal(0) if gain == 0 else Decimal(1)
    ratio = ((loss / gain).ln() / 3).exp()
    return min(max((1 + m - ratio) / (m + ratio * k), Decimal(0)), Decimal(1))


# ---------------------------------------------------------------- the mechanism and its value


def robust_answer(document: dict[str, Any], question: RobustStatement) -> list[list[float]]:
    """The mechanism, one row per pair (s, u)."""
    return read_matrix(document, len(question.p_hat) * len(question.p_hat[0]))


def robust_members(case: Case) -> Iterator[Claim]:
    """The claims that a mechanism is stochastic and robustly private."""
    question = case.question
    yield stochastic(case.answer)
    words = (
        f"its outputs tell two secrets apart by at most a factor e^{question.epsilon!r}, for every "
        f"distribution in the χ² set of n = {float(question.n)!r}, alpha = {float(question.alpha)!r}"
    )
    test = partial(is_robustly_private, case.answer, question)
    yield decided("privacy", words, test, value=question.epsilon)


def empirical_value(case: Case) -> Iterator[Claim]:
    """The claim about the information under p̂."""
    words = f"its mutual information under p_hat is at least {case.value!r}"
    yield decided(
        "value",
        words,
        lambda: empirical_information(case.answer, case.question) >= Decimal(case.value),
        value=case.value,
    )


def robust_value(case: Case) -> Iterator[Claim]:
    """The claim about the information under every member of the set."""
    words = "for every distribution in the set its mutual information is at least"
    yield decided(
        "value",
        f"{words} {case.value!r}",
        lambda: robust_information(case.answer, case.question) >= Decimal(case.value),
        value=case.value,
    )


def empirical_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Decimal:
    """A number just below I(X; Y) under p̂."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[decimal(p) for row in question.p_hat for p in row]]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((information(rows[0], T) for T in columns), Decimal(0)) - MARGIN


def robust_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Decimal:
    """A number below min_{P∈F} I_P(X; Y): Σ_y min_P μ_P(W[:, y]).

    Lopuhaä-Zwakenberg and Goseling 2021, Theorem 12. μ_P(T) = Σ P T log T − q log q is at least min_λ
    e^(λ−1) + P·(T log T − λ T). The minimum over P is concave in λ, so on an interval it is at least
    its chord; the sum with e^(λ−1) has an explicit least value. Intervals are cut where the bound is
    lowest.
    """
    with localcontext(Context(prec=DIGITS)):
        B = chi_squared_quantile(question.cells - 1, question.alpha) / decimal(question.n)
        q = [decimal(p) for row in question.p_hat for p in row]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((_robust_column(T, q, B + 1) for T in columns), Decimal(0)) - MARGIN


PIECES = 32


def _robust_column(T: list[Decimal], q: list[Decimal], r: Decimal) -> Decimal:
    if min(T) == max(T):
        return Decimal(0)
    low = 1 + max(_least(T, q, r)[0], min(t for t in T if t) * MARGIN).ln()
    high = 1 + (-_least([-t for t in T], q, r)[0]).ln()
    own = [xlogx(t) for t in T]
    cuts = [low + (high - low) * i / PIECES for i in range(PIECES + 1)]
    ends = [_least([o - cut * t for o, t in zip(own, T, strict=True)], q, r)[0] for cut in cuts]
    return min(_chord_least(cuts[i], cuts[i + 1], ends[i], ends[i + 1]) for i in range(PIECES))


def _chord_least(a: Decimal, b: Decimal, at_a: Decimal, at_b: Decimal) -> Decimal:
    """min over λ ∈ [a, b] of e^(λ−1) + the chord from (a, at_a) to (b, at_b)."""
    if b <= a:
        return (a - 1).exp() + min(at_a, at_b)
    slope = (at_b - at_a) / (b - a)
    best = a if slope >= 0 else min(max(1 + (-slope).ln(), a), b)
    return (best - 1).exp() + at_a + slope * (best - a)
