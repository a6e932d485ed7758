"""Forms: the mathematical shapes on which problems and solvers agree."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldpopt.cones import Cone
from ldpopt.status import Status
from ldpopt.sublinear import Sublinear
from ldpopt.validate import Array

if TYPE_CHECKING:  # for the types alone: every command would wait for these
    from scipy.sparse import csr_array

    from ldpopt.moments import MomentObjective, WorstObjective


class Form(ABC):
    """A question without its story: everything that a solver may know."""

    name: ClassVar[str]


@dataclass(frozen=True)
class FormSolution:
    """What a solver returns.

    Attributes:
        status: OPTIMAL, GAP or FEASIBLE come with a point; the others without.
        point: the answer in the form's terms (for a ``ColumnProgram``, :class:`Columns`).
        value: the form's objective at the point, before any repair.
        bound: no point of the form is better than this, or None where nothing is proven.
        proof: plain JSON data from which the bound can be checked (for a ``ColumnProgram``, the dual).
        stats: counts worth printing: iterations, columns, nodes.
    """

    status: Status
    point: Any = None
    value: float | None = None
    bound: float | None = None
    proof: dict[str, Any] | None = None
    stats: dict[str, float] | None = None


class Columns(NamedTuple):
    """A mechanism written as weights θ ≥ 0 and rays v with Σ θ_v v = 1."""

    weights: Array
    rays: Array

    @property
    def matrix(self) -> Array:
        """The mechanism's matrix; its columns are θ_v v."""
        result: Array = self.rays * self.weights
        return result


@dataclass(frozen=True, eq=False)
class ColumnProgram(Form):
    """Maximise Σ_v θ_v g(v) with Σ_v θ_v v = 1, θ ≥ 0, over the rays v of a cone; g sublinear.

    Its dual: minimise Σ_x β_x with β·v ≥ g(v) for every ray v. Every such β proves the bound Σ_x β_x.
    """

    name: ClassVar[str] = "column-program"
    cone: Cone
    utility: Sublinear


@dataclass(frozen=True, eq=False)
class MatrixProgram(Form):
    """Minimise a function of the second moments of an estimate over ε-LDP mechanisms on k inputs.

    Attributes:
        objective: φ(W), or an α at a known distribution, or its supremum over many.
        epsilon: the privacy level.
        family: "circulant" (every row is the first one, turned), "square" (k outputs) or "broad" (any
            number of outputs).
        bound: a lower bound on the objective that follows from the parameters alone.

    A point is the mechanism's matrix, or a :class:`SubsetSelection` where that would be too wide.
    """

    name: ClassVar[str] = "matrix-program"
    objective: MomentObjective | WorstObjective
    epsilon: float
    family: str
    bound: float

    @property
    def k(self) -> int:
        """The number of inputs."""
        return len(self.objective.prior)


class SubsetSelection(NamedTuple):
    """The mechanism that reports an m-subset, those that contain x being ``ratio`` times as likely."""

    size: int
    ratio: float


@dataclass(frozen=True, eq=False)
class SelectionProgram(Form):
    """Maximise log Σ_y max_g W[θ_g, y] over selections of one row θ_g from every group g.

    The exponential is a monotone submodular function over a partition matroid. For every v ≥ 0,
    Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ, y] − v_y)⁺ bounds it; v are the *prices* of the outputs.

    Attributes:
        matrix: W ≥ 0, sparse, no stored zeros.
        groups: the group of each row: 0, 1, …, every one with a row.
    """

    name: ClassVar[str] = "selection-program"
    matrix: csr_array
    groups: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeakageProgram(Form):
    """Minimise max_θ Σ_y c[θ,y] W[θ,y] over mechanisms W that leak at most ``budget`` nats.

    Σ_y max_g W[θ_g, y] ≤ e^budget for every selection θ_g is a family of linear cuts on W, one per
    selection and assignment of the outputs to groups.

    Attributes:
        counts: c ≥ 0 in whole multiples of 1/scale, so that proofs about it are exact.
        scale: the denominator of the costs.
        groups: the secret of each row: 0, 1, …
        budget: the largest statistic maximal leakage, in nats.
    """

    name: ClassVar[str] = "leakage-program"
    counts: NDArray[np.int64]
    scale: int
    groups: NDArray[np.int64]
    budget: float

    @property
    def costs(self) -> Array:
        """c as floats."""
        result: Array = self.counts / self.scale
        return result


@dataclass(frozen=True, eq=False)
class ConvexProgram(Form):
    """Maximise offset + scale · Σ_i w_i log det Σ_j θ_j F_ij with Σ_j θ_j a_j = 1, θ ≥ 0, c·θ ≤ budget.

    An optimal design: atoms j are columns of a mechanism (or averages over alike columns), i are points
    of a discretised expectation. Concave in θ, so at every θ0 the gradient g bounds the optimum: with
    β and λ ≥ 0 such that β·a_j + λ c_j ≥ g_j for all j, no θ is worth more than
    Φ(θ0) − g·θ0 + Σ β + λ budget, and g·θ0 is scale times the size of the matrices.

    Attributes:
        blocks: F, an array [i, j, x, x'] of positive semidefinite matrices.
        weights: w, positive, summing to 1.
        scale: the factor of the expectation.
        offset: the constant.
        constraints: the matrix [r, j] of the a_j.
        costs: c.
        budget: the limit on c·θ; inf without one.
        labels: what each atom is, as plain data for the proof.
        start: a feasible θ with invertible matrices and c·θ < budget.
    """

    name: ClassVar[str] = "convex-program"
    blocks: Array
    weights: Array
    scale: float
    offset: float
    constraints: Array
    costs: Array
    budget: float
    labels: tuple[Any, ...]
    start: Array


@dataclass(frozen=True, eq=False)
class ScalarSearch(Form):
    """Maximise an explicit function on a box of few dimensions.

    Attributes:
        low, high: the corners of the box, one entry per variable.
        objective: the values at the rows of a matrix of points.
        upper: for boxes given by the rows of two matrices, values that the objective does not exceed
            there; they must converge to the objective as the boxes shrink.
        cost: how many evaluations a solver may spend at most.
    """

    name: ClassVar[str] = "scalar-search"
    low: Array
    high: Array
    objective: Callable[[Array], Array]
    upper: Callable[[Array, Array], Array]
    cost: int = 40_000
