"""The χ² confidence set of robust local differential privacy, enclosed.

Statement. p̂ is a table [s][u] from n samples, and

    F = {P : Σ_su (p̂_su − P_su)²/P_su ≤ B} = {P : Σ_su p̂_su²/P_su ≤ B + 1},  B = χ²_{d, 1−α}/n,

with d = cells − 1 degrees of freedom (Lopuhaä-Zwakenberg and Goseling 2021, (3)). Terms with p̂_su = 0
are 0. Every row of p̂ has a positive sum p̂_s (:func:`check_table`).

Lemma 1 (:func:`chi_squared_cdf`). With a = d/2 and z = x/2 the distribution function of χ²_d at x is
Σ_i τ_i, τ_i = z^(a+i) e^−z/Γ(a+i+1), all terms positive. τ_(i+1)/τ_i = z/(a+i+1) falls with i, so what
is left after τ_i is at most τ_i ρ/(1 − ρ) for ρ = z/(a+i+1) < 1. ∎ Both ends are enclosed, and
:func:`chi_squared_quantile` keeps x̲ < x̄ only if the function is certainly below 1 − α at x̲ and certainly
not below it at x̄; where x̲ and x̄ come from (Newton's method) does not matter.

Lemma 2 (:class:`Uncertain`). Let P ∈ F, R_s = P_{U|s}, q_s = p̂_{U|s}, r_s = Σ_u q_su²/R_su. Then
Σ_s p̂_s √r_s ≤ √(B+1) = 1 + t. Proof. Σ_su p̂_su²/P_su = Σ_s p̂_s² r_s/P_s, and by Cauchy–Schwarz
(Σ_s p̂_s √r_s)² ≤ Σ_s p̂_s² r_s/P_s · Σ_s P_s ≤ B + 1. ∎ As every r_s ≥ 1, one secret alone has
√r_s ≤ 1 + t/p̂_s, and two of them share: √r_s ≤ 1 + x t/p̂_s, √r_z ≤ 1 + (1−x) t/p̂_z, x ∈ [0, 1].

Lemma 3 (Lemma 9 of the paper). Σ_u q_u²/R_u ≤ 1 + b implies R_u ≥ 2 q_u²/(b + 2 q_u + √(b² + 4 b q_u
(1 − q_u))). Proof. Merge all values but u: q²/R + (1−q)²/(1−R) ≤ 1 + b by Cauchy–Schwarz; this is a
quadratic inequality in R, and the formula is its smaller root, multiplied out. ∎ With b = k (2 + k),
k = t/p̂_s, this is P^min_{u|s}; the larger root, (b + 2 q_u + √(b² + 4 b q_u (1 − q_u)))/(2 b + 2), is
P^max_{u|s}. Members of F attain both: the other values share what is left in proportion to q_s, and the
masses P_s are proportional to p̂_s √r_s, which makes both inequalities of Cauchy–Schwarz equalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..arithmetic import NEAREST, ONE, PI, ZERO, Interval, enclose, total
from ..budget import UndecidedError, tick
from ..reading import UnreadableError
from ..schema import EPSILON, Joint, Matrix, Number, Record

LEAST_ALPHA, MOST_ALPHA = 1e-12, 1 - 1e-12
LEAST_SAMPLES, MOST_SAMPLES = 1e-9, 1e12
"""Fewer samples say nothing; more would ask for more digits than a mechanism of floats has."""
LEAST_SECRET, LEAST_CELL = Fraction(1, 10**60), Fraction(1, 10**300)
"""The least probability of a secret, and of a cell that is not 0: with less, floats lose digits."""
ALPHA = Number(LEAST_ALPHA, MOST_ALPHA)
SAMPLES = Number(LEAST_SAMPLES, MOST_SAMPLES)
COUNTS = Matrix(Number(0, MOST_SAMPLES, bits=0), 2, 2)
CONFIDENCE = {"p_hat": Joint(2, 2), "n": SAMPLES, "alpha": ALPHA, "epsilon": EPSILON}
"""What a statement says of the set."""
PARAMS = Record(
    {"epsilon": EPSILON}, {"p_hat": Joint(2, 2), "n": SAMPLES, "counts": COUNTS, "alpha": ALPHA}
)
"""The parameters of every kind about a confidence set."""


class RobustStatement(NamedTuple):
    """Mechanisms on inputs (s, u), private against every P of a χ² confidence set around p̂."""

    p_hat: list[list[Fraction]]
    n: Fraction
    alpha: Fraction
    epsilon: float
    cells: int

    @property
    def secrets(self) -> list[Fraction]:
        """The probabilities p̂_s."""
        return [sum(row, Fraction(0)) for row in self.p_hat]

    @property
    def given(self) -> list[list[Fraction]]:
        """The conditional probabilities p̂_{u|s}."""
        pairs = zip(self.p_hat, self.secrets, strict=True)
        return [[p / mass for p in row] for row, mass in pairs]


def confidence(params: dict[str, Any]) -> dict[str, Any]:
    """Read p̂, n, α and ε from the parameters: p̂ and n are given, or follow from counts."""
    given = ("counts" in params, "p_hat" in params, "n" in params)
    if given not in ((True, False, False), (False, True, True)):
        raise UnreadableError("a table must be given either by 'counts', or by 'p_hat' and 'n'")
    if "counts" in params:
        samples = float(sum(sum(row) for row in params["counts"]))
        if samples <= 0:
            raise UnreadableError("counts must not all be 0")
        p_hat = [[count / samples for count in row] for row in params["counts"]]
    else:
        p_hat, samples = params["p_hat"], params["n"]
    return {
        "p_hat": p_hat,
        "n": samples,
        "alpha": params.get("alpha", 0.05),
        "epsilon": params["epsilon"],
    }


def robust_question(plain: dict[str, Any], cells: int | None = None) -> RobustStatement:
    """Build the uncertainty set and the level of a statement that its schema has read.

    ``cells`` is the number of cells of the whole table, where values of u have been merged.
    """
    p_hat = plain["p_hat"]
    check_table(p_hat)
    cells = cells or len(p_hat) * len(p_hat[0])
    return RobustStatement(
        p_hat, Fraction(plain["n"]), Fraction(plain["alpha"]), plain["epsilon"], cells
    )


def check_table(p_hat: Sequence[Sequence[Fraction]]) -> None:
    """Refuse a table in which a secret has (almost) no probability, or a cell has a tiny one."""
    rarest = min(sum(row, Fraction(0)) for row in p_hat)
    if rarest < LEAST_SECRET:
        raise UnreadableError(
            f"every row of p_hat must have a sum of at least {float(LEAST_SECRET)!r}, "
            f"not {float(rarest)!r}"
        )
    least = min(entry for row in p_hat for entry in row if entry)
    if least < LEAST_CELL:
        raise UnreadableError(
            f"every entry of p_hat must be 0 or at least {float(LEAST_CELL)!r}, not {float(least)!r}"
        )


def read_robust_question(plain: dict[str, Any], cells: int | None = None) -> RobustStatement:
    """Build the question from plain numbers: p_hat, n, alpha and epsilon."""
    return robust_question(Record(CONFIDENCE).read(plain), cells)


# ---------------------------------------------------------------- the quantile

SPREADS = tuple(Decimal(f"1e-{digits}") for digits in (27, 20, 12))
"""Relative distances from the guess at which a quantile is enclosed: the first that can be proven."""


@cache
def chi_squared_quantile(degrees: int, alpha: Fraction) -> Interval:
    """Enclose the 1 − α quantile of the χ² distribution: Lemma 1."""
    goal = enclose(1 - alpha)
    guess = _guess(degrees, alpha)
    for spread in SPREADS:
        low = NEAREST.multiply(guess, 1 - spread)
        high = NEAREST.multiply(guess, 1 + spread)
        under, over = chi_squared_cdf(degrees, low), chi_squared_cdf(degrees, high)
        if under.high < goal.low and goal.high <= over.low:
            return Interval(low, high)
    raise UndecidedError(f"the quantile of χ² with {degrees} degrees of freedom cannot be enclosed")


def chi_squared_cdf(degrees: int, x: Decimal) -> Interval:
    """Enclose P(χ²_d ≤ x) for x > 0: Lemma 1."""
    z = enclose(x) / enclose(2)
    term = (-z).exp()
    if degrees % 2:  # z^½ e^−z / Γ(3/2), Γ(3/2) = √π/2
        term = term * z.sqrt() * enclose(2) / PI.sqrt()
    twice = degrees % 2
    while twice < degrees:
        twice += 2
        term = term * z / enclose(Fraction(twice, 2))
    found = term
    while True:
        tick()
        twice += 2
        ratio = z / enclose(Fraction(twice, 2))
        if ratio.high < 1:
            rest = term * ratio / (ONE - ratio)
            if rest.high <= found.low * Decimal("1e-62"):
                return found + Interval(Decimal(0), rest.high)
        term = term * ratio
        found = found + term


def _guess(degrees: int, alpha: Fraction) -> Decimal:
    """Guess the quantile by Newton's method, from the mean."""
    with localcontext(NEAREST):
        x, exact = Decimal(degrees), Decimal(alpha.numerator) / alpha.denominator
        half = Decimal(degrees) / 2
        log_gamma = PI.low.ln() / 2 if degrees % 2 else Decimal(0)
        for twice in range(2 - degrees % 2, degrees, 2):
            log_gamma += (Decimal(twice) / 2).ln()
        for _ in range(200):  # on the logarithm of the tail, which is concave
            density = ((half - 1) * x.ln() - x / 2 - half * Decimal(2).ln() - log_gamma).exp()
            tail = max(1 - chi_squared_cdf(degrees, x).low, Decimal("1e-40"))
            step = (tail.ln() - exact.ln()) * tail / density
            x += min(max(step, -x / 2), x / 2)
            if abs(step) <= x * Decimal("1e-32"):
                break
        return x


