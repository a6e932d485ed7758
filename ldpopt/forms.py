"""Forms: the mathematical shapes on which problems and solvers agree."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ldpopt.cones import Cone
from ldpopt.moments import MomentObjective, WorstObjective
from ldpopt.status import Status
from ldpopt.sublinear import Sublinear
from ldpopt.validate import Array


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
