"""The best thresholds for a composition rule: Pareto merge, or branch and bound with water-filling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.threshold_search import ThresholdSearch
from ldpopt.theory.anonymity.composition import best_choice


class Thresholds(Solver):
    """Exact: the search covers every choice of break-points."""

    name: ClassVar[str] = "thresholds"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Threshold searches by the printed rules."""
        if not isinstance(form, ThresholdSearch):
            return f"solves threshold searches, not a {form.name}"
        return True

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
        """Search; the optimum is its own bound, unless the search was a local one."""
        assert isinstance(form, ThresholdSearch)
        choice = best_choice(form)
        exact = form.rule != "theorem-2-tight"
        return FormSolution(
            status=Status.OPTIMAL if exact else Status.FEASIBLE,
            point=choice,
            value=choice.bound,
            bound=choice.bound if exact else None,
            proof={},
        )
