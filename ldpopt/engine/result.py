"""The answer to a problem, its certificate, and how both are stored."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ldpopt.core import notebook
from ldpopt.core.errors import UnreadableFileError
from ldpopt.core.exact import frame
from ldpopt.core.files import write_whole
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem
from ldpopt.core.status import Status
from ldpopt.engine.verifying import read_document, within


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


@dataclass(frozen=True)
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
    def mechanism(self) -> Mechanism | None:
        """The designed mechanism, if there is one."""
        return self.answer if isinstance(self.answer, Mechanism) else None

    def to_frame(self) -> Any:
        """Return the result as a pandas.DataFrame of one row; those of many results can be joined.

        The mechanism has a frame of its own, ``result.mechanism.to_frame()``.
        """
        names = ("value", "bound", "gap", "solver", "seconds")
        told = {"problem": self.problem.kind, "status": self.status.value}
        return notebook.frame([told | {name: getattr(self, name) for name in names}])

    def _repr_html_(self) -> str:
        rows = [
            ("status", self.status.value),
            ("value", self.value),
            ("bound", self.bound),
            ("gap", self.gap),
            ("solver", self.solver),
            ("seconds", self.seconds),
        ]
        if self.answer is not None and self.mechanism is None:
            rows.append(("answer", self.answer))
        summary = notebook.table(f"{self.problem.kind} (claims not checked; see verify)", rows)
        return summary + (self.mechanism._repr_html_() if self.mechanism else "")

    def to_json(self) -> dict[str, Any]:
        """Return the result file's content: plain data, floats exact.

        The file of a kind that the checker does not know carries its statement, if it has one.
        """
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
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableFileError(f"not a result file: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON, whole or not at all."""
        write_whole(path, json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result file; nothing in it is trusted before :func:`ldpopt.verify` says so."""
    with within():
        return Result.from_json(read_document(path))
