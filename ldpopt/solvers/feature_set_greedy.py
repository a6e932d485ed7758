"""A heavy set within a budget: take features, heaviest first, while they fit."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from ldpopt.core.forms.selections import Subset, SubsetProgram
from ldpopt.core.solver import FormSolution, Limits, OutOfTime, Solver, Status


class SubsetGreedy(Solver[SubsetProgram]):
    """Take features, heaviest first, while they fit: fast, and without a proof."""

    def suits(self, form: SubsetProgram) -> Literal[True] | str:
        """Decline to be chosen by ``auto``: it runs only by name."""
        return "greedy proves nothing"

    def run(self, form: SubsetProgram, limits: Limits) -> FormSolution:
        """Make one pass."""
        subset = greedy(form, limits)
        return FormSolution(Status.FEASIBLE, subset, float(form.weight(subset)), None, {})


def greedy(form: SubsetProgram, limits: Limits) -> Subset:
    """Take whatever still fits, heaviest first; a set whose risk is not known in time is left out."""
    chosen: Subset = ()
    with suppress(OutOfTime):
        for j in sorted(range(len(form.weights)), key=lambda j: -form.weights[j]):
            larger = tuple(sorted((*chosen, j)))
            if form.fits(larger, limits):
                chosen = larger
    return chosen
