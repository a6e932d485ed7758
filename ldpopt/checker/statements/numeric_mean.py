"""The mean of a bounded number, reported without bias at a level: the kind ``numeric-mean``.

Minimise the worst variance, over all x in [−1, 1], of an unbiased ε-LDP report of x; or, where there is
a prior on a grid, the mean variance of the reports of its points. The answer is a mechanism on a grid of
k points, with the reported numbers as its outputs; any other x is rounded at random to the grid. The
claims, and which function decides which (``unbiased_reports.py``):

* stochastic, private, and the audit's level: ``private_rows.py``;
* the mean report of each input is its point of the grid, up to rounding, and the means cover [−1, 1], so
  that rounding makes the report of every x unbiased: :func:`.covers`, Lemma 1;
* the variance is at most the value: :func:`.worst_variance` or :func:`.mean_variance`, Lemma 1;
* no unbiased ε-LDP mechanism on [−1, 1], on whatever grid or on none, has less than the bound:
  :func:`.least_variance`, Lemmas 2 and 3, for the α, β and λ of the file; of a prior, λ is that.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_above
from ..kernel.claims import Claim, decided
from ..kernel.proofs.private_rows import Rows, level_claims, private, read_matrix, stochastic
from ..kernel.proofs.unbiased_reports import (
    covers,
    grid,
    least_variance,
    mean_variance,
    moments,
    worst_variance,
)
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, Distribution, List, Number, Record, Whole
from ..kernel.section import Case, Kind, minimise, stating

MOST_POINTS = 101
LARGEST = 1e30
"""The largest number that is reported, or that a proof may contain."""
OFF_GRID = Fraction(1, 2**40)
"""How far the mean report of an input may be from its point, in units of the largest report."""
PRIOR = Distribution(2, positive=True)
statement = Record({"epsilon": EPSILON, "points": Whole(2, MOST_POINTS)}, {"prior": PRIOR})
SIZE = Number(-LARGEST, LARGEST)


class Question(NamedTuple):
    """The level, the grid, and the prior on it, if the mean variance counts."""

    epsilon: float
    points: list[Fraction]
    prior: list[Fraction] | None

    def variance(self, means: list[Fraction], squares: list[Fraction]) -> Fraction:
        """Compute what is minimised, of reports whose means cover [−1, 1]."""
        if self.prior is None:
            return worst_variance(means, squares)
        return mean_variance(self.points, self.prior, means, squares)


class Answer(NamedTuple):
    """The mechanism, what its outputs report, and the moments of the reports."""

    matrix: Rows
    largest: Fraction
    means: list[Fraction]
    squares: list[Fraction]


def question(plain: dict[str, Any]) -> Question:
    points, prior = grid(plain["points"]), plain.get("prior")
    if prior is not None and len(prior) != len(points):
        raise UnreadableError(f"prior must have {len(points)} numbers, one for each point")
    return Question(plain["epsilon"], points, prior)


def answer(document: dict[str, Any], question: Question) -> Answer:
    matrix = read_matrix(document, len(question.points))
    mechanism = document["mechanism"]
    if mechanism.get("inputs") != [float(x) for x in question.points]:
        raise UnreadableError("mechanism.inputs must be the points of the grid, from -1.0 to 1.0")
    reports = List(SIZE).read(mechanism.get("outputs"), "mechanism.outputs")
    return Answer(matrix, Fraction(max(map(abs, reports))), *moments(matrix, reports))


def members(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    yield stochastic(answer.matrix)
    yield private(answer.matrix, range(len(question.points)), question.epsilon)
    words = (
        "the mean report of each input is its point of the grid to within 2^-40 of the largest report"
    )

    def on_grid() -> bool:
        off = (abs(m - x) for m, x in zip(answer.means, question.points, strict=True))
        return max(off) <= OFF_GRID * answer.largest

    yield decided("member", words, on_grid)
    words = (
        "these means increase from at most -1 to at least 1: a number of [-1, 1], rounded at random to "
        "one of the two inputs whose means are next to it, is reported without bias"
    )
    yield decided("member", words, lambda: covers(answer.means))


def value(case: Case) -> Iterator[Claim]:
    question, answer = case.question, case.answer
    words = (
        f"with this rounding, no number of [-1, 1] is reported with a variance above {case.value!r}"
        if question.prior is None
        else "with this rounding, the points are reported with a mean variance under the prior of at "
        f"most {case.value!r}"
    )

    def test() -> bool:
        return covers(answer.means) and question.variance(*answer[2:]) <= Fraction(case.value)

    yield case.claim_value(words, test)


def bound_below(question: Question, proof: dict[str, Any]) -> Fraction | None:
    """Compute what a proof proves that no mechanism undercuts; None if it proves nothing."""
    E = Fraction(exp_above(question.epsilon))
    weights = question.prior or proof["weights"]
    return least_variance(question.points, E, proof["alpha"], proof["beta"], weights)


def bound(case: Case) -> Iterator[Claim]:
    question, proof = case.question, case.proof
    k = len(question.points)
    if ("weights" in proof) != (question.prior is None):
        raise UnreadableError("certificate.proof has weights where there is no prior, and only there")
    if {len(part) for part in proof.values()} != {k}:
        raise UnreadableError(f"certificate.proof must have {k} numbers in each of its lists")
    where = "at some number" if question.prior is None else "on average over the prior"
    words = (
        f"every unbiased mechanism on [-1, 1] of the level {question.epsilon!r} has a variance of at "
        f"least {case.bound!r} {where}"
    )

    def test() -> bool:
        found = bound_below(question, proof)
        return found is not None and Fraction(case.bound) <= found

    yield case.claim_bound(words, test)


def audit(case: Case) -> Iterator[Claim]:
    yield from level_claims(case.answer.matrix, range(len(case.question.points)), case.audit)


kinds = {"numeric-mean": Kind(statement, stating("numeric-mean"))}
sense = minimise
proof = Record({"alpha": List(SIZE, 2), "beta": List(SIZE, 2)}, {"weights": PRIOR})
