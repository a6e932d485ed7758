"""One public column at a time: each person reports about a column that is drawn and announced.

The cells of several public columns together are too many to learn, but what is wanted of them is the
frequencies of each column. Let W_i hide s and see only u_i of the public columns, and let the column i
be drawn with the probability w_i, whatever the data: the report (i, W_i(s, u_i)) is a mixture, whose
columns are those of the W_i times w_i, so it is private where every W_i is. If W_i is private against
all marginals P(s, u_i) of the members P of an uncertainty set, it is private against the set; merging
contracts the χ² divergence, so these marginals have the same χ² bound (:meth:`Chi2Set.merged`).

Each W_i is the best for its column, and for the secret, about which every report tells. From n w_i
reports u_i has the squared error e_i/(n w_i); the sum is least with w_i in proportion to √e_i.

At any size, each person can report about one column alone, secret or public, by subset selection: plain
ε-LDP, as whoever sees the report learns about one column, at the level ε (:func:`sampled`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpopt.core.form import FormSolution, Status
from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem, Uncertainty
from ldpopt.core.quantiles import chi2_quantile
from ldpopt.core.solver import Solver
from ldpopt.core.validate import Array, InvalidInputError, Whole
from ldpopt.engine.solving import answer_for
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.problems.least_phi import BroadFidelity
from ldpopt.problems.robust_fidelity import RobustFidelity, query_error
from ldpopt.solvers._query_columns import partitions

Codes = Whole


class Built(Solver[ColumnProgram]):
    """Return a mechanism that was built before; the problem makes it private and evaluates it."""

    automatic: ClassVar[bool] = False

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Return the columns of the mechanism; a program over other inputs gets no answer."""
        if form.cone.dimension != len(self.matrix):
            return FormSolution(Status.LIMIT)
        columns = Columns(np.ones(self.matrix.shape[1]), self.matrix)
        return FormSolution(Status.FEASIBLE, columns, float(form.utility(self.matrix).sum()))


class Wanted:
    """The columns whose frequencies are wanted, as the number of the value of each s or u."""

    def __init__(self, queries: Any, shape: tuple[int, int]) -> None:
        """Read the columns off the rows of queries: those of one column add up to 1 for every input.

        >>> Wanted([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], (2, 2)).public
        [array([0, 1])]
        """
        self.secret: list[Codes] = []
        self.public: list[Codes] = []
        for values in partitions(np.asarray(queries, dtype=float)):
            codes = np.argmax(values, axis=0).reshape(shape)
            of_secret = (codes == codes[:, :1]).all()
            (self.secret if of_secret else self.public).append(
                codes[:, 0] if of_secret else np.unique(codes[0], return_inverse=True)[1]
            )

    def cells(self, secrets: int) -> int:
        """Count the cells of the secret and the widest public column."""
        return secrets * max((int(codes.max()) + 1 for codes in self.public), default=1)


@dataclass(frozen=True, eq=False)
class Part:
    """The question about the secret and one public column.

    Attributes:
        problem: the best mechanism for the two.
        own: the rows of queries about the public column; about the secret, if there is none.
        groups: the value in this column of every public value.
    """

    problem: RobustFidelity
    own: Array
    groups: Codes

    def error(self, matrix: Array) -> float:
        """Compute the squared error of the own queries from one report."""
        return query_error(matrix, self.problem.table.ravel(), self.own)

    def lifted(self, matrix: Array) -> Array:
        """Give every input (s, u) the row of (s, u_i)."""
        outputs = matrix.shape[1]
        return matrix.reshape(*self.problem.table.shape, outputs)[:, self.groups].reshape(-1, outputs)


def split(
    F: Uncertainty, table: Array, epsilon: float, queries: Any, gap: float, time_limit: float
) -> Array:
    """Build the mixture of the best mechanisms for the secret and one public column each.

    Args:
        F: the distributions against all of which the secret is hidden.
        table: the distribution [s][u] at which the error is taken.
        epsilon: the level, in nats.
        queries: the wanted frequencies, the rows of each column after each other.
        gap: the relative gap to prove of each part.
        time_limit: seconds for all of them.
    """
    wanted = Wanted(queries, F.shape)
    columns = wanted.public or [np.zeros(F.shape[1], dtype=np.int64)]
    matrices, errors = [], []
    for groups in columns:
        part = _part(F, table, epsilon, wanted.secret, groups, 1 / len(columns))
        found = _solved(part.problem, "auto", gap, time_limit / len(columns))
        matrices.append(part.lifted(found))
        errors.append(part.error(found))
    return _mixture(matrices, errors)


def sampled(table: Array, epsilon: float, queries: Any, gap: float, time_limit: float) -> Array:
    """Build the mixture of subset selections on one of the wanted columns each.

    Args:
        table: the distribution [s][u] at which the error is taken.
        epsilon: the level, in nats.
        queries: the wanted frequencies, the rows of each column after each other.
        gap: the relative gap to prove of each part.
        time_limit: seconds for all of them.
    """
    columns = list(partitions(np.asarray(queries, dtype=float)))
    matrices, errors = [], []
    for values in columns:
        asked = BroadFidelity(epsilon, len(values))
        selection = _solved(asked, "restricted-designs", gap, time_limit / len(columns))
        matrices.append(selection[values.argmax(axis=0)])
        errors.append(query_error(selection, values @ table.ravel(), np.eye(len(values))))
    return _mixture(matrices, errors)


def _solved(problem: Problem, solver: str, gap: float, seconds: float) -> Array:
    """Return the matrix of the best mechanism for a column."""
    found = answer_for(problem, solver, gap=gap, time_limit=seconds)
    if not isinstance(found, Mechanism):
        raise InvalidInputError(f"no mechanism for a column in {seconds:.3g} s")
    return found.matrix


def _mixture(matrices: Sequence[Array], errors: Sequence[float]) -> Array:
    """Announce which of the mechanisms a person uses; each is drawn in proportion to √error."""
    weights = np.sqrt(errors) / np.sqrt(errors).sum()
    return np.hstack([weight * matrix for weight, matrix in zip(weights, matrices, strict=True)])


def _part(
    F: Uncertainty, table: Array, epsilon: float, secret: Sequence[Codes], groups: Codes, share: float
) -> Part:
    """Ask for one column, and for the secret with less weight.

    With a share w of all reports each, the reports of all parts are pooled for the secret: of its
    squared error e_s this part decides w e_s, and of that of its own column e/w. So the rows of the
    secret are scaled by w.
    """
    merged = np.zeros((len(table), int(groups.max()) + 1))
    np.add.at(merged.T, groups, table.T)
    a1, a2 = merged.shape
    of_secret = [np.repeat(_membership(codes), a2, axis=1) for codes in secret]
    own = np.tile(np.eye(a2), a1) if a2 > 1 else np.vstack(of_secret)
    rows = np.vstack([own, *(share * part for part in of_secret)]) if a2 > 1 else own
    if not isinstance(F, Chi2Set) or a2 == 1:
        return Part(RobustFidelity(epsilon, merged, rows), own, groups)
    same = chi2_quantile(F.alpha, merged.size - 1) / F.merged(groups).bound
    return Part(RobustFidelity(epsilon, None, rows, merged, same, F.alpha), own, groups)


def _membership(codes: Codes) -> Array:
    """Return for each value the 0/1 row of the members that have it."""
    return (codes == np.arange(int(codes.max()) + 1)[:, None]).astype(float)
