"""The base class of all methods, and the words that a method needs beside it: it imports them here."""

from __future__ import annotations

import importlib.util
import inspect
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, final, get_args, get_origin

from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.form import Form, FormSolution, Named, Status, relative_gap
from ldpopt.core.limits import UNLIMITED, Limits, OutOfTime
from ldpopt.core.validate import Array

__all__ = [
    "UNLIMITED",
    "Array",
    "FormSolution",
    "Limits",
    "OutOfTime",
    "Solver",
    "Status",
    "relative_gap",
]

F = TypeVar("F", bound=Form)


class Solver(Named, ABC, Generic[F]):
    """A method for one form: ``class SubsetBranch(Solver[SubsetProgram])``.

    A solver knows a form, never a paper. Its options are the parameters of its constructor.
    """

    form: ClassVar[type[Form]]
    """The form that it solves, read off the declaration."""
    requires: ClassVar[tuple[str, ...]] = ()
    """Modules that must be importable beyond ldpopt's own dependencies."""

    automatic: ClassVar[bool] = True
    """Whether ``auto`` may choose it; one that proves nothing is run by its name only."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for base in vars(cls).get("__orig_bases__", ()):
            declared = get_args(base)[0] if get_origin(base) is Solver else None
            if inspect.isclass(declared) and issubclass(declared, Form):
                cls.form = declared
        if not hasattr(cls, "form"):
            raise TypeError(f"say which form the solver solves: class {cls.__name__}(Solver[MyForm])")

    def accepts(self, form: F) -> Literal[True] | str:
        """Return True if it can solve this form of its type, or the reason why not."""
        return True

    def suits(self, form: F) -> Literal[True] | str:
        """Return True if ``auto`` should choose it for an accepted form, or the reason why not."""
        return True

    @abstractmethod
    def run(self, form: F, limits: Limits) -> FormSolution:
        """Solve: stop at the gap or at the deadline of ``limits``, and keep the best on the way."""

    @final
    def takes(self, form: Form) -> Literal[True] | str:
        """Return True if the form is of its type and accepted, or the reason why not."""
        if not isinstance(form, self.form):
            return f"solves a {self.form.name}, not a {form.name}"
        said: object = self.accepts(form)  # type: ignore[arg-type]
        if said is True or (isinstance(said, str) and said):
            return said
        return f"its method accepts must return True or a reason in words, not {said!r:.40}"

    @final
    def attempt(self, form: F, limits: Limits) -> FormSolution:
        """Run; where the time is over or the user interrupts, return what was kept last.

        Raises:
            KeyboardInterrupt: the user interrupted before anything was found.
        """

        def best_so_far() -> FormSolution:
            return limits.kept() or FormSolution(Status.LIMIT)

        try:
            found = limits.in_time(lambda: self.run(form, limits), best_so_far, once_kept=True)
            if not isinstance(found, FormSolution):
                raise SolverError(
                    f"the solver {self.name!r} must return a FormSolution, not {found!r:.60}; where it "
                    "found nothing, FormSolution(Status.LIMIT)"
                )
            return found
        except OutOfTime:
            return best_so_far()
        except KeyboardInterrupt:
            best = limits.kept()
            if best is None:
                raise
            return replace(best, stats={**(best.stats or {}), "interrupted": 1.0})

    @classmethod
    def missing(cls) -> list[str]:
        """List the required modules that are not installed."""
        return [name for name in cls.requires if importlib.util.find_spec(name) is None]

    @classmethod
    def configured(cls, **options: Any) -> Self:
        """Build the solver; an unknown option is named, with the options that there are."""
        if not options:
            return cls()
        known = [] if cls.__init__ is object.__init__ else list(inspect.signature(cls).parameters)
        for name in options:
            if name not in known:
                allowed = ", ".join(known) if known else "no options"
                raise InvalidInputError(
                    f"the solver {cls.name!r} has no option {name!r}; it takes {allowed}"
                )
        return cls(**options)
