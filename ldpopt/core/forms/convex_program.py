"""Convex programs: the weights of columns with the largest expected log-determinant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ldpopt.core.exact import DesignStatement
from ldpopt.core.form import Form
from ldpopt.core.validate import Array

Column = tuple[float, ...]
"""The entries of a column, the least of them 1."""


@dataclass(frozen=True, eq=False)
class ConvexProgram(Form):
    """Maximise offset + scale · Σ_i w_i log det Σ_j θ_j F_ij with Σ_j θ_j a_j = 1, θ ≥ 0, c·θ ≤ budget.

    An optimal design: atoms j are columns of a mechanism (or averages over alike columns), i are points
    of a discretised expectation. The objective Φ is concave in θ, so its gradient g at any θ0 bounds
    the optimum: with β and λ ≥ 0 such that β·a_j + λ c_j ≥ g_j for all j, no θ is worth more than
    Φ(θ0) − g·θ0 + Σ β + λ budget, and g·θ0 is scale times the size of the matrices.

    Attributes:
        blocks: F, an array [i, j, x, x'] of positive semidefinite matrices.
        weights: w, positive, summing to 1.
        scale: the factor of the expectation.
        offset: the constant that is added to it.
        constraints: the matrix [r, j] of the a_j.
        spread: β of the proof is (β of these constraints − its mean)/spread + its mean.
        costs: c.
        budget: the limit on c·θ; inf without one.
        labels: what each atom is, as plain data for the proof.
        start: a feasible θ with invertible matrices and c·θ < budget.
        question: what the checker decides; it turns a gradient into a proven bound.
        points: the p_i.
        over: builds the same program over other columns, whose entries are their labels; None where the
            atoms are all that matter.
    """

    blocks: Array
    weights: Array
    scale: float
    offset: float
    constraints: Array
    spread: float
    costs: Array
    budget: float
    labels: tuple[Any, ...]
    start: Array
    question: DesignStatement
    points: Array
    over: Callable[[Sequence[Column]], ConvexProgram] | None = None
