"""Column programs: the kinds ``staircase`` and ``secret-staircase``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

from .claims import Claim, decided
from .decimals import DIGITS, MARGIN, MAX_NODES, decimal, xlogx
from .form import Case, Form, Kind, Section, maximise
from .mechanism import level_claims, private, read_matrix, stochastic
from .reading import UnreadableError
from .schema import EPSILON, Distribution, Joint, Label, List, Number, Record, Word


class ColumnStatement(NamedTuple):
    """Maximise Σ_y g(W[:, y]) over mechanisms with W[x,y] ≤ e^ε W[x',y] where secrets differ."""

    secrets: tuple[Any, ...]
    epsilon: float
    utility: str
    distributions: tuple[tuple[Fraction, ...], ...]


UTILITIES = {"mutual-information": 1, "kl": 2, "total-variation": 2, "chi-squared": 2}
"""Each utility with the number of distributions that define it."""


STATEMENT = Record(
    {
        "form": Word("column-program"),
        "secrets": List(Label(), 2),
        "epsilon": EPSILON,
        "utility": Word(*UTILITIES),
        "distributions": List(Distribution(2), 1, 2),
    }
)


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    pair = "hypotheses" in params
    if pair == ("prior" in params):
        raise UnreadableError("staircase needs either 'prior' or 'hypotheses', not both")
    if pair and params.get("utility") in (None, "mutual-information"):
        raise UnreadableError("hypotheses need the utility kl, total-variation or chi-squared")
    rows = params["hypotheses"] if pair else [params["prior"]]
    utility = params.get("utility", "mutual-information")
    return _column_program(list(range(len(rows[0]))), params["epsilon"], utility, rows)


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


def column_question(plain: dict[str, Any]) -> ColumnStatement:
    """The question of a statement that its schema has read."""
    secrets, rows, utility = tuple(plain["secrets"]), plain["distributions"], plain["utility"]
    if UTILITIES[utility] != len(rows):
        raise UnreadableError(
            f"the utility {utility} needs {UTILITIES[utility]} distributions, not {len(rows)}"
        )
    if any(len(row) != len(secrets) for row in rows):
        raise UnreadableError(
            f"every distribution must have one entry for each of {len(secrets)} inputs"
        )
    if len(set(secrets)) < 2:
        raise UnreadableError(
            "secrets must be at least two different labels: with one nothing is hidden"
        )
    return ColumnStatement(secrets, plain["epsilon"], utility, tuple(map(tuple, rows)))


# ---------------------------------------------------------------- the value


def utility_below(matrix: Sequence[Sequence[float]], question: ColumnStatement) -> Decimal:
    """A number just below the utility Σ_y g(W[:, y]) of the mechanism."""
    with localcontext(Context(prec=DIGITS)):
        rows = [[decimal(p) for p in row] for row in question.distributions]
        columns = ([Decimal(entry) for entry in column] for column in zip(*matrix, strict=True))
        return sum((column_utility(question.utility, rows, T) for T in columns), Decimal(0)) - MARGIN


def column_utility(utility: str, rows: list[list[Decimal]], T: list[Decimal]) -> Decimal:
    """g(T)."""
    if utility == "mutual-information":
        weighted = [p * t for p, t in zip(rows[0], T, strict=True)]
        own = sum((w * t.ln() for w, t in zip(weighted, T, strict=True) if w), Decimal(0))
        return own - xlogx(sum(weighted, Decimal(0)))
    q0, q1 = (sum((p * t for p, t in zip(row, T, strict=True)), Decimal(0)) for row in rows)
    if q1 == 0:
        return Decimal(0) if q0 == 0 else Decimal("Infinity")
    return q1 * _f(utility, q0 / q1)


def _f(utility: str, ratio: Decimal) -> Decimal:
    """The convex function with divergence Σ q1 f(q0/q1)."""
    if utility == "kl":
        return xlogx(ratio)
    return (ratio - 1) ** 2 if utility == "chi-squared" else abs(ratio - 1) / 2


# ---------------------------------------------------------------- the bound


class Box(NamedTuple):
    """Vectors v with v_x ∈ {low_x, high_x}; the corners of all boxes generate the cone."""

    low: list[Decimal]
    high: list[Decimal]


def boxes(secrets: Sequence[Any], epsilon: float) -> Iterator[Box]:
    """The generators of {T ≥ 0 : T_x ≤ e^ε T_x' where secrets differ}.

    Lopuhaä-Zwakenberg and Goseling 2021, (105) times e^ε.
    """
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
        rows = [[decimal(p) for p in row] for row in question.distributions]
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
    gain = sum((p * xlogx(lo) - b * lo for b, p, lo, _ in entries), Decimal(0))
    weight = sum((p * lo for _, p, lo, _ in entries), Decimal(0))
    counts = Counter(
        (p * (xlogx(hi) - xlogx(lo)) - b * (hi - lo), p * (hi - lo))
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


# ---------------------------------------------------------------- the claims


def _answer(document: dict[str, Any], question: ColumnStatement) -> list[list[float]]:
    return read_matrix(document, len(question.secrets))


def _members(case: Case) -> Iterator[Claim]:
    yield stochastic(case.answer)
    yield private(case.answer, case.question.secrets, case.question.epsilon)


def _value(case: Case) -> Iterator[Claim]:
    words = f"its utility ({case.question.utility}) is at least {case.value!r}"
    yield decided(
        "value",
        words,
        lambda: utility_below(case.answer, case.question) >= Decimal(case.value),
        value=case.value,
    )


def _bound(case: Case) -> Iterator[Claim]:
    question, dual, bound = case.question, case.proof["dual"], case.bound
    if len(dual) != len(question.secrets):
        raise UnreadableError(
            f"certificate.proof.dual must have {len(question.secrets)} entries, not {len(dual)}"
        )
    assert bound is not None
    words = f"no such mechanism has a utility above {bound!r}"
    yield decided(
        "bound",
        words,
        lambda: sum(map(Fraction, dual)) <= Fraction(bound) and dominates(dual, question),
        about="mechanisms of this privacy",
        value=bound,
    )


def _audit(case: Case) -> Iterator[Claim]:
    yield from level_claims(case.answer, case.question.secrets, case.audit)


SECTION = Section(
    kinds={
        "staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {
                    "prior": Distribution(2),
                    "hypotheses": List(Distribution(2), 2, 2),
                    "utility": Word(*UTILITIES),
                },
            ),
            _staircase,
        ),
        "secret-staircase": Kind(Record({"epsilon": EPSILON, "prior": Joint()}), _secret_staircase),
    },
    forms={
        "column-program": Form(
            statement=STATEMENT,
            question=column_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record({"dual": List(Number(), 2)}),
            audit=_audit,
        )
    },
)
