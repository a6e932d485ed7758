"""The checker's section on robust local differential privacy. Standard library only.

Lopuhaä-Zwakenberg and Goseling 2021.

Privacy is decided from p̂, n, α and ε alone: the χ² quantile, the conditional sets and the proof that a
mechanism is private against every member are all computed here, with the arithmetic of
``ldpopt/checker/frame.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

from . import frame as checker
from .frame import (
    DIGITS,
    MARGIN,
    MAX_EPSILON,
    MAX_NODES,
    Claim,
    ColumnStatement,
    UnreadableError,
    agreement,
    column_utility,
    dominates,
    is_stochastic,
    read_matrix,
    read_number,
    read_numbers,
    xlogx,
)


def _confidence(params: dict[str, Any]) -> dict[str, Any]:
    """p̂ and n from the parameters: given, or from counts."""
    if "counts" in params:
        total = float(sum(sum(row) for row in params["counts"]))
        p_hat = [[count / total for count in row] for row in params["counts"]]
    else:
        p_hat, total = params["p_hat"], params["n"]
    alpha = params.get("alpha", 0.05)
    return {"p_hat": p_hat, "n": total, "alpha": alpha, "epsilon": params["epsilon"]}


def _reporting(protocol: str, params: dict[str, Any]) -> dict[str, Any]:
    blocks = params.get("blocks", "grr")
    return {"form": "reporting", "protocol": protocol, "blocks": blocks, **_confidence(params)}


def _polyopt(params: dict[str, Any]) -> dict[str, Any]:
    options = {
        "pairs": params.get("pairs", "distinct"),
        "objective": params.get("objective", "empirical"),
        "calibrate": params.get("calibrate", False),
        "facets": params.get("facets", 0),
        "width": params.get("width"),
    }
    return {"form": "polyopt", **_confidence(params), **options}


# ------------------------------------------------ robust privacy (Lopuhaä-Zwakenberg and Goseling 2021)


class RobustStatement(NamedTuple):
    """Mechanisms on inputs (s, u), private against every P of a χ² confidence set around p̂."""

    p_hat: list[list[Fraction]]
    n: Fraction
    alpha: Fraction
    epsilon: float
    cells: int


LEAST_ALPHA = 1e-12
"""Below, the quantile of χ² takes the series beyond the digits kept, and forever."""


def read_robust_statement(plain: dict[str, Any]) -> RobustStatement:
    """The uncertainty set and the level, every part of it checked."""
    rows = [read_numbers(list(row), "a probability") for row in plain["p_hat"]]
    if len(rows) < 2 or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise UnreadableError("p_hat is no rectangular matrix of at least two rows")
    n, alpha = read_number(plain["n"], "n"), read_number(plain["alpha"], "alpha")
    epsilon = read_number(plain["epsilon"], "epsilon")
    total = math.fsum(entry for row in rows for entry in row)
    if min(map(min, rows)) < 0 or abs(total - 1) > 1e-9 or min(map(sum, rows)) <= 0:
        raise UnreadableError("p_hat is negative, does not sum to 1, or has an empty row")
    if not (n > 0 and LEAST_ALPHA <= alpha < 1 and 0 < epsilon <= MAX_EPSILON):
        raise UnreadableError(f"n = {n}, alpha = {alpha} or epsilon = {epsilon} is out of range")
    exact = sum(Fraction(entry) for row in rows for entry in row)
    p_hat = [[Fraction(entry) / exact for entry in row] for row in rows]
    cells = plain.get("cells", len(rows) * len(rows[0]))
    return RobustStatement(p_hat, Fraction(n), Fraction(alpha), epsilon, cells)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


@cache
def chi_squared_quantile(degrees: int, alpha: Fraction) -> Decimal:
    """A number just above the 1 − α quantile of the χ² distribution: bisection."""
    with localcontext(Context(prec=DIGITS)):
        low, high, goal = Decimal(0), Decimal(degrees), 1 - _decimal(alpha)
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
    """Lopuhaä-Zwakenberg and Goseling 2021, Lemmas 8 and 9; call it within a context of many digits."""
    B = chi_squared_quantile(question.cells - 1, question.alpha) / _decimal(question.n)
    t = B / ((B + 1).sqrt() + 1) * (1 + MARGIN)
    given, step, p_min = [], [], []
    for row in question.p_hat:
        q = [_decimal(entry / sum(row)) for entry in row]
        k = t / _decimal(sum(row, Fraction(0)))
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


# ---------------------------------------------------------------- the bound of PolyOpt

SMALL_BLOCK = 4
"""Blocks of up to so many values are proven in exact arithmetic, wider ones in floats."""


class BlockProof:
    """β·T ≥ μ(T) for every T of the PolyOpt cone; then no mechanism of it is worth more than Σ_x β_x.

    With y_u = (1 − σ) T_u + p·T the cone is the union of the cones over K_{s*}(1, E ρ) × Π K_s(ρ, E),
    K(lo, hi) = {T ≥ 0 : lo ≤ y ≤ hi}, over the secrets s* and ρ ∈ [1, E]; with the rule "all" it is the
    cone over Π K_s(1, E). μ is convex, so the vertices suffice, and between two neighbouring
    break-points of ρ they move linearly. An interval [ρ1, ρ2] is contained in
    K_{s*}(1, E ρ2) × Π K_s(ρ1, E); it is split where that does not prove it.
    """

    def __init__(
        self, beta: list[Any], prior: list[Any], p_min: list[list[Any]], E: Any, log: Any
    ) -> None:
        a2 = len(p_min[0])
        self.beta = [beta[i : i + a2] for i in range(0, len(beta), a2)]
        self.prior = [prior[i : i + a2] for i in range(0, len(prior), a2)]
        self.p_min, self.E, self.log = p_min, E, log
        self.one = E / E
        self.budget = MAX_NODES
        self._tables: dict[tuple[int, Any, Any], list[tuple[Any, Any]]] = {}
        self._points: dict[tuple[int, Any], bool] = {}

    def holds(self, pairs: str) -> bool:
        """Whether the inequality is proven for the cone of the given rule."""
        everyone = [(self.one, self.E) for _ in self.p_min]
        if not self._product_holds(everyone):
            return False
        if pairs == "all":
            return True
        return all(self._secret_holds(s) for s in range(len(self.p_min)))

    def _secret_holds(self, s: int) -> bool:
        cuts = self._breakpoints(s)
        pending = [(0, len(cuts) - 1)]
        while pending:
            i, j = pending.pop()
            if self._product_holds(self._blocks(s, cuts[i], cuts[j]), relaxed=True):
                continue
            if j - i > 1:
                middle = (i + j) // 2
                pending += [(i, middle), (middle, j)]
            elif not (self._point_holds(s, cuts[i]) and self._point_holds(s, cuts[j])):
                return False
        return True

    def _point_holds(self, s: int, rho: Any) -> bool:
        if (s, rho) not in self._points:
            self._points[s, rho] = self._product_holds(self._blocks(s, rho, rho))
        return self._points[s, rho]

    def _blocks(self, s: int, low: Any, high: Any) -> list[tuple[Any, Any]]:
        return [(self.one, self.E * high) if z == s else (low, self.E) for z in range(len(self.p_min))]

    def _breakpoints(self, s: int) -> list[Any]:
        """ρ where a block changes its type: hi/lo = (1 − p_Z)/p_{Z^c} for some subset Z."""
        found = {self.one, self.E}
        for z, p in enumerate(self.p_min):
            free = 1 - sum(p)
            for rest in _subset_sums(p):
                if rest > 0:
                    R = 1 + free / rest
                    found.add(R / self.E if z == s else self.E / R)
        return sorted(rho for rho in found if 1 <= rho <= self.E)

    def _table(self, s: int, low: Any, high: Any) -> list[tuple[Any, Any]]:
        """(q, f) of every vertex of K_s(low, high): q = P·T, f = Σ P T log T − β·T."""
        key = (s, low, high)
        if key not in self._tables:
            rows = []
            for T in _block_vertices(self.p_min[s], low, high):
                q = f = 0 * self.one
                for p, b, t in zip(self.prior[s], self.beta[s], T, strict=True):
                    if t > 0:
                        q += p * t
                        f += p * t * self.log(t) - b * t
                rows.append((q, f))
            self._tables[key] = rows
        return self._tables[key]

    def _product_holds(self, blocks: list[tuple[Any, Any]], relaxed: bool = False) -> bool:
        """Σ f − q log q ≤ 0 on all vertices of a product (relaxed: by the splitting bound alone).

        −q log q ≤ r − (1 + log r) q for every r > 0, and the right side splits over the blocks; a
        vertex that falls short of its block's best by more than the bound cannot be part of a
        violation.
        """
        tables = [self._table(s, low, high) for s, (low, high) in enumerate(blocks)]
        slope = type(self.one)(_best_slope(tables))
        values = [[f - slope * q for q, f in table] for table in tables]
        tops = [max(column) for column in values]
        excess = sum(tops) + _exp(slope - 1)
        if excess <= -self._margin():
            return True
        if relaxed:
            return False
        near = [
            [
                (q, f, top - v)
                for (q, f), v in zip(table, column, strict=True)
                if top - v <= excess + self._margin()
            ]
            for table, column, top in zip(tables, values, tops, strict=True)
        ]
        return self._none_positive(near, excess)

    def _none_positive(self, near: list[list[tuple[Any, Any, Any]]], excess: Any) -> bool:
        zero = 0 * self.one
        found = [(zero, zero, zero)]
        for i, table in enumerate(near):
            self.budget -= len(found) * len(table)
            if self.budget < 0:
                return False
            found = [
                (q + dq, f + df, lost + more)
                for q, f, lost in found
                for dq, df, more in table
                if lost + more <= excess + self._margin()
            ]
            rest = near[i + 1 :]
            low = sum(min(q for q, _, _ in other) for other in rest) + zero
            high = sum(max(q for q, _, _ in other) for other in rest) + zero
            found = self._undominated(found, low, high)
        return all(f - self._h(q) <= -self._margin() for q, f, _ in found)

    def _undominated(self, points: list[Any], low: Any, high: Any) -> list[Any]:
        """The (q, f) that can be best in f − h(q + r) for some rest r ∈ [low, high].

        h is convex: a larger q' does better for all r if it does for r = high, a smaller one if it does
        for r = low. Only points that are worse by more than rounding are dropped.
        """
        kept, best = [], None
        for point in sorted(points, key=lambda p: (p[0], -p[1])):
            score = point[1] - self._h(point[0] + low)
            if best is None or score > best - self._margin() / 100:
                kept.append(point)
            best = score if best is None else max(best, score)
        result, best = [], None
        for point in reversed(kept):
            score = point[1] - self._h(point[0] + high)
            if best is None or score > best - self._margin() / 100:
                result.append(point)
            best = score if best is None else max(best, score)
        return result

    def _h(self, q: Any) -> Any:
        return q * self.log(q) if q > 0 else 0 * self.one

    def _margin(self) -> Any:
        return MARGIN if isinstance(self.one, Decimal) else 1e-13


def _exp(x: Any) -> Any:
    return x.exp() if isinstance(x, Decimal) else math.exp(x)


def _subset_sums(p: list[Any]) -> list[Any]:
    sums = [0 * p[0]]
    for entry in p:
        sums += [total + entry for total in sums]
    return sums


def _block_vertices(p: list[Any], low: Any, high: Any) -> Iterator[list[Any]]:
    """The vertices T of {T ≥ 0 : low ≤ (1 − σ) T + p·T ≤ high}, by the set of entries with y = high.

    (1) the others at low; (2) the others at T = 0, y between; (3) the others at T = 0 and low, but one.
    Vertices that rounding might lose are kept: a point slightly outside only makes the proof harder.
    """
    k, sigma = len(p), sum(p)
    fuzz = (1 - sigma) * (MARGIN if isinstance(high, Decimal) else 1e-13)
    if high <= low:
        yield [low] * k
        return
    for bits in range(2**k):
        top = [u for u in range(k) if bits >> u & 1]
        p_top = sum(p[u] for u in top) + 0 * sigma
        mean = low * (sigma - p_top) + high * p_top
        if mean <= (high if len(top) == k else low) * (1 + fuzz):
            yield [max(((high if u in top else low) - mean) / (1 - sigma), 0 * low) for u in range(k)]
        if len(top) < k:
            mean = high * p_top / (1 - sigma + p_top)
            if low * (1 - fuzz) <= mean <= high:
                yield [(high - mean) / (1 - sigma) if u in top else 0 * low for u in range(k)]
        if len(top) < k - 1:
            for w in set(range(k)) - set(top):
                if p[w] > 0:
                    between = (low - low * (sigma - p_top - p[w]) - high * p_top) / p[w]
                    if low < between < high:
                        yield [
                            (high - low) / (1 - sigma)
                            if u in top
                            else (between - low) / (1 - sigma)
                            if u == w
                            else 0 * low
                            for u in range(k)
                        ]


def _best_slope(tables: list[list[tuple[Any, Any]]]) -> float:
    """The slope λ = 1 + log r with the least e^(λ−1) + Σ_s max (f − λ q): bisection in floats."""
    hulls = [_upper_hull([(float(q), float(f)) for q, f in table]) for table in tables]
    low = 1 + math.log(max(sum(hull[0][0] for hull in hulls), 1e-300))
    high = 1 + math.log(max(sum(hull[-1][0] for hull in hulls), 1e-300))
    for _ in range(60):
        middle = (low + high) / 2
        taken = sum(max(hull, key=lambda point: point[1] - middle * point[0])[0] for hull in hulls)
        low, high = (middle, high) if taken > math.exp(middle - 1) else (low, middle)
    return high


def _upper_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    hull: list[tuple[float, float]] = []
    for q, f in sorted(points):
        while hull and (hull[-1][0] == q or _below(hull, q, f)):
            hull.pop()
        hull.append((q, f))
    return hull


def _below(hull: list[tuple[float, float]], q: float, f: float) -> bool:
    if len(hull) < 2:
        return False
    (q0, f0), (q1, f1) = hull[-2], hull[-1]
    return (f1 - f0) * (q - q0) <= (f - f0) * (q1 - q0)


def polyopt_dominates(dual: Sequence[float], question: RobustStatement, pairs: str) -> bool:
    """β·T ≥ μ(T) for every T of the PolyOpt cone of the statement."""
    flat = [entry for row in question.p_hat for entry in row]
    with localcontext(Context(prec=DIGITS)):
        p_min = uncertain(question).p_min
        E = Decimal(question.epsilon).exp()
        if len(p_min[0]) <= SMALL_BLOCK:
            beta, prior = [Decimal(b) for b in dual], [_decimal(p) for p in flat]
            return BlockProof(beta, prior, p_min, E, Decimal.ln).holds(pairs)
    numbers = [[float(p) for p in row] for row in p_min]
    return BlockProof(list(dual), [float(p) for p in flat], numbers, float(E), math.log).holds(pairs)


def merged(question: RobustStatement, width: Any) -> RobustStatement:
    """The statement about the table with all but the ``width`` − 1 most frequent u merged."""
    columns = list(zip(*question.p_hat, strict=True))
    if width is None or width >= len(columns):
        return question
    if isinstance(width, bool) or not isinstance(width, int) or width < 2:
        raise UnreadableError(f"the width {width!r} is no whole number >= 2")
    weights = [math.fsum(map(float, column)) for column in columns]
    order = sorted(range(len(columns)), key=lambda u: (-weights[u], u))
    alone, rest = sorted(order[: width - 1]), order[width - 1 :]
    p_hat = [
        [*(row[u] for u in alone), sum((row[u] for u in rest), Fraction(0))] for row in question.p_hat
    ]
    return question._replace(p_hat=p_hat)


def polyopt_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about PolyOpt."""
    question = read_robust_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = read_matrix(document, len(question.p_hat) * len(question.p_hat[0]))
    value = read_number(document["value"], "value")
    yield from robust_mechanism_claims(matrix, question, value, plain["objective"])
    if document["status"] == "feasible":
        return
    bound = read_number(document["bound"], "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    yield from ceiling_claims(proof, question)
    if plain["calibrate"] or plain["facets"] or plain["objective"] != "empirical":
        words = "the stated bound is not below that ceiling"
        yield Claim(words, "exact", bound >= read_number(proof.get("ceiling"), "the ceiling"))
        return
    dual = read_numbers(proof.get("dual"), "the dual vector")
    seen = merged(question, plain["width"])
    fits = len(dual) == len(seen.p_hat) * len(seen.p_hat[0])
    below = sum(map(Fraction, dual)) <= Fraction(bound)
    strength = "exact" if len(seen.p_hat[0]) <= SMALL_BLOCK else "numeric 1e-13"
    proven = fits and below and polyopt_dominates(dual, seen, plain["pairs"])
    table = "" if seen is question else f" for the {plain['width']} merged values of u"
    words = f"no mechanism of the PolyOpt cone{table} has a utility above {bound!r}"
    yield Claim(words, strength, proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


def ceiling_claims(proof: dict[str, Any], question: RobustStatement) -> Iterator[Claim]:
    """I(X; Y) = I(S; Y) + I(U; Y | S) ≤ max I(S; Y) + H(U | S) for every mechanism private against F.

    As p̂ ∈ F, the channel from S to Y is ε-LDP, and a dual vector bounds its information.
    """
    ceiling = read_number(proof.get("ceiling"), "the ceiling")
    dual = read_numbers(proof.get("secret_dual"), "the dual vector of the secret")
    with localcontext(Context(prec=DIGITS)):
        secret = tuple(_decimal(sum(row, Fraction(0))) for row in question.p_hat)
        total = sum(map(Fraction, dual), Fraction(conditional_entropy_above(question)))
    level = float(question.epsilon)
    channel = ColumnStatement(tuple(range(len(secret))), level, "mutual-information", (secret,))
    proven = len(dual) == len(secret) and total <= Fraction(ceiling) and dominates(dual, channel)
    words = f"no mechanism private against the set, of the PolyOpt cone or not, exceeds {ceiling!r}"
    yield Claim(words, "exact", proven)


def conditional_entropy_above(question: RobustStatement) -> Decimal:
    """A number just above H(U | S) under p̂."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[_decimal(p) for p in row] for row in question.p_hat]
        parts = (xlogx(sum(row, Decimal(0))) - sum(map(xlogx, row), Decimal(0)) for row in rows)
        return sum(parts, Decimal(0)) + MARGIN


def robust_mechanism_claims(
    matrix: list[list[float]], question: RobustStatement, value: float, objective: str
) -> Iterator[Claim]:
    """A mechanism is stochastic, robustly private, and as useful as it is said to be."""
    yield Claim("every row of the mechanism sums to exactly 1", "exact", is_stochastic(matrix))
    yield Claim(
        f"its outputs tell two secrets apart by at most a factor e^{question.epsilon:g}, for every "
        f"distribution in the χ² set of n = {float(question.n):g}, alpha = {float(question.alpha):g}",
        "exact",
        is_robustly_private(matrix, question),
    )
    if objective == "empirical":
        enough = empirical_information(matrix, question) >= Decimal(value)
        yield Claim(f"its mutual information under p_hat is at least {value!r}", "exact", enough)
    else:
        enough = robust_information(matrix, question) >= Decimal(value)
        words = "for every distribution in the set its mutual information is at least"
        yield Claim(f"{words} {value!r}", "exact", enough)


def empirical_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Decimal:
    """A number just below I(X; Y) under p̂."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[_decimal(p) for row in question.p_hat for p in row]]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((column_utility("mutual-information", rows, T) for T in columns), Decimal(0)) - MARGIN


def robust_information(matrix: Sequence[Sequence[float]], question: RobustStatement) -> Decimal:
    """A number below min_{P∈F} I_P(X; Y): Σ_y min_P μ_P(W[:, y]).

    Lopuhaä-Zwakenberg and Goseling 2021, Theorem 12. μ_P(T) = Σ P T log T − q log q is at least min_λ
    e^(λ−1) + P·(T log T − λ T). The minimum over P is concave in λ, so on an interval it is at least its
    chord; the sum with e^(λ−1) has an explicit least value. Intervals are cut where the bound is lowest.
    """
    with localcontext(Context(prec=DIGITS)):
        B = chi_squared_quantile(question.cells - 1, question.alpha) / _decimal(question.n)
        q = [_decimal(p) for row in question.p_hat for p in row]
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


# ---------------------------------------------------------------- reporting protocols


def reporting_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about independent or conditional reporting."""
    question = read_robust_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = read_matrix(document, len(question.p_hat) * len(question.p_hat[0]))
    value = read_number(document["value"], "value")
    yield from robust_mechanism_claims(matrix, question, value, "empirical")
    if document["status"] == "feasible":
        return
    if plain["blocks"] != "grr":
        raise UnreadableError("only protocols of randomised responses have a bound that can be proven")
    bound = read_number(document["bound"], "bound")
    proven = protocol_bounded(question, plain["protocol"], bound)
    yield Claim(f"no such protocol has a utility above {bound!r}", "numeric 1e-11", proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


def protocol_bounded(question: RobustStatement, protocol: str, bound: float) -> bool:
    """No parameters give the protocol more than the bound: halve their range until monotony proves it.

    Each part of a protocol is the better the higher its own level, so on a range of parameters the
    utility is at most that with every level at its best end.
    """
    with localcontext(Context(prec=DIGITS)):
        step = [float(k) for k in uncertain(question).step]
    p_hat = [[float(p) for p in row] for row in question.p_hat]
    upper = Protocols(p_hat, step, question.epsilon).upper(protocol)
    two = protocol == "ue-conditional"
    ranges = [(0.0, question.epsilon / 2), (0.0, 1.0)] if two else [(0.0, question.epsilon)]
    pending = [(ranges, 1.0)]
    for _ in range(MAX_NODES):
        if not pending:
            return True
        box, size = pending.pop()
        if upper([low for low, _ in box], [high for _, high in box]) <= bound + 1e-11:
            continue
        if size < 1e-12:
            return False
        widths = [
            (high - low) / (full[1] - full[0]) for (low, high), full in zip(box, ranges, strict=True)
        ]
        side = widths.index(max(widths))
        low, high = box[side]
        for half in ((low, (low + high) / 2), ((low + high) / 2, high)):
            pending.append(([*box[:side], half, *box[side + 1 :]], max(widths)))
    return False


class Protocols:
    """Utilities of the protocols with randomised response, in closed form, in floats."""

    def __init__(self, p_hat: list[list[float]], step: list[float], epsilon: float) -> None:
        self.p_hat, self.epsilon = p_hat, epsilon
        self.secrets = [sum(row) for row in p_hat]
        self.given = [[p / sum(row) for p in row] for row in p_hat]
        self.radii = [self._radius(q, k * (2 + k)) for q, k in zip(self.given, step, strict=True)]
        apart = max(
            sum(abs(a - b) for a, b in zip(q, r, strict=True)) for q in self.given for r in self.given
        )
        self.distance = min(2.0, 2 * max(self.radii) + apart)
        self.sums = _subset_sums(self.secrets) if len(self.secrets) <= 12 else []

    @staticmethod
    def _radius(q: list[float], B: float) -> float:
        """d_s of (65)."""
        if B < 1:
            return math.sqrt(B)
        least = min(q)
        return (B - 2 * B * least + math.sqrt(B * B + 4 * B * least * (1 - least))) / (B + 1)

    def upper(self, protocol: str) -> Callable[[list[float], list[float]], float]:
        """The utility with each level at its best between two ends."""
        known = {
            "independent-reporting": self._ir,
            "grr-conditional": self._grr,
            "ue-conditional": self._ue,
        }
        return known[protocol]

    def _ir(self, least: list[float], most: list[float]) -> float:
        a1, a2 = len(self.p_hat), len(self.p_hat[0])
        first, second = self.epsilon - least[0], _relaxed(most[0], self.distance)
        (c, d), (e, f) = _response(a1, first), _response(a2, second)
        values = [sum(column) for column in zip(*self.p_hat, strict=True)]
        out = (
            c * e * p + c * f * ps + d * e * pu + d * f
            for row, ps in zip(self.p_hat, self.secrets, strict=True)
            for p, pu in zip(row, values, strict=True)
        )
        return sum(map(_entropy, out)) - _noise(a1, first) - _noise(a2, second)

    def _blocks(self, second: float) -> float:
        parts = zip(self.secrets, self.given, self.radii, strict=True)
        return sum(p * _information(q, _relaxed(second, d)) for p, q, d in parts)

    def _grr(self, least: list[float], most: list[float]) -> float:
        first = self.epsilon - least[0]
        c, d = _response(len(self.secrets), first)
        return _information(self.secrets, first) + (c + d) * self._blocks(most[0])

    def _ue(self, least: list[float], most: list[float]) -> float:
        k, kappa, low = len(self.secrets), most[1], least[1]
        lam = min(low / (low + (1 - low) * math.exp(self.epsilon - least[0])), kappa)
        total = 0.0
        for i, mass in enumerate(self.sums):
            ones = i.bit_count()
            inside = kappa * lam ** (ones - 1) * (1 - lam) ** (k - ones) if ones else 0.0
            outside = (1 - kappa) * lam**ones * (1 - lam) ** (k - 1 - ones) if ones < k else 0.0
            total += _entropy(mass * inside + (1 - mass) * outside)
        bits = _entropy(kappa) + _entropy(1 - kappa) + (k - 1) * (_entropy(lam) + _entropy(1 - lam))
        return total - bits + kappa * self._blocks(most[0])


def _entropy(p: float) -> float:
    return -p * math.log(p) if p > 0 else 0.0


def _relaxed(level: float, distance: float) -> float:
    """δ = log(1 + 2 (e^ε − 1)/d): Theorems 15 and 17."""
    return math.log1p(2 * math.expm1(level) / distance)


def _response(k: int, level: float) -> tuple[float, float]:
    """Randomised response sends p to c·p + d."""
    d = math.exp(-level) / (1 + (k - 1) * math.exp(-level))
    return 1 - k * d, d


def _noise(k: int, level: float) -> float:
    c, d = _response(k, level)
    return _entropy(c + d) + (k - 1) * _entropy(d)


def _information(p: list[float], level: float) -> float:
    c, d = _response(len(p), level)
    return sum(_entropy(c * entry + d) for entry in p) - _noise(len(p), level)


checker.KINDS["polyopt"] = _polyopt
for _protocol in ("independent-reporting", "grr-conditional", "ue-conditional"):
    checker.KINDS[_protocol] = partial(_reporting, _protocol)
checker.FORMS["polyopt"] = polyopt_claims
checker.FORMS["reporting"] = reporting_claims
