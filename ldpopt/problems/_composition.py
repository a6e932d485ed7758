"""The parts of a composition in floats, for solvers: rows, rays, and mechanisms of two reports."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.errors import SolverError
from ldpopt.core.exact import (
    Difference,
    ProgramQuestion,
    UndecidedError,
    Vector,
    extreme_rays,
    lifted_rows,
    vertices_of_two,
)
from ldpopt.core.limits import OutOfTime
from ldpopt.core.validate import Array


def dense(vectors: Iterable[Vector], k: int) -> Array:
    """Write vectors of k entries as the rows of a matrix."""
    rows = [[float(vector.get(x, 0)) for x in range(k)] for vector in vectors]
    return np.array(rows).reshape(-1, k)


def matrix(cone: Iterable[Difference], k: int) -> Array:
    """Write differences as the rows of a matrix, e^c rounded up."""
    return dense((difference.coefficients() for difference in cone), k)


MOST_ON_THE_WAY = 2500
"""Rays on the way to the list of a cone with cuts beyond which it is given up."""


def listed_rays(asked: ProgramQuestion, cut: bool) -> list[Array]:
    """List the rays of every cone with its budgets, as the checker lists them.

    Args:
        asked: the question.
        cut: whether cuts were added to it. The answer to the question without them is known then, and a
            longer list would only take time.

    Raises:
        OutOfTime: the list with cuts is too long; the run ends with what was kept.
        SolverError: the list without cuts is.
    """
    k, budgets = asked.objective.inputs, asked.budgets
    width = k + len(budgets)
    most = MOST_ON_THE_WAY if cut else None
    try:
        listed = [extreme_rays(lifted_rows(cone, budgets, k), width, most) for cone in asked.cones()]
    except UndecidedError as error:
        if cut:
            raise OutOfTime from None
        raise SolverError(str(error)) from None
    scaled = [[[float(Fraction(entry, max(ray))) for entry in ray] for ray in rays] for rays in listed]
    return [np.array(rays).reshape(-1, width).T for rays in scaled]


def listed_pairs(asked: ProgramQuestion) -> tuple[Array, NDArray[np.integer]]:
    """List the mechanisms of two reports as the checker lists them."""
    try:
        found = list(vertices_of_two(asked))
    except UndecidedError as error:
        raise SolverError(str(error)) from None
    columns = np.array([[float(entry) for entry in column] for column, _ in found])
    return columns.reshape(-1, asked.objective.inputs).T, np.array([cones for _, cones in found], int)
