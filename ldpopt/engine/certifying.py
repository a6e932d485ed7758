"""From a solution to claims: build the answer, evaluate it exactly, audit it, all within the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ldpopt.core.exact import NOISE, frame, is_optimal
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.limits import Limits, Overdue
from ldpopt.core.problem import Problem
from ldpopt.core.status import Status, relative_gap
from ldpopt.engine.result import Certificate

LIFT_SHARE = 0.8
"""The share of the time left that building the answer may take, before a quick way is taken."""
GRACE = 1.0
"""Seconds after the time limit at which an audit, or a quick way, that is not finished is left out."""
HURRIED = {
    "hurried_repair": "building the answer took too long: it has more noise, or parameters alone",
    "no_answer": "no answer was proven in time",
    "hurried_value": "evaluating the answer took too long: its value is stated to fewer digits",
    "no_audit": "the audit took too long and is left out",
}
"""What became of the work after the search where time was short, by its name in ``stats``."""

T = TypeVar("T")


class Finishing:
    """The work after a search. Where its time is over, a quick way is taken, and that is said.

    Args:
        problem: the question.
        limits: the limits of the whole run.

    Attributes:
        hurried: an entry of :data:`HURRIED` for every quick way that was taken.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self.hurried: dict[str, float] = {}

    def lifted(self, form: Form, solution: FormSolution) -> Any:
        """Build the answer, or one that is proven quickly; None if that takes too long as well."""
        problem, limits = self.problem, self.limits
        if not problem.lift_share:
            return problem.lift(form, solution)

        def quickly() -> Any:
            return self._in_time(
                "no_answer", lambda: problem.lift_quickly(form, solution), nothing, self._end()
            )

        def nothing() -> None:
            self.hurried.pop("hurried_repair")

        end = limits.part(LIFT_SHARE).deadline
        return self._in_time("hurried_repair", lambda: problem.lift(form, solution), quickly, end)

    def _end(self) -> float | None:
        deadline = self.limits.deadline
        return None if deadline is None else deadline + GRACE

    def claimed(self, answer: Any) -> float:
        """Evaluate the answer exactly, or with fewer digits."""
        problem = self.problem
        if not problem.slow_to_claim:
            return problem.claim(answer)
        return self._in_time(
            "hurried_value",
            lambda: problem.claim(answer),
            lambda: problem.claim_quickly(answer),
            self.limits.deadline,
        )

    def audited(self, answer: Any) -> dict[str, Any]:
        """Audit the answer; an audit that takes much longer than the time left is left out."""
        return self._in_time("no_audit", lambda: self.problem.audit(answer), dict, self._end())

    def _in_time(self, name: str, work: Callable[[], T], hurry: Callable[[], T], end: float | None) -> T:
        """Finish the work, or where it takes longer hurry, and note that under a name.

        Args:
            name: an entry of :data:`HURRIED`.
            work: what is interrupted.
            hurry: a quick way to something not as good.
            end: when the work is interrupted; None for never.
        """
        try:
            with Limits(alarm=end, answered=True).alarmed():
                return work()
        except Overdue:
            self.hurried[name] = 1.0
            return hurry()

    def certified(self, form: Form, solution: FormSolution) -> dict[str, Any]:
        """Compute the fields of the result that make claims: each holds in exact arithmetic.

        Args:
            form: the form that was solved.
            solution: what the solver found.
        """
        gap = self.limits.gap
        answer = None if solution.point is None else self.lifted(form, solution)
        if answer is None:
            nothing = Certificate(proof=None, gap=gap, repair_loss=0.0)
            return {
                "status": solution.status if solution.point is None else Status.LIMIT,
                "value": None,
                "bound": solution.bound,
                "gap": None,
                "answer": None,
                "certificate": nothing,
            }
        value = self.claimed(answer)
        loss = 0.0 if solution.value is None else abs(solution.value - value)
        bound = _not_better(value, solution.bound, self.problem.sense)
        status = Status.FEASIBLE
        if bound is not None:
            status = Status.OPTIMAL if self._is_optimal(value, bound) else Status.GAP
        return {
            "status": status,
            "value": value,
            "bound": bound,
            "gap": relative_gap(value, bound),
            "answer": answer,
            "certificate": Certificate(solution.proof, gap, loss, self.audited(answer)),
        }

    def _is_optimal(self, value: float, bound: float) -> bool:
        """Return whether the checker will call the value optimal."""
        plain = self.problem.statement() if abs(bound - value) <= NOISE else None
        return is_optimal(value, bound, self.limits.gap, 0.0 if plain is None else frame.noise(plain))


def _not_better(value: float, bound: float | None, sense: str) -> float | None:
    """Return the bound, or the value where rounding has put the bound on its wrong side.

    That is a weaker bound, so it is proven too.
    """
    if bound is None:
        return None
    return max(bound, value) if sense == "maximise" else min(bound, value)
