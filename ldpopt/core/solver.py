"""The base class of all methods."""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Protocol

from ldpopt.core.form import Form, FormSolution


class Progress(Protocol):
    """Called by long-running solvers: the best value and the proven bound so far."""

    def __call__(self, value: float, bound: float, /) -> None:
        """Report."""


class Solver(ABC):
    """A method for one or more forms. A solver knows a form, never a paper."""

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules that must be importable beyond ldpopt's own dependencies."""

    automatic: ClassVar[bool] = True
    """Whether ``auto`` may choose it; one that proves nothing is run by its name only."""

    @abstractmethod
    def accepts(self, form: Form) -> Literal[True] | str:
        """True, or the reason why not."""

    def suits(self, form: Form) -> Literal[True] | str:
        """True if ``auto`` should choose this solver for an accepted form, or the reason why not."""
        return True

    @abstractmethod
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
        """Solve: stop at the relative ``gap`` or after ``time_limit`` seconds."""

    @classmethod
    def missing(cls) -> list[str]:
        """The required modules that are not installed."""
        return [name for name in cls.requires if importlib.util.find_spec(name) is None]
