"""``ldpopt show``: a kind of problem, its parameters, an example that solves, and its solvers."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.options import AsJson, kinds
from ldpopt.cli.terminal import hang, say
from ldpopt.core.errors import InvalidInputError

if TYPE_CHECKING:
    from ldpopt.core.form import Form
    from ldpopt.core.problem import Problem


def show(
    kind: Annotated[str, typer.Argument(metavar="KIND", autocompletion=kinds)],
    example: bool = False,
    as_json: AsJson = False,
) -> None:
    """Show a kind of problem: its parameters, an example, and the solvers that accept it.

    Options:
        kind: See: ldpopt list problems; or file.py:CLASS.
        example: Print the example alone, as a file for ldpopt solve.
    """
    from inspect import getdoc

    from ldpopt.engine.plugins import problem_class
    from ldpopt.engine.solving import accepting

    cls = problem_class(kind)
    first = next(iter(cls.examples()), None)
    if first is None:
        raise InvalidInputError(f"{kind} has nothing to show yet: its method examples yields no example")
    problem = first.problem
    spec = {"problem": cls.kind, "params": problem.to_params()}
    if example:
        print(json.dumps(spec, indent=1, allow_nan=False))
        return
    solvers = {name: _place(name, form) for name, form in accepting(problem)}
    found: dict[str, Any] = {
        "kind": cls.kind,
        "summary": " ".join((getdoc(cls) or "").partition("\n\n")[0].split()),
        "parameters": _parameters(cls),
        "example": spec,
        "solvers": solvers,
    }
    if as_json:
        print(json.dumps(found, allow_nan=False))
        return
    hang(f"{cls.kind}: ", found["summary"])
    print("\nparameters")
    for name, text in found["parameters"].items():
        hang(f"  {name:<20} ", text)
    print("\nsolvers that accept the example; auto asks them in this order")
    for name, form in solvers.items():
        hang(f"  {name:<20} ", f"as a {form}")
    print("\nan example; these two commands solve it:")
    own = ["--problem", kind] if kind != cls.kind else []
    say(f"  {shlex.join(['ldpopt', 'show', kind, '--example'])} > question.json")
    say(f"  {shlex.join(['ldpopt', 'solve', 'question.json', *own])}")
    hang("  ", json.dumps(spec))


def _place(name: str, form: Form) -> str:
    """Name the form in which a solver takes an example, and why ``auto`` prefers others if it does."""
    from ldpopt.solvers import SOLVERS

    if not SOLVERS[name].automatic:
        return f"{form.name}, by name only: auto never takes it"
    reason = SOLVERS[name]().suits(form)
    return form.name if reason is True else f"{form.name}; auto prefers others: {reason}"


def _parameters(cls: type[Problem]) -> dict[str, str]:
    """Say of every parameter what it may be.

    That is read from the checker's schema; a kind of another package has none, so its types are named.
    """
    from dataclasses import MISSING, fields, is_dataclass
    from inspect import formatannotation

    from ldpopt.core.exact import frame

    if frame.knows(cls.kind):
        schema = frame.parameters(cls.kind)
        optional = {name: f"{part.words()} (optional)" for name, part in schema.optional.items()}
        return {name: part.words() for name, part in schema.required.items()} | optional
    if not is_dataclass(cls):
        return {}
    found = {}
    for field in fields(cls):
        words = field.type if isinstance(field.type, str) else formatannotation(field.type)
        found[field.name] = words if field.default is MISSING else f"{words} (optional)"
    return found
