"""Learning a distribution: φ over a family of mechanisms, α at a known p, its supremum over {p ≥ p0}.

This file says what is claimed; the lemmas and their proofs stand beside the functions that decide:

| claim | decided by |
|---|---|
| φ, α ≤ value | ``moments``: second moments enclosed by a residual, roots rounded up |
| sup α ≤ value over {p ≥ p0} | ``supremum``: the vertices, and convexity for total variation |
| no φ, α, sup α < bound | ``fidelity_bounds``: from the parameters, or from the numbers of a proof |
| no φ < bound of circulants | ``circulant_phi_bound``: a tree of boxes, the corners of its leaves |
| no φ < bound with K outputs | ``square_phi_bound``: whole numbers of common inputs miss the best one |
| the same, with a proof | ``square_phi_tree``: a tree of boxes of all columns, and their corners |

All of it is decided in whole numbers and fractions, but for the convexity of ``supremum``, which is
decided in enclosing intervals. e^ε is replaced by a rational just above it wherever a bound is claimed
(more mechanisms are private then), and by one just below it wherever privacy is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_above
from ..kernel.claims import Claim, decided
from ..kernel.proofs.circulant_phi_bound import TREE, circulant_phi_reaches
from ..kernel.proofs.fidelity_bounds import (
    affine_bound,
    alpha_bound,
    balanced_phi,
    design_bound,
    minimax_bound,
    phi_bound,
    symmetric_bound,
)
from ..kernel.proofs.private_rows import (
    Rows,
    is_private,
    is_stochastic,
    level_claims,
    private,
    read_matrix,
    stochastic,
)
from ..kernel.proofs.second_moments import phi_above
from ..kernel.proofs.square_phi_bound import square_phi_reaches
from ..kernel.proofs.square_phi_tree import TREE as COLUMN_BOXES
from ..kernel.proofs.square_phi_tree import square_phi_proven
from ..kernel.proofs.worst_alpha import loss_above, worst_alpha_above
from ..kernel.reading import UnreadableError
from ..kernel.schema import (
    EPSILON,
    SUM_TOLERANCE,
    Distribution,
    List,
    Matrix,
    Nullable,
    Number,
    Record,
    Whole,
    Word,
)
from ..kernel.section import Case, Decider, Kind, Section, minimise, stating

MAX_INPUTS = 100_000
INPUTS = Whole(2, MAX_INPUTS)
LOSS = Word("f-divergence", "mse", "tv")
FAMILY = Word("circulant", "square", "broad")
LEAST = 1e-15
"""The least probability: for smaller ones the best mechanism, rounded to floats, may be singular."""
P0 = Number(LEAST, 0.5)
AFFINE = {"squares", "share", "beta"}
"""The keys of a proof whose numbers are affine functions of the probabilities."""
TREES = {"circulant": {"tree"}, "square": {"boxes"}}
"""The keys of a proof by a tree, for each family that has one."""
ALL = "mechanism of this privacy, whatever its number of outputs,"
TURNED = "circulant mechanism of this privacy"
SQUARE = "mechanism of this privacy with as many outputs as inputs"


class PhiStatement(NamedTuple):
    """Minimise φ(W) = tr((W D⁻¹ Wᵀ)⁻¹), D the column sums of W, over a family."""

    k: int
    epsilon: float
    family: str


class AlphaStatement(NamedTuple):
    """Minimise α at a known distribution p (Pastore and Gastpar 2021, (20a)–(20c))."""

    p: list[Fraction]
    epsilon: float
    loss: str
    family: str


class MinimaxStatement(NamedTuple):
    """Minimise the supremum of α over {p ≥ p0}, over square mechanisms."""

    k: int
    epsilon: float
    loss: str
    p0: Fraction
    family: str = "square"


def least_probability(k: int, p0: float) -> Fraction:
    """Read p0 exactly. At most 1/k is allowed; as this may be no float, the nearest float means 1/k."""
    if p0 > 1 / k:
        raise UnreadableError(f"p0 must be at most 1/k = 1/{k}, not {p0!r}")
    return min(Fraction(p0), Fraction(1, k))


def _alpha_question(plain: dict[str, Any]) -> AlphaStatement:
    if min(plain["prior"]) < Fraction(LEAST) * (1 - SUM_TOLERANCE):  # it was divided by its sum
        least = float(min(plain["prior"]))
        raise UnreadableError(f"every entry of prior must be at least {LEAST!r}, not {least!r}")
    return AlphaStatement(plain["prior"], plain["epsilon"], plain["loss"], plain["family"])


def _minimax_question(plain: dict[str, Any]) -> MinimaxStatement:
    p0 = least_probability(plain["inputs"], plain["p0"])
    return MinimaxStatement(plain["inputs"], plain["epsilon"], plain["loss"], p0)


# ---------------------------------------------------------------- values


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


def _members(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    if isinstance(answer, Subsets):
        words = f"the ratio of two probabilities is at most e^{question.epsilon!r}"
        test = partial(is_private, [[answer.ratio], [1.0]], (0, 1), question.epsilon)
        yield decided("privacy", words, test, value=question.epsilon)
    else:
        yield from _mechanism_claims(answer, question.epsilon, question.family)


def _at_most(matrix: Rows, above: Callable[[], Fraction | None], value: float) -> bool:
    """Return whether the enclosure says ≤ value; a mechanism without an inverse has no finite value."""
    if not is_stochastic(matrix):
        return False
    found = above()
    return found is not None and found <= Fraction(value)


def _phi_value(case: Case) -> Iterator[Claim]:
    k, answer, value = case.question.k, case.answer, case.value

    def test() -> bool:
        if isinstance(answer, Subsets):
            return balanced_phi(k, answer.size, Fraction(answer.ratio)) <= Fraction(value)
        return _at_most(answer, partial(phi_above, answer), value)

    yield case.claim_value(f"its φ is at most {value!r}", test)


def _alpha_value(case: Case) -> Iterator[Claim]:
    p, _, loss, _ = case.question
    words = f"its α ({loss}) is at most {case.value!r}"
    above = partial(loss_above, case.answer, p, loss)
    yield case.claim_value(words, lambda: _at_most(case.answer, above, case.value))


def _minimax_value(case: Case) -> Iterator[Claim]:
    k, _, loss, p0, _ = case.question
    words = f"its α ({loss}) is at most {case.value!r} for all p >= {float(p0)!r}"
    above = partial(worst_alpha_above, case.answer, p0, loss)
    yield case.claim_value(
        words, lambda: len(case.answer[0]) == k and _at_most(case.answer, above, case.value)
    )


# ---------------------------------------------------------------- bounds


def _phi_bound(case: Case) -> Iterator[Claim]:
    k, epsilon, family = case.question
    E, bound = exp_above(epsilon), Fraction(case.bound)
    if case.proof is not None:
        if set(case.proof) != TREES.get(family):
            raise UnreadableError(
                "certificate.proof must be null, or have a tree for a circulant mechanism, or boxes for "
                "a square one"
            )
        turned = family == "circulant"
        reaches, about = (circulant_phi_reaches, TURNED) if turned else (square_phi_proven, SQUARE)
        reached = partial(reaches, k, E, bound, case.proof["tree" if turned else "boxes"])
        yield _bounded(case, lambda: bound if bound > 1 and reached() else None, "φ", about)
    elif family == "broad" or bound <= phi_bound(k, E):
        yield _bounded(case, partial(phi_bound, k, E), "φ", ALL)
    else:
        yield _bounded(case, lambda: bound if square_phi_reaches(k, E, bound) else None, "φ", SQUARE)


def _alpha_bound(case: Case) -> Iterator[Claim]:
    p, epsilon, loss, _ = case.question
    proof = case.proof
    if proof is not None and set(proof) not in ({"Y", "beta"}, AFFINE):
        raise UnreadableError("certificate.proof must have Y and beta, or squares, share and beta")
    listed = "Y" in (proof or {})
    if listed and not len(proof["Y"]) == len(proof["Y"][0]) == len(proof["beta"]) == len(p):
        raise UnreadableError(
            f"certificate.proof must have {len(p)} rows and columns of Y and entries of beta"
        )
    if proof is not None and not listed and len(proof["beta"]) != 2:
        raise UnreadableError("certificate.proof must have two entries of beta beside squares and share")

    def proven() -> Fraction | None:
        E = exp_above(epsilon)
        if proof is None:
            return alpha_bound(p, E, loss)
        if listed:
            return design_bound(p, E, loss, proof["Y"], proof["beta"])
        squares, beta = ([Fraction(x) for x in proof[name]] for name in ("squares", "beta"))
        return affine_bound(p, E, loss, squares, Fraction(proof["share"]), beta)

    yield _bounded(case, proven, f"α ({loss})", ALL)


def _minimax_bound(case: Case) -> Iterator[Claim]:
    k, epsilon, loss, p0, _ = case.question
    proof, E, bound = case.proof, exp_above(epsilon), Fraction(case.bound)
    if proof is not None and loss != "tv":
        raise UnreadableError(
            f"certificate.proof must be null for {loss}: the parameters prove the bound"
        )

    def proven() -> Fraction | None:
        if proof is None:
            plain = minimax_bound(k, E, loss, p0)
            better = loss == "mse" and bound > plain  # by Σ_j (pΦ)_j alone, the mean of which is φ/K
            phi = k * (1 + (bound - 1) * p0 * (k - 1) * (2 - k * p0))
            return bound if better and square_phi_reaches(k, E, phi) else plain
        rest = Fraction(proof["rest"])
        if rest < p0 or 1 - (k - 1) * rest < p0:
            return None  # not one of the distributions p ≥ p0
        return symmetric_bound(k, E, rest, [Fraction(x) for x in proof["rows"]])

    about = ALL if loss == "tv" else SQUARE
    yield _bounded(case, proven, f"a worst α ({loss})", about)


def _bounded(case: Case, proven: Callable[[], Fraction | None], what: str, about: str) -> Claim:
    def test() -> bool:
        found = proven()
        return found is not None and Fraction(case.bound) <= found

    members = about.replace("mechanism", "mechanisms").replace("its", "their").rstrip(",")
    return case.claim_bound(f"no {about} has {what} below {case.bound!r}", test, members)


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
    """Check the claims about the level; for subset selection that of the column of one subset.

    Lemma. Subset selection of size m, 0 < m < K, has for every subset y an input in y and one that is
    not, and W[x,y] is the ratio r times as large for the first. So every column is a multiple of one
    with the entries 1 and r, and the level is log r. ∎
    """
    rows = [[case.answer.ratio], [1.0]] if isinstance(case.answer, Subsets) else case.answer
    yield from level_claims(rows, range(len(rows)), case.audit)


_form = partial(Decider, sense=minimise, audit=_audit)
"""A form that minimises. Where the proof is null, the bound follows from the parameters alone."""


SECTION = Section(
    kinds={
        **{
            f"{family}-fidelity": Kind(
                Record({"inputs": INPUTS, "epsilon": EPSILON}), stating("matrix-program", family=family)
            )
            for family in FAMILY.allowed
        },
        "fidelity": Kind(
            Record(
                {"prior": Distribution(2, positive=True), "epsilon": EPSILON},
                {"loss": LOSS, "family": Word("square", "broad")},
            ),
            stating("moment-program", loss="f-divergence", family="broad"),
        ),
        "minimax-fidelity": Kind(
            Record({"inputs": INPUTS, "epsilon": EPSILON, "p0": P0}, {"loss": LOSS}),
            stating("minimax-program", loss="mse"),
        ),
    },
    forms={
        "matrix-program": _form(
            Record({"family": FAMILY, "inputs": INPUTS, "epsilon": EPSILON}),
            lambda plain: PhiStatement(plain["inputs"], plain["epsilon"], plain["family"]),
            _phi_answer,
            _members,
            _phi_value,
            _phi_bound,
            proof=Nullable(Record({}, {"tree": TREE, "boxes": COLUMN_BOXES})),
        ),
        "moment-program": _form(
            Record(
                {
                    "family": FAMILY,
                    "prior": Distribution(2, positive=True),
                    "epsilon": EPSILON,
                    "loss": LOSS,
                }
            ),
            _alpha_question,
            lambda document, question: read_matrix(document, len(question.p)),
            _members,
            _alpha_value,
            _alpha_bound,
            proof=Nullable(
                Record(
                    {"beta": List(Number(), 2)},
                    {"Y": Matrix(), "squares": List(Number(), 2, 2), "share": Number(0, 1)},
                )
            ),
        ),
        "minimax-program": _form(
            Record({"inputs": INPUTS, "epsilon": EPSILON, "loss": LOSS, "p0": P0}),
            _minimax_question,
            lambda document, question: read_matrix(document, question.k),
            _members,
            _minimax_value,
            _minimax_bound,
            proof=Nullable(Record({"rest": Number(above=0, below=1), "rows": List(Number(0), 3, 3)})),
        ),
    },
)
