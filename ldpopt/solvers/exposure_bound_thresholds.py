"""The best thresholds for a composition rule: Pareto merge, or branch and bound with water-filling."""

from __future__ import annotations

from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.core.solver import FormSolution, Limits, Solver, Status
from ldpopt.measures.exposure_from_marginals import Choice, exact_marginals, least_proven

ROUNDING, LEAST = 2.0**-40, 1e-300
"""The search is in floats: its optimum, less the share ROUNDING of it and less LEAST, is a bound for
all thresholds."""


class Thresholds(Solver[ThresholdSearch]):
    """Search every choice of break-points: exact."""

    def run(self, form: ThresholdSearch, limits: Limits) -> FormSolution:
        """Search; the optimum is its own bound up to rounding, unless the search was a local one."""
        trivial = Choice((1.0,) * len(form.marginals), 0, 1.0)
        limits.keep(1.0, 0.0, lambda: FormSolution(Status.FEASIBLE, trivial, 1.0, None, {}))
        choice = least_proven(form, exact_marginals(form.marginals), limits)
        exact = form.rule != "theorem-2-tight"
        return FormSolution(
            status=Status.OPTIMAL if exact else Status.FEASIBLE,
            point=choice,
            value=choice.bound,
            bound=max(0.0, choice.bound * (1 - ROUNDING) - LEAST) if exact else None,
            proof={},
        )
