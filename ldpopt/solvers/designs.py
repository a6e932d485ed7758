"""The best of the known balanced designs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from ldpopt.core.exact import exp_below
from ldpopt.core.forms.matrix_program import MatrixProgram, SubsetSelection
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.measures.estimation_fidelity import balanced_phi, block_size, few_subsets
from ldpopt.mechanisms.balanced_designs import (
    DifferenceSet,
    difference_sets,
    subset_selection,
    two_level,
)

MOST_SQUARE = 200
"""Larger square mechanisms take the checker more than some seconds."""


class Designs(Solver[MatrixProgram]):
    """Difference sets, their complements and, for any number of outputs, subset selection.

    All of them have φ in closed form from their block size, so that the best one is known at once.
    """

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """Accept φ over any family, any objective over square ones."""
        if form.family == "broad" and form.objective.loss != "phi":
            return "subset selection is balanced: it suits φ, not a given distribution"
        if form.family != "broad" and form.k > MOST_SQUARE:
            return f"square mechanisms of more than {MOST_SQUARE} inputs cannot be certified in seconds"
        return True

    def suits(self, form: MatrixProgram) -> Literal[True] | str:
        """Recommend this solver where a balanced design meets the bound: nothing can be better there."""
        if form.objective.loss != "phi":
            return "a balanced design is good for φ, but seldom the best here"
        if form.family == "broad" or _exact(form) is not None:
            return True
        size = block_size(form.k, form.epsilon)
        return f"no {form.family} design of {form.k} points with block size {size} is known here"

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Choose the block size, build the mechanism."""
        chosen = _exact(form) if form.objective.loss == "phi" else None
        if form.family == "broad" and chosen is None:
            size = block_size(form.k, form.epsilon)
            value = balanced_phi(form.k, form.epsilon, size)
            return _solution(form, _selection(form.k, form.epsilon, size), value, size)
        chosen = chosen or min(candidates(form), key=lambda design: _cost(form, design))
        point = two_level(chosen.blocks(), form.epsilon)
        return _solution(form, point, form.objective(point), len(chosen.elements))


def candidates(form: MatrixProgram) -> Iterator[DifferenceSet]:
    """List the difference sets whose mechanism belongs to the family, none too large to be stored."""
    if form.k <= MOST_SQUARE:
        yield from difference_sets(form.k, cyclic=form.family == "circulant")


def _exact(form: MatrixProgram) -> DifferenceSet | None:
    size = block_size(form.k, form.epsilon)
    return next((design for design in candidates(form) if len(design.elements) == size), None)


def _cost(form: MatrixProgram, design: DifferenceSet) -> float:
    if form.objective.loss == "phi":
        return balanced_phi(form.k, form.epsilon, len(design.elements))
    return form.objective(two_level(design.blocks(), form.epsilon))


def _solution(
    form: MatrixProgram, point: Array | SubsetSelection, value: float, size: int
) -> FormSolution:
    stats = {"block size": float(size)}
    return FormSolution(Status.GAP, point, value, form.bound, form.proof, stats)


def _selection(k: int, epsilon: float, size: int) -> Array | SubsetSelection:
    if few_subsets(k, epsilon):  # others are answered as plain data
        return subset_selection(k, epsilon, size).matrix
    ratio = math.exp(epsilon)
    while Fraction(ratio) > exp_below(epsilon):
        ratio = math.nextafter(ratio, 0)
    return SubsetSelection(size, ratio)
