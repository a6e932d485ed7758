"""The ways to design a mechanism for a table: a question and the solver that answers it, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ldpopt.core import validate
from ldpopt.core.limits import Progress
from ldpopt.core.problem import Problem
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.engine.result import Result
from ldpopt.engine.solving import answer_for, solve
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.measures.estimation_fidelity import few_subsets
from ldpopt.mechanisms import ENCODINGS
from ldpopt.mechanisms.randomizer import Randomizer
from ldpopt.models.objective import MutualInformation, Queries
from ldpopt.problems._robust.calibration import STEPS
from ldpopt.problems.frequency_encoding import FrequencyEncoding
from ldpopt.problems.grr_conditional import GRRConditional
from ldpopt.problems.independent_reporting import IndependentReporting
from ldpopt.problems.least_phi import BroadFidelity
from ldpopt.problems.numeric_mean import NumericMean
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.program import Program
from ldpopt.problems.robust_fidelity import RobustFidelity
from ldpopt.problems.robust_optimum import RobustOptimum
from ldpopt.problems.secret_staircase import SecretStaircase
from ldpopt.problems.staircase import Staircase
from ldpopt.problems.ue_conditional import MOST_REPORTS, UEConditional
from ldpopt.release.accuracy import likely
from ldpopt.release.column_sampling import Built, Wanted, sampled, split
from ldpopt.release.matrix_randomizer import released
from ldpopt.release.question import MOST_CELLS, Question

GOALS = ("estimates", "information")
"""What a mechanism is for: precise frequencies, or much information about each person."""
MOST_LEARNT = 200
"""Inputs for which the checker computes φ in seconds."""
MOST_ROWS = 4096
"""The most rows of a mechanism that is a matrix; an encoding, stated by its parameters, has none."""
MOST_QUERIED = 120
"""Cells for which a mechanism for the wanted frequencies is sought; more take minutes."""
MOST_HIDDEN = 9
"""Values hidden from each other up to which all columns worth having are listed within seconds."""
MOST_BLURRED = 600
"""Cells for which all exact levels take seconds; the time grows with the square of the cells."""
MOST_PROVEN = 9
"""Cells up to which the exact robust optimum is proven within seconds, so that ``auto`` takes it."""
BUILT = ("sampled", "public", "srr", "learn", "grr", "blurred", "subset")
"""Methods that are built, not searched: ``ldpopt plan`` tries them at every level."""
QUICK = (*BUILT, "cr", "mean", "split", "queries", "average")
"""Methods for estimates from large tables; "split", "queries" or "average" has all the time left."""


class Repeats(NamedTuple):
    """Another method, and how often it is solved."""

    method: str
    times: int


Refusal = Callable[[Question], str | None]
"""Says why a method does not apply to a question, if it does not."""


class Method(NamedTuple):
    """A way to design a mechanism."""

    problem: Callable[[Question], Problem]
    refusals: tuple[Refusal, ...] = ()
    solver: str = "auto"
    repeats: Repeats | None = None
    """The method that it solves many times, if it does; one solve does not show how long it takes."""
    automatic: Callable[[Question], bool] = lambda question: True
    """Whether ``auto`` may choose it for a question to which it applies."""
    universal: bool = False
    """Whether its mechanisms keep their level against all distributions."""
    hides_all: bool = False
    """Whether it hides the public columns like the secret ones, which is universal, too."""
    build: Callable[[Question, float, float], Array] | None = None
    """Builds its mechanism from the question, a gap and seconds, if it is not found by a solver."""
    informs: bool = True
    """Whether the information of its mechanisms is computed."""
    composed: bool = False
    """Whether it is for promises that are notions of privacy."""
    most: float = MOST_ROWS
    """The most cells of a table; an encoding, stated by its parameters, takes any number."""
    of_numbers: bool = False
    """Whether it is made for the mean of numbers, not for frequencies."""

    @property
    def adds_up(self) -> bool:
        """Whether the level of several reports is the sum of theirs."""
        return self.universal or self.hides_all

    def reason(self, question: Question) -> str | None:
        """Return why it does not apply to a question, or None."""
        if question.of_numbers != self.of_numbers:
            return f"is made for {'the mean of a number' if self.of_numbers else 'frequencies'}"
        if (k := question.counts.size) > self.most:
            return f"writes a matrix, of at most {self.most:,} cells, not {k:,}"
        if self.composed != question.composed:
            return "is made for another promise"
        return self.refusal(question)

    def refusal(self, question: Question) -> str | None:
        """Return the first reason of its own, or None."""
        return next(filter(None, (refusal(question) for refusal in self.refusals)), None)

    def solve(self, question: Question, gap: float, seconds: float, progress: Progress | None) -> Result:
        """Answer the question of a table; a mechanism is built in half the time, proven in the rest.

        Args:
            question: what the table is to be protected against.
            gap: the relative gap to prove.
            seconds: the time limit.
            progress: called with (value, bound) during long work.
        """
        solver = self._solver(question, gap, seconds)
        problem = self.problem(question)
        return solve(problem, solver, gap=gap, time_limit=seconds, progress=progress)

    def randomizer(self, question: Question, gap: float, seconds: float) -> Randomizer | None:
        """Build the same mechanism without claims about its value, which may take longer than it.

        Args:
            question: what the table is to be protected against.
            gap: the relative gap at which the search ends.
            seconds: the time limit.
        """
        problem, solver = self.problem(question), self._solver(question, gap, seconds)
        return released(problem, answer_for(problem, solver, gap=gap, time_limit=seconds))

    def _solver(self, question: Question, gap: float, seconds: float) -> str | Built:
        return self.solver if self.build is None else Built(self.build(question, gap, seconds / 2))


def _robust(kind: Any, **options: Any) -> Callable[[Question], Problem]:
    """Ask for a kind of mechanism that is private against the confidence set."""
    return lambda question: kind(question.epsilon, **question.confidence(), **options)


def _polyopt(question: Question, calibrate: bool = False) -> Problem:
    return _robust(PolyOpt, **question.merged(), calibrate=calibrate)(question)


def _staircase(question: Question) -> Problem:
    if not question.joint:
        return _everything(question)
    return SecretStaircase(question.epsilon, question.p_hat)


def _everything(question: Question) -> Problem:
    return Staircase(question.epsilon, prior=question.p_hat.ravel())


def _queries(question: Question) -> Problem:
    if question.robust == "all" or not question.joint:
        return RobustFidelity(question.epsilon, question.p_hat, question.queries)
    return _robust(RobustFidelity, queries=question.queries)(question)


def _composed(question: Question) -> Problem:
    """Ask for the best mechanism under the notion of privacy that is promised.

    Frequencies are asked for at the observed distribution with half a row added to each cell: where a
    report may tell a value that does not occur, its error has no meaning at a probability of 0.
    """
    if question.queries is None:
        return Program(question.notion, MutualInformation(question.p_hat.ravel()))
    return Program(question.notion, Queries(question.queries, likely(question.counts)))


def _split(question: Question, gap: float, seconds: float) -> Array:
    asked = question.uncertainty, question.p_hat, question.epsilon, question.queries
    return split(*asked, gap, seconds)


def _sampled(question: Question, gap: float, seconds: float) -> Array:
    return sampled(question.p_hat, question.epsilon, question.queries, gap, seconds)


def _encoding(name: str, buckets: int | None = None) -> Method:
    """Describe an encoding of all columns together; ``auto`` takes the best where learn is worse."""
    return Method(
        lambda question: FrequencyEncoding(question.epsilon, name, question.counts.size, buckets),
        solver="best-encoding",
        automatic=lambda question: (
            name == "subset"
            and not (_is_narrow(question) and few_subsets(question.counts.size, question.epsilon))
        ),
        hides_all=True,
        informs=False,
        most=math.inf,
    )


def _of_numbers(prior: Callable[[Any], Array | None]) -> Method:
    """Describe a best mechanism for the mean of a number: the worst number counts, or a prior."""
    return Method(
        lambda question: NumericMean(question.epsilon, question.counts.size, prior(question.counts)),
        hides_all=True,
        informs=False,
        of_numbers=True,
    )


def _is_narrow(question: Question) -> bool:
    return bool(question.counts.size <= MOST_LEARNT)


def _has_at_most(most: int, words: str) -> Refusal:
    """Refuse tables of more cells.

    Args:
        most: how many a table may have.
        words: how that is said, with both numbers in braces.
    """

    def refusal(question: Question) -> str | None:
        k = question.counts.size
        return words.format(most=most, k=k) if k > most else None

    return refusal


def _without(what: str) -> Refusal:
    """Refuse a question that does not name the columns or frequencies that are wanted."""
    reason = f"is made for the {what} wanted, and none are named"
    return lambda question: reason if question.queries is None else None


def _one_column(question: Question) -> str | None:
    asked = question.queries
    alone = asked is not None and len(asked) == question.counts.size
    return "the table has one column: learn is the same" if alone else None


def _columns_too_wide(question: Question) -> str | None:
    cells = Wanted(question.queries, question.counts.shape).cells(len(question.counts))
    reason = f"takes at most {MOST_QUERIED} cells of the secret and one public column, not {cells}"
    return reason if cells > MOST_QUERIED else None


def _without_public(question: Question) -> str | None:
    return None if question.joint else "there is no public column of two or more values"


def _without_set(question: Question) -> str | None:
    if question.joint and question.robust == "all":
        return "is made for a confidence set: ask for it with --robust chi2"
    return _without_public(question)


def _too_many_reports(question: Question) -> str | None:
    a1, a2 = question.counts.shape
    reason = f"would have {1 + a2}^{a1} different reports, more than {MOST_REPORTS}"
    return reason if math.log(1 + a2) * a1 > math.log(MOST_REPORTS) else None


def _too_large(question: Question) -> str | None:
    a1, a2 = question.counts.shape
    secrets, cells = RobustOptimum.most_secrets, RobustOptimum.most_inputs
    reason = f"takes at most {secrets} secrets and {cells} cells, not {a1} and {a1 * a2}"
    return reason if a1 > secrets or a1 * a2 > cells else None


def _too_many_rays(question: Question) -> str | None:
    """Refuse questions whose columns are too many to list."""
    secrets, k = len(question.counts), question.counts.size
    hidden = secrets if question.robust == "given" else k
    if hidden > MOST_HIDDEN or k > MOST_QUERIED:
        return (
            f"takes at most {MOST_HIDDEN} values that are hidden from each other and {MOST_QUERIED} "
            f"cells, not {hidden} and {k}; take values together (--top, --bins, --levels)"
        )
    return None


def _tells_too_much(question: Question) -> str | None:
    reason = f"the public values as they are have the level {question.public_level:.4g} of the secret"
    return reason if question.public_level > question.epsilon else None


def _tells_little(question: Question) -> str | None:
    reason = f"the public values as they are stay within the level [{NOT_CHECKED}]: public is better"
    return reason if question.public_level <= question.epsilon else None


_public_column = _robust(PolyOpt, calibrate=True)
METHODS: dict[str, Method] = {
    "optimum": Method(
        _robust(RobustOptimum),
        (_too_large, _without_set),
        automatic=lambda question: question.width is None and question.counts.size <= MOST_PROVEN,
    ),
    "polyopt": Method(_polyopt, (_without_set,)),
    "calibrated": Method(
        lambda question: _polyopt(question, calibrate=True),
        (_without_set,),
        repeats=Repeats("polyopt", STEPS + 2),
    ),
    "staircase": Method(_staircase, universal=True),
    "srr": Method(
        _staircase, (_without_public,), "randomized-response", automatic=_is_narrow, universal=True
    ),
    "ir": Method(_robust(IndependentReporting, calibrate=True), (_without_set,)),
    "cr": Method(_robust(GRRConditional, calibrate=True), (_without_set,), automatic=_is_narrow),
    "ue": Method(_robust(UEConditional, calibrate=True), (_too_many_reports, _without_set)),
    "ldp": Method(_everything, (_without_public,), hides_all=True),
    "learn": Method(
        lambda question: BroadFidelity(question.epsilon, question.counts.size),
        (_has_at_most(MOST_LEARNT, "is certified for {most} inputs at most, not {k}"),),
        "restricted-designs",
        hides_all=True,
    ),
    "queries": Method(
        _queries,
        (
            _without("frequencies that are"),
            _has_at_most(MOST_QUERIED, "takes at most {most} cells, not {k}"),
        ),
    ),
    "composed": Method(_composed, (_too_many_rays,), composed=True),
    "public": Method(_public_column, (_without_set, _tells_too_much), "public-column"),
    "blurred": Method(
        _public_column,
        (_without_set, _has_at_most(MOST_BLURRED, "takes at most {most} cells, not {k}"), _tells_little),
        "public-column",
        automatic=_is_narrow,
    ),
    "grr": Method(_everything, (), "randomized-response", automatic=_is_narrow, hides_all=True),
    "sampled": Method(
        _everything,
        (_without("columns whose frequencies are"), _one_column),
        hides_all=True,
        build=_sampled,
    ),
    "split": Method(
        lambda question: _staircase(question) if question.robust == "all" else _public_column(question),
        (_without_public, _without("columns whose frequencies are"), _columns_too_wide),
        automatic=lambda question: question.counts.size > MOST_QUERIED,
        build=_split,
    ),
    "mean": _of_numbers(lambda counts: None),
    "average": _of_numbers(likely),
    **{name: _encoding(name) for name in ENCODINGS},
    "hadamard": _encoding("hashing", 2),
}
"""Every method by its name, the one that ``auto`` prefers first."""


def applicable(question: Question) -> dict[str, str | None]:
    """Return every method with the reason why it does not apply, or None.

    >>> [name for name, reason in applicable(Question([[3], [4]], 1.0)).items() if reason is None]
    ['staircase', 'learn', 'grr', 'subset', 'hashing', 'unary', 'hadamard']
    """
    return {name: method.reason(question) for name, method in METHODS.items()}


def chosen(question: Question, name: str, goal: str = "estimates") -> list[str]:
    """Return the names of the methods to try; the best of their designs is kept.

    "auto" means for estimates all but those that solve another one many times, and of more than
    :data:`MOST_CELLS` cells "queries" or "split", where one applies, and those that are built, not
    searched; for information the public values, which take no time, and the first other one that
    applies and is quick.

    Args:
        question: what the table is to be protected against.
        name: the name of a method, or "auto".
        goal: what the mechanism is for, of :data:`GOALS`.

    >>> chosen(Question([[3], [4]], 1.0), "auto")
    ['staircase', 'learn', 'grr']
    >>> chosen(Question([[3], [4]], 1.0), "auto", "information")
    ['staircase']
    """
    validate.choice("goal", goal, GOALS)
    reasons = applicable(question)
    if name == "auto":
        private = [
            method
            for method, reason in reasons.items()
            if reason is None and METHODS[method].automatic(question)
        ]
        if goal == "estimates":
            once = [method for method in private if METHODS[method].repeats is None]
            large = question.counts.size > MOST_CELLS
            return [method for method in QUICK if method in once] if large else once
        return [*(method for method in private[1:] if method in ("public", "blurred")), private[0]]
    validate.choice("method", name, ("auto", *METHODS))
    if reasons[name] is not None:
        raise InvalidInputError(f"the method {name!r} does not apply: {reasons[name]}")
    return [name]
