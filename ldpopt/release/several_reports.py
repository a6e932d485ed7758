"""Mechanisms whose promise covers several reports about one person.

There are two ways, depending on the method:

* A method whose mechanisms keep their level against all distributions, as every one does where that is
  the promise, is asked for the level ε/r. Levels add up there
  (:mod:`ldpopt.measures.repeated_reports`), so r reports have the level ε.
* For other methods, a mechanism W of some level for one report is mixed with a constant release c: with
  probability λ the report does not depend on the data, W' = (1 − λ) W + λ c. At λ = 1 any number of
  reports tells nothing, so there is a λ at which r of them have the level ε; it is found by bisection
  with the exact level of r reports, for several levels of one report, and the most useful is kept. The
  claim is decided by the checker's exact arithmetic on the products of columns. A reporting protocol is
  not mixed, as the result would be of another protocol: one of these levels keeps the promise, or none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ldpopt.core import certify
from ldpopt.core.exact import private_together
from ldpopt.core.form import Status
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.engine.result import Result
from ldpopt.measures.information_metrics import mutual_information
from ldpopt.measures.repeated_reports import MOST_COLUMNS, collections, repeated_level
from ldpopt.problems.reporting_problem import Reporting
from ldpopt.release.methods import Method
from ldpopt.release.question import Question

LEVELS, BISECTIONS = 4, 12
"""Levels of one report that are tried, and steps for the share of the constant release."""
SLACK = 1e-6
"""How far below ε the level of r reports is sought, relatively, so that rounding does not exceed it."""


def several(
    question: Question, method: Method, solved: Callable[[float], Result]
) -> tuple[Question, Result]:
    """Find the question with the level of one report, and its answer, for r reports at the level ε.

    Args:
        question: its ``epsilon`` is that of all reports together.
        method: the method.
        solved: its answer at another level of one report.
    """
    epsilon, reports = question.epsilon, question.reports
    if shares(question, method):
        each = epsilon / reports
        while reports * Fraction(each) > Fraction(epsilon):
            each = math.nextafter(each, 0.0)
        return replace(question, epsilon=each, together=epsilon), solved(each)
    found = list(_candidates(question, solved))
    if not found:
        raise InvalidInputError(f"no mechanism was found that keeps the level for {reports} reports")
    best = max(found, key=lambda candidate: candidate.information)
    answer = _claimed(best, question)
    return replace(question, epsilon=best.each, together=epsilon), answer


def shares(question: Question, method: Method) -> bool:
    """Return whether each of r reports may have the level ε/r, as the levels add up to ε."""
    return method.adds_up or question.robust == "all"


class _Candidate(NamedTuple):
    """The answer for one report, the mixture whose r reports are private, and the mixture's value."""

    each: float
    result: Result
    mixed: Mechanism
    information: float


def _candidates(question: Question, solved: Callable[[float], Result]) -> Iterator[_Candidate]:
    lowest = question.epsilon / (2 * question.reports)
    for each in np.geomspace(lowest, question.epsilon, LEVELS).tolist():
        result = solved(each)
        if result.mechanism is not None:
            _check_size(result.mechanism, question.reports)
            mixed = _least_mixture(result.mechanism, question)
            if isinstance(result.problem, Reporting) and mixed is not result.mechanism:
                continue  # a mixture is no mechanism of the protocol, as the result says
            worth = float(mutual_information(mixed, question.p_hat.ravel()))
            yield _Candidate(each, result, mixed, worth)


def _check_size(mechanism: Mechanism, reports: int) -> None:
    if (total := collections([mechanism] * reports)) > MOST_COLUMNS:
        raise InvalidInputError(
            f"{reports} reports of this method have {total:,} different collections of outputs, more "
            f"than {MOST_COLUMNS:,}; choose a method that holds for all distributions (staircase)"
        )


def _claimed(best: _Candidate, question: Question) -> Result:
    """Build the result whose mechanism is the mixture, exactly private; it claims nothing of others."""
    problem, mixed = best.result.problem, best.mixed
    rows = certify.repair(mixed.matrix, PrivacyTogether(question, best.each))
    answer = Mechanism(rows, mixed.inputs, mixed.outputs)
    return replace(
        best.result,
        status=Status.FEASIBLE,
        value=problem.claim(answer),
        bound=None,
        gap=None,
        answer=answer,
        certificate=replace(best.result.certificate, proof=None, audit=problem.audit(answer)),
    )


def _least_mixture(mechanism: Mechanism, question: Question) -> Mechanism:
    """Mix in as little of the constant release as makes r reports private."""
    W, constant = mechanism.matrix, mechanism.matrix.mean(axis=0)
    allowed = question.epsilon * (1 - SLACK)

    def mixture(share: float) -> Mechanism:
        rows = (1 - share) * W + share * constant
        return Mechanism(rows, mechanism.inputs, mechanism.outputs)

    def private(share: float) -> bool:
        level = repeated_level(mixture(share), question.uncertainty, question.reports).level
        return level <= allowed

    low, high = 0.0, 1.0
    if private(low):
        return mechanism
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return mixture(high)


@dataclass(frozen=True)
class PrivacyTogether:
    """The level of one report, and that of r reports about one person, in exact arithmetic."""

    question: Question
    each: float

    @property
    def epsilon(self) -> float:
        """The level of one report."""
        return self.each

    def admits(self, matrix: Array) -> bool:
        """Return whether one report and r reports are proven private."""
        rows, params = matrix.tolist(), self.question.confidence()
        levels = {1: self.each, self.question.reports: self.question.epsilon}
        return all(
            private_together(rows, {**params, "epsilon": level}, reports)
            for reports, level in levels.items()
        )
