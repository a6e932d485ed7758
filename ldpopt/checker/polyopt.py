"""PolyOpt: the bound over its cone, and the ceiling over every mechanism private against the set."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

from .claims import Claim, decided
from .columns import ColumnStatement, dominates
from .decimals import DIGITS, MARGIN, MAX_NODES, decimal, xlogx
from .form import Case, Form, Kind, Section, maximise
from .reading import UnreadableError
from .robust import (
    CONFIDENCE,
    PARAMS,
    RobustStatement,
    confidence,
    empirical_value,
    robust_answer,
    robust_members,
    robust_question,
    robust_value,
    uncertain,
)
from .schema import Flag, List, Nullable, Number, Record, Whole, Word

MOST_WIDTH = 1_000_000
OPTIONS = {
    "pairs": Word("distinct", "all"),
    "objective": Word("empirical", "robust"),
    "calibrate": Flag(),
    "facets": Whole(0, 1_000_000),
    "width": Nullable(Whole(2, MOST_WIDTH)),
}
DEFAULTS = {
    "pairs": "distinct",
    "objective": "empirical",
    "calibrate": False,
    "facets": 0,
    "width": None,
}


class Polyopt(NamedTuple):
    """The robust statement, and which cone is searched for which objective."""

    robust: RobustStatement
    pairs: str
    objective: str
    cone: bool
    width: int | None


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    options = {name: params.get(name, default) for name, default in DEFAULTS.items()}
    return {"form": "polyopt", **confidence(params), **options}


def _question(plain: dict[str, Any]) -> Polyopt:
    cone = not (plain["calibrate"] or plain["facets"] or plain["objective"] != "empirical")
    return Polyopt(robust_question(plain), plain["pairs"], plain["objective"], cone, plain["width"])


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
            beta, prior = [Decimal(b) for b in dual], [decimal(p) for p in flat]
            return BlockProof(beta, prior, p_min, E, Decimal.ln).holds(pairs)
    numbers = [[float(p) for p in row] for row in p_min]
    return BlockProof(list(dual), [float(p) for p in flat], numbers, float(E), math.log).holds(pairs)


def merged(question: RobustStatement, width: Any) -> RobustStatement:
    """The statement about the table with all but the ``width`` − 1 most frequent u merged."""
    columns = list(zip(*question.p_hat, strict=True))
    if width is None or width >= len(columns):
        return question
    weights = [math.fsum(map(float, column)) for column in columns]
    order = sorted(range(len(columns)), key=lambda u: (-weights[u], u))
    alone, rest = sorted(order[: width - 1]), order[width - 1 :]
    p_hat = [
        [*(row[u] for u in alone), sum((row[u] for u in rest), Fraction(0))] for row in question.p_hat
    ]
    return question._replace(p_hat=p_hat)


def polyopt_bound(case: Case) -> Iterator[Claim]:
    """The claims about the ceiling of all private mechanisms, and about PolyOpt's own bound."""
    proof, bound = case.proof, case.bound
    plan: Polyopt = case.question
    assert bound is not None
    yield ceiling_claim(proof, plan.robust)
    if not plan.cone:
        words = "the stated bound is not below that ceiling"
        yield decided("bound", words, lambda: bound >= proof["ceiling"], value=bound)
        return
    if "dual" not in proof:
        raise UnreadableError("certificate.proof needs the key 'dual'")
    dual, seen = proof["dual"], merged(plan.robust, plan.width)
    if len(dual) != len(seen.p_hat) * len(seen.p_hat[0]):
        raise UnreadableError("certificate.proof.dual must have one entry per pair (s, u)")

    def test() -> bool:
        return sum(map(Fraction, dual)) <= Fraction(bound) and polyopt_dominates(dual, seen, plan.pairs)

    strength = "exact" if len(seen.p_hat[0]) <= SMALL_BLOCK else "numeric 1e-13"
    table = "" if seen is plan.robust else f" for the {plan.width} merged values of u"
    words = f"no mechanism of the PolyOpt cone{table} has a utility above {bound!r}"
    yield decided("bound", words, test, strength=strength, about=f"the PolyOpt cone{table}", value=bound)


def ceiling_claim(proof: dict[str, Any], question: RobustStatement) -> Claim:
    """I(X; Y) = I(S; Y) + I(U; Y | S) ≤ max I(S; Y) + H(U | S) for every mechanism private against F.

    As p̂ ∈ F, the channel from S to Y is ε-LDP, and a dual vector bounds its information.
    """
    ceiling, dual = proof["ceiling"], proof["secret_dual"]
    secret = tuple(sum(row, Fraction(0)) for row in question.p_hat)
    if len(dual) != len(secret):
        raise UnreadableError("certificate.proof.secret_dual must have one entry per secret")
    channel = ColumnStatement(
        tuple(range(len(secret))), question.epsilon, "mutual-information", (secret,)
    )

    def test() -> bool | None:
        total = sum(map(Fraction, dual), Fraction(conditional_entropy_above(question)))
        return total <= Fraction(ceiling) and dominates(dual, channel)

    words = f"no mechanism private against the set, of the PolyOpt cone or not, exceeds {ceiling!r}"
    return decided("bound", words, test, about="mechanisms private against the set", value=ceiling)


def conditional_entropy_above(question: RobustStatement) -> Decimal:
    """A number just above H(U | S) under p̂."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[decimal(p) for p in row] for row in question.p_hat]
        parts = (xlogx(sum(row, Decimal(0))) - sum(map(xlogx, row), Decimal(0)) for row in rows)
        return sum(parts, Decimal(0)) + MARGIN


def _answer(document: dict[str, Any], question: Polyopt) -> list[list[float]]:
    return robust_answer(document, question.robust)


def _members(case: Case) -> Iterator[Claim]:
    return robust_members(case._replace(question=case.question.robust))


def _value(case: Case) -> Iterator[Claim]:
    claims = empirical_value if case.question.objective == "empirical" else robust_value
    return claims(case._replace(question=case.question.robust))


SECTION = Section(
    kinds={"polyopt": Kind(Record(PARAMS.required, {**PARAMS.optional, **OPTIONS}), _statement)},
    forms={
        "polyopt": Form(
            statement=Record({"form": Word("polyopt"), **CONFIDENCE, **OPTIONS}),
            question=_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=polyopt_bound,
            sense=maximise,
            proof=Record(
                {"ceiling": Number(), "secret_dual": List(Number(), 2)}, {"dual": List(Number(), 2)}
            ),
        )
    },
)
