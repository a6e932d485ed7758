"""Climb to the member of a set at which two secrets differ most, and prove that no other exceeds it."""

from __future__ import annotations

import math

from ldpopt.core.forms.searches import LevelSearch
from ldpopt.core.solver import FormSolution, Limits, Solver, Status
from ldpopt.measures.level_over_set import proven_level


class WorstMember(Solver[LevelSearch]):
    """Frank–Wolfe climbs with exact line searches; the proof is the checker's own."""

    def run(self, form: LevelSearch, limits: Limits) -> FormSolution:
        """Climb for every output and pair of secrets, then prove the level."""
        place, value, bound = proven_level(form.matrix, form.question, limits)
        if value == math.inf:
            return FormSolution(Status.UNBOUNDED)
        status = Status.FEASIBLE if bound is None else Status.GAP
        return FormSolution(status, place.plain(), value, bound, {})
