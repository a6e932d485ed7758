"""Mechanism programs: the best mechanism whose columns lie in cones and keep budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import Form
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.validate import Array


class Spending(NamedTuple):
    """A budget Σ_y max_l (pieces w_y)_l ≤ most."""

    pieces: Array
    most: float


class SideCondition(NamedTuple):
    """Σ_i costs[i]·w_i ≤ most, one column w_i for each linear piece of the objective."""

    costs: Array
    most: float


class Design(NamedTuple):
    """An objective of J = Σ_y w wᵀ/(prior·w): −Σ_i c_iᵀJ⁻¹c_i for the queries c_i, or log det J if None.

    Every query has the mean 0 under the prior.
    """

    prior: Array
    queries: Array | None


@dataclass(frozen=True, eq=False)
class MechanismProgram(Form):
    """Maximise Σ_y g(w_y) with Σ_y w_y = 1, every column w_y ≥ 0 in one of the cones, and budgets.

    Its dual: minimise Σ_x β_x + Σ_j λ_j b_j with λ ≥ 0 and g(w) − Σ_j λ_j h_j(w) ≤ β·w on every cone.

    Attributes:
        inputs: the number of entries of a column.
        cones: matrices D; a cone is {w ≥ 0 : D w ≤ 0}.
        budgets: what all columns together may spend.
        utility: g, convex and positively homogeneous, on every column of a matrix; or a design, which is
            maximised instead of Σ_y g(w_y).
        pieces: the rows a_i if g(w) = max_i a_i·w, else None.
        conditions: side conditions; only with pieces.
        pairs: where at most two columns are allowed, lists mechanisms (w, 1 − w), a best one among them:
            the w as columns, and the numbers of the two cones of each.
        rays: lists, for each cone, the rays of {(w, t) : w in the cone, t_j ≥ h_j(w)} as columns.
    """

    inputs: int
    cones: tuple[Array, ...]
    budgets: tuple[Spending, ...]
    utility: Sublinear | Design
    pieces: Array | None
    conditions: tuple[SideCondition, ...]
    rays: Callable[[], list[Array]]
    pairs: Callable[[], tuple[Array, NDArray[np.integer]]] | None = None


class Assigned(NamedTuple):
    """A mechanism, with the number of the cone of each of its columns.

    ``inner`` is a mechanism with the same columns and room in every constraint that can have any, where
    side conditions do not let a constant release be one; what is 0 there is 0 in every mechanism.
    """

    matrix: Array
    cones: NDArray[np.integer]
    inner: Array | None = None
