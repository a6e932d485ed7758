"""Try every proof of a bound on the joint exposure and keep the least."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from ldpopt.checker.exposure import read_marginals, tree_bound
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.solver import Progress, Solver
from ldpopt.core.status import Status, relative_gap
from ldpopt.forms.joint_program import JointProgram
from ldpopt.forms.threshold_search import BestBound, ThresholdSearch
from ldpopt.solvers.joint_milp import JointMilp
from ldpopt.theory.anonymity.composition import RULES, best_choice

JUST_BELOW = (1e-10, 1e-6)
"""The worst joint is sought at a threshold this much lower: its small cells are then *strictly* below
the true one, as exposure demands, while its proof, read at the true one, loses next to nothing. The
second is for thresholds that equal a probability, where HiGHS's tolerance hides the first."""


class BestOfAll(Solver):
    """All four rules, then the proof about the worst joint where its cells can be listed.

    The worst joint found is the bound from below: no proof from the marginals alone can do better.
    """

    name: ClassVar[str] = "best-of-all"

    def accepts(self, form: Form) -> Literal[True] | str:
        """Best bounds of any size."""
        return True if isinstance(form, BestBound) else f"solves best bounds, not a {form.name}"

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
        """The least of all upper bounds."""
        assert isinstance(form, BestBound)
        value = 1.0
        point: dict[str, Any] = {"rule": "theorem-3", "thresholds": [1.0] * len(form.marginals)}
        point["pivot"] = None
        for rule in RULES:
            choice = best_choice(ThresholdSearch(form.marginals, form.threshold, rule))
            if choice.bound < value:
                value = choice.bound
                point = {"rule": rule, "thresholds": list(choice.thresholds), "pivot": choice.pivot}
        if JointMilp().accepts(JointProgram(form.marginals, form.threshold)) is not True:
            return FormSolution(Status.FEASIBLE, point, value, None, {})
        for below in JUST_BELOW:
            joint = JointProgram(form.marginals, form.threshold * (1 - below))
            worst = JointMilp().run(
                joint, gap=gap, time_limit=time_limit, seed=seed, progress=progress, **options
            )
            if worst.value is not None and worst.value <= value * (1 + gap):
                break
        assert worst.proof is not None
        plain = {"marginals": [p.tolist() for p in form.marginals], "threshold": form.threshold}
        proven = tree_bound(read_marginals({**plain, "method": "best"}), worst.proof)
        if proven < value:
            value, point = proven, {"rule": "dual", **worst.proof}
        measured = relative_gap(value, worst.value)
        status = Status.OPTIMAL if measured is not None and measured <= gap else Status.GAP
        return FormSolution(status, point, value, worst.value, {"joint": worst.point}, worst.stats)
