"""Run the stages that a problem declares for a form, and merge what they contribute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ldpopt.core.form import Form, FormSolution, Stage, Status
from ldpopt.core.limits import Limits, Progress
from ldpopt.core.problem import Problem
from ldpopt.core.solver import Solver


def run_stages(
    problem: Problem, form: Form, solver: Solver[Any], limits: Limits
) -> tuple[Form, FormSolution]:
    """Solve what the problem declares for a form, and merge what the stages contribute.

    Once there is an answer and the time is over, no further stage is started.

    Args:
        problem: declares the stages.
        form: the form to begin with.
        solver: solves the form of every stage.
        limits: the limits of all stages together.

    Returns:
        The form whose point is the answer, and the solution with the best bound of all stages.

    Raises:
        KeyboardInterrupt: the user interrupted before there was an answer.
    """
    found = Contributions(problem.sense == "maximise", form)
    plan = problem.stages(form)
    stage = next(plan)
    while True:
        nothing = FormSolution(Status.LIMIT) if found.answered() else None  # it may end with nothing
        shown = None if stage.bound_only else found.progress(limits)
        part = limits.part(stage.share, nothing)
        if shown is not part.progress:
            part = replace(part, progress=shown)
        solution = solver.attempt(stage.form, part)
        with limits.proving():
            given = stage.contribution(solution)
        found.add(stage, given)
        if (solution.stats or {}).get("interrupted"):
            return found.form, found.interrupted()
        if limits.expired() and found.answered():
            return found.form, found.merged()
        try:
            stage = plan.send(given)
        except StopIteration:
            return found.form, found.merged()


class Contributions:
    """What the stages contributed so far: a point at most, and any number of proven bounds."""

    def __init__(self, upwards: bool, form: Form) -> None:
        self.sign = 1.0 if upwards else -1.0
        self.form = form
        self.answer: FormSolution | None = None
        self.proven: list[FormSolution] = []

    def add(self, stage: Stage, given: FormSolution) -> None:
        """Keep the bound, and the point if it is the best."""
        if given.bound is not None:
            self.proven.append(given)
        if not stage.bound_only and (self.answer is None or self._better(given, self.answer)):
            self.answer, self.form = given, stage.form

    def _better(self, given: FormSolution, known: FormSolution) -> bool:
        if given.point is None or known.point is None:
            return known.point is None
        assert given.value is not None
        assert known.value is not None
        return self.sign * given.value > self.sign * known.value

    def answered(self) -> bool:
        """Return whether there is a point already."""
        return self.answer is not None and self.answer.point is not None

    def merged(self) -> FormSolution:
        """Combine the best point with the best of the proven bounds (the least one for a maximum)."""
        answer = self.answer or FormSolution(Status.LIMIT)
        if not self.proven or (len(self.proven) == 1 and self.proven[0] is answer):
            return answer
        weakest_first = sorted(self.proven, key=self._strength)
        proofs = [s.proof for s in weakest_first if s.proof is not None]
        merged = {key: entry for proof in proofs for key, entry in proof.items()} if proofs else None
        return replace(answer, bound=weakest_first[-1].bound, proof=merged)

    def _strength(self, solution: FormSolution) -> float:
        assert solution.bound is not None
        return -self.sign * solution.bound

    def interrupted(self) -> FormSolution:
        """Combine what the stages found before Ctrl-C; without a point there is nothing to return."""
        solution = self.merged()
        if solution.point is None:
            raise KeyboardInterrupt
        return replace(solution, stats={**(solution.stats or {}), "interrupted": 1.0})

    def progress(self, limits: Limits) -> Progress | None:
        """Wrap the user's progress callback so that it receives the best bound of all stages so far."""
        if limits.progress is None or not self.proven:
            return limits.progress
        show, bound = limits.progress, self.merged().bound
        assert bound is not None
        best = min if self.sign > 0 else max
        return lambda value, own: show(value, best(own, bound))
