"""The checker: reads a result file and decides its claims. Standard library only.

It imports nothing else of ldpopt, runs no optimisation, and takes the *statement* (which privacy, which
utility, which class of mechanisms) from the problem's parameters; the file's proof only supplies numbers
that make the statement easy to verify. Run it alone with ``python checker.py RESULT.json``, or as
``ldpopt verify RESULT.json``: exit code 0 verified, 1 refuted, 2 unreadable.

Arithmetic. Stored floats are dyadic rationals, so sums and ratios are decided exactly with `Fraction`.
Logarithms and e^ε are `Decimal`s of 60 digits, correctly rounded by the standard library. All
quantities here are sums of fewer than 10^9 terms of size below 10^27 (ε ≤ 30), so their errors stay
below 10^-22; every comparison demands a margin of 10^-20.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple

DIGITS = 60
MARGIN = Decimal("1e-20")
MAX_EPSILON = 30.0
MAX_NODES = 2_000_000


class UnreadableError(ValueError):
    """The file is no result file: claims cannot even be read from it."""


class Claim(NamedTuple):
    """One sentence of the file, how it was decided, and whether it holds."""

    statement: str
    strength: str
    holds: bool


# ---------------------------------------------------------------- reading


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ."""

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[float, ...], ...]


UTILITIES = {"mutual-information": 1, "kl": 2, "total-variation": 2, "chi-squared": 2}
"""Each utility with the number of distributions that define it."""


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    pair = "hypotheses" in params
    rows = params["hypotheses"] if pair else [params["prior"]]
    utility = params["utility"] if pair else params.get("utility", "mutual-information")
    secrets = list(range(len(rows[0])))
    return _column_program(secrets, params["epsilon"], utility, rows)


def _secret_staircase(params: dict[str, Any]) -> dict[str, Any]:
    prior = params["prior"]
    secrets = [s for s, row in enumerate(prior) for _ in row]
    flat = [p for row in prior for p in row]
    return _column_program(secrets, params["epsilon"], "mutual-information", [flat])


def _column_program(secrets: Any, epsilon: Any, utility: Any, rows: Any) -> dict[str, Any]:
    return {
        "form": "column-program",
        "secrets": secrets,
        "epsilon": epsilon,
        "utility": utility,
        "distributions": rows,
    }


LEVELS = 8
"""With a floor on the average privacy, columns of this many levels up to ε take part."""
FREE_EPSILON = 10.0
"""The largest level where ε is free."""


def _asymptotic_utility(params: dict[str, Any]) -> dict[str, Any]:
    floor, epsilon = params.get("min_average_privacy"), params.get("epsilon", FREE_EPSILON)
    count = 1 if floor is None else LEVELS
    return {
        "form": "convex-program",
        "alpha": params["alpha"],
        "epsilon": epsilon,
        "levels": [epsilon * (j + 1) / count for j in range(count)],
        "floor": floor,
    }


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "staircase": _staircase,
    "secret-staircase": _secret_staircase,
    "asymptotic-utility": _asymptotic_utility,
    "privacy-utility-frontier": _asymptotic_utility,
}
"""How the parameters of each kind become a statement."""


