"""The checker: reads a result file and decides its claims. Standard library only.

It imports nothing else of ldpopt, runs no optimisation, and takes the *statement* (which privacy, which
utility, which class of mechanisms) from the problem's parameters; the file's proof only supplies numbers
that make the statement easy to verify. Run it alone with ``python -I -S ldpopt/checker RESULT.json``,
or as ``ldpopt verify RESULT.json``: exit code 0 verified, 1 refuted, 2 unreadable.

Arithmetic. Stored floats are dyadic rationals, so sums and ratios are decided exactly with `Fraction`.
Logarithms and e^ε are `Decimal`s of 60 digits, correctly rounded by the standard library. All
quantities here are sums of fewer than 10^9 terms of size below 10^27 (ε ≤ 30), so their errors stay
below 10^-22; every comparison demands a margin of 10^-20.
"""

from __future__ import annotations

import importlib
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
    distributions: tuple[tuple[float | Decimal, ...], ...]


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


KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "staircase": _staircase,
    "secret-staircase": _secret_staircase,
}
"""How the parameters of each kind become a statement."""


SECTIONS: dict[str, str] = {
    "circulant-fidelity": ".fidelity",
    "square-fidelity": ".fidelity",
    "broad-fidelity": ".fidelity",
    "fidelity": ".fidelity",
    "minimax-fidelity": ".fidelity",
    "statistic-leakage": ".leakage",
    "leakage-design": ".leakage",
    "asymptotic-utility": ".asymptotic",
    "privacy-utility-frontier": ".asymptotic",
    "polyopt": ".robust",
    "independent-reporting": ".robust",
    "grr-conditional": ".robust",
    "ue-conditional": ".robust",
    "composition-bound": ".exposure",
    "feature-release": ".exposure",
}
"""Kinds whose forms are decided in a file of their own: standard library and this module only."""


def knows(kind: Any) -> bool:
    """Whether the checker can read the statement of this kind off its parameters."""
    if kind in SECTIONS and kind not in KINDS:
        importlib.import_module(SECTIONS[kind], __package__)  # adds its lines to KINDS and FORMS
    return kind in KINDS


def statement(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a result of this kind with these parameters claims to answer, as plain data."""
    if not knows(kind):
        raise UnreadableError(f"the checker does not know the problem kind {kind!r}")
    try:
        return KINDS[kind](params)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UnreadableError(f"the parameters of {kind!r} are incomplete: {error!r}") from None


def read_column_statement(plain: dict[str, Any]) -> ColumnStatement:
    """The statement of a column program, every part of it checked."""
    rows = tuple(tuple(read_number(p, "a probability") for p in row) for row in plain["distributions"])
    secrets = tuple(plain["secrets"])
    epsilon = read_number(plain["epsilon"], "epsilon")
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


def read_number(value: Any, what: str) -> float:
    """A finite number of the file."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UnreadableError(f"{what} is {value!r}, not a finite number")
    return float(value)


def read_numbers(values: Any, what: str) -> list[float]:
    """A list of finite numbers of the file."""
    if not isinstance(values, list):
        raise UnreadableError(f"{what} is not a list")
    return [read_number(value, what) for value in values]


def read_matrix(document: dict[str, Any], rows: int) -> list[list[float]]:
    """The mechanism of the file, with the number of rows that the statement asks for."""
    mechanism = document.get("mechanism")
    if not isinstance(mechanism, dict) or not isinstance(mechanism.get("matrix"), list):
        raise UnreadableError("the file has no mechanism matrix")
    matrix = [read_numbers(row, "a row of the mechanism") for row in mechanism["matrix"]]
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


def xlogx(q: Decimal) -> Decimal:
    """q log q, zero at zero."""
    return q * q.ln() if q else Decimal(0)


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
        if not _knows_form(plain.get("form")):
            raise UnreadableError(f"the checker does not know the form {plain.get('form')!r}")
        return list(FORMS[plain["form"]](document, plain))
    except UnreadableError:
        raise
    except MALFORMED as error:
        raise UnreadableError(f"the file is malformed: {error!r}") from None


def _knows_form(form: Any) -> bool:
    """Whether its claims can be decided; a kind of another package may use the form of any section."""
    return form in FORMS or any(knows(kind) and form in FORMS for kind in SECTIONS)


MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a field of the wrong type or size leads to."""


def column_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """The claims of a result about a column program."""
    question = read_column_statement(plain)
    if document["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {document['status']!r} makes no claim")
    matrix = read_matrix(document, len(question.secrets))
    value, bound = read_number(document["value"], "value"), document["bound"]
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
    bound = read_number(bound, "bound")
    proof = (document["certificate"] or {}).get("proof") or {}
    dual = read_numbers(proof.get("dual"), "the dual vector")
    fits = len(dual) == len(question.secrets)
    proven = fits and sum(map(Fraction, dual)) <= Fraction(bound) and dominates(dual, question)
    yield Claim(f"no such mechanism has a utility above {bound!r}", "exact", proven)
    if document["status"] == "optimal":
        yield agreement(document, value, bound)


def agreement(document: dict[str, Any], value: float, bound: float) -> Claim:
    """What the status "optimal" says: value and bound agree to the gap that the certificate names."""
    tolerance = read_number((document["certificate"] or {}).get("gap"), "the certificate's gap")
    close = abs(bound - value) <= tolerance * max(abs(bound), abs(value), 1e-4)
    return Claim(f"value and bound agree to a relative {tolerance:g}", "exact", close)


FORMS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Iterator[Claim]]] = {
    "column-program": column_claims,
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
