"""Forms: the mathematical shapes on which problems and solvers agree."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar

from ldpopt.core.status import Status


class Form(ABC):
    """A question without its story: everything that a solver may know."""

    name: ClassVar[str]


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
