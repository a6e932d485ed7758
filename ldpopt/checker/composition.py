"""The exposure of a joint distribution with given marginals: the kind ``composition-bound``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .claims import Claim, decided
from .decimals import MAX_NODES
from .form import Case, Form, Kind, Section, Sense
from .reading import UnreadableError
from .schema import FloatDistribution, List, Number, Object, Record, Word

COMPOSITION_TOLERANCE = 1e-9
COMPOSITION_METHODS = ("theorem-2", "theorem-3", "worst-joint", "best")
SMALL, BIG = "small", "big"
MARGINALS = List(FloatDistribution(), 1)
THRESHOLD = Number(above=0, most=1)
METHOD = Word(*COMPOSITION_METHODS)
NUMERIC = f"numeric {COMPOSITION_TOLERANCE:g}"


class Marginals(NamedTuple):
    """What is the exposure at the threshold of a joint distribution with these marginals?"""

    marginals: list[list[float]]
    threshold: float
    method: str


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "composition-bound", "method": "best", **params}


STATEMENT = Record(
    {
        "form": Word("composition-bound"),
        "marginals": MARGINALS,
        "threshold": THRESHOLD,
        "method": METHOD,
    }
)


def composition_question(plain: dict[str, Any]) -> Marginals:
    """The question of a statement that its schema has read; values of probability 0 are dropped."""
    marginals = [[x for x in p if x] for p in plain["marginals"]]
    return Marginals(marginals, plain["threshold"], plain["method"])


def read_marginals(params: dict[str, Any]) -> Marginals:
    """The question that the parameters of a composition bound ask."""
    return composition_question(STATEMENT.read(_statement(params)))


def numbers(value: Any, what: str) -> list[float]:
    """A list of finite numbers."""
    return List(Number()).read(value, what)


def rule_proves(question: Marginals, rule: str, answer: dict[str, Any]) -> float:
    """The bound that a composition rule proves with the thresholds of the answer."""
    thresholds = numbers(answer["thresholds"], "the thresholds")
    if len(thresholds) != len(question.marginals) or not all(0 < t <= 1 for t in thresholds):
        raise UnreadableError("there is not one threshold in (0, 1] per marginal")
    pairs = list(zip(question.marginals, thresholds, strict=True))
    below = [math.fsum(x for x in p if x < t) for p, t in pairs]
    if rule == "theorem-3":
        return math.fsum([*below, question.threshold / math.prod(thresholds)])
    if rule == "theorem-3-tight":
        cells = math.prod(sum(x >= t for x in p) for p, t in pairs)
        return math.fsum([*below, question.threshold * cells])
    pivot: int = answer["pivot"]
    if pivot not in range(len(pairs)):
        raise UnreadableError(f"the pivot {pivot!r} is none of the marginals")
    if math.prod(thresholds) < question.threshold * (1 - 1e-12):
        return math.inf
    others = [(q, *pair) for j, (q, pair) in enumerate(zip(below, pairs, strict=True)) if j != pivot]
    if rule == "theorem-2":
        return below[pivot] + math.fsum(q + t * len(p) for q, p, t in others)
    if rule == "theorem-2-tight":
        tops = ([x if t == 1 else min(x, t * (1 - x) / (1 - t)) for x in p] for _, p, t in others)
        return below[pivot] + math.fsum(x for top in tops for x in top)
    raise UnreadableError(f"the checker does not know the rule {rule!r}")


def no_thresholds_below(question: Marginals, rule: str, least: float) -> bool:
    """No thresholds make a rule prove less: every combination of break-points is tried.

    Between two break-points Q_j is constant. A combination is given up as soon as its exposures and
    the least slack that they allow reach ``least``; the trivial bound 1 is always there.
    """
    if least > 1 + COMPOSITION_TOLERANCE:
        return False
    options = []
    for p in question.marginals:
        points = sorted({*p, 1.0})
        options.append([(t, math.fsum(x for x in p if x < t)) for t in points])
    pivots: Sequence[int | None] = range(len(options)) if rule == "theorem-2" else [None]
    for pivot in pivots:
        pending: list[tuple[list[float], float]] = [([], 0.0)]
        for _ in range(MAX_NODES):
            if not pending:
                break
            caps, exposed = pending.pop()
            full = caps + [1.0] * (len(options) - len(caps))
            if exposed + _least_slack(question, rule, full, pivot) >= least - COMPOSITION_TOLERANCE:
                continue
            if len(caps) == len(options):
                return False
            pending += [([*caps, cap], exposed + q) for cap, q in options[len(caps)]]
        if pending:
            return False
    return True


def _least_slack(question: Marginals, rule: str, caps: list[float], pivot: int | None) -> float:
    """The least t/Π t_j, t Π N_j(t_j), or Σ_{j≠j*} t_j |V_j| with Π t_j ≥ t, for t_j ≤ cap_j."""
    if rule == "theorem-3-tight":
        pairs = zip(question.marginals, caps, strict=True)
        # a marginal without values ≥ t_j is exposed as a whole: there the slack does not matter
        return question.threshold * math.prod(max(1, sum(x >= t for x in p)) for p, t in pairs)
    if pivot is None:
        return float(question.threshold / math.prod(caps))
    if math.prod(caps) < question.threshold * (1 - 1e-12):
        return math.inf
    others = [(cap, len(p)) for cap, p in zip(caps, question.marginals, strict=True)]
    del others[pivot]
    product = question.threshold / caps[pivot]
    low, high = 0.0, max((cap * size for cap, size in others), default=0.0)
    for _ in range(60):
        level = (low + high) / 2
        enough = math.prod(min(level / size, cap) for cap, size in others) >= product
        low, high = (low, level) if enough else (level, high)
    return math.fsum(min(low, cap * size) for cap, size in others)


def joint_exposure(question: Marginals, joint: dict[str, Any]) -> float:
    """The mass of the rare cells; -1 if the marginals are not met.

    "worst-joint" counts cells up to the threshold, "best" those strictly below it, as Definition 1 does.
    """
    cells, masses = joint["cells"], numbers(joint["masses"], "the masses")
    if len({tuple(v) for v in cells}) != len(cells) or len(cells) != len(masses):
        raise UnreadableError("the joint does not have one mass per cell")
    for j, p in enumerate(question.marginals):
        sums: list[list[float]] = [[] for _ in p]
        for v, x in zip(cells, masses, strict=True):
            if len(v) != len(question.marginals) or v[j] not in range(len(p)):
                raise UnreadableError(f"{v} is no cell of the joint")
            sums[v[j]].append(x)
        if any(abs(math.fsum(s) - x) > COMPOSITION_TOLERANCE for s, x in zip(sums, p, strict=True)):
            return -1.0
    t = question.threshold
    rare = [x for x in masses if x < t or (x == t and question.method == "worst-joint")]
    return -1.0 if min(masses) < 0 else math.fsum(rare)


def tree_bound(question: Marginals, proof: dict[str, Any]) -> float:
    """The largest exposure that the leaves of the proof leave possible.

    An inner node splits on whether a cell carries at most the threshold (small) or at least it (big).
    A leaf has a number λ per marginal value, and prizes μ ≥ 0 for cuts that every joint satisfies:
    Σ λ·p − Σ μ + Σ_v (the most that cell v can add) bounds the exposure by Lagrangian duality.
    """
    cells = list(itertools.product(*(range(len(p)) for p in question.marginals)))
    cuts = [_cover(question, cells, numbers(c, "a cut")) for c in proof["cuts"]]
    nodes = iter(proof["tree"])
    pending: list[dict[tuple[int, ...], str]] = [{}]
    worst = -math.inf
    while pending:
        fixed, node = pending.pop(), next(nodes, None)
        if node is None:
            raise UnreadableError("the proof tree is incomplete")
        if "split" in node:
            cell = tuple(node["split"])
            pending += [{**fixed, cell: BIG}, {**fixed, cell: SMALL}]
        else:
            worst = max(worst, _leaf_bound(question, cells, cuts, node, fixed))
    return worst


def _flat(question: Marginals, flat: list[float]) -> list[list[float]]:
    """One number per marginal value, arranged as the marginals are."""
    if len(flat) != sum(map(len, question.marginals)):
        raise UnreadableError("there is not one number per marginal value")
    rest = iter(flat)
    return [[next(rest) for _ in p] for p in question.marginals]


Cells = list[tuple[int, ...]]


def _cover(question: Marginals, cells: Cells, flat: list[float]) -> list[float] | None:
    """Coefficients α ≥ 0 with Σ_{v big} α_v ≥ 1, if small cells alone cannot meet Σ c·p."""
    c, t = _flat(question, flat), question.threshold
    w = [max(0.0, math.fsum(c[j][a] for j, a in enumerate(v))) for v in cells]
    most = [_capacity(question, v) for v in cells]
    asked = math.fsum(a * x for a, x in zip(flat, itertools.chain(*question.marginals), strict=True))
    rho = asked - math.fsum(wv * min(t, u) for wv, u in zip(w, most, strict=True))
    if rho <= 1e-10:
        return None
    return [min(1.0, wv * max(u - t, 0.0) / rho) for wv, u in zip(w, most, strict=True)]


def _capacity(question: Marginals, cell: Sequence[int]) -> float:
    return min(p[a] for p, a in zip(question.marginals, cell, strict=True))


def _leaf_bound(
    question: Marginals,
    cells: Cells,
    cuts: list[list[float] | None],
    leaf: dict[str, Any],
    fixed: dict[tuple[int, ...], str],
) -> float:
    dual, t = _flat(question, numbers(leaf["dual"], "the dual of a leaf")), question.threshold
    if any(k not in range(len(cuts)) or weight < 0 for k, weight in leaf["cuts"]):
        raise UnreadableError("a prize of the proof is negative or for no cut")
    prizes: list[tuple[list[float], float]] = []
    for k, weight in leaf["cuts"]:
        cut = cuts[k]
        if cut is None:
            return math.inf
        prizes.append((cut, Number(0).read(weight, "a prize")))
    rows = zip(dual, question.marginals, strict=True)
    terms = [a * x for row, p in rows for a, x in zip(row, p, strict=True)]
    terms += [-weight for _, weight in prizes]
    for i, v in enumerate(cells):
        price, most = math.fsum(dual[j][a] for j, a in enumerate(v)), _capacity(question, v)
        small = max(0.0, (1 - price) * min(t, most))
        big = max(-price * t, -price * most) + math.fsum(w * cut[i] for cut, w in prizes)
        ways = {SMALL: small, BIG: big} if most > t else {SMALL: small}
        terms.append(ways.get(fixed[v], -math.inf) if v in fixed else max(ways.values()))
    return math.fsum(terms)


def _answer(document: dict[str, Any], question: Marginals) -> dict[str, Any]:
    return Object().read(document.get("answer"), "answer")


def _members(case: Case) -> Iterator[Claim]:
    yield from ()


def _proof(case: Case) -> dict[str, Any]:
    if case.proof is None:
        raise UnreadableError("the file has no proof")
    proof: dict[str, Any] = case.proof
    return proof


def _value(case: Case) -> Iterator[Claim]:
    if case.question.method == "worst-joint":
        yield _reached(case, case.answer, case.value, "value")
    else:
        yield _exceeded_by_none(case, case.answer, case.value, "value")


def _bound(case: Case) -> Iterator[Claim]:
    question, bound = case.question, case.bound
    assert bound is not None
    if question.method == "worst-joint":
        yield _exceeded_by_none(case, _proof(case), bound, "bound")
    elif question.method == "best":
        yield _reached(case, Object().read(_proof(case).get("joint"), "the joint"), bound, "bound")
    else:
        words = f"no thresholds make {question.method} prove less than {bound!r}"
        yield decided(
            "bound",
            words,
            lambda: no_thresholds_below(question, question.method, bound),
            strength=NUMERIC,
            about="thresholds",
            value=bound,
        )


def _exceeded_by_none(case: Case, proof: dict[str, Any], most: float, what: str) -> Claim:
    question = case.question
    words = f"no joint with these marginals has an exposure above {most!r} at {question.threshold!r}"
    return decided(
        what,
        words,
        lambda: _upper_bound(question, proof) <= most + COMPOSITION_TOLERANCE,
        strength=NUMERIC,
        about="joints with these marginals",
        value=most,
    )


def _reached(case: Case, joint: dict[str, Any], least: float, what: str) -> Claim:
    question = case.question
    words = f"a joint with these marginals has exposure {least!r} at {question.threshold!r}"
    return decided(
        what,
        words,
        lambda: joint_exposure(question, joint) >= least - COMPOSITION_TOLERANCE,
        strength=NUMERIC,
        value=least,
    )


def _sense(question: Marginals) -> Sense:
    return "maximise" if question.method == "worst-joint" else "minimise"


def _upper_bound(question: Marginals, proof: dict[str, Any]) -> float:
    names = {"worst-joint": "dual", "best": str(proof.get("rule"))}
    rule = names.get(question.method, question.method)
    found = tree_bound(question, proof) if rule == "dual" else rule_proves(question, rule, proof)
    return min(1.0, found)


SECTION = Section(
    kinds={
        "composition-bound": Kind(
            Record({"marginals": MARGINALS, "threshold": THRESHOLD}, {"method": METHOD}), _statement
        )
    },
    forms={
        "composition-bound": Form(
            statement=STATEMENT,
            question=composition_question,
            answer=_answer,
            members=_members,
            value=_value,
            bound=_bound,
            sense=_sense,
            proof=Object(),
        )
    },
)
