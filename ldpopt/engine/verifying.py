"""Let the checker decide a result or a result file; nothing else of ldpopt is imported to do so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import SECONDS, UndecidedError, limited
from ldpopt.checker.kernel.claims import MARKS, OPEN, Claim, Verdict, escaped, quoted, verdict
from ldpopt.checker.kernel.reading import UnreadableError, read
from ldpopt.core.errors import (
    FailedError,
    InvalidInputError,
    LdpoptError,
    UndecidedFileError,
    UnreadableFileError,
)
from ldpopt.core.memory_limit import confined
from ldpopt.core.number_text import factor_at_most, in_full

if TYPE_CHECKING:
    from ldpopt.core.problem import Problem
    from ldpopt.engine.result import Result


WORDS: dict[Verdict, str] = {
    True: "verified",
    False: "refuted",
    None: "undecided",
    OPEN: "holds, but the promise is not decided",
}
"""The verdict on a file in words."""
NOT_CERTIFIED = "not certified"
"""The mark of a value or bound whose utility the checker does not know."""
NOT_CHECKED = "not checked"
"""The mark of a number or word that no verified claim states."""
NOT_DECIDED = "not decided by this file"
"""The mark of a promise about counts that the file does not have."""

OF_PRIVACY = "and makes none about the utility: it does not know it"
"""What the summary adds for a file whose privacy alone is claimed."""


@dataclass(frozen=True)
class Verification:
    """The checker's answer: truthy if every claim holds and, where there is a promise, it is decided.

    Attributes:
        claims: every claim of the file with its verdict.
        unchecked: what the file says and the checker does not decide, as sentences.

    >>> bool(Verification((Claim("one is one", "exact", True),)))
    True
    """

    claims: tuple[Claim, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """True: verified. False: some claim is refuted. None: none is, some are undecided.

        ``OPEN``: all hold but a promise that the file cannot decide; more time is no help.
        """
        return verdict(self.claims)

    def __bool__(self) -> bool:
        return self.verdict is True

    @property
    def usable(self) -> bool:
        """Whether no claim is refuted or undecided; a promise that the file cannot decide may be."""
        return self.verdict is OPEN or bool(self)

    @property
    def proven(self) -> str:
        """What is proven about better answers, in the checker's words; empty if nothing is."""
        return "; ".join(
            claim.statement for claim in self.claims if claim.what == "bound" and claim.holds
        )

    @property
    def privacy(self) -> tuple[str, ...]:
        """What is claimed about privacy, in the checker's words; what does not hold is marked."""
        return tuple(
            Verification((claim,)).marked(_with_factor(claim))
            for claim in self.claims
            if claim.what == "privacy"
        )

    @property
    def level(self) -> str:
        """The level ε that is claimed, marked if the claim does not hold; empty if none is."""
        for claim in self.claims:
            if claim.what == "privacy" and (level := _level(claim)) is not None:
                return Verification((claim,)).marked(in_full(level))
        return ""

    @property
    def among(self) -> str:
        """What the proven bound is about, such as "mechanisms within the PolyOpt cone"; may be empty."""
        about = [claim.about for claim in self.claims if claim.what == "bound" and claim.holds]
        return about[-1] if about else ""

    def status(self, status: str) -> str:
        """Return a status; "optimal" is followed by the class of answers for which it is proven."""
        return f"{status} among {self.among}" if status == "optimal" and self.among else status

    @property
    def summary(self) -> str:
        """The verdict in words, with the first claim that does not hold."""
        failed = next((claim for claim in self.claims if claim.holds is False), None)
        failed = failed or next((c for c in self.claims if not c.holds and not c.open), None)
        failed = failed or next((claim for claim in self.claims if claim.open), None)
        if failed is None:
            every = "the independent checker verifies every claim"
            return every if self.certifies_utility else f"{every}, {OF_PRIVACY}"
        if failed.open:
            return f"{WORDS[OPEN]}: {failed.statement} [{failed.strength}]"
        return f"{WORDS[failed.holds].upper()}: {failed.statement}"

    @property
    def certifies_utility(self) -> bool:
        """Whether the checker knows what the value measures, and so decides value and bound too."""
        return not any(said.endswith(frame.UNCERTIFIED) for said in self.unchecked)

    def marked_utility(self, said: str) -> str:
        """Mark what a file says of value, bound or status, even if only the utility is not certified."""
        marked = self.marked(said)
        return marked if self.certifies_utility else f"{marked} [{NOT_CERTIFIED}]"

    def marked(self, said: str) -> str:
        """Return what a file says: unchanged if all its claims were verified, otherwise with a mark."""
        if self and self.claims:
            return said
        mark = WORDS[self.verdict].upper() if self.claims else NOT_CHECKED
        return f"{said} [{NOT_DECIDED if self.verdict is OPEN else mark}]"

    def marked_promise(self, said: str) -> str:
        """Mark what a file promises about privacy; undecided claims about anything else are ignored.

        Those are claims about the utility, its bound, and the audit of how much of the level is used.
        """
        beyond = [c for c in self.claims if c.what in ("value", "bound", "audit") and c.holds is None]
        return Verification(tuple(c for c in self.claims if c not in beyond)).marked(said)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.claims), *(f"unchecked  {said}" for said in self.unchecked)])

    def to_frame(self) -> Any:
        """Return the claims as a pandas.DataFrame, with what the checker says of each."""
        from ldpopt.core import notebook

        return notebook.frame([claim._asdict() for claim in self.claims])

    def _repr_html_(self) -> str:
        from ldpopt.core import notebook

        rows = [(MARKS[c.verdict].strip(), c.statement, c.strength) for c in self.claims]
        return notebook.table(WORDS[self.verdict], rows, ("", "claim", "strength"))


