"""The answer to a problem, its certificate, the claims of both, and how they are stored."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import notebook
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.exact import NOISE, frame, is_optimal
from ldpopt.core.files import write_whole
from ldpopt.core.form import Form, FormSolution, Status, relative_gap
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem
from ldpopt.engine.verifying import read_document, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Certificate:
    """What makes the claims of a result checkable.

    Attributes:
        proof: the numbers behind the bound (a dual vector); None if no bound is claimed.
        gap: the relative gap up to which the status calls value and bound equal.
        repair_loss: what the repair to exact arithmetic cost in utility.
        audit: the privacy level that was measured on the answer, with its witness where there is one.
    """

    proof: dict[str, Any] | None
    gap: float
    repair_loss: float
    audit: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Result:
    """How a solve ended.

    Attributes:
        problem: the question.
        status: how it ended; see :class:`ldpopt.Status`.
        value: the objective of the answer (None without one), never more than it is truly worth.
        bound: no answer is better than this (None if nothing is proven).
        gap: |bound − value| relative to the larger of the two.
        answer: a :class:`ldpopt.Mechanism`, or plain data for questions that ask for something else.
        certificate: what the checker needs.
        solver: the name of the solver that answered.
        seconds: wall-clock time.
        stats: counts that the solver reports.
        attempts: every solver that ``auto`` passed over, with the reason.
        environment: versions of what computed it.
    """

    problem: Problem
    status: Status
    value: float | None
    bound: float | None
    gap: float | None
    answer: Any
    certificate: Certificate
    solver: str
    seconds: float
    stats: dict[str, float] = field(default_factory=dict)
    attempts: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def mechanism(self) -> Any:
        """The designed :class:`ldpopt.Mechanism`; None if there is none.

        It is untyped so that a strict type checker does not ask for a test of None after every solve.
        """
        return self.answer if isinstance(self.answer, Mechanism) else None

    @property
    def dual(self) -> NDArray[np.float64] | None:
        """The dual vector that proves the bound, one entry per input; None where no proof has one."""
        found = (self.certificate.proof or {}).get("dual")
        return None if found is None else np.array(found, dtype=float)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mechanism, see :meth:`ldpopt.Mechanism.plot`.

        Raises:
            InvalidInputError: the answer is not a mechanism.
        """
        if self.mechanism is None:
            raise InvalidInputError(
                f"only a mechanism can be drawn; this result ({self.problem.kind}, "
                f"{self.status.value}) has none"
            )
        return self.mechanism.plot(ax)

    def to_frame(self) -> Any:
        """Return the result as a pandas.DataFrame of one row; those of many results can be joined.

        The parameters of the problem have columns of their names, except for those that the result has.
        The mechanism has a frame of its own, ``result.mechanism.to_frame()``.
        """
        names = ("value", "bound", "gap", "solver", "seconds")
        row = {"problem": self.problem.kind, "status": self.status.value}
        row |= {name: getattr(self, name) for name in names}
        return notebook.frame([self.problem.to_params() | row])

    def _summary(self) -> tuple[str, list[tuple[str, Any]]]:
        """Return a heading, and what is shown of a result on a screen."""
        said = (
            "nothing certified"
            if self.status is Status.UNCERTIFIED
            else "claims not checked; see verify"
        )
        names = ("value", "bound", "gap", "solver", "seconds")
        rows = [("status", self.status.value), *((name, getattr(self, name)) for name in names)]
        if self.answer is not None and self.mechanism is None:
            rows.append(("answer", self.answer))
        return f"{self.problem.kind} ({said})", rows

    def __str__(self) -> str:
        heading, rows = self._summary()
        if self.mechanism is not None:
            rows.append(("answer", self.mechanism))
        return notebook.text(heading, rows)

    def __repr__(self) -> str:
        return (
            f"<Result {self.problem.kind}: {self.status.value}, value {self.value}, bound {self.bound}>"
        )

    def _repr_html_(self) -> str:
        summary = notebook.table(*self._summary())
        return summary + (self.mechanism._repr_html_() if self.mechanism else "")

    def to_json(self) -> dict[str, Any]:
        """Return the result file's content: plain data, floats exact.

        The file of a kind that the checker does not know carries its statement, if it has one.

        Raises:
            InvalidInputError: nothing of the result is certified.
        """
        if self.status is Status.UNCERTIFIED:
            raise InvalidInputError(
                "a result of certify=False cannot be saved, verified or reported: nothing of it is "
                "certified, not even its privacy; solve the problem again without certify=False"
            )
        mechanism = self.mechanism
        carried = None if frame.knows(self.problem.kind) else self.problem.statement()
        return {
            "format": frame.FORMAT,
            "problem": self.problem.kind,
            "params": self.problem.to_params(),
            "status": self.status.value,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "solver": self.solver,
            "seconds": self.seconds,
            "mechanism": mechanism.to_json() if mechanism else None,
            "answer": None if mechanism else self.answer,
            "certificate": asdict(self.certificate),
            "stats": self.stats,
            "attempts": self.attempts,
            "environment": self.environment,
            **({} if carried is None else {"statement": carried}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        """Read a result from the plain data that :meth:`to_json` writes."""
        from ldpopt.problems import PROBLEMS

        try:
            mechanism = data["mechanism"]
            return cls(
                problem=PROBLEMS[data["problem"]].from_params(**data["params"]),
                status=Status(data["status"]),
                value=data["value"],
                bound=data["bound"],
                gap=data["gap"],
                answer=Mechanism.from_json(mechanism) if mechanism else data["answer"],
                certificate=Certificate(**data["certificate"]),
                solver=data["solver"],
                seconds=data["seconds"],
                stats=data["stats"],
                attempts=data["attempts"],
                environment=data["environment"],
            )
        except KeyError as error:
            raise UnreadableFileError(f"not a result file of ldpopt: it needs the key {error}") from None
        except (TypeError, ValueError) as error:
            raise UnreadableFileError(f"not a result file: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, whole or not at all."""
        write_whole(path, json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file; nothing in it is trusted before :func:`ldpopt.verify` says so."""
    with within():
        document = read_document(path)
        if "matrix" in document:
            raise UnreadableFileError(f"{path} holds a mechanism alone: Mechanism.load reads it")
        return Result.from_json(document)


GRACE = 1.0
"""Seconds after the time limit at which an audit that is not finished is left out."""
NO_AUDIT = "no_audit"
"""The entry of ``stats`` which says that the audit was left out."""


def certified(
    problem: Problem, form: Form, solution: FormSolution, limits: Limits
) -> tuple[dict[str, Any], dict[str, float]]:
    """Compute the fields of the result that make claims: each holds in exact arithmetic.

    The answer is repaired and evaluated however long that takes; an audit that takes much longer than
    the time left is left out.

    Args:
        problem: the question.
        form: the form that was solved.
        solution: what the solver found.
        limits: the limits of the whole run.

    Returns:
        The fields, and what ``stats`` say of them: how long each took.
    """
    start = limits.elapsed()
    if solution.point is None:
        nothing = Certificate(proof=None, gap=limits.gap, repair_loss=0.0)
        found = {"status": solution.status, "value": None, "bound": solution.bound, "gap": None}
        return {**found, "answer": None, "certificate": nothing}, {}
    answer = problem.lift(form, solution)
    repaired = limits.elapsed()
    value = problem.claim(answer)
    evaluated = limits.elapsed()
    loss = 0.0 if solution.value is None else abs(solution.value - value)
    bound = _not_better(value, solution.bound, problem.sense)
    status = Status.FEASIBLE
    if bound is not None:
        status = Status.OPTIMAL if _is_optimal(problem, value, bound, limits.gap) else Status.GAP
    late = limits if limits.deadline is None else replace(limits, end=limits.deadline + GRACE)
    audit = late.in_time(lambda: problem.audit(answer), lambda: None)
    found = {"status": status, "value": value, "bound": bound, "gap": relative_gap(value, bound)}
    certificate = Certificate(problem.proof_of(answer, solution), limits.gap, loss, audit or {})
    stats = {
        "repair_seconds": repaired - start,
        "value_seconds": evaluated - repaired,
        "audit_seconds": limits.elapsed() - evaluated,
        **({NO_AUDIT: 1.0} if audit is None else {}),
    }
    return {**found, "answer": answer, "certificate": certificate}, stats


def uncertified(
    problem: Problem, form: Form, solution: FormSolution, limits: Limits
) -> tuple[dict[str, Any], dict[str, float]]:
    """Compute the same fields in floating point: nothing is repaired, proven or measured.

    Args:
        problem: the question.
        form: the form that was solved.
        solution: what the solver found.
        limits: the limits of the whole run.
    """
    nothing = Certificate(None, limits.gap, 0.0)
    found: dict[str, Any] = {"bound": None, "gap": None, "certificate": nothing}
    if solution.point is None:
        return {**found, "status": solution.status, "value": None, "answer": None}, {}
    start = limits.elapsed()
    answer = problem.unrepaired(form, solution)
    value = problem.value(answer)
    found |= {"status": Status.UNCERTIFIED, "value": value, "answer": answer}
    return found, {"value_seconds": limits.elapsed() - start}


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
