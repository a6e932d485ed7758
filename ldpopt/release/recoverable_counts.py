"""What of the counts of a table can be computed back from the mechanism that was made for it.

Whoever has the mechanism can design again, for other counts, and keep those that give the same matrix.

* *Not at all*: the methods ``FIXED`` give the same matrix for all tables with the same labels. The
  checker decides that it tells no value from another (:mod:`ldpopt.checker.kernel.proofs.alike_rows`).
* *Unused*: the methods ``UNCOUNTED`` are not given the counts. Their matrix does tell values apart, so
  no claim about it is made.
* *Approximately*: the methods ``CHOSEN`` take a vertex of a polytope that depends on labels and ε
  alone, W[x, y] = θ_y e^(m(x, y) ε) with whole numbers m and independent columns, so that the weights
  θ follow from Σ_y W[x, y] = 1. The counts choose the vertex: many counts give the same one. Or, of
  ``public``, zeros and ones, which the counts allowed; they also choose the level of one of several
  reports, of a few.
* *Exactly*: the entries of all other mechanisms are functions of the counts. Of conditional reporting
  they are products of P(u|s), whose ratios, as fractions, are the counts.

The labels are another matter: whatever the mechanism, they are taken from the table.
"""

from __future__ import annotations

import numpy as np

from ldpopt.core.exact import RECOVERABLE, treats_alike
from ldpopt.core.validate import Array
from ldpopt.release.method_summaries import CHOSEN, FIXED, UNCOUNTED
from ldpopt.tables.domain import Domain

NOT_AT_ALL, APPROXIMATELY, EXACTLY = RECOVERABLE
UNUSED = "unused"
"""The counts were not used; a public file does not state it, as no claim could decide it."""
MOST_ROWS, ROUNDING = 512, 1e-9
"""Rows up to which a rank takes a moment, and how far solvers leave an entry from its vertex."""

WORDS = {
    NOT_AT_ALL: (
        "the mechanism tells no value of the table from another. Made by the method that it names, it "
        "depends on labels and level alone, and no count can be computed back from it [not checked]. "
        "Where no method was named, the counts chose this one"
    ),
    UNUSED: (
        "made by the method that it names, the mechanism depends on the level and the number of points "
        "alone, and no count can be computed back from it [not checked]"
    ),
    APPROXIMATELY: (
        "the counts of the table can be computed back from the mechanism approximately: they allowed "
        "it, or chose one of finitely many. Whoever knows all counts but one learns a range for it, and "
        "of a small count perhaps the number [not checked]"
    ),
    EXACTLY: (
        "take it that the counts of the table can be computed back from the mechanism exactly: its "
        "entries were computed from them [not checked]. Publish it only where the counts may be known"
    ),
}
"""How well, the worse the later."""

LABELS = "Its labels name what occurs in the table"
POINTS = "Its labels are points of the range that was stated"
EDGES = (
    "the edges of its bins are values of the table with about equally many rows between them, unless "
    "they were stated"
)


def recovery(how: str, domain: Domain) -> str:
    """Say what of the counts can be computed back from the mechanism, and what the labels tell of them.

    Args:
        how: how well, of :data:`WORDS`.
        domain: the columns and values that the rows of the mechanism stand for.
    """
    if domain.of_numbers:
        return f"{WORDS[how]}. {POINTS}"
    sides = (domain.secret, domain.public)
    binned = any(column.edges for side in sides if side is not None for column in side.columns)
    return f"{WORDS[how]}. {LABELS}{f', and {EDGES}' if binned else ''}"


def recoverable(matrix: Array, width: int, method: str, epsilon: float) -> str:
    """Decide how well the counts can be computed back from a matrix, of :data:`WORDS`.

    Args:
        matrix: the mechanism, a row per input (s, u).
        width: the number of public values.
        method: the name of the method that made it.
        epsilon: the level of one report, in nats.
    """
    if method in FIXED and treats_alike(matrix.tolist(), width, epsilon):
        return NOT_AT_ALL
    if method in UNCOUNTED:
        return UNUSED
    return APPROXIMATELY if method in CHOSEN and _is_vertex(matrix, epsilon) else EXACTLY


def _is_vertex(matrix: Array, epsilon: float) -> bool:
    """Return whether the columns are powers of e^ε with the weights that their independence leaves.

    Zeros and ones are the limit of large powers: a vertex, too.
    """
    if len(matrix) > MOST_ROWS or epsilon == 0:
        return False
    if not matrix.all():
        return bool(np.isin(matrix, (0, 1)).all())
    powers = np.exp(epsilon * np.round(np.log(matrix / matrix.min(axis=0)) / epsilon))
    if np.linalg.matrix_rank(powers) < powers.shape[1]:
        return False
    weights = np.linalg.lstsq(powers, np.ones(len(powers)), rcond=None)[0]
    return bool(np.abs(powers * weights - matrix).max() <= ROUNDING)
