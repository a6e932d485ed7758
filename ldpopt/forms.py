"""Forms: the mathematical shapes on which problems and solvers agree."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ldpopt.cones import SecretCone
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
    cone: SecretCone
    utility: Sublinear


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
