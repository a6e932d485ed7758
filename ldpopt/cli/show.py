"""``ldpopt show``: a kind of problem, its parameters, an example that solves, and its solvers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpopt.cli.options import AsJson, kinds
from ldpopt.cli.terminal import hang, say

if TYPE_CHECKING:
    from ldpopt.core.problem import Problem


def show(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="See: ldpopt list problems; or file.py:CLASS.", autocompletion=kinds
        ),
    ],
    example: Annotated[
        bool, typer.Option("--example", help="Print the example alone, as a file for ldpopt solve.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a kind of problem: its parameters, an example, and the solvers that accept it."""
    from inspect import getdoc

    from ldpopt.engine.plugins import problem_class
    from ldpopt.engine.solving import accepting
    from ldpopt.solvers import SOLVERS

    cls = problem_class(kind)
    problem = next(iter(cls.examples())).problem
    spec = {"problem": kind, "params": problem.to_params()}
    if example:
        print(json.dumps(spec, indent=1, allow_nan=False))
        return
    solvers = {
        name: form.name + ("" if SOLVERS[name].automatic else ", by name only: auto never takes it")
        for name, form in accepting(problem)
    }
    found: dict[str, Any] = {
        "kind": kind,
        "summary": " ".join((getdoc(cls) or "").partition("\n\n")[0].split()),
        "parameters": _parameters(cls),
        "example": spec,
        "solvers": solvers,
    }
    if as_json:
        print(json.dumps(found, allow_nan=False))
        return
    hang(f"{kind}: ", found["summary"])
    print("\nparameters")
    for name, text in found["parameters"].items():
        hang(f"  {name:<20} ", text)
    print("\nsolvers that accept the example, in the order in which auto asks them")
    for name, form in solvers.items():
        hang(f"  {name:<20} ", f"as a {form}")
    print(f"\nan example (ldpopt show {kind} --example > question.json; ldpopt solve question.json)")
    say(f"  {json.dumps(spec)}")


def _parameters(cls: type[Problem]) -> dict[str, str]:
    """Say of every parameter what it may be.

    The schema of the checker says it; a kind of another package, which has none, names the types.
    """
    from dataclasses import MISSING, fields, is_dataclass

    from ldpopt.checker import frame

    if frame.knows(cls.kind):
        schema = frame.parameters(cls.kind)
        optional = {name: f"{part.words()} (optional)" for name, part in schema.optional.items()}
        return {name: part.words() for name, part in schema.required.items()} | optional
    if not is_dataclass(cls):
        return {}
    return {
        field.name: f"{field.type}{'' if field.default is MISSING else ' (optional)'}"
        for field in fields(cls)
    }
