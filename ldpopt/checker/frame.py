"""The frame of the checker: read a result file, and decide every claim of it. Standard library only.

It imports nothing else of ldpopt, runs no optimisation, and takes the *statement* (which privacy, which
objective, which class of mechanisms) from the problem's parameters; the file's proof only supplies
numbers that make the statement easy to verify. Each topic has a section that decides its claims, and is
imported when a file needs it. What all files have in common is decided here, once:

* the document has the format and the fields of :data:`DOCUMENT`, and no other;
* the answer is what was asked for, private, and worth ``value`` (the section decides);
* nothing is better than ``bound`` (the section decides), and value and bound are in that order;
* ``gap`` is what value and bound give;
* "optimal" says what ``optimality.is_optimal`` tells of value, bound and the certificate's gap;
* ``certificate.audit`` is decided by the section, or listed by :func:`unchecked`;
* where the file is a design for a table, its labels and counts are those of the question
  (:mod:`table_design`);
* a public mechanism file, which has no question, has claims of its own (:mod:`public_mechanism`).

Run it alone with ``python -I -S ldpopt/checker RESULT.json``, or as ``ldpopt verify RESULT.json``. Exit
code 0: every claim holds, 1: some claim is refuted, 2: unreadable, 3: undecided within the budget, 4:
holds, but the promise is not decided, as the file does not say enough for it (:data:`.claims.OPEN`).
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

from .kernel.budget import MOST_SECONDS, SECONDS, UndecidedError, limited
from .kernel.claims import GIVES_UP, OPEN, Claim, Verdict, decided, escaped, named, quoted, verdict, why
from .kernel.exit_codes import ExitCode
from .kernel.former_names import with_names_of_today
from .kernel.kinds import FORMS, KINDS, SECTIONS
from .kernel.optimality import GAP_FLOOR, OPTIMAL_GAP, is_optimal, relative_gap
from .kernel.reading import UnreadableError, read
from .kernel.schema import Anything, Nullable, Number, Object, Record, Text, Whole, Word
from .kernel.section import Case, Decider, Kind, Section

FORMAT = 2
GAP_ROUNDING = Fraction(1, 2**50)
"""The relative error that a stated gap may have, as it is rounded to a float."""

CERTIFICATE = Record(
    {"proof": Anything(), "gap": Number(0, below=1)},
    {"repair_loss": Number(), "audit": Object()},
)
DOCUMENT = Record(
    {
        "format": Whole(1, FORMAT),
        "problem": Text(),
        "params": Anything(),
        "status": Word("optimal", "gap", "feasible", "infeasible", "unbounded", "limit"),
        "value": Nullable(Number()),
        "bound": Nullable(Number()),
        "mechanism": Anything(),
        "certificate": CERTIFICATE,
    },
    {
        "gap": Nullable(Number(0)),
        "answer": Anything(),
        "solver": Text(),
        "seconds": Number(0),
        "stats": Object(),
        "attempts": Object(),
        "environment": Object(),
        "statement": Object(),
        "design": Anything(),
    },
)
"""A result file. The form reads ``mechanism``, ``answer`` and the proof, the kind ``params``.

A file of another package's kind carries its ``statement``, which no built-in kind may.
"""

DESIGN, PUBLIC = "table_design", "public_mechanism"
"""The modules of designs for a table and of public mechanism files, imported for such a file alone."""


@cache
def _load(name: str) -> Any:
    return importlib.import_module(f".statements.{name}", __package__)


def section(name: str) -> Section:
    """Import a section."""
    return Section.of(_load(name), SECTIONS[name][1])


# ---------------------------------------------------------------- the question


def knows(kind: Any) -> bool:
    """Return whether the checker can read the statement of this kind off its parameters."""
    return isinstance(kind, str) and kind in KINDS


def _kind(kind: str) -> Kind:
    if not knows(kind):
        raise UnreadableError(f"the checker does not know the problem kind {quoted(kind)}")
    return section(KINDS[kind]).kinds[kind]


def parameters(kind: str) -> Record:
    """Return what the parameters of a kind may be."""
    return _kind(kind).params


def statement(kind: str, params: Any) -> dict[str, Any]:
    """State what a result of this kind with these parameters claims to answer, as plain data."""
    found = _kind(kind)
    found.params.read(params)
    return found.statement(params)


def _form(plain: dict[str, Any]) -> Decider:
    name = plain.get("form")
    if not isinstance(name, str) or name not in FORMS:
        raise UnreadableError(f"the checker does not know the form {quoted(name)}")
    return section(FORMS[name]).forms[name]


def stated(document: dict[str, Any], plain: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a file states: what its kind asks, or, of another package's kind, what it carries.

    Parameters of a file of version 1 may have the names of that version.

    Args:
        document: the file.
        plain: the statement of that package for the file's parameters, where it is at hand.
    """
    kind, params, carried = document["problem"], document["params"], document.get("statement")
    if knows(kind) and carried is not None:
        raise UnreadableError(
            f"statement must be left out: the parameters of {quoted(kind)} say what it asks"
        )
    found = plain or carried
    if found is not None:
        return found
    if not knows(kind):
        raise UnreadableError(
            f"the checker does not know the problem kind {quoted(kind)}, and there is no statement"
        )
    return statement(kind, with_names_of_today(kind, params) if document["format"] == 1 else params)


