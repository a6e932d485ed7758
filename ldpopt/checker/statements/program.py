"""Questions that are composed: the kinds ``program``, ``staircase`` and ``secret-staircase``.

Statement. Maximise Σ_y g(w_y) over mechanisms W ≥ 0 whose rows sum to 1, whose columns w_y each lie in
one of the cones of every part of privacy, and which keep the budgets Σ_y h_j(w_y) ≤ b_j of all parts
(:mod:`.privacy_parts`, :mod:`.objective_parts`). What a design gains from all columns together is at
most such a sum, with a g that vectors of the file say, and an offset (:mod:`.designs`). Side conditions
Σ_i c_i·w_i ≤ b are about mechanisms with as many reports for each linear piece a_i of the objective, in
order, and value Σ_i a_i·w_i, w_i being the sum of the columns of the piece i. Weak duality adds up over
the reports, each of one piece: however many there are.

It is bounded by weak duality: :mod:`.weak_duality`.

The kinds ``staircase`` and ``secret-staircase`` are names of compositions: the notion of privacy is
``secret``, of which ``ldp`` is the case where no two inputs share one, and the utility is an objective.
So are the forms ``column-program``, in which a kind of another package may state the same, and
``private-mechanism``, the privacy alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from ..kernel.arithmetic import enclose
from ..kernel.claims import Claim, all_of, decided
from ..kernel.proofs.column_utilities import (
    MOST_LOG_POWER,
    OF_A_PRIOR,
    OF_HYPOTHESES,
    ORDER,
    UTILITIES,
)
from ..kernel.proofs.differences import Part
from ..kernel.proofs.named_parts import MOST_INPUTS, MOST_LISTED, NOTIONS, OBJECTIVES, Named, read_part
from ..kernel.proofs.objective_parts import Objective, unstated
from ..kernel.proofs.private_rows import level_claims, read_matrix, stochastic
from ..kernel.proofs.weak_duality import (
    DUAL,
    PROOF,
    Condition,
    Question,
    dominates,
    outer,
    proven_bound,
    read_proof,
    shown,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import (
    EPSILON,
    Anything,
    Distribution,
    Joint,
    List,
    Matrix,
    Number,
    Record,
    Whole,
    Word,
)
from ..kernel.section import Case, Decider, Kind, Section, stating

MOST_PARTS = 8
LARGEST = 1e15
"""The largest size of an entry of a side condition."""


# ---------------------------------------------------------------- reading

CONDITION = Record({"costs": Matrix(Number(-LARGEST, LARGEST), 2, 1), "most": Number(-LARGEST, LARGEST)})
FLOOR = Record({"costs": Matrix(Number(-LARGEST, LARGEST), 2, 1), "least": Number(-LARGEST, LARGEST)})
REQUIRED = {"privacy": List(Named(NOTIONS), 1, MOST_PARTS)}
OPTIONAL = {
    "maximise": Named(OBJECTIVES["maximise"]),
    "minimise": Named(OBJECTIVES["minimise"]),
    "at_most": List(CONDITION),
    "at_least": List(FLOOR),
    "max_outputs": Whole(2, 2),
}
PARAMS = Record(REQUIRED, OPTIONAL)


def question(plain: dict[str, Any]) -> Question:
    """Build the question of a statement; without an objective it says how many inputs there are."""
    if sum(key in plain for key in ("maximise", "minimise", "inputs")) != 1:
        raise UnreadableError(
            "a program needs one of the keys maximise and minimise; a statement without an objective "
            "needs inputs instead"
        )
    sense: Literal["maximise", "minimise"] = "minimise" if "minimise" in plain else "maximise"
    objective = unstated(plain["inputs"]) if "inputs" in plain else _objective(plain, sense)
    k = objective.inputs
    parts = [_notion(part, f"privacy[{i}]", k) for i, part in enumerate(plain["privacy"])]
    conditions = [
        _condition(f"{name}[{i}]", one["costs"], one[end], sign, objective)
        for name, end, sign in (("at_most", "most", 1), ("at_least", "least", -1))
        for i, one in enumerate(plain.get(name, []))
    ]
    if "max_outputs" in plain and (conditions or objective.vectors):
        raise UnreadableError("max_outputs is for sums over the reports, without side conditions")
    return Question(parts, objective, sense, conditions, "max_outputs" in plain)


def _objective(plain: dict[str, Any], sense: str) -> Objective:
    return read_part(plain[sense], sense, OBJECTIVES[sense])


def _notion(plain: Any, where: str, k: int) -> Part:
    """Read a notion of privacy; of many inputs only those that need no list of all pairs."""
    hidden = plain.get("ldp", plain.get("secret")) if isinstance(plain, dict) else None
    if k > MOST_LISTED and (not isinstance(hidden, dict) or hidden.get("delta")):
        raise UnreadableError(
            f"{where} of more than {MOST_LISTED} inputs must be secret, or ldp without a delta"
        )
    return read_part(plain, where, NOTIONS, k)


def _condition(
    name: str, costs: list[list[float]], limit: float, sign: int, objective: Objective
) -> Condition:
    """Read a side condition; one with ≥ is the same with both signs changed.

    Args:
        name: its place in the file.
        costs: the matrix [input][piece].
        limit: what the sum of the costs is compared with.
        sign: 1 for ≤ and −1 for ≥.
        objective: its pieces are the reports.
    """
    if objective.pieces is None:
        raise UnreadableError(
            f"side conditions need an objective of linear pieces, not {objective.name}"
        )
    shape = (objective.inputs, len(objective.pieces))
    if len(costs) != shape[0] or len(costs[0]) != shape[1]:
        raise UnreadableError(
            f"{name}.costs must be {shape[0]} × {shape[1]}: an entry for each input and piece"
        )
    words = f"its costs of {name} sum to at {'most' if sign > 0 else 'least'} {limit!r}"
    exact = [[sign * Fraction(entry) for entry in row] for row in costs]
    return Condition(words, exact, sign * Fraction(limit))


# ---------------------------------------------------------------- the claims


def _answer(document: dict[str, Any], asked: Question) -> list[list[float]]:
    """Read the mechanism; names that are pairs (s, u) must be in the order in which parts read them."""
    k, orders = asked.objective.inputs, [part.secrets for part in asked.parts]
    orders += [tuple(x // width for x in range(k)) for part in asked.parts for width in part.widths]
    for order in orders:
        matrix = read_matrix(document, k, order if len(set(order)) < k else ())
    return matrix


def _members(case: Case) -> Iterator[Claim]:
    asked: Question = case.question
    if case.proof and asked.objective.name:  # without an objective, the proof is not read
        asked = shown(case.proof, asked)
    yield stochastic(case.answer)
    for part in asked.parts:
        yield decided(
            "privacy", part.words, partial(part.holds, case.answer), value=part.epsilon or None
        )
    merged = asked.by_piece(case.answer) if asked.conditions else []
    for condition in asked.conditions:
        yield decided("member", condition.words, partial(keeps, condition, merged))
    if asked.two_reports:
        used = sum(any(column) for column in zip(*case.answer, strict=True))
        yield decided("member", "at most two of its reports ever occur", lambda: used <= 2)


def keeps(condition: Condition, merged: list[list[Fraction]]) -> bool:
    """Return whether a mechanism, its reports added up by piece, keeps a side condition, exactly."""
    pairs = (
        (c, w) for a, b in zip(condition.costs, merged, strict=True) for c, w in zip(a, b, strict=True)
    )
    return sum(c * w for c, w in pairs) <= condition.most


def _value(case: Case) -> Iterator[Claim]:
    asked: Question = case.question
    value = enclose(case.value)
    what = "sum over its reports of the linear piece of the objective to which each belongs"
    if not asked.conditions:
        what = asked.objective.words
    least = asked.sense == "maximise"
    words = f"its {what} is at {'least' if least else 'most'} {case.value!r}"

    def test() -> bool | None:
        gain = asked.gain(case.answer)
        return value.at_most(gain) if least else (-gain).at_most(value)

    yield case.claim_value(words, test)


def _bound(case: Case) -> Iterator[Claim]:
    asked = outer(case.proof, case.question)
    maximise, which, side = asked.sense == "maximise", "", ""
    most = Fraction(case.bound) * (1 if maximise else -1)
    if asked.two_reports:
        if set(case.proof) - {"cuts", "privacy"}:
            raise UnreadableError(
                "certificate.proof must be empty, but for cuts and privacy, where max_outputs is 2"
            )
        which, side = " of two reports", " with at most two reports"
    elif asked.conditions:
        side = " and these side conditions"
    proof = None if asked.two_reports else read_proof(case.proof, asked)

    def test() -> bool | None:
        if proof is None:
            from ..kernel.proofs.two_reports import gains

            return all_of(gain.at_most(enclose(most)) for gain in gains(asked))
        return proven_bound(proof, asked) <= most and dominates(proof, asked)

    words = f"no such mechanism{which} has {'more' if maximise else 'less'} than {case.bound!r}"
    yield case.claim_bound(words, test, f"mechanisms of this privacy{side}")


PROGRAM = Decider(
    statement=Record(REQUIRED, {**OPTIONAL, "inputs": Whole(2, MOST_INPUTS)}),
    question=question,
    answer=_answer,
    members=_members,
    value=_value,
    bound=_bound,
    sense=lambda asked: asked.sense,
    proof=PROOF,
    states_objective=lambda asked: bool(asked.objective.name),
)

# ---------------------------------------------------------------- names of compositions

PRIVACY = {"secrets": List(Anything(), 2), "epsilon": Anything()}
UTILITY = {"utility": Word(*UTILITIES), "distributions": List(Anything(), 1)}
"""What statements say; the parts of the composition read it."""


def _staircase(params: dict[str, Any]) -> dict[str, Any]:
    rows = _rows("staircase", params)
    return _column_program(list(range(len(rows[0]))), params, rows)


def _secret_staircase(params: dict[str, Any]) -> dict[str, Any]:
    tables = _rows("secret-staircase", params)
    if len({(len(table), len(table[0])) for table in tables}) != 1:
        raise UnreadableError("hypotheses must be matrices of one shape")
    secrets = [s for s, row in enumerate(tables[0]) for _ in row]
    return _column_program(secrets, params, [[p for row in table for p in row] for table in tables])


def _rows(kind: str, params: dict[str, Any]) -> list[Any]:
    """List the prior alone, or the hypotheses; refuse a utility that needs the other."""
    given = "hypotheses" in params
    if given == ("prior" in params):
        raise UnreadableError(f"{kind} needs either 'prior' or 'hypotheses', not both")
    utility, allowed = params.get("utility"), OF_HYPOTHESES if given else OF_A_PRIOR
    if utility not in allowed and (given or utility is not None):
        what = "hypotheses need" if given else "a prior needs"
        raise UnreadableError(f"{what} the utility {', '.join(allowed[:-1])} or {allowed[-1]}")
    return params["hypotheses"] if given else [params["prior"]]


def _column_program(secrets: Any, params: dict[str, Any], rows: list[Any]) -> dict[str, Any]:
    found = {
        "form": "column-program",
        "secrets": secrets,
        "epsilon": params["epsilon"],
        "utility": params.get("utility", "mutual-information"),
        "distributions": rows,
    }
    return found | {key: params[key] for key in ("weights", "order") if key in params}


def _column_question(plain: dict[str, Any]) -> Question:
    """Compose the question of a statement; one without a utility says how many inputs there are."""
    hidden = {key: plain[key] for key in ("epsilon", "secrets")}
    found: dict[str, Any] = {"privacy": [{"secret": hidden}]}
    if "utility" not in plain:
        return question({**found, "inputs": len(plain["secrets"])})
    rows, utility = plain["distributions"], plain["utility"]
    given = {"prior": rows[0]} if utility in OF_A_PRIOR and len(rows) == 1 else {"hypotheses": rows}
    given |= {key: plain[key] for key in ("weights", "order") if key in plain}
    asked = question({**found, "maximise": {utility: given}})
    epsilon, order = asked.parts[0].epsilon, plain.get("order")
    if order is not None and (Fraction(order) - 1) * Fraction(epsilon) > MOST_LOG_POWER:
        raise UnreadableError(
            f"(order - 1) * epsilon must be at most {MOST_LOG_POWER}, not ({order!r} - 1) * {epsilon!r}"
        )
    return asked


def _audit(case: Case) -> Iterator[Claim]:
    yield from level_claims(case.answer, case.question.parts[0].secrets, case.audit)


UTILITY_PARAMETERS = {"utility": Word(*UTILITIES), "weights": Distribution(2), "order": ORDER}

SECTION = Section(
    kinds={
        "program": Kind(PARAMS, stating("program")),
        "staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {
                    "prior": Distribution(2),
                    "hypotheses": List(Distribution(2), 2),
                    **UTILITY_PARAMETERS,
                },
            ),
            _staircase,
        ),
        "secret-staircase": Kind(
            Record(
                {"epsilon": EPSILON},
                {"prior": Joint(), "hypotheses": List(Joint(), 2), **UTILITY_PARAMETERS},
            ),
            _secret_staircase,
        ),
    },
    forms={
        "program": PROGRAM,
        **{
            name: replace(
                PROGRAM,
                statement=Record(required, optional),
                question=_column_question,
                proof=Record({"dual": DUAL}),
                audit=_audit,
            )
            for name, required, optional in (
                ("column-program", {**PRIVACY, **UTILITY}, {"weights": Anything(), "order": Anything()}),
                ("private-mechanism", PRIVACY, {}),
            )
        },
    },
)
