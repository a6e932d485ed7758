"""Try every proof of a bound on the joint exposure and keep the least."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from ldpopt.core.certify import printed_above, printed_below
from ldpopt.core.exact import CompositionQuestion, composition_proven, composition_reached, printed
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.core.forms.searches import BestBound, ThresholdSearch
from ldpopt.core.solver import FormSolution, Limits, OutOfTime, Solver, Status, relative_gap
from ldpopt.measures.exposure_from_marginals import RULES, exact_marginals, least_proven
from ldpopt.models.exact_joint import exact_joint
from ldpopt.solvers.joint_lp import JointLp
from ldpopt.solvers.joint_milp import JointMilp

JUST_BELOW = {1e-10: 0.5, 1e-6: 0.9}
"""The worst joint is sought at a threshold lower by this share, so that its small cells are *strictly*
below the true threshold, as exposure demands; its proof, read at the true threshold, loses next to
nothing. The second is for thresholds that equal a probability, where HiGHS's tolerance hides the first.
Beside each stands its share of the time left."""


class BestOfAll(Solver[BestBound]):
    """Take the best of all four rules; prove the worst joint where its cells can be listed.

    The worst joint found is the bound from below: no proof from the marginals alone can do better. It
    comes from :class:`JointMilp`, and where its cells are too many for that from :class:`JointLp`.

    Args:
        milp_nodes: as for :class:`JointMilp`.
        proof_lps: as for :class:`JointMilp`.
    """

    def __init__(self, milp_nodes: int | None = None, proof_lps: int | None = None) -> None:
        self.milp, self.filling = JointMilp(milp_nodes, proof_lps), JointLp()

    def run(self, form: BestBound, limits: Limits) -> FormSolution:
        """Find the least of all upper bounds."""
        value = 1.0
        point: dict[str, Any] = {"rule": "theorem-3", "thresholds": [1.0] * len(form.marginals)}
        point["pivot"] = None
        with suppress(OutOfTime):
            rules = limits.part(0.3)
            for rule in RULES:
                search = ThresholdSearch(form.marginals, form.threshold, rule)
                choice = least_proven(search, exact_marginals(form.marginals), rules)
                if choice.bound < value:
                    value = choice.bound
                    point = {"rule": rule, "thresholds": list(choice.thresholds), "pivot": choice.pivot}
        plain = FormSolution(Status.FEASIBLE, point, value, None, {})
        limits.keep(value, 0.0, lambda: plain)
        whole = JointProgram(form.marginals, form.threshold)
        solvers = (self.milp, self.filling)
        solver = next((one for one in solvers if one.takes(whole) is True), None)
        if solver is None:
            return plain
        worst: FormSolution | None = None
        for below, share in JUST_BELOW.items():
            joint = JointProgram(form.marginals, form.threshold * (1 - below))
            found = solver.attempt(joint, replace(limits.part(share), progress=None))
            if found.value is None:  # the time was over before there was a joint
                break
            worst = found
            if found.value <= value * (1 + limits.gap):
                break
        if worst is None:
            return plain
        with limits.proving():
            return _least(form, plain, worst, limits.gap)


def _least(form: BestBound, plain: FormSolution, worst: FormSolution, gap: float) -> FormSolution:
    """Choose the better of two proofs: by the rules, and by the duals of the worst joint distribution.

    The exposure of that distribution is the bound from below.
    """
    assert plain.value is not None
    value, point = plain.value, plain.point
    marginals = exact_marginals(form.marginals)
    question = CompositionQuestion(marginals, printed(form.threshold), "best")
    proven = printed_above(
        composition_proven(question, {"rule": "dual", **(worst.proof or {})}, "the proof")
    )
    if proven < value:
        value, point = proven, {"rule": "dual", **(worst.proof or {})}
    cells = JointProgram(form.marginals, form.threshold).cells
    joint = exact_joint(marginals, question.threshold, cells, worst.point, form.threshold, strict=True)
    reached = composition_reached(question, joint, "the joint")
    assert reached is not None
    bound = printed_below(reached)
    measured = relative_gap(value, bound)
    status = Status.OPTIMAL if measured is not None and measured <= gap else Status.GAP
    return FormSolution(status, point, value, bound, {"joint": joint}, worst.stats)
