"""The question of a table whose promise is a notion of privacy: hidden from those who know u, or of
sensitive values alone."""

from __future__ import annotations

from ldpopt.core.problem import Problem
from ldpopt.models.objective import MutualInformation, Queries
from ldpopt.models.privacy import Given, Sensitive
from ldpopt.problems.program import Program
from ldpopt.release.accuracy import likely
from ldpopt.release.question import Question

MOST_QUERIED = 120
"""Cells for which a mechanism for the wanted frequencies is sought; more take minutes."""
MOST_HIDDEN = 9
"""Values hidden from each other up to which all columns worth having are listed within seconds."""


def composed(question: Question) -> Problem:
    """Ask for the best mechanism under the notion of privacy that is promised.

    Frequencies are asked for at the observed distribution with half a row added to each cell: where a
    report may tell a value that does not occur, its error has no meaning at a probability of 0.
    """
    a1, a2 = question.counts.shape
    inputs = [s * a2 + u for s in question.sensitive for u in range(a2)]
    notion = Sensitive(question.epsilon, inputs) if inputs else Given(question.epsilon, (a1, a2))
    if question.queries is None:
        return Program(notion, MutualInformation(question.p_hat.ravel()))
    return Program(notion, Queries(question.queries, likely(question.counts)))


def too_many_rays(question: Question) -> str | None:
    """Refuse questions whose columns are too many to list."""
    secrets, k = len(question.counts), question.counts.size
    hidden = k if question.sensitive else secrets
    if hidden > MOST_HIDDEN or k > MOST_QUERIED:
        return (
            f"takes at most {MOST_HIDDEN} values that are hidden from each other and {MOST_QUERIED} "
            f"cells, not {hidden} and {k}; take values together (--top, --bins, --levels)"
        )
    return None
