"""Asymptotic utility: the kinds ``asymptotic-utility`` and ``privacy-utility-frontier``.

Statement. Points p_i and weights w_i of :func:`dirichlet_points.prior_points` stand for the expectation
under Dirichlet(α); they are exact rationals, and every claim is about the sum over them (where the
recipe finds none, there is no statement, and the file is unreadable). The utility of a mechanism W
(Lopuhaä-Zwakenberg et al. 2019, (6.1), discretised) is

    Φ(W) = −½ log 2πe + Σ_i w_i log det J(p_i)/(2k − 2),   J(p) = Σ_y W_y W_yᵀ/(W_y·p),

and if all α are equal, the mean of this over all renamings of the inputs in the points. The average
privacy of a floor is that of the prior itself: 1 − Σ_y ℓ(W_y)/H, see :mod:`dirichlet_logarithms`.

Value. det J = det F (:mod:`fisher_information`, lemma of differences; the rows sum to exactly 1). With
unequal α, F is a sum of dyadic rationals, enclosed. With equal α the outputs are sorted into *classes*:
one output for every set S of m inputs, with entries in [l⁻, l⁺] off S and [h⁻, h⁺] on S. Renaming the
inputs only permutes the outputs of a class, so F of every renaming lies in the interval matrix of the
class (:mod:`asymptotic_value`), and so does the mean of the log determinants. Lemma (class). With Δ = h⁻
− l⁻ and ω = (h⁺ − h⁻) + (l⁺ − l⁻), D_y = Δ d_S + e, |e| ≤ ω, so D_y(a) D_y(b) is within 2|Δ|ω + ω² of Δ²
d_S(a) d_S(b); and W_y·p lies between l⁻ + (h⁻ − l⁻) p(S) and the same with l⁺, h⁺. ∎

Bound. *Atoms* are columns v = 1 + c 1_S, c the ``contrast``, at least e^ε − 1. Lemma (atoms). No ε-LDP
mechanism is worth more than some Σ_v θ_v v = 1 over atoms: its columns are non-negative combinations of
columns with entries 1 and e^ε ≤ 1 + c; v vᵀ/(v·p) is convex and homogeneous in v, so splitting a column
makes J larger, and log det is monotone. If all α are equal, the mean over all renamings of θ is worth
no less (Φ is concave and does not change under renaming), leaks the same, and weighs sets of one size
alike; its J(πp_i) are renamings of J(p_i). ∎ Lemma (gradient). F_θ(p) = Σ θ_v D_v D_vᵀ/(v·p) is linear
in the weights θ of columns, so Σ w_i log det F is concave. With a reference θ⁰ ≥ 0 where every F is
positive definite and slopes g_v = Σ_i w_i tr(F⁰⁻¹ F_v)/(2k − 2), g·θ⁰ = ½ and Φ(θ) ≤ Φ(θ⁰) − ½ + g·θ.
If g_v ≤ β·v + π ℓ(v) for every column that may occur, π ≥ 0, then g·θ ≤ Σβ + π Σ_y ℓ(W_y) ≤ Σβ + π (1 −
floor) H. ∎ Without π atoms suffice, and :mod:`asymptotic_bound` compares all of them. With a floor,
splitting a column may leak more; :mod:`leakage_cover` covers all columns.

Floor. The lemma of the rest in :mod:`dirichlet_logarithms` bounds Σ_y ℓ(W_y).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..kernel.arithmetic import enclose
from ..kernel.claims import Claim, decided
from ..kernel.labels import Label
from ..kernel.proofs import leakage_cover
from ..kernel.proofs.asymptotic_bound import proven_bound, read_reference
from ..kernel.proofs.asymptotic_value import (
    DesignStatement,
    classes_of,
    contrast,
    distinguishes,
    utility,
)
from ..kernel.proofs.dirichlet_logarithms import leaked_above
from ..kernel.proofs.dirichlet_points import prior_points
from ..kernel.proofs.fisher_information import whole_columns
from ..kernel.proofs.private_rows import (
    Rows,
    is_private,
    is_stochastic,
    private,
    read_matrix,
    stochastic,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, List, Nullable, Number, Record
from ..kernel.section import Case, Decider, Kind, Section, maximise

FREE_EPSILON = 10.0
"""The largest level where ε is free."""
MOST_VALUES, MOST_UNEQUAL = 16, 8
"""The most values of a question, with equal α and with unequal α: every set of values is listed."""
MOST_VALUES_FLOOR, MOST_UNEQUAL_FLOOR = 10, 6
"""The same with a floor, where columns have corners of parts of boxes."""
LEAST_ALPHA, MOST_ALPHA = 1e-2, 1e4
DIRICHLET = List(Number(LEAST_ALPHA, MOST_ALPHA), 2, MOST_VALUES)
FLOOR = Number(0, below=1)


def _statement(params: dict[str, Any]) -> dict[str, Any]:
    floor, epsilon = params.get("min_average_privacy"), params.get("epsilon", FREE_EPSILON)
    return {
        "form": "convex-program",
        "dirichlet": params["dirichlet"],
        "epsilon": epsilon,
        "floor": floor,
    }


def most_values(equal: bool, floor: bool) -> int:
    """Say how many values a question may have."""
    if equal:
        return MOST_VALUES_FLOOR if floor else MOST_VALUES
    return MOST_UNEQUAL_FLOOR if floor else MOST_UNEQUAL


def design_question(plain: dict[str, Any]) -> DesignStatement:
    """Build the question of a statement that its schema has read."""
    alpha, epsilon, floor = tuple(plain["dirichlet"]), plain["epsilon"], plain["floor"]
    equal = len(set(alpha)) == 1
    most = most_values(equal, floor is not None)
    if len(alpha) > most:
        which = "equal" if equal else "different"
        also = "without a floor" if floor is None else "with a floor on the average privacy"
        raise UnreadableError(
            f"dirichlet must have at most {most} entries if they are {which}, {also}, not {len(alpha)}"
        )
    return DesignStatement(alpha, epsilon, contrast(epsilon), floor)


# ---------------------------------------------------------------- the claims


def _holds(case: Case) -> bool:
    inputs = range(len(case.question.alpha))
    return is_stochastic(case.answer) and is_private(case.answer, inputs, case.question.epsilon)


def _members(case: Case) -> Iterator[Claim]:
    question, matrix = case.question, case.answer
    yield stochastic(matrix)
    yield private(matrix, range(len(question.alpha)), question.epsilon)
    if not _holds(case):
        return
    if question.equal:
        words = "it treats all inputs alike: sets of inputs of one size are high in equally many outputs"
        yield decided("member", words, lambda: classes_of(whole_columns(matrix)[0]) is not None)
    if question.floor is not None:
        words = f"its average privacy is at least {question.floor!r}"
        yield decided("privacy", words, lambda: private_enough(matrix, question), value=question.floor)


def private_enough(matrix: Rows, question: DesignStatement) -> bool:
    """Decide whether the leakage is proven to be at most (1 − floor) H."""
    allowed = (1 - Fraction(question.floor or 0)) * Fraction(leakage_cover.prior_entropy(question).low)
    columns, shift = whole_columns(matrix)
    return leaked_above(columns, question.alpha) <= allowed * (1 << shift)


def _points_words(question: DesignStatement) -> str:
    count = len(prior_points(question.alpha, question.epsilon).points)
    return f"the mean over the recipe's {count} points" + (
        ", renamed in every way" if question.equal else ""
    )


def _value(case: Case) -> Iterator[Claim]:
    if not _holds(case):
        return
    words = f"its asymptotic utility, {_points_words(case.question)}, is at least {case.value!r}"
    yield case.claim_value(words, lambda: _worth(case))


def _worth(case: Case) -> bool | None:
    found = utility(case.answer, case.question)
    if found is None:  # J is singular, or was not shown to be invertible
        return None if distinguishes(case.answer) else False
    return enclose(case.value).at_most(found)


def _bound(case: Case) -> Iterator[Claim]:
    question, bound, dual = case.question, case.bound, case.proof["dual"]
    needed = 1 if question.equal else len(question.alpha)
    if len(dual) != needed:
        raise UnreadableError(f"certificate.proof.dual must have {needed} entries, not {len(dual)}")
    covers = "cover" in case.proof
    if covers and question.floor is None:
        raise UnreadableError("certificate.proof.cover is of questions with a floor")
    if case.proof["price"] and not covers:
        raise UnreadableError("certificate.proof.price must be 0 without a cover")
    if covers:
        cover = leakage_cover.Cover(case.proof, question)
    else:
        read_reference(case.proof["reference"], question)
    words = f"no such mechanism has an asymptotic utility, {_points_words(question)}, above {bound!r}"

    def test() -> bool:
        found = cover.proven(dual) if covers else proven_bound(case.proof, question)
        return found is not None and found <= Fraction(bound)

    yield case.claim_bound(words, test, "mechanisms of this privacy")


SECTION = Section(
    kinds={
        "asymptotic-utility": Kind(
            Record({"dirichlet": DIRICHLET, "epsilon": EPSILON}, {"min_average_privacy": FLOOR}),
            _statement,
        ),
        "privacy-utility-frontier": Kind(
            Record({"dirichlet": DIRICHLET, "min_average_privacy": FLOOR}, {"epsilon": EPSILON}),
            _statement,
        ),
    },
    forms={
        "convex-program": Decider(
            statement=Record(
                {"dirichlet": DIRICHLET, "epsilon": EPSILON, "floor": Nullable(FLOOR)},
            ),
            question=design_question,
            answer=lambda document, question: read_matrix(document, len(question.alpha)),
            members=_members,
            value=_value,
            bound=_bound,
            sense=maximise,
            proof=Record(
                {
                    "dual": List(Number(), 1),
                    "price": Number(0),
                    "reference": List(List(Label(), 2, 2), 1),
                },
                {"cover": leakage_cover.COVER},
            ),
        )
    },
)
