"""The heaviest set within a budget by branch and bound, with conflicts as its proof."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status
from ldpopt.forms.subset_program import Subset, SubsetProgram
from ldpopt.solvers.subset_greedy import greedy


class SubsetBranch(Solver):
    """Take or leave the heaviest feature; give up where the rest cannot beat the best set so far."""

    name: ClassVar[str] = "subset-branch"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Subset programs of any size."""
        return True if isinstance(form, SubsetProgram) else f"solves subset programs, not a {form.name}"

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
        """Search depth first, starting from the greedy set."""
        assert isinstance(form, SubsetProgram)
        best = greedy(form)
        value = form.weight(best)
        order = sorted(range(len(form.weights)), key=lambda j: -form.weights[j])
        conflicts: list[Subset] = []
        pending: list[tuple[Subset, int]] = [((), 0)]
        nodes = 0
        while pending:
            chosen, depth = pending.pop()
            nodes += 1
            if form.weight(chosen) + form.weight(tuple(order[depth:])) <= value:
                continue
            if depth == len(order):
                best, value = chosen, form.weight(chosen)
                if progress is not None:
                    progress(value, sum(form.weights))
                continue
            pending.append((chosen, depth + 1))
            larger = tuple(sorted((*chosen, order[depth])))
            if any(set(conflict) <= set(larger) for conflict in conflicts):
                continue
            if form.fits(larger):
                pending.append((larger, depth + 1))
            else:
                conflicts.append(_minimal(form, larger))
        return FormSolution(
            status=Status.OPTIMAL,
            point=best,
            value=value,
            bound=value,
            proof={"conflicts": [list(conflict) for conflict in conflicts]},
            stats={"nodes": nodes, "conflicts": len(conflicts)},
        )


def _minimal(form: SubsetProgram, conflict: Subset) -> Subset:
    """Leave out features while the set stays too risky: small conflicts rule out more."""
    for j in conflict:
        smaller = tuple(i for i in conflict if i != j)
        if not form.fits(smaller):
            conflict = smaller
    return conflict
