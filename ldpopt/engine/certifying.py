"""From a solution to claims: build the answer, evaluate it exactly, audit it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ldpopt.core.exact import NOISE, frame, is_optimal
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import Limits
from ldpopt.core.problem import Problem
from ldpopt.core.status import Status, relative_gap
from ldpopt.engine.result import Certificate

GRACE = 1.0
"""Seconds after the time limit at which an audit that is not finished is left out."""
NO_AUDIT = "no_audit"
"""The entry of ``stats`` which says that the audit was left out."""


def certified(
    problem: Problem, form: Form, solution: FormSolution, limits: Limits
) -> tuple[dict[str, Any], dict[str, float]]:
    """Compute the fields of the result that make claims: each holds in exact arithmetic.

    The answer is built and evaluated however long that takes; an audit that takes much longer than the
    time left is left out.

    Args:
        problem: the question.
        form: the form that was solved.
        solution: what the solver found.
        limits: the limits of the whole run.

    Returns:
        The fields, and what ``stats`` say of them.
    """
    if solution.point is None:
        nothing = Certificate(proof=None, gap=limits.gap, repair_loss=0.0)
        found = {"status": solution.status, "value": None, "bound": solution.bound, "gap": None}
        return {**found, "answer": None, "certificate": nothing}, {}
    answer = problem.lift(form, solution)
    value = problem.claim(answer)
    loss = 0.0 if solution.value is None else abs(solution.value - value)
    bound = _not_better(value, solution.bound, problem.sense)
    status = Status.FEASIBLE
    if bound is not None:
        status = Status.OPTIMAL if _is_optimal(problem, value, bound, limits.gap) else Status.GAP
    late = replace(limits, end=None if limits.deadline is None else limits.deadline + GRACE)
    audit = late.in_time(lambda: problem.audit(answer), lambda: None)
    found = {"status": status, "value": value, "bound": bound, "gap": relative_gap(value, bound)}
    certificate = Certificate(solution.proof, limits.gap, loss, audit or {})
    left_out = {NO_AUDIT: 1.0} if audit is None else {}
    return {**found, "answer": answer, "certificate": certificate}, left_out


def _is_optimal(problem: Problem, value: float, bound: float, gap: float) -> bool:
    """Return whether the checker will call the value optimal."""
    plain = problem.statement() if abs(bound - value) <= NOISE else None
    return is_optimal(value, bound, gap, 0.0 if plain is None else frame.noise(plain))


def _not_better(value: float, bound: float | None, sense: str) -> float | None:
    """Return the bound, or the value where rounding has put the bound on its wrong side.

    That is a weaker bound, so it is proven too.
    """
    if bound is None:
        return None
    return max(bound, value) if sense == "maximise" else min(bound, value)
