"""Symmetric designs on more points than inputs: nearly subset selection, with few outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.measures.estimation_fidelity import block_size, few_subsets
from ldpopt.mechanisms.balanced_designs import singer, subset_selection, two_level
from ldpopt.mechanisms.finite_field import prime_power

MOST_INPUTS = 200
"""The most inputs for which the checker computes φ within seconds."""
FEW_ELEMENTS, MOST_ELEMENTS = 1400, 7000
"""Fields with few blocks, so few outputs; hyperplanes over larger ones take longer to build."""


class RestrictedDesigns(Solver[MatrixProgram]):
    """The first k rows of the mechanism of a difference set on v ≥ k points.

    Subset selection attains φ*, but for k inputs it has C(k, m) outputs. In a symmetric design on v
    points every point lies in equally many blocks and every two in equally many, whichever points are
    left out; so k rows of its mechanism are ε-LDP, have v outputs, and an estimate nearly as precise as
    that of subset selection with blocks of the share m/v. With hyperplanes as blocks (Singer 1938) it
    is the projective geometry response of Feldman et al. 2022. The best share of blocks is taken, single
    points (randomised response) too; subset selection itself where its outputs are few. Of 14 to 180
    inputs at levels from 0.5 to 3, φ was at most a tenth above φ*.
    """

    automatic: ClassVar[bool] = False

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """Accept φ over mechanisms with any number of outputs."""
        if form.family != "broad" or form.objective.loss != "phi":
            return "has more outputs than inputs, and is balanced: it suits φ over any number of outputs"
        if form.k > MOST_INPUTS:
            return f"more than {MOST_INPUTS} inputs cannot be certified in seconds"
        return True

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Build the mechanism of the best share of blocks."""
        k, epsilon = form.k, form.epsilon
        if few_subsets(k, epsilon):
            point = subset_selection(k, epsilon, block_size(k, epsilon)).matrix
        else:
            point = two_level(best_blocks(k, epsilon, FEW_ELEMENTS)[:k], epsilon)
        return FormSolution(Status.GAP, point, form.objective(point), form.bound, form.proof)


def best_blocks(k: int, epsilon: float, most: int = MOST_ELEMENTS) -> Array:
    """Build the matrix [point][block] of the best symmetric design of at least K points known here.

    Args:
        k: the number of points.
        epsilon: the level, in nats.
        most: the most elements of a field.
    """
    return min(_spaces(k, most), key=lambda space: space.error(epsilon)).blocks()


class Space(NamedTuple):
    """A projective space over q elements of dimension d − 1; d = 1 stands for single points."""

    points: int
    block: int
    q: int

    def error(self, epsilon: float) -> float:
        """Compute the part of φ of subset selection that depends on this share of blocks."""
        share = self.block / self.points
        return (1 + math.expm1(epsilon) * share) ** 2 / (share * (1 - share))

    def blocks(self) -> Array:
        """Build the matrix [point][block]."""
        if self.block == 1:
            return np.eye(self.points)
        ending = f" {self.q})"
        return next(found for found in singer(self.points) if found.name.endswith(ending)).blocks()


def _spaces(k: int, most: int) -> Iterator[Space]:
    """List single points, and for every q the smallest space of k points or more."""
    yield Space(k, 1, 0)
    for q in filter(prime_power, range(2, math.isqrt(most))):
        for d in count(3):
            points = (q**d - 1) // (q - 1)
            if q**d > most:
                break
            if points >= k:
                yield Space(points, (q ** (d - 1) - 1) // (q - 1), q)
                break
