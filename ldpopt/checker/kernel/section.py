"""What a section of the checker is: data that the frame reads. Nothing registers itself.

A *kind* is a question with its parameters; it is stated in a *form*, which several kinds share and in
which a kind of another package states itself. A section module ends with ``SECTION = Section(kinds=…,
forms=…)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from .claims import Claim, decided
from .schema import Anything, Record, Schema

Sense = Literal["maximise", "minimise"]


@dataclass(frozen=True)
class Kind:
    """A kind of problem.

    Attributes:
        params: what its parameters may be. Problem class and checker read them by this one schema.
        statement: from the parameters (plain, as in the file) to the statement in the words of a form.
    """

    params: Record
    statement: Callable[[dict[str, Any]], dict[str, Any]]


def stating(form: str, **defaults: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """State the parameters as they are, in a form, with defaults for those that are left out."""
    return lambda params: {"form": form, **defaults, **params}


class Case(NamedTuple):
    """What one file claims, read: the exact question, the answer, the numbers and the proof."""

    question: Any
    answer: Any
    status: str
    value: float
    stated_bound: float | None
    proof: Any
    audit: dict[str, Any]
    proven: tuple[Claim, ...] = ()
    """The claims about membership, once they are decided."""

    @property
    def bound(self) -> float:
        """The stated bound. Where a file has none, no claim is about it."""
        assert self.stated_bound is not None
        return self.stated_bound

    def claim_value(self, words: str, test: Callable[[], bool | None]) -> Claim:
        """Decide what is said about the value."""
        return decided("value", words, test, value=self.value)

    def claim_bound(self, words: str, test: Callable[[], bool | None], about: str = "") -> Claim:
        """Decide what is said about the bound.

        Args:
            words: the claim, as a sentence.
            test: whether it holds.
            about: which answers it is about.
        """
        return decided("bound", words, test, about=about, value=self.bound)


@dataclass(frozen=True)
class Decider:
    """How claims about one form of statement are decided.

    Attributes:
        statement: what a statement may say beside the name of its form; a kind of another package goes
            through it too.
        question: from the statement, read by that schema, to the exact question.
        answer: from the document and the question to the answer that the claims are about.
        members: claims that the answer is what was asked for: stochastic, of its kind, private.
        value: the claims that the answer is worth ``case.value``.
        bound: the claims that nothing is better than ``case.bound``; not asked if the file has none.
        sense: which of value and bound is the larger; a function of the question where it depends on it.
        proof: what ``certificate.proof`` may be.
        audit: claims about ``certificate.audit``; None: the audit is reported as not checked.
        unchecked: from the statement to what else is reported as not checked.
        states_objective: whether the question says what ``value`` measures; if it does not, value, bound
            and status of the file are reported as not certified.
        noise: by how much value and bound of an optimal answer may differ where the optimum is zero; 0
            where a question can be rescaled, so that no difference is small for all.
    """

    statement: Record
    question: Callable[[dict[str, Any]], Any]
    answer: Callable[[dict[str, Any], Any], Any]
    members: Callable[[Case], Iterator[Claim]]
    value: Callable[[Case], Iterator[Claim]]
    bound: Callable[[Case], Iterator[Claim]]
    sense: Callable[[Any], Sense]
    proof: Schema = field(default_factory=Anything)
    audit: Callable[[Case], Iterator[Claim]] | None = None
    unchecked: Callable[[dict[str, Any]], list[str]] = lambda plain: []
    states_objective: Callable[[Any], bool] = lambda question: True
    noise: float = 0.0


@dataclass(frozen=True)
class Section:
    """The kinds and forms that one module decides."""

    kinds: Mapping[str, Kind]
    forms: Mapping[str, Decider]

    @classmethod
    def of(cls, module: Any, form: str) -> Section:
        """Read a module; ``form`` is the one that it decides, where it names no section."""
        if hasattr(module, "SECTION"):
            found: Section = module.SECTION
            return found
        names = [one.name for one in fields(Decider) if hasattr(module, one.name)]
        return cls(module.kinds, {form: Decider(**{name: getattr(module, name) for name in names})})


def maximise(question: Any) -> Sense:
    """Return the sense of forms that always maximise."""
    return "maximise"


def minimise(question: Any) -> Sense:
    """Return the sense of forms that always minimise."""
    return "minimise"
