"""The question of a table whose promise is a notion of privacy: hidden from those who know u, of
sensitive values alone, or of a level for each pair of values."""

from __future__ import annotations

import numpy as np

from ldpopt.core.exact import pair_level
from ldpopt.core.problem import Problem
from ldpopt.models.objective import MutualInformation, Queries
from ldpopt.models.privacy import Given, Pairs, Privacy, Sensitive
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
    notion = _notion(question)
    if question.queries is None:
        return Program(notion, MutualInformation(question.p_hat.ravel()))
    return Program(notion, Queries(question.queries, likely(question.counts)))


def _notion(question: Question) -> Privacy:
    (a1, a2), epsilon = question.counts.shape, question.epsilon
    if question.secrecy:
        of = [[None if m is None else pair_level(epsilon, m) for m in row] for row in question.secrecy]
        return Pairs(np.repeat(np.repeat(np.array(of, dtype=object), a2, 0), a2, 1).tolist())
    inputs = [s * a2 + u for s in question.sensitive for u in range(a2)]
    return Sensitive(epsilon, inputs) if inputs else Given(epsilon, (a1, a2))


def too_many_rays(question: Question) -> str | None:
    """Refuse questions whose columns are too many to list."""
    secrets, k = len(question.counts), question.counts.size
    hidden = secrets if question.robust == "given" else k
    if hidden > MOST_HIDDEN or k > MOST_QUERIED:
        return (
            f"takes at most {MOST_HIDDEN} values that are hidden from each other and {MOST_QUERIED} "
            f"cells, not {hidden} and {k}; take values together (--top, --bins, --levels)"
        )
    return None
