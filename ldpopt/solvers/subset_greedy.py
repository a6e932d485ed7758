"""A heavy set within a budget: take features, heaviest first, while they fit."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.subset_program import Subset, SubsetProgram


class SubsetGreedy(Solver):
    """The baseline: fast, and without a proof."""

    name: ClassVar[str] = "subset-greedy"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Subset programs of any size."""
        return True if isinstance(form, SubsetProgram) else f"solves subset programs, not a {form.name}"

    def suits(self, form: Form) -> Literal[True] | str:
        """Only by name."""
        return "greedy proves nothing"

    def run(
        self,
        form: Form,
        *,
        gap: float,
        time_limit: float | None,
        seed: int,
        progress: Progress | None,
        **options: Any,
    ) -> FormSolution:
        """One pass."""
        assert isinstance(form, SubsetProgram)
        subset = greedy(form)
        return FormSolution(Status.FEASIBLE, subset, form.weight(subset), None, {})


def greedy(form: SubsetProgram) -> Subset:
    """Heaviest first, whatever still fits."""
    chosen: Subset = ()
    for j in sorted(range(len(form.weights)), key=lambda j: -form.weights[j]):
        larger = tuple(sorted((*chosen, j)))
        if form.fits(larger):
            chosen = larger
    return chosen