# ---------------------------------------------------------------- the set


class Uncertain(NamedTuple):
    """What the proofs need of the set, enclosed: Lemmas 2 and 3."""

    given: list[list[Interval]]  # q_su = p̂_{u|s}
    step: list[Interval]  # t/p̂_s
    p_min: list[list[Interval]]  # P^min_{u|s}


def size(question: RobustStatement) -> Interval:
    """Enclose B."""
    return _size(question.cells, question.alpha, question.n)


def _size(cells: int, alpha: Fraction, n: Fraction) -> Interval:
    return chi_squared_quantile(cells - 1, alpha) / enclose(n)


def uncertain(question: RobustStatement) -> Uncertain:
    """Enclose q, t/p̂_s and P^min."""
    p_hat = tuple(map(tuple, question.p_hat))
    return _uncertain(p_hat, question.cells, question.alpha, question.n)


@lru_cache(maxsize=4)
def _uncertain(
    p_hat: tuple[tuple[Fraction, ...], ...], cells: int, alpha: Fraction, n: Fraction
) -> Uncertain:
    B = _size(cells, alpha, n)
    t = B / ((B + ONE).sqrt() + ONE)
    given, step, p_min = [], [], []
    for row in p_hat:
        mass = sum(row, Fraction(0))
        k = t / enclose(mass)
        given.append([enclose(entry / mass) for entry in row])
        step.append(k)
        p_min.append([_least_share(entry / mass, k * (k + enclose(2))) for entry in row])
    return Uncertain(given, step, p_min)


def _least_share(q: Fraction, b: Interval) -> Interval:
    """Enclose the least R_u of Lemma 3."""
    if q == 0:
        return ZERO
    two, share = enclose(2), enclose(q)
    root = (b * b + enclose(4 * (1 - q)) * b * share).sqrt()
    return two * share * share / (b + two * share + root)


def most_share(q: Fraction, b: Interval) -> Interval:
    """Enclose the greatest R_u of Lemma 3."""
    two, share = enclose(2), enclose(q)
    root = (b * b + enclose(4 * (1 - q)) * b * share).sqrt()
    return (b + two * share + root) / (two * b + two)


def is_member(P: Sequence[Sequence[Fraction]], question: RobustStatement) -> bool | None:
    """Return whether the distribution P certainly lies in F; None if it is too close to tell."""
    terms = []
    for p_row, row in zip(question.p_hat, P, strict=True):
        for p, entry in zip(p_row, row, strict=True):
            if p and entry <= 0:
                return False
            if p:
                terms.append(enclose(p * p / entry))
    return total(terms).at_most(size(question) + ONE)
