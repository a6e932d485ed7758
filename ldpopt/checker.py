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
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

DIGITS = 60
MARGIN = Decimal("1e-20")
MAX_EPSILON = 30.0
MAX_NODES = 2_000_000
MAX_INPUTS = 100_000


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


def _matrix_program(family: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def read(params: dict[str, Any]) -> dict[str, Any]:
        size = {"k": params["k"], "epsilon": params["epsilon"]}
        return {"form": "matrix-program", "family": family, **size}

    return read


def _fidelity(params: dict[str, Any]) -> dict[str, Any]:
    question = {name: params[name] for name in ("p", "epsilon", "loss")}
    return {"form": "moment-program", "family": params.get("family", "broad"), **question}


def _minimax_fidelity(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "minimax-program", **{name: params[name] for name in ("k", "epsilon", "loss", "p0")}}


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "staircase": _staircase,
    "secret-staircase": _secret_staircase,
    "circulant-fidelity": _matrix_program("circulant"),
    "square-fidelity": _matrix_program("square"),
    "broad-fidelity": _matrix_program("broad"),
    "fidelity": _fidelity,
    "minimax-fidelity": _minimax_fidelity,
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


# ---------------------------------------------------------------- learning a distribution


def matrix_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result that minimises φ(W) = tr((W D⁻¹ Wᵀ)⁻¹), D the column sums of W."""
    k, epsilon, family = plain["k"], _level(document, plain), plain["family"]
    if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= MAX_INPUTS:
        raise UnreadableError(f"k is {k!r}, not a whole number from 2 to {MAX_INPUTS}")
    value = _number(document["value"], "value")
    if document["mechanism"] is None and family == "broad":
        yield from _subset_claims(document.get("answer"), k, epsilon, value)
    else:
        matrix = _matrix(document, k)
        yield from _mechanism_claims(matrix, epsilon, family)
        yield Claim(f"its φ is at most {value!r}", "exact", phi_above(matrix) <= Decimal(value))
    yield from _bound_claims(document, value, phi_bound_below(k, epsilon), "φ")


def _subset_claims(answer: Any, k: int, epsilon: float, value: float) -> Iterator[Claim]:
    """Subset selection: every m-subset y with probability ∝ the ratio if x ∈ y, else ∝ 1."""
    if not isinstance(answer, dict) or answer.get("mechanism") != "subset-selection":
        raise UnreadableError("the file has neither a mechanism matrix nor a subset selection")
    m, ratio = answer["size"], _number(answer["ratio"], "the ratio")
    if isinstance(m, bool) or not isinstance(m, int) or answer["inputs"] != k:
        raise UnreadableError("the subset selection does not fit the question")
    yield Claim(f"the subsets have from 1 to {k - 1} elements", "exact", 0 < m < k)
    private = 1 < ratio and Fraction(ratio) <= exp_below(epsilon)
    yield Claim(f"the ratio of two probabilities is at most e^{epsilon:g}", "exact", private)
    if private and 0 < m < k:
        small = balanced_phi(k, m, Fraction(ratio)) <= Fraction(value)
        yield Claim(f"its φ is at most {value!r}", "exact", small)


def _bound_claims(document: dict[str, Any], value: float, proven: Decimal, what: str) -> Iterator[Claim]:
    """The claims about a lower bound that follows from the parameters alone."""
    if document["status"] == "feasible":
        return
    bound = _number(document["bound"], "bound")
    holds = Decimal(bound) <= proven
    yield Claim(f"no such mechanism has {what} below {bound!r}", "exact", holds)
    if document["status"] == "optimal":
        tolerance = _number((document["certificate"] or {}).get("gap"), "the certificate's gap")
        close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-6)
        yield Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


def balanced_phi(k: int, m: int, E: Fraction) -> Fraction:
    """φ of a balanced design of block size m: all eigenvalues of W D⁻¹ Wᵀ but one are equal."""
    return 1 + ((k - 1) * (m * E + k - m) / (E - 1)) ** 2 / (m * (k - m))


def phi_bound_below(k: int, epsilon: float) -> Decimal:
    """A number just below min_m 1 + (K−1)² (mE + K − m)² / (m(K−m)(E−1)²), which no φ is below.

    W D⁻¹ Wᵀ has the eigenvalue 1, and its trace Σ_y ‖w_y‖²/c_y is at most K times the largest
    ‖v‖²/‖v‖₁² over columns v with entries in {1, E}; the harmonic mean of its other eigenvalues is at
    most the arithmetic one. Each term falls as E grows, so an E just above e^ε gives a lower bound.
    """
    with localcontext(Context(prec=DIGITS)):
        E = Fraction(Decimal(epsilon).exp() * (1 + MARGIN))
        least = min(balanced_phi(k, m, E) for m in range(1, k))
        return Decimal(least.numerator) / Decimal(least.denominator) * (1 - MARGIN)


def phi_above(matrix: Sequence[Sequence[float]]) -> Decimal:
    """A number just above φ = tr((W D⁻¹ Wᵀ)⁻¹); infinite if that cannot be inverted."""
    with localcontext(Context(prec=DIGITS)):
        return sum(moments_above(matrix, [Decimal(1) for _ in matrix]), Decimal(0))


def moments_above(matrix: Sequence[Sequence[float]], p: Sequence[Decimal]) -> list[Decimal]:
    """Numbers just above the diagonal of M⁻¹, M = W diag(pW)⁻¹ Wᵀ; infinite if M has no inverse.

    R ≈ M⁻¹ by elimination with 60 digits. With F = M R − I, M⁻¹ = R(I + F)⁻¹, which differs from R by
    at most ‖R‖ ‖F‖ / (1 − ‖F‖) in the Frobenius norm.
    """
    with localcontext(Context(prec=DIGITS)):
        used = _used(matrix)
        M = _information(used, p)
        R = _inverse(M)
        if R is None:
            return [Decimal("Infinity") for _ in p]
        columns = list(zip(*R, strict=True))
        F = [[_dot(row, c) - (i == j) for j, c in enumerate(columns)] for i, row in enumerate(M)]
        off = _norm(F)
        if off > MARGIN:
            return [Decimal("Infinity") for _ in p]
        return [R[i][i] + 2 * _norm(R) * off + MARGIN for i in range(len(R))]


def _used(matrix: Sequence[Sequence[float]]) -> list[list[Decimal]]:
    """The matrix without the outputs that never occur."""
    columns = [column for column in zip(*matrix, strict=True) if any(column)]
    return [[Decimal(entry) for entry in row] for row in zip(*columns, strict=True)]


def _information(rows: list[list[Decimal]], p: Sequence[Decimal]) -> list[list[Decimal]]:
    q = [_dot(p, column) for column in zip(*rows, strict=True)]
    scaled = [[entry / c for entry, c in zip(row, q, strict=True)] for row in rows]
    return [[_dot(a, b) for b in scaled] for a in rows]


def _dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum(map(Decimal.__mul__, a, b), Decimal(0))


def _norm(rows: Sequence[Sequence[Decimal]]) -> Decimal:
    return sum((_dot(row, row) for row in rows), Decimal(0)).sqrt()


def _inverse(M: list[list[Decimal]]) -> list[list[Decimal]] | None:
    """Gauss–Jordan elimination without pivoting: M is positive definite, or None is returned."""
    k = len(M)
    rows = [[*row, *(Decimal(i == j) for j in range(k))] for i, row in enumerate(M)]
    for i in range(k):
        pivot = rows[i][i]
        if pivot <= Decimal("1e-40"):
            return None
        rows[i] = [entry / pivot for entry in rows[i]]
        for j in range(k):
            factor = rows[j][i]
            if j != i and factor:
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[k:] for row in rows]


def moment_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result that minimises α at a known distribution p (papers/002, (20a)–(20c))."""
    p, loss = read_source(plain["p"]), _loss(plain["loss"])
    epsilon = _level(document, plain)
    matrix, value = _matrix(document, len(p)), _number(document["value"], "value")
    yield from _mechanism_claims(matrix, epsilon, plain["family"])
    reached = alpha_above(matrix, plain["p"], loss)
    yield Claim(f"its α ({loss}) is at most {value!r}", "exact", reached <= Decimal(value))
    proof = (document["certificate"] or {}).get("proof")
    if document["status"] == "feasible":
        return
    proven = alpha_bound_below(p, epsilon, loss)
    if proof is not None:
        Y = [_numbers(row, "a row of Y") for row in proof["Y"]]
        proven = design_bound_below(p, epsilon, loss, Y, _numbers(proof["beta"], "beta"))
    yield from _bound_claims(document, value, proven, "α")


def minimax_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result that minimises the supremum of α over {p ≥ p0}."""
    k, loss, p0 = plain["k"], _loss(plain["loss"]), _number(plain["p0"], "p0")
    epsilon = _level(document, plain)
    if isinstance(k, bool) or not isinstance(k, int) or k < 2 or not 0 < p0 <= 1 / k:
        raise UnreadableError(f"k = {k!r} and p0 = {p0} leave no distribution")
    matrix, value = _matrix(document, k), _number(document["value"], "value")
    yield from _mechanism_claims(matrix, epsilon, "square")
    holds = len(matrix[0]) == k and worst_alpha_above(matrix, p0, loss) <= Decimal(value)
    yield Claim(f"its α ({loss}) is at most {value!r} for all p >= {p0}", "numeric 1e-20", holds)
    yield from _bound_claims(document, value, minimax_bound_below(k, epsilon, loss, p0), "its worst α")


def _mechanism_claims(matrix: list[list[float]], epsilon: float, family: str) -> Iterator[Claim]:
    k = len(matrix)
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    if family != "broad":
        yield Claim("it has as many outputs as inputs", "exact", len(matrix[0]) == k)
    if family == "circulant":
        first = matrix[0]
        turned = all(row == first[-x:] + first[:-x] for x, row in enumerate(matrix) if x)
        yield Claim("every row is the first one, turned", "exact", turned)
    yield Claim(
        f"its entries for all inputs differ by at most a factor e^{epsilon:g}",
        "exact",
        is_private(matrix, range(k), epsilon),
    )


def _level(document: dict[str, Any], plain: dict[str, Any]) -> float:
    epsilon = _number(plain["epsilon"], "epsilon")
    if not 0 < epsilon <= MAX_EPSILON:
        raise UnreadableError(f"epsilon {epsilon} is not in (0, {MAX_EPSILON:g}]")
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    return epsilon


def read_source(values: Any) -> list[Decimal]:
    """The distribution p, positive, scaled to sum to 1 in 60 digits."""
    numbers = _numbers(values, "p")
    if len(numbers) < 2 or min(numbers) <= 0 or abs(math.fsum(numbers) - 1) > 1e-9:
        raise UnreadableError("p is no distribution of full support")
    with localcontext(Context(prec=DIGITS)):
        total = sum(map(Decimal, numbers), Decimal(0))
        return [Decimal(x) / total for x in numbers]


def _loss(loss: Any) -> str:
    if loss not in ("f-divergence", "mse", "tv"):
        raise UnreadableError(f"unknown loss {loss!r}")
    return str(loss)


def alpha_of(moments: Sequence[Decimal], p: Sequence[Decimal], loss: str) -> Decimal:
    """α from the second moments; papers/002, (20a)–(20c)."""
    if loss == "f-divergence":
        total = sum((m / x for m, x in zip(moments, p, strict=True)), Decimal(0))
        return (total - 1) / (len(p) - 1)
    if loss == "mse":
        return (sum(moments, Decimal(0)) - _dot(p, p)) / (1 - _dot(p, p))
    spread = sum((_root(m - x * x) for m, x in zip(moments, p, strict=True)), Decimal(0))
    return (spread / sum((_root(x - x * x) for x in p), Decimal(0))) ** 2


def alpha_above(matrix: Sequence[Sequence[float]], p: list[float], loss: str) -> Decimal:
    """A number just above α of the mechanism at p."""
    source = read_source(p)
    moments = moments_above(matrix, source)
    with localcontext(Context(prec=DIGITS)):
        return alpha_of(moments, source, loss) * (1 + MARGIN)


def _root(x: Decimal) -> Decimal:
    return x.sqrt() if x > 0 else Decimal(0)


def alpha_bound_below(p: Sequence[Decimal], epsilon: float, loss: str) -> Decimal:
    """A number just below papers/002, (46), with φ* in place of Lemma 11."""
    k, least = len(p), phi_bound_below(len(p), epsilon)
    with localcontext(Context(prec=DIGITS)):
        low, high, square = min(p), max(p), _dot(p, p)
        if loss == "f-divergence":
            found = (max(Decimal(k), low / high * least) - 1) / (k - 1)
        elif loss == "mse":
            found = (max(Decimal(1), low * least) - square) / (1 - square)
        else:
            clear = [_root(x - x * x) for x in p]
            at = min(range(k), key=lambda i: abs(p[i] - Decimal("0.5")))
            raised = _root(clear[at] ** 2 + max(least * low - 1, Decimal(0)))
            found = ((sum(clear, Decimal(0)) - clear[at] + raised) / sum(clear, Decimal(0))) ** 2
        return found * (1 - MARGIN)


def design_bound_below(
    p: Sequence[Decimal], epsilon: float, loss: str, Y: list[list[float]], beta: list[float]
) -> Decimal:
    """A number just below the α that Y and β prove: cost tr(C M⁻¹) ≥ tr(C Y)²/Σβ.

    tr(C M⁻¹) ≥ 2s tr(C Y) − s² tr(G M) for G = Y C Yᵀ and every s; tr(G M) = Σ_y w_yᵀ G w_y/(p·w_y) is
    at most Σβ if β·v ≥ vᵀ G v/(p·v) on the corners v ∈ {1, E}^K, which generate the cone of columns.
    """
    k = len(p)
    fits = len(Y) == k and all(len(row) == k for row in Y) and len(beta) == k
    if loss == "tv" or not fits or k > 12:
        raise UnreadableError("the proof does not fit the question")
    with localcontext(Context(prec=DIGITS)):
        C = [1 / x if loss == "f-divergence" else Decimal(1) for x in p]
        rows = [[Decimal(y) for y in row] for row in Y]
        weighted = [[y * c for y, c in zip(row, C, strict=True)] for row in rows]
        G = [[_dot(a, b) for b in rows] for a in weighted]
        b, E = [Decimal(x) for x in beta], Decimal(epsilon).exp()
        for corner in range(2**k):
            v = [E if corner >> i & 1 else Decimal(1) for i in range(k)]
            gain = _dot(v, [_dot(row, v) for row in G])
            if _dot(b, v) * _dot(p, v) < gain + MARGIN * (1 + abs(gain)):
                return Decimal("-Infinity")
        trace = sum((rows[i][i] * C[i] for i in range(k)), Decimal(0))
        cost = trace**2 / sum(b, Decimal(0))
        moments = [cost / C[0] if i == 0 else Decimal(0) for i in range(k)]
        return alpha_of(moments, p, loss) * (1 - MARGIN)


def worst_alpha_above(matrix: Sequence[Sequence[float]], p0: float, loss: str) -> Decimal:
    """A number just above sup α over {p ≥ p0} of a square mechanism (papers/002, Section 7.2).

    For an f-divergence and for the mean squared error all entries but one are p0 at the supremum; for
    total variation it is the bound (43).
    """
    k = len(matrix)
    with localcontext(Context(prec=DIGITS)):
        rows = _used(matrix)
        R = _inverse(_information(rows, [Decimal(1)] * k)) if rows and len(rows[0]) == k else None
        if R is None:
            return Decimal("Infinity")
        columns = [list(column) for column in zip(*rows, strict=True)]
        inverse = [[_dot(c, r) / sum(c, Decimal(0)) for r in R] for c in columns]
        squares = [[x * x for x in column] for column in zip(*inverse, strict=True)]
        Phi = [[_dot(row, column) for column in squares] for row in rows]
        low, high = Decimal(p0), 1 - (k - 1) * Decimal(p0)
        worst = Decimal(0)
        for i in range(k):
            p = [high if j == i else low for j in range(k)]
            moments = [_dot(p, column) for column in zip(*Phi, strict=True)]
            if loss == "tv":
                clear = (k - 1) * _root(low - low * low) + _root(high - high * high)
                worst = max(worst, (k * sum(moments, Decimal(0)) - 1) / clear**2)
            else:
                worst = max(worst, alpha_of(moments, p, loss))
        return worst * (1 + MARGIN)


def minimax_bound_below(k: int, epsilon: float, loss: str, p0: float) -> Decimal:
    """A number just below papers/002, (48), (50), (54), with φ* in place of Lemma 11."""
    least = phi_bound_below(k, epsilon)
    with localcontext(Context(prec=DIGITS)):
        low = Decimal(p0)
        if loss == "f-divergence":
            found = (least - 1) / (k - 1)
        elif loss == "mse":
            found = 1 + (least / k - 1) / (low * (k - 1) * (2 - k * low))
        else:
            secant = Decimal(k - 1).sqrt() + (least - k) / (2 * (k * least - 1).sqrt())
            found = max((least - 1) / k, secant**2) / (k - 1)
        return found * (1 - MARGIN)


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
    "matrix-program": matrix_claims,
    "moment-program": moment_claims,
    "minimax-program": minimax_claims,
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