def noise(plain: dict[str, Any]) -> float:
    """Return by how much value and bound of a statement may differ where the optimum is zero."""
    return _form(plain).noise


def question(plain: dict[str, Any]) -> Any:
    """Build the exact question that a statement asks, every part of it checked by its form's schema."""
    form, asked = _read(plain)
    return form.question(asked)


def _read(plain: dict[str, Any]) -> tuple[Decider, dict[str, Any]]:
    """Read a statement by the schema of its form."""
    form, parts = _form(plain), {name: part for name, part in plain.items() if name != "form"}
    return form, {"form": plain["form"], **form.statement.read(parts)}


# ---------------------------------------------------------------- the claims


def check(document: Any, plain: dict[str, Any] | None = None) -> list[Claim]:
    """Decide every claim of a result file; ``plain`` is the statement of a kind of another package.

    Raises:
        UnreadableError: no claim can be read.
        UndecidedError: the question or the answer alone is too large for the budget.
    """
    try:
        return _claims(document, plain)
    except UnreadableError:
        raise
    except GIVES_UP as error:
        raise UndecidedError(why(error)) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnreadableError(f"the file is malformed: {named(error)}") from None


def _claims(document: Any, plain: dict[str, Any] | None) -> list[Claim]:
    if isinstance(document, dict) and "public" in document:
        return list(_load(PUBLIC).public_claims(document))
    fields = DOCUMENT.read(document)
    if "design" in fields:
        fields["design"] = _load(DESIGN).DESIGN.read(fields["design"], "design")
    if fields["status"] not in ("optimal", "gap", "feasible"):
        raise UnreadableError(f"a result of status {quoted(fields['status'])} makes no claim")
    if "design" in fields and (plain is not None or not knows(fields["problem"])):
        raise UnreadableError("the section design needs a kind that the checker knows")
    form, asked = _read(stated(fields, plain))
    case = _case(fields, form, form.question(asked))
    found = list(_part("member", partial(form.members, case)))
    if plain is not None and "statement" in fields:
        found.append(_same(plain, fields))
    case = case._replace(proven=tuple(found))
    if form.states_objective(case.question):
        found += _part("value", partial(form.value, case))
        found += _bound_claims(case, form, fields)
    if form.audit is not None and case.audit:
        found += _part("audit", partial(form.audit, case))
    if "design" in fields:
        found += _part("inputs", partial(_load(DESIGN).design_claims, fields, asked))
    return found


def _same(plain: dict[str, Any], fields: dict[str, Any]) -> Claim:
    """Check that the file carries the statement of the package that knows its kind."""
    words = f"the statement is what {quoted(fields['problem'])} asks with the file's parameters"
    return decided("member", words, lambda: fields["statement"] == plain)


def _part(what: str, claims: Callable[[], Iterable[Claim]]) -> Iterator[Claim]:
    """Decide the claims of one part of the file.

    An error between two claims leaves the rest of the part undecided; the other parts are still decided.

    Args:
        what: which claims of the frame they are.
        claims: decides them one by one.
    """
    try:
        yield from claims()
    except GIVES_UP as error:
        yield Claim(f"what else the file claims ({what})", f"undecided: {why(error)}", None, what)


def _case(document: dict[str, Any], form: Decider, asked: Any) -> Case:
    certificate, status = document["certificate"], document["status"]
    value, bound = document["value"], document["bound"]
    if value is None:
        raise UnreadableError("value must be a finite number, not null")
    if (bound is None) != (status == "feasible"):
        raise UnreadableError("bound must be null if the status is feasible, and else a finite number")
    if (document.get("gap", bound) is None) != (bound is None):
        raise UnreadableError("gap must be null exactly if bound is")
    if document["mechanism"] is not None and document.get("answer") is not None:
        raise UnreadableError("mechanism or answer must be null: a result has one answer")
    answer = form.answer(document, asked)
    proof = certificate["proof"]
    if form.states_objective(asked) and (proof is not None or bound is not None):
        proof = form.proof.read(proof, "certificate.proof")
    return Case(asked, answer, status, value, bound, proof, certificate.get("audit", {}))


def _bound_claims(case: Case, form: Decider, document: dict[str, Any]) -> Iterator[Claim]:
    """Check the claims about the bound, the order, the gap and the status."""
    if case.stated_bound is None:
        return
    yield from _part("bound", partial(form.bound, case))
    yield _order(case, form)
    if "gap" in document:
        yield _gap(case, document["gap"])
    if case.status == "optimal":
        yield _agreement(case, document["certificate"]["gap"], form.noise)


