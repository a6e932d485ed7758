"""Learning a distribution: φ over a family of mechanisms, α at a known p, its supremum over {p ≥ p0}.

The bounds follow from the parameters alone, but for the optimal designs, whose proof is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from .arithmetic import exp_below
from .claims import Claim, decided
from .form import Case, Form, Kind, Section, minimise
from .mechanism import Rows, level_claims, private, read_matrix, stochastic
from .moments import (
    alpha_above,
    alpha_bound_below,
    balanced_phi,
    design_bound_below,
    minimax_bound_below,
    phi_above,
    phi_bound_below,
    source_of,
    worst_alpha_above,
)
from .reading import UnreadableError
from .schema import EPSILON, Distribution, List, Matrix, Nullable, Number, Record, Whole, Word

MAX_INPUTS = 100_000
INPUTS = Whole(2, MAX_INPUTS)
LOSS = Word("f-divergence", "mse", "tv")
FAMILY = Word("circulant", "square", "broad")
P0 = Number(above=0, most=0.5)


class PhiStatement(NamedTuple):
    """Minimise φ(W) = tr((W D⁻¹ Wᵀ)⁻¹), D the column sums of W, over a family."""

    k: int
    epsilon: float
    family: str


class AlphaStatement(NamedTuple):
    """Minimise α at a known distribution p (Pastore and Gastpar 2021, (20a)–(20c))."""

    p: list[Decimal]
    epsilon: float
    loss: str
    family: str


class MinimaxStatement(NamedTuple):
    """Minimise the supremum of α over {p ≥ p0}, over square mechanisms."""

    k: int
    epsilon: float
    loss: str
    p0: float


def _matrix_program(family: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "matrix-program", "family": family, "k": params["k"], "epsilon": params["epsilon"]}


def _moment_program(params: dict[str, Any]) -> dict[str, Any]:
    defaults = {"loss": "f-divergence", "family": "broad"}
    return {"form": "moment-program", **defaults, **params}


def _minimax_program(params: dict[str, Any]) -> dict[str, Any]:
    return {"form": "minimax-program", "loss": "mse", **params}


def _phi_question(plain: dict[str, Any]) -> PhiStatement:
    return PhiStatement(plain["k"], plain["epsilon"], plain["family"])


def _alpha_question(plain: dict[str, Any]) -> AlphaStatement:
    return AlphaStatement(source_of(plain["p"]), plain["epsilon"], plain["loss"], plain["family"])


def _minimax_question(plain: dict[str, Any]) -> MinimaxStatement:
    k, p0 = plain["k"], plain["p0"]
    if Fraction(p0) * k > 1:
        raise UnreadableError(f"p0 must be at most 1/k = 1/{k}, not {p0!r}")
    return MinimaxStatement(k, plain["epsilon"], plain["loss"], p0)


# ---------------------------------------------------------------- the claims


class Subsets(NamedTuple):
    """Subset selection: every m-subset y with probability ∝ the ratio if x ∈ y, else ∝ 1."""

    size: int
    ratio: float


def _phi_answer(document: dict[str, Any], question: PhiStatement) -> Rows | Subsets:
    if document["mechanism"] is not None or question.family != "broad":
        return read_matrix(document, question.k)
    schema = Record(
        {
            "mechanism": Word("subset-selection"),
            "inputs": Whole(question.k, question.k),
            "size": Whole(1, question.k - 1),
            "ratio": Number(above=1),
        }
    )
    answer = schema.read(document.get("answer"), "answer")
    return Subsets(answer["size"], answer["ratio"])


def _phi_members(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    if isinstance(answer, Subsets):
        words = f"the ratio of two probabilities is at most e^{question.epsilon!r}"
        yield decided(
            "privacy",
            words,
            lambda: Fraction(answer.ratio) <= exp_below(question.epsilon),
            value=question.epsilon,
        )
    else:
        yield from _mechanism_claims(answer, question.epsilon, question.family)


def _phi_value(case: Case) -> Iterator[Claim]:
    k, answer, value = case.question.k, case.answer, case.value

    def test() -> bool:
        if isinstance(answer, Subsets):
            return balanced_phi(k, answer.size, Fraction(answer.ratio)) <= Fraction(value)
        return phi_above(answer) <= Decimal(value)

    yield decided("value", f"its φ is at most {value!r}", test, value=value)


def _phi_bound(case: Case) -> Iterator[Claim]:
    proven = partial(phi_bound_below, case.question.k, case.question.epsilon)
    yield _bounded(case, proven, "φ")


def _alpha_answer(document: dict[str, Any], question: AlphaStatement) -> Rows:
    return read_matrix(document, len(question.p))


def _alpha_members(case: Case) -> Iterator[Claim]:
    yield from _mechanism_claims(case.answer, case.question.epsilon, case.question.family)


def _alpha_value(case: Case) -> Iterator[Claim]:
    p, loss = case.question.p, case.question.loss
    words = f"its α ({loss}) is at most {case.value!r}"
    yield decided(
        "value",
        words,
        lambda: alpha_above(case.answer, p, loss) <= Decimal(case.value),
        value=case.value,
    )


def _alpha_bound(case: Case) -> Iterator[Claim]:
    p, epsilon, loss, _ = case.question
    proven = partial(alpha_bound_below, p, epsilon, loss)
    if case.proof is not None:
        proven = partial(design_bound_below, p, epsilon, loss, case.proof["Y"], case.proof["beta"])
    yield _bounded(case, proven, "α")


def _minimax_answer(document: dict[str, Any], question: MinimaxStatement) -> Rows:
    return read_matrix(document, question.k)


def _minimax_members(case: Case) -> Iterator[Claim]:
    yield from _mechanism_claims(case.answer, case.question.epsilon, "square")


def _minimax_value(case: Case) -> Iterator[Claim]:
    k, _, loss, p0 = case.question
    words = f"its α ({loss}) is at most {case.value!r} for all p >= {p0!r}"

    def test() -> bool:
        return len(case.answer[0]) == k and worst_alpha_above(case.answer, p0, loss) <= Decimal(
            case.value
        )

    yield decided("value", words, test, strength="numeric 1e-20", value=case.value)


def _minimax_bound(case: Case) -> Iterator[Claim]:
    k, epsilon, loss, p0 = case.question
    yield _bounded(case, partial(minimax_bound_below, k, epsilon, loss, p0), "its worst α")


def _bounded(case: Case, proven: Any, what: str) -> Claim:
    bound = case.bound
    assert bound is not None
    words = f"no such mechanism has {what} below {bound!r}"
    about = "mechanisms of this privacy"
    return decided("bound", words, lambda: Decimal(bound) <= proven(), about=about, value=bound)


def _mechanism_claims(matrix: Rows, epsilon: float, family: str) -> Iterator[Claim]:
    k = len(matrix)
    yield stochastic(matrix)
    if family != "broad":
        words = "it has as many outputs as inputs"
        yield decided("member", words, lambda: len(matrix[0]) == k)
    if family == "circulant":
        first = matrix[0]
        turned = all(row == first[-x:] + first[:-x] for x, row in enumerate(matrix) if x)
        yield decided("member", "every row is the first one, turned", lambda: turned)
    yield private(matrix, range(k), epsilon)


def _audit(case: Case) -> Iterator[Claim]:
    if not isinstance(case.answer, Subsets):
        yield from level_claims(case.answer, range(len(case.answer)), case.audit)


def _form(
    statement: Record,
    question: Any,
    answer: Any,
    members: Any,
    value: Any,
    bound: Any,
    proof: Any = None,
) -> Form:
    """A form that minimises; without a proof the bound follows from the parameters alone."""
    return Form(
        statement,
        question,
        answer,
        members,
        value,
        bound,
        minimise,
        Nullable(proof or Record({})),
        _audit,
    )


SECTION = Section(
    kinds={
        **{
            f"{family}-fidelity": Kind(
                Record({"k": INPUTS, "epsilon": EPSILON}), partial(_matrix_program, family)
            )
            for family in FAMILY.allowed
        },
        "fidelity": Kind(
            Record(
                {"p": Distribution(2, positive=True), "epsilon": EPSILON},
                {"loss": LOSS, "family": Word("square", "broad")},
            ),
            _moment_program,
        ),
        "minimax-fidelity": Kind(
            Record({"k": INPUTS, "epsilon": EPSILON, "p0": P0}, {"loss": LOSS}), _minimax_program
        ),
    },
    forms={
        "matrix-program": _form(
            Record({"form": Word("matrix-program"), "family": FAMILY, "k": INPUTS, "epsilon": EPSILON}),
            _phi_question,
            _phi_answer,
            _phi_members,
            _phi_value,
            _phi_bound,
        ),
        "moment-program": _form(
            Record(
                {
                    "form": Word("moment-program"),
                    "family": FAMILY,
                    "p": Distribution(2, positive=True),
                    "epsilon": EPSILON,
                    "loss": LOSS,
                }
            ),
            _alpha_question,
            _alpha_answer,
            _alpha_members,
            _alpha_value,
            _alpha_bound,
            Record({"Y": Matrix(), "beta": List(Number(), 2)}),
        ),
        "minimax-program": _form(
            Record(
                {
                    "form": Word("minimax-program"),
                    "k": INPUTS,
                    "epsilon": EPSILON,
                    "loss": LOSS,
                    "p0": P0,
                }
            ),
            _minimax_question,
            _minimax_answer,
            _minimax_members,
            _minimax_value,
            _minimax_bound,
        ),
    },
)
