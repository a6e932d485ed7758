"""Forms: the shapes on which problems and solvers agree, and how an attempt to solve one ended."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from ldpopt.core.exact import GAP_FLOOR


class Status(Enum):
    """The end of a solve. Only a crash raises; everything else is one of these."""

    OPTIMAL = "optimal"
    """Feasible; the :func:`relative_gap` of value and bound is at most the one asked for and 1e-6.

    As that gap is relative to at least 1e-4, value and bound must also differ by at most 1 %; those of
    leakages by at most 1 % or 1e-15.
    """
    GAP = "gap"
    """Feasible with a proven bound, but farther from it than :attr:`OPTIMAL` allows."""
    FEASIBLE = "feasible"
    """Feasible; nothing proven about better ones."""
    UNCERTIFIED = "uncertified"
    """Found in floating point by ``solve(…, certify=False)``: nothing is certified, privacy included."""
    INFEASIBLE = "infeasible"
    """Proven: there is no answer."""
    UNBOUNDED = "unbounded"
    """There are answers of any value."""
    LIMIT = "limit"
    """Stopped by a limit before anything feasible was found."""


def relative_gap(value: float, bound: float | None) -> float | None:
    """Compute |bound − value| relative to the larger of the two (at least 1e-4).

    The gap is None if nothing is proven.

    The floor keeps the default gap of 1e-9 within what floats can express (1e-13 nats).

    >>> relative_gap(0.5, 0.625)
    0.2
    """
    if bound is None:
        return None
    return abs(bound - value) / max(abs(value), abs(bound), GAP_FLOOR)


class Named:
    """What files and commands name: by the name of its class, in hyphens, unless it says another one.

    >>> type("RowSelection", (Named,), {}).name
    'row-selection'
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **said: Any) -> None:
        super().__init_subclass__(**said)
        if "name" not in vars(cls):
            cls.name = re.sub("(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


class Form(Named, ABC):
    """A question without its story: everything that a solver may know."""


@dataclass(frozen=True)
class FormSolution:
    """What a solver returns.

    Attributes:
        status: OPTIMAL, GAP or FEASIBLE come with a point; the others without.
        point: the answer in the form's terms (for a ``ColumnProgram``, :class:`Columns`).
        value: the form's objective at the point, before any repair.
        bound: no point of the form is better than this, or None where nothing is proven.
        proof: plain JSON data from which the bound can be checked (for a ``ColumnProgram``, the dual).
        stats: counts worth printing: iterations, columns, nodes.
    """

    status: Status
    point: Any = None
    value: float | None = None
    bound: float | None = None
    proof: dict[str, Any] | None = None
    stats: dict[str, float] | None = None


def _as_it_is(solution: FormSolution) -> FormSolution:
    return solution


@dataclass(frozen=True, eq=False)
class Stage:
    """One program to be solved, and what its solution contributes to the question.

    Attributes:
        form: what is solved.
        contribution: from the form's solution to one in the question's terms: a point that may become
            the answer (or None), a bound that holds for the question (or None) and its proof. Proofs
            of several stages are merged, the one of the best bound last.
        share: how much of the time left the stage may use.
        bound_only: whether it contributes a bound alone: its values are those of another question.
    """

    form: Form
    contribution: Callable[[FormSolution], FormSolution] = _as_it_is
    share: float = 1.0
    bound_only: bool = False