def statement(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a result of this kind with these parameters claims to answer, as plain data."""
    if kind not in KINDS:
        raise UnreadableError(f"the checker does not know the problem kind {kind!r}")
    try:
        return KINDS[kind](params)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UnreadableError(f"the parameters of {kind!r} are incomplete: {error!r}") from None


def read_column_statement(plain: dict[str, Any]) -> ColumnStatement:
    """The statement of a column program, every part of it checked."""
    rows = tuple(tuple(_number(p, "a probability") for p in row) for row in plain["distributions"])
    secrets = tuple(plain["secrets"])
    epsilon = _number(plain["epsilon"], "epsilon")
    utility = plain["utility"]
    if not 0 < epsilon <= MAX_EPSILON:
        raise UnreadableError(f"epsilon {epsilon} is not in (0, {MAX_EPSILON:g}]")
    if UTILITIES.get(utility) != len(rows) or any(len(row) != len(secrets) for row in rows):
        raise UnreadableError(f"the utility {utility!r} does not fit its distributions")
    if any(min(row) < 0 or abs(math.fsum(row) - 1) > 1e-9 for row in rows):
        raise UnreadableError("a distribution is negative or does not sum to 1")
    if len(set(secrets)) < 2:
        raise UnreadableError("fewer than two secrets")
    return ColumnStatement(secrets, epsilon, utility, rows)


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UnreadableError(f"{what} is {value!r}, not a finite number")
    return float(value)


def _numbers(values: Any, what: str) -> list[float]:
    if not isinstance(values, list):
        raise UnreadableError(f"{what} is not a list")
    return [_number(value, what) for value in values]


def _matrix(document: dict[str, Any], rows: int) -> list[list[float]]:
    mechanism = document.get("mechanism")
    if not isinstance(mechanism, dict) or not isinstance(mechanism.get("matrix"), list):
        raise UnreadableError("the file has no mechanism matrix")
    matrix = [_numbers(row, "a row of the mechanism") for row in mechanism["matrix"]]
    if len(matrix) != rows or not matrix[0] or any(len(row) != len(matrix[0]) for row in matrix):
        raise UnreadableError(f"the mechanism is no rectangular matrix of {rows} rows")
    return matrix


# ---------------------------------------------------------------- the mechanism


def is_stochastic(matrix: Sequence[Sequence[float]]) -> bool:
    """Every entry ≥ 0 and every row sums to exactly 1."""
    return all(min(row) >= 0 and sum(map(Fraction, row)) == 1 for row in matrix)


def exp_below(epsilon: float) -> Fraction:
    """A rational number just below e^ε."""
    with localcontext(Context(prec=DIGITS)):
        return Fraction(Decimal(epsilon).exp() * (1 - MARGIN))


def is_private(matrix: Sequence[Sequence[float]], secrets: Sequence[Any], epsilon: float) -> bool:
    """W[x,y] ≤ e^ε W[x',y] for every y and every x, x' with different secrets, exactly."""
    E = exp_below(epsilon)
    for column in zip(*matrix, strict=True):
        extremes: dict[Any, tuple[float, float]] = {}
        for s, entry in zip(secrets, column, strict=True):
            low, high = extremes.get(s, (entry, entry))
            extremes[s] = (min(low, entry), max(high, entry))
        lows = sorted((low, i) for i, (low, _) in enumerate(extremes.values()))
        for i, (_, high) in enumerate(extremes.values()):
            others = lows[0] if lows[0][1] != i else lows[1]
            if Fraction(high) > E * Fraction(others[0]):
                return False
    return True


def utility_below(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Decimal:
    """A number just below the utility Σ_y g(W[:, y]) of the mechanism."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[Decimal(p) for p in row] for row in question.distributions]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((_g(question.utility, rows, T) for T in columns), Decimal(0)) - MARGIN


def _g(utility: str, rows: list[list[Decimal]], T: list[Decimal]) -> Decimal:
    if utility == "mutual-information":
        weighted = [p * t for p, t in zip(rows[0], T, strict=True)]
        own = sum((w * t.ln() for w, t in zip(weighted, T, strict=True) if w), Decimal(0))
        return own - _xlogx(sum(weighted, Decimal(0)))
    q0, q1 = (sum((p * t for p, t in zip(row, T, strict=True)), Decimal(0)) for row in rows)
    if q1 == 0:
        return Decimal(0) if q0 == 0 else Decimal("Infinity")
    return q1 * _f(utility, q0 / q1)


def _xlogx(q: Decimal) -> Decimal:
    return q * q.ln() if q else Decimal(0)


def _f(utility: str, ratio: Decimal) -> Decimal:
    """The convex function with divergence Σ q1 f(q0/q1)."""
    if utility == "kl":
        return _xlogx(ratio)
    return (ratio - 1) ** 2 if utility == "chi-squared" else abs(ratio - 1) / 2


# ---------------------------------------------------------------- the bound


class Box(NamedTuple):
    """Vectors v with v_x ∈ {low_x, high_x}; the corners of all boxes generate the cone."""

    low: list[Decimal]
    high: list[Decimal]


def boxes(secrets: Sequence[Any], epsilon: float) -> Iterator[Box]:
    """The generators of {T ≥ 0 : T_x ≤ e^ε T_x' where secrets differ}; papers/001, (105) times e^ε."""
    E, one = Decimal(epsilon).exp(), Decimal(1)
    yield Box([one for _ in secrets], [E for _ in secrets])
    for secret, count in Counter(secrets).items():
        if count > 1:
            yield Box(
                [one if s == secret else E for s in secrets],
                [E * E if s == secret else E for s in secrets],
            )


def dominates(dual: Sequence[float], question: ColumnStatement) -> bool:
    """β·v ≥ g(v) for every v of the cone; then no mechanism is worth more than Σ_x β_x.

    For W private, Σ_y g(W[:, y]) ≤ Σ_y β·W[:, y] = Σ_x β_x. As g is sublinear, the generators suffice.
    """
    with localcontext(Context(prec=DIGITS)):
        beta = [Decimal(b) for b in dual]
        rows = [[Decimal(p) for p in row] for row in question.distributions]
        for box in boxes(question.secrets, question.epsilon):
            if question.utility == "mutual-information":
                holds = _information_dominated(beta, rows[0], box)
            else:
                holds = _divergence_dominated(beta, rows, question.utility, box)
            if not holds:
                return False
    return True


class Item(NamedTuple):
    """Choosing high, not low, in some of ``copies`` like entries: each adds gain and weight."""

    gain: Decimal
    weight: Decimal
    copies: int


def _information_dominated(beta: list[Decimal], prior: list[Decimal], box: Box) -> bool:
    """Σ P v log v − q log q − β·v ≤ 0 on all corners: branch on how many of each item are high.

    −q log q ≤ r − (1 + log r) q for every r > 0, and the right side splits over the entries. Any r
    gives a valid bound, so r is guessed in floats; a box whose bound is positive is split in two.
    """
    entries = list(zip(beta, prior, box.low, box.high, strict=True))
    gain = sum((p * _xlogx(lo) - b * lo for b, p, lo, _ in entries), Decimal(0))
    weight = sum((p * lo for _, p, lo, _ in entries), Decimal(0))
    counts = Counter(
        (p * (_xlogx(hi) - _xlogx(lo)) - b * (hi - lo), p * (hi - lo))
        for b, p, lo, hi in entries
        if lo < hi
    )
    items = [Item(a, w, n) for (a, w), n in counts.items() if w]
    # an entry of probability zero is high exactly where that helps
    gain += sum((a * n for (a, w), n in counts.items() if not w and a > 0), Decimal(0))
    items.sort(key=lambda item: item.gain / item.weight, reverse=True)
    return _no_corner_positive(items, gain, weight)


def _no_corner_positive(items: list[Item], gain: Decimal, weight: Decimal) -> bool:
    ratios = [float(item.gain / item.weight) for item in items]
    weights = [float(item.weight) for item in items]
    start = ([0] * len(items), [item.copies for item in items])
    pending = [start]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        low, high = pending.pop()
        a = gain + sum((n * i.gain for n, i in zip(low, items, strict=True) if n), Decimal(0))
        q = weight + sum((n * i.weight for n, i in zip(low, items, strict=True) if n), Decimal(0))
        split, slope = _fractional(ratios, weights, low, high, float(q))
        slope_exactly = Decimal(slope)
        best = a + (slope_exactly - 1).exp() - slope_exactly * q
        for n, m, item in zip(low, high, items, strict=True):
            excess = item.gain - slope_exactly * item.weight
            if m > n and excess > 0:
                best += (m - n) * excess
        if best <= -MARGIN:
            continue
        if split is None:
            return False
        place, taken = split
        pending.append((low, [*high[:place], taken, *high[place + 1 :]]))
        pending.append(([*low[:place], taken + 1, *low[place + 1 :]], high))
    return False


def _fractional(
    ratios: list[float], weights: list[float], low: list[int], high: list[int], q: float
) -> tuple[tuple[int, int] | None, float]:
    """The relaxed optimum takes items in order while their ratio exceeds 1 + log q.

    Returns which item to split at which count (None if all are fixed), and a good slope 1 + log r.
    """
    last = None
    for i, (ratio, w, n, m) in enumerate(zip(ratios, weights, low, high, strict=True)):
        if m == n:
            continue
        if ratio <= 1 + math.log(q):
            return (last or (i, n)), 1 + math.log(q)
        room = math.exp(ratio - 1) - q if ratio < 500 else math.inf
        if room < w * (m - n):
            return (i, min(n + int(room / w), m - 1)), ratio
        q += w * (m - n)
        last = (i, m - 1)
    return last, 1 + math.log(q)


def _divergence_dominated(
    beta: list[Decimal], rows: list[list[Decimal]], utility: str, box: Box
) -> bool:
    """q1 f(q0/q1) − β·v ≤ 0 on all corners: cut the range of q0/q1 until chords of f prove it.

    Where q0/q1 lies in [r, s] and A + B·(q0/q1) is the chord of f there, q1 f(q0/q1) ≤ A q1 + B q0,
    which is linear in v and therefore largest entry by entry.
    """
    widest = max(box.high) / min(box.low) * Decimal("1.000001")
    pending = [(1 / widest, Decimal(1)), (Decimal(1), widest)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        r, s = pending.pop()
        B = (_f(utility, s) - _f(utility, r)) / (s - r)
        A = _f(utility, r) - B * r
        best = Decimal(0)
        for b, p0, p1, lo, hi in zip(beta, *rows, box.low, box.high, strict=True):
            c = A * p1 + B * p0 - b
            best += c * (hi if c > 0 else lo)
        if best <= -MARGIN:
            continue
        if s - r < Decimal("1e-15") * s:
            return False
        middle = (r + s) / 2
        pending += [(r, middle), (middle, s)]
    return False


# ---------------------------------------------------------------- asymptotic utility


class DesignStatement(NamedTuple):
    """Maximise the discretised asymptotic utility of papers/000, (6.1), over ε-LDP mechanisms.

    With the points p_i and weights w_i of `prior_points` in place of the expectation it is
    −½ log 2πe + Σ_i w_i log det J(p_i)/(2k − 2), J(p) = Σ_y W_y W_yᵀ/(W_y·p). The weights are such that
    randomised response has no discretisation error. If all α are equal, every p_i stands for all its
    permutations.
    """

    alpha: tuple[float, ...]
    epsilon: float
    levels: tuple[float, ...]
    floor: float | None


DESIGN_TOLERANCE = 1e-9
HALF_LOG_2PIE = 0.5 * math.log(2 * math.pi * math.e)


def read_design_statement(plain: dict[str, Any]) -> DesignStatement:
    """The statement of a convex program, every part of it checked."""
    alpha = tuple(_numbers(list(plain["alpha"]), "alpha"))
    epsilon, floor = _number(plain["epsilon"], "epsilon"), plain["floor"]
    if len(alpha) < 2 or min(alpha) <= 0:
        raise UnreadableError(f"alpha {alpha} is no Dirichlet parameter")
    if not 0 < epsilon <= MAX_EPSILON:
        raise UnreadableError(f"epsilon {epsilon} is not in (0, {MAX_EPSILON:g}]")
    if floor is not None and not 0 <= _number(floor, "min_average_privacy") < 1:
        raise UnreadableError(f"min_average_privacy {floor} is not in [0, 1)")
    return DesignStatement(alpha, epsilon, tuple(_numbers(plain["levels"], "levels")), floor)


def prior_points(alpha: Sequence[float], epsilon: float) -> tuple[list[list[float]], list[float]]:
    """Points and weights for expectations under Dirichlet(α), the same on every machine to rounding.

    Up to five values Gauss rules for the beta variables of stick-breaking, beyond fixed random draws.
    Then the weights are calibrated (as in survey sampling) such that Σ_x E log(1 + β P_x), on which the
    utility of randomised response rests, is exact for β = e^δ − 1 with δ = ε, ε/2, ε/4.
    """
    points, weights = _raw_points(alpha)
    for divisors in ((1, 2, 4), (1,)):
        betas = [math.expm1(epsilon / d) for d in divisors]
        rows = [[math.fsum(math.log1p(beta * x) for x in p) for beta in betas] for p in points]
        exact = [_expected_sum(alpha, beta) for beta in betas]
        calibrated = _calibrated(weights, rows, exact)
        if min(calibrated) > 0:
            return points, calibrated
    return points, weights


def _raw_points(alpha: Sequence[float]) -> tuple[list[list[float]], list[float]]:
    k = len(alpha)
    if k > 5:
        count = 96 if k <= 8 else 24
        return list(_draws(alpha, count)), [1 / count] * count
    order = {2: 60, 3: 12, 4: 6, 5: 4}[k]
    points: list[tuple[list[float], float, float]] = [([], 1.0, 1.0)]
    for x in range(k - 1):
        rule = _gauss_beta(alpha[x], math.fsum(alpha[x + 1 :]), order)
        points = [([*p, left * z], left * (1 - z), w * v) for p, left, w in points for z, v in rule]
    return [[*p, left] for p, left, _ in points], [w for _, _, w in points]


def _expected_sum(alpha: Sequence[float], beta: float) -> float:
    """Σ_x E log(1 + β P_x); P_x is Beta(α_x, A − α_x)."""
    A, counts = math.fsum(alpha), Counter(alpha)
    return math.fsum(n * expected_log((a, A - a), (1 + beta, 1.0)) for a, n in counts.items())


def _calibrated(weights: list[float], rows: list[list[float]], exact: list[float]) -> list[float]:
    """Weights w_i (1 + λ·(f_i − mean)) under which the means of the rows f_i are exact."""
    size = range(len(exact))
    mean = [math.fsum(w * row[a] for w, row in zip(weights, rows, strict=True)) for a in size]
    centred = [[row[a] - mean[a] for a in size] for row in rows]
    table = [
        [math.fsum(w * f[a] * f[b] for w, f in zip(weights, centred, strict=True)) for b in size]
        + [exact[a] - mean[a]]
        for a in size
    ]
    factors = _solved(table)
    return [w * (1 + sum(map(mul, factors, f))) for w, f in zip(weights, centred, strict=True)]


def _solved(table: list[list[float]]) -> list[float]:
    """Gauss–Jordan elimination of [A | b]."""
    size = len(table)
    for i in range(size):
        best = max(range(i, size), key=lambda r: abs(table[r][i]))
        table[i], table[best] = table[best], table[i]
        pivot = table[i][i] or 1e-300
        table[i] = [entry / pivot for entry in table[i]]
        for r in range(size):
            if r != i:
                factor = table[r][i]
                table[r] = [a - factor * b for a, b in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


def _gauss_beta(a: float, b: float, order: int) -> list[tuple[float, float]]:
    """Gauss quadrature for Beta(a, b): eigenvalues of the Jacobi matrix by bisection."""
    A, B = b - 1, a - 1
    diagonal, off = [(B - A) / (A + B + 2)], [0.0]
    for n in range(1, order):
        s = 2 * n + A + B
        diagonal.append((B * B - A * A) / (s * (s + 2)))
        ratio = 1.0 if n == 1 else (n + A + B) / (s - 1)
        off.append(4 * n * (n + A) * (n + B) * ratio / (s * s * (s + 1)))
    return [_gauss_node(diagonal, off, index) for index in range(order)]


def _gauss_node(diagonal: list[float], off: list[float], index: int) -> tuple[float, float]:
    low, high = -1.0, 1.0
    for _ in range(60):
        middle, d, below = (low + high) / 2, 1.0, 0
        for a, b in zip(diagonal, off, strict=True):
            d = a - middle - b / (d or 1e-300)
            below += d < 0
        low, high = (low, middle) if below > index else (middle, high)
    x, previous, p, total = (low + high) / 2, 0.0, 1.0, 1.0
    for n in range(len(diagonal) - 1):
        following = (x - diagonal[n]) * p - math.sqrt(off[n]) * previous
        previous, p = p, following / math.sqrt(off[n + 1])
        total += p * p
    return (1 + x) / 2, 1 / total


def _draws(alpha: Sequence[float], count: int) -> Iterator[list[float]]:
    """Dirichlet draws from the uniform numbers of Python's generator with seed 0."""
    uniform = random.Random(0).random
    for _ in range(count):
        gammas = [_gamma(a, uniform) for a in alpha]
        yield [g / math.fsum(gammas) for g in gammas]


def _gamma(alpha: float, uniform: Callable[[], float]) -> float:
    """A Gamma(α) draw by the method of Marsaglia and Tsang (2000)."""
    if alpha < 1:
        boost = float((1 - uniform()) ** (1 / alpha))
        return max(boost * _gamma(alpha + 1, uniform), 1e-200)
    d = alpha - 1 / 3
    while True:
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        normal = radius * math.cos(2 * math.pi * uniform())
        v = (1 + normal / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(1 - uniform()) < normal * normal / 2 + d - d * v + d * math.log(v):
            return d * v


def expected_log(alpha: Sequence[float], v: Sequence[float]) -> float:
    """E log(v·P) = ∫ ((1+t)^−A − Π (1 + t v_x)^−α_x) dt/t for v ≥ 1, the trapezoidal rule in log t."""
    A, total = math.fsum(alpha), 0.0
    for step in range(-160, 160 + int(160 / min(A, 1.0))):
        u = step / 4
        grow = A * _log1pexp(u)
        form = math.fsum(a * _log1pexp(u + math.log(w)) for a, w in zip(alpha, v, strict=True))
        total -= math.exp(-grow) * math.expm1(grow - form)
    return total / 4


def _log1pexp(x: float) -> float:
    return x if x > 40 else math.log1p(math.exp(x))


def leakage(alpha: Sequence[float], v: Sequence[float]) -> float:
    """Σ_x m_x v_x (log v_x − E' log(v·P)), E' under α + e_x, m the mean: what a column tells about X."""
    A, total = math.fsum(alpha), 0.0
    for x, (a, w) in enumerate(zip(alpha, v, strict=True)):
        raised = [b + (x == z) for z, b in enumerate(alpha)]
        total += a / A * w * (math.log(w) - expected_log(raised, v))
    return total


def _expected_entropy(alpha: Sequence[float]) -> float:
    """H(X | P) = −Σ_x m_x E' log P_x, through E' log P_x = ψ(α_x + 1) − ψ(A + 1)."""
    A = math.fsum(alpha)
    return _digamma(A + 1) - math.fsum(a / A * _digamma(a + 1) for a in alpha)


def _digamma(x: float) -> float:
    shift = 0.0
    while x < 20:
        shift, x = shift - 1 / x, x + 1
    s = 1 / (x * x)
    return shift + math.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))


Matrix = list[list[float]]


class Atom(NamedTuple):
    """A column of entries 1 and e^level; with equal α it stands for all columns with m high entries."""

    label: tuple[Any, ...]
    column: list[float]


def _design_atoms(question: DesignStatement) -> list[Atom]:
    """All columns of the class; with equal α one per level and number of high entries."""
    k, equal = len(question.alpha), len(set(question.alpha)) == 1
    if not equal and k > 10:
        raise UnreadableError("unequal alpha with more than ten values")
    atoms = [Atom((0, 0), [1.0] * k)]
    for j, level in enumerate(question.levels):
        E = math.exp(level)
        if equal:
            atoms += [Atom((j, m), [E] * m + [1.0] * (k - m)) for m in range(1, k)]
        else:
            masks = range(1, 2**k - 1)
            columns = ([E if mask >> (k - 1 - x) & 1 else 1.0 for x in range(k)] for mask in masks)
            atoms += [Atom((j, mask), column) for mask, column in zip(masks, columns, strict=True)]
    return atoms


def _design_blocks(question: DesignStatement, p: list[float]) -> dict[tuple[Any, ...], Matrix]:
    """v vᵀ/(v·p) for every atom, averaged over the columns that it stands for."""
    blocks: dict[tuple[Any, ...], Matrix] = {}
    if len(set(question.alpha)) == 1:
        for j, level in enumerate(question.levels):
            averages = _listed_averages if len(p) <= 8 else _set_averages
            for m, block in enumerate(averages(p, math.expm1(level))):
                blocks[j, m] = block
        return blocks
    for atom in _design_atoms(question):
        q = math.fsum(a * b for a, b in zip(atom.column, p, strict=True))
        blocks[atom.label] = [[a * b / q for b in atom.column] for a in atom.column]
    return blocks


def _listed_averages(p: list[float], c: float) -> list[Matrix]:
    """The average of v vᵀ/(v·p), v = 1 + c 1_S, over the sets S of each size 0 … k, by listing them."""
    k = len(p)
    sums = [[[0.0] * k for _ in range(k)] for _ in range(k + 1)]
    for mask in range(2**k):
        v = [1 + c * (mask >> x & 1) for x in range(k)]
        block, q = sums[mask.bit_count()], sum(map(mul, v, p))
        for x in range(k):
            row, share = block[x], v[x] / q / math.comb(k, mask.bit_count())
            for z in range(k):
                row[z] += share * v[z]
    return sums


def _set_averages(p: list[float], c: float) -> list[Matrix]:
    """The average of v vᵀ/(v·p), v = 1 + c 1_S, over the sets S of each size 0 … k, unlisted.

    1/(1 + c p(S)) = ∫ e^{−t} Π_{x∈S} z_x dt with z_x = e^{−t c p_x}, so sums over sets are elementary
    symmetric polynomials of z; t = exp(τ − e^{−τ}) makes the trapezoidal rule converge at once.
    """
    k = len(p)
    empty = [0.0] * (k + 1)
    both = [[[0.0] * (k + 1) for _ in range(k)] for _ in range(k)]
    for step in range(-70, 64):
        tau = 0.06 * step
        t = math.exp(tau - math.exp(-tau))
        scale = 0.06 * t * (1 + math.exp(-tau)) * math.exp(-t)
        if scale < 1e-18:
            continue
        z = [math.exp(-t * c * q) for q in p]
        e = _symmetric_polynomials(z)
        empty = [s + scale * value for s, value in zip(empty, e, strict=True)]
        for x in range(k):
            without = _divided(e, z[x])
            for w in range(x, k):
                rest = without if w == x else _divided(without, z[w])
                factor, shift = (scale * z[x], 1) if w == x else (scale * z[x] * z[w], 2)
                row = both[x][w]
                for m in range(shift, k + 1):
                    row[m] += factor * rest[m - shift]
    return [
        [
            [
                (empty[m] + c * (both[x][x][m] + both[w][w][m]) + c * c * both[min(x, w)][max(x, w)][m])
                / math.comb(k, m)
                for w in range(k)
            ]
            for x in range(k)
        ]
        for m in range(k + 1)
    ]


def _symmetric_polynomials(z: list[float]) -> list[float]:
    e = [1.0] + [0.0] * len(z)
    for i, value in enumerate(z):
        for m in range(i + 1, 0, -1):
            e[m] += value * e[m - 1]
    return e


def _divided(e: list[float], z: float) -> list[float]:
    """The polynomial Σ e_m y^m divided by 1 + z y; z ≤ 1, so errors do not grow."""
    q = [e[0]]
    for m in range(1, len(e) - 1):
        q.append(e[m] - z * q[-1])
    return [*q, 0.0]


def _cholesky(matrix: Matrix) -> Matrix | None:
    k = len(matrix)
    L = [[0.0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            rest = matrix[i][j] - math.fsum(L[i][m] * L[j][m] for m in range(j))
            if i == j and rest <= 0:
                return None
            L[i][j] = math.sqrt(rest) if i == j else rest / L[j][j]
    return L


def _inverse(L: Matrix) -> Matrix:
    """The inverse of L Lᵀ."""
    k = len(L)
    inverse = [[0.0] * k for _ in range(k)]
    for column in range(k):
        y = [0.0] * k
        for i in range(k):
            y[i] = (float(i == column) - math.fsum(L[i][m] * y[m] for m in range(i))) / L[i][i]
        for i in reversed(range(k)):
            tail = math.fsum(L[m][i] * inverse[m][column] for m in range(i + 1, k))
            inverse[i][column] = (y[i] - tail) / L[i][i]
    return inverse


def design_utility(matrix: Sequence[Sequence[float]], question: DesignStatement) -> float:
    """The discretised asymptotic utility of a mechanism; −inf if some J(p_i) is singular."""
    k = len(question.alpha)
    columns = [list(column) for column in zip(*matrix, strict=True) if any(column)]
    classes = _set_classes(columns) if len(columns) > 2000 and _treats_alike(matrix) else None
    total = []
    for p, w in zip(*prior_points(question.alpha, question.epsilon), strict=True):
        L = _cholesky(_information(columns, p) if classes is None else _class_information(classes, p))
        if L is None:
            return -math.inf
        total.append(2 * w * math.fsum(math.log(L[x][x]) for x in range(k)))
    return -HALF_LOG_2PIE + math.fsum(total) / (2 * k - 2)


def _information(columns: list[list[float]], p: list[float]) -> Matrix:
    """The lower half of J(p) = Σ_y W_y W_yᵀ/(W_y·p)."""
    k = len(p)
    J = [[0.0] * k for _ in range(k)]
    for column in columns:
        q = sum(map(mul, column, p))
        for x in range(k):
            share, row = column[x] / q, J[x]
            for z in range(x + 1):
                row[z] += share * column[z]
    return J


Classes = dict[tuple[float, int], float]


def _set_classes(columns: list[list[float]]) -> Classes | None:
    """Columns low·(1 + c 1_S) by c and size of S, with the sum of their lows; None if some is not so.

    Entries and ratios that agree to a relative 1e-10 count as equal: the rounding of the stored matrix.
    """
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for column in columns:
        ordered = sorted(column)
        size = sum(entry - ordered[0] > ordered[-1] - entry for entry in column)
        lows, highs = ordered[: len(column) - size], ordered[len(column) - size :]
        if any(part[-1] - part[0] > 1e-10 * part[-1] for part in (lows, highs) if part):
            return None
        low = math.fsum(lows) / len(lows)
        c = math.fsum(highs) / len(highs) / low - 1 if highs else 0.0
        found.setdefault((f"{c:.8e}", size), []).append((low, c))
    classes: Classes = {}
    for (_, size), members in found.items():
        total = math.fsum(low for low, _ in members)
        classes[math.fsum(low * c for low, c in members) / total, size] = total
    return classes


def _class_information(classes: Classes, p: list[float]) -> Matrix:
    """J(p) of a mechanism that treats all inputs alike, one average over sets per class."""
    k = len(p)
    averages = {c: _set_averages(p, c) for c, _ in classes}
    return [
        [math.fsum(low * averages[c][m][x][z] for (c, m), low in classes.items()) for z in range(k)]
        for x in range(k)
    ]


def design_bound(proof: dict[str, Any], question: DesignStatement) -> float:
    """The largest utility of any mechanism of the class that the proof leaves possible.

    The utility is concave in the weights of the atoms; its gradient g at the reference weights satisfies
    g_j ≤ β·v_j + λ·leakage(v_j) for every atom j, so no mechanism exceeds
    Φ(reference) − k/(2k − 2) + Σ β + λ·(allowed leakage). inf if the proof does not hold.
    """
    k, scale = len(question.alpha), 1 / (2 * len(question.alpha) - 2)
    equal = len(set(question.alpha)) == 1
    dual = _numbers(proof["dual"], "the dual vector")
    price = _number(proof["price"], "the price of privacy")
    reference = {tuple(label): _number(w, "a weight") for label, w in proof["reference"]}
    atoms = _design_atoms(question)
    fits = len(dual) == (1 if equal else k) and set(reference) <= {atom.label for atom in atoms}
    if not fits or price < 0 or min(reference.values()) < 0 or (price and question.floor is None):
        return math.inf
    slope, value = dict.fromkeys((atom.label for atom in atoms), 0.0), -HALF_LOG_2PIE
    for p, w in zip(*prior_points(question.alpha, question.epsilon), strict=True):
        blocks = _design_blocks(question, p)
        J = [
            [math.fsum(t * blocks[label][x][z] for label, t in reference.items()) for z in range(k)]
            for x in range(k)
        ]
        L = _cholesky(J)
        if L is None:
            return math.inf
        value += 2 * w * scale * math.fsum(math.log(L[x][x]) for x in range(k))
        inverse = [number for row in _inverse(L) for number in row]
        for label in slope:
            block = blocks[label]
            entries = [number for row in block for number in row]
            slope[label] += scale * w * sum(map(mul, inverse, entries))
    for atom in atoms:
        mass = dual[0] * math.fsum(atom.column) / k if equal else sum(map(mul, dual, atom.column))
        cost = price * leakage(question.alpha, atom.column) if price else 0.0
        if slope[atom.label] > mass + cost + DESIGN_TOLERANCE / 10:
            return math.inf
    free = 0.0 if question.floor is None else 1 - question.floor
    allowed = free * _expected_entropy(question.alpha)
    return value - k * scale + math.fsum(dual) + price * allowed


def _average_privacy(matrix: Sequence[Sequence[float]], question: DesignStatement) -> float:
    columns: Counter[tuple[float, ...]] = Counter()
    equal = len(set(question.alpha)) == 1
    for column in zip(*matrix, strict=True):
        columns[tuple(sorted(column)) if equal else column] += 1
    leaked = 0.0
    for column, count in columns.items():
        low = min(column)
        if low > 0:  # of a column without zeros
            leaked += count * low * leakage(question.alpha, [entry / low for entry in column])
    return 1 - leaked / _expected_entropy(question.alpha)


def _treats_alike(matrix: Sequence[Sequence[float]]) -> bool:
    """Whether renaming the inputs only renames the outputs: checked for a swap and a cycle."""
    rows = [list(row) for row in matrix]
    for renamed in ([rows[1], rows[0], *rows[2:]], [*rows[1:], rows[0]]):
        before, after = (
            sorted(tuple(round(entry, 10) for entry in column) for column in zip(*version, strict=True))
            for version in (rows, renamed)
        )
        pairs = (zip(u, v, strict=True) for u, v in zip(before, after, strict=True))
        if any(abs(a - b) > 1e-9 for pair in pairs for a, b in pair):
            return False
    return True


def design_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about the asymptotic utility."""
    question = read_design_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    k = len(question.alpha)
    matrix, value = _matrix(document, k), _number(document["value"], "value")
    numeric = f"numeric {DESIGN_TOLERANCE:g}"
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    private = is_private(matrix, range(k), question.epsilon)
    limit = f"e^{question.epsilon:g}"
    yield Claim(f"its entries for all inputs differ by at most a factor {limit}", "exact", private)
    if not private:
        return
    if len(set(question.alpha)) == 1:
        yield Claim("it treats all inputs alike", numeric, _treats_alike(matrix))
    enough = design_utility(matrix, question) >= value - DESIGN_TOLERANCE
    yield Claim(f"its asymptotic utility is at least {value!r}", numeric, enough)
    members = "mechanism"
    if question.floor is not None:
        kept = _average_privacy(matrix, question) >= question.floor - DESIGN_TOLERANCE
        yield Claim(f"its average privacy is at least {question.floor!r}", numeric, kept)
        members = f"mechanism of two-valued columns at {len(question.levels)} levels"
    if document["status"] == "feasible":
        return
    bound = _number(document["bound"], "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    proven = design_bound(proof, question) <= bound + DESIGN_TOLERANCE
    yield Claim(f"no such {members} has an asymptotic utility above {bound!r}", numeric, proven)
    if document["status"] == "optimal":
        tolerance = _number((document["certificate"] or {}).get("gap"), "the certificate's gap")
        close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-6)
        yield Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


# ---------------------------------------------------------------- the file


def check(document: Any, plain: dict[str, Any] | None = None) -> list[Claim]:
    """Decide every claim of a result file; ``plain`` states the question for kinds not in KINDS."""
    if not isinstance(document, dict):
        raise UnreadableError("the file holds no JSON object")
    for key in ("problem", "params", "status", "value", "bound", "mechanism", "certificate"):
        if key not in document:
            raise UnreadableError(f"the file has no {key!r}")
    if not isinstance(document["params"], dict):
        raise UnreadableError("'params' is no JSON object")
    try:
        plain = plain or statement(document["problem"], document["params"])
        if plain.get("form") not in FORMS:
            raise UnreadableError(f"the checker does not know the form {plain.get('form')!r}")
        return list(FORMS[plain["form"]](document, plain))
    except (KeyError, TypeError, ArithmeticError) as error:
        raise UnreadableError(f"the file is malformed: {error!r}") from None


def column_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a column program."""
    question = read_column_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = _matrix(document, len(question.secrets))
    value, bound = _number(document["value"], "value"), document["bound"]
    pairs = "inputs with different secrets" if _shares(question.secrets) else "all inputs"
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    yield Claim(
        f"its entries for {pairs} differ by at most a factor e^{question.epsilon:g}",
        "exact",
        is_private(matrix, question.secrets, question.epsilon),
    )
    enough = utility_below(matrix, question) >= Decimal(value)
    yield Claim(f"its utility ({question.utility}) is at least {value!r}", "exact", enough)
    if document["status"] == "feasible":
        return
    bound = _number(bound, "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    dual = _numbers(proof.get("dual"), "the dual vector")
    fits = len(dual) == len(question.secrets)
    proven = fits and sum(map(Fraction, dual)) <= Fraction(bound) and dominates(dual, question)
    yield Claim(f"no such mechanism has a utility above {bound!r}", "exact", proven)
    if document["status"] == "optimal":
        tolerance = _number((document["certificate"] or {}).get("gap"), "the certificate's gap")
        close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-4)
        yield Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


FORMS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Iterator[Claim]]] = {
    "column-program": column_claims,
    "convex-program": design_claims,
}
"""How the claims about each form are decided, given the document and its statement."""


def _shares(secrets: Sequence[Any]) -> bool:
    return len(set(secrets)) < len(secrets)


def read(path: str) -> Any:
    """The JSON document in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"cannot read {path}: {error}") from None


def main(path: str) -> int:
    """Check one file and print its claims; the exit code."""
    try:
        claims = check(read(path))
    except UnreadableError as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return 2
    for claim in claims:
        print(f"{'holds  ' if claim.holds else 'REFUTED'}  {claim.statement} [{claim.strength}]")
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else 2)