def _level(claim: Claim) -> float | None:
    """Return the ε of a claim about a factor e^ε; a leakage or an exposure is no such level."""
    return claim.value if f"e^{claim.value!r}" in claim.statement else None


def _with_factor(claim: Claim) -> str:
    """Return the statement of a claim, with a number above e^ε where it is about that."""
    level = _level(claim)
    if level is None:
        return claim.statement
    return claim.statement.replace(f"e^{level!r}", f"e^{level!r} ≤ {factor_at_most(level)}")


def verify(result: Result | str | os.PathLike[str], *, budget: float = SECONDS) -> Verification:
    """Let the independent checker decide every claim of a result or result file.

    The statement comes from the checker's own reading of the parameters. For a kind that the checker
    does not know, the file carries it; where the package of that kind is at hand, it must be what the
    problem's ``statement()`` says.

    Args:
        result: a result, or the name of a file.
        budget: seconds of wall time; a claim that takes longer is undecided.

    Raises:
        InvalidInputError: it is neither a result nor the name of a file.
        UnreadableFileError: no claim can be read from the file.
        UndecidedFileError: not even the question can be read within the budget.
    """
    if isinstance(result, (str, os.PathLike)):
        with within(budget):
            return verify_document(read_document(result), budget=budget)
    from ldpopt.engine.result import Result  # a file is verified without it

    if not isinstance(result, Result):
        raise InvalidInputError(f"verify takes a result or the name of a file, not {result!r:.80}")
    return verify_document(result.to_json(), result.problem, budget=budget)


@contextmanager
def within(budget: float = SECONDS) -> Iterator[None]:
    """Keep work on somebody else's file within so many seconds, and the memory of the checker.

    Blocks inside end with it. The errors of the checker become those of ldpopt.

    Args:
        budget: seconds of wall time.

    Raises:
        UnreadableFileError: the file is not what it should be.
        UndecidedFileError: the work does not fit into the budget.
    """
    try:
        with limited(budget):
            yield
    except UnreadableError as error:
        raise UnreadableFileError(str(error)) from None
    except UndecidedError as error:
        raise UndecidedFileError(str(error)) from None
    except MemoryError:
        raise UndecidedFileError("not decided: the memory is used up") from None


def verify_document(
    document: dict[str, Any], problem: Problem | None = None, *, budget: float = SECONDS
) -> Verification:
    """Let the independent checker decide every claim of a result file's content.

    Args:
        document: the content.
        problem: states the question of a kind that the checker does not know; by default the kind is
            looked up among those that packages registered.
        budget: seconds of wall time; a claim that takes longer is undecided.
    """
    with within(budget):
        kind, plain = document.get("problem"), None
        if isinstance(kind, str) and not frame.knows(kind):
            params = document.get("params", {})
            asked = _registered(kind, params) if problem is None else problem
            given = None if asked is None else stated(asked)
            plain = json.loads(json.dumps(given))  # tuples become lists, as in the file
        with confined():
            claims = frame.check(document, plain)
            return Verification(tuple(claims), tuple(frame.unchecked(document, plain)))


def verify_within(document: dict[str, Any], seconds: float) -> Verification:
    """Decide the claims of a result file's content; a question that is not read in time is undecided."""
    try:
        return verify_document(document, budget=seconds)
    except UndecidedFileError as error:
        return Verification((Claim("the file states a question", f"undecided: {error}", None),))


def _registered(kind: str, params: dict[str, Any]) -> Problem | None:
    """Build the problem of a kind that another package registered; None if no package did."""
    from ldpopt.problems import PROBLEMS

    if kind not in PROBLEMS:
        return None
    try:
        return PROBLEMS[kind].from_params(**params)
    except LdpoptError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {escaped(str(error))}"
        raise UnreadableError(f"params are not those of a {quoted(kind)}: {words}") from None


def stated(problem: Problem) -> dict[str, Any] | None:
    """Ask a problem for its statement; if the code of its kind fails, its file is not to blame."""
    try:
        return problem.statement()
    except LdpoptError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {escaped(str(error))}"
        raise FailedError(f"the statement of a {quoted(problem.kind)} failed: {words}") from error


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON object in a file, within the budget of the checker."""
    with within():
        document = read(os.fspath(path))
    if not isinstance(document, dict):
        raise UnreadableFileError(f"{os.fspath(path)} holds no JSON object")
    return document
