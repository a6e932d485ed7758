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
from ldpopt.core.validate import Array


def dense(vectors: Iterable[Vector], k: int) -> Array:
    """Write vectors of k entries as the rows of a matrix."""
    rows = [[float(vector.get(x, 0)) for x in range(k)] for vector in vectors]
    return np.array(rows).reshape(-1, k)


def matrix(cone: Iterable[Difference], k: int) -> Array:
    """Write differences as the rows of a matrix, e^c rounded up."""
    return dense((difference.coefficients() for difference in cone), k)


def listed_rays(asked: ProgramQuestion) -> list[Array]:
    """List the rays of every cone with its budgets, as the checker lists them."""
    k, budgets = asked.objective.inputs, asked.budgets
    width = k + len(budgets)
    try:
        listed = [extreme_rays(lifted_rows(cone, budgets, k), width) for cone in asked.cones()]
    except UndecidedError as error:
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