def _order(case: Case, form: Decider) -> Claim:
    bound, value, maximised = case.bound, case.value, form.sense(case.question) == "maximise"
    words = f"the value {value!r} is at {'most' if maximised else 'least'} the bound {bound!r}"
    return decided("order", words, lambda: value <= bound if maximised else value >= bound)


def _gap(case: Case, stated: float) -> Claim:
    exact = relative_gap(case.value, case.bound)
    near = abs(Fraction(stated) - exact) <= exact * GAP_ROUNDING
    quotient = f"|bound − value| / max(|value|, |bound|, {GAP_FLOOR!r})"
    words = f"the gap {quotient} is {stated!r} to a relative 2^-50"
    return decided("gap", words, lambda: near, value=stated)


def _agreement(case: Case, asked: float, noise: float) -> Claim:
    """Check what the status "optimal" says: the gap is within what was asked for, and small enough."""
    tolerance, value, bound = min(asked, OPTIMAL_GAP), case.value, case.bound
    near = f"1 % or {noise!r}" if noise else "1 %"
    words = f"the gap is at most {tolerance!r}, and value and bound differ by at most {near}"
    words += ': what "optimal" says'
    return decided("agreement", words, lambda: is_optimal(value, bound, asked, noise), value=tolerance)


def unchecked(document: dict[str, Any], plain: dict[str, Any] | None = None) -> list[str]:
    """List, as sentences, what the file says but the checker does not decide."""
    if "public" in document:
        return list(_load(PUBLIC).unchecked_public(document))
    found = stated(document, plain)
    audit, form = document["certificate"].get("audit"), _form(found)
    if not audit or form.audit is not None:
        audit = {}
    said = [] if form.states_objective(question(found)) else list(_uncertified(document))
    said += [f"certificate.audit.{escaped(name)} = {quoted(value)}" for name, value in audit.items()]
    said += form.unchecked(found)
    if plain is None and not knows(document["problem"]):
        said.append(f"that the statement is what {quoted(document['problem'])} asks: {UNKNOWN_KIND}")
    return said + _load(DESIGN).unchecked_design(document) if "design" in document else said


UNKNOWN_KIND = "the checker does not know this kind, and decides the statement"
UNCERTIFIED = "not certified, the checker does not know the utility"
"""How :func:`unchecked` ends what a file says of an objective that the checker does not know."""


def _uncertified(document: dict[str, Any]) -> Iterator[str]:
    """List what a file says of an objective that the checker does not know."""
    for name in ("value", "bound", "status"):
        if document[name] is not None:
            yield f"{name} = {quoted(document[name])}: {UNCERTIFIED}"


# ---------------------------------------------------------------- the command


EXIT_CODES: dict[Verdict, ExitCode] = {
    True: ExitCode.DONE,
    False: ExitCode.REFUTED,
    None: ExitCode.UNDECIDED,
    OPEN: ExitCode.NOT_PROMISED,
}
"""The exit code of a verdict, here and in every command that gives one; 2 is for unreadable files."""


def main(*arguments: str) -> int:
    """Check one file, print its claims and return the exit code. A crash is never a verdict."""
    parser = argparse.ArgumentParser(prog="checker", description="Decide every claim of a result file.")
    parser.add_argument("file")
    parser.add_argument("--budget", type=_seconds, default=SECONDS, help="seconds of wall time")
    given = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):  # a letter that the terminal cannot show is spelt out
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with limited(given.budget):
            document = read(given.file)
            claims = check(document)
            rest = unchecked(document)
    except UnreadableError as error:
        print(f"unreadable: {error}", file=sys.stderr)
        return ExitCode.BAD_INPUT
    except GIVES_UP as error:
        print(f"undecided: {why(error)}", file=sys.stderr)
        return ExitCode.UNDECIDED
    except Exception as error:  # a mistake of the checker itself: no verdict
        print(f"failed: {named(error)}", file=sys.stderr)
        return ExitCode.FAILED
    lines = [*map(str, claims), *(f"unchecked  {sentence}" for sentence in rest)]
    return EXIT_CODES[verdict(claims)] if _printed(lines) else 3


def _seconds(text: str) -> float:
    """Read the budget in seconds; refuse one that is not above 0, or above :data:`MOST_SECONDS`."""
    seconds = float(text)
    if not 0 < seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"a number above 0, at most {MOST_SECONDS:.0f}, not {escaped(text)}"
        )
    return seconds


def _printed(lines: list[str]) -> bool:
    """Print lines, and return whether that worked; claims that cannot be printed give no verdict."""
    try:
        print("\n".join(lines), flush=True)
    except OSError as error:
        print(f"undecided: the claims cannot be printed: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
