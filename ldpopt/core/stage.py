"""Stages: the programs that are solved on the way to one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ldpopt.core.form import Form, FormSolution


def _as_it_is(solution: FormSolution) -> FormSolution:
    return solution


@dataclass(frozen=True, eq=False)
class Stage:
    """One program to be solved, and what its solution contributes to the question.

    Attributes:
        form: what is solved.
        contribution: from the form's solution to one in the question's terms: a point that may become
            the answer (or None), a bound that holds for the question (or None) and its proof. Proofs
            of several stages are merged, the one of the best bound last.
        share: how much of the time left the stage may use.
        bound_only: whether it contributes a bound alone: its values are those of another question.
    """

    form: Form
    contribution: Callable[[FormSolution], FormSolution] = _as_it_is
    share: float = 1.0
    bound_only: bool = False
