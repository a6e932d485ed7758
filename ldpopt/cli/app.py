"""The application that ``ldpopt`` runs: every command, under its name."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from copy import copy
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.main import get_command

import ldpopt
from ldpopt.cli import options
from ldpopt.core.ending import fail
from ldpopt.core.exact import ExitCode

COMMANDS = {
    "solve": "solve",
    "verify": "verify",
    "list": "list_entries",
    "show": "show",
    "experiment": "experiment",
    "demo": "demo",
    "bench": "bench",
    "design": "design",
    "plan": "plan",
    "privatize": "privatize",
    "export": "export",
    "estimate": "estimate",
    "audit": "audit",
    "report": "report",
    "exposure": "exposure",
    "protocol": "protocol",
}
"""The function of every command; it lies in the file of the command's name."""
OPTION = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""An option and its words, in the docstring of a command."""
COMPLETE = "_LDPOPT_COMPLETE"
"""The variable by which the scripts of --install-completion ask for completions."""


class Once(TyperCommand):
    """A command that refuses an option given twice, unless it takes several values.

    Otherwise only the last value would count: ``--secret age --secret sex`` would not hide age.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in given:
            single = not getattr(param, "multiple", False) and not getattr(param, "is_flag", False)
            if single and given.count(param) > 1 and param.opts[0].startswith("-"):
                ctx.fail(f"{param.opts[0]} may be given only once, not {given.count(param)} times")
        return super().parse_args(ctx, args)


def application(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Assemble the application from the named commands; the files of others are not imported.

    Help is plain text, as its frames would cost more time than all the rest of ``ldpopt --help``.
    """
    wide = {"max_content_width": 120}
    whole = names is COMMANDS  # completion is an option of the program, not of a command
    app = typer.Typer(add_completion=whole, rich_markup_mode=None, context_settings=wide)
    app.callback()(describe)
    for name in names:
        command = getattr(import_module(f"ldpopt.cli.{name}"), COMMANDS[name])
        app.command(name, cls=Once)(explained(command))
    return app


def explained(command: Callable[..., None]) -> Callable[..., None]:
    """Give each option of a command, as its help, what the docstring says of it under "Options:".

    What several commands share is said by the docstring of :mod:`ldpopt.cli.options`.
    """
    words, _, own = inspect.cleandoc(command.__doc__ or "").partition("\n\nOptions:\n")
    listed = OPTION.findall(f"{options.__doc__}\n{own}")  # the later one counts
    told = {name: " ".join(text.split()) for name, text in listed}
    signature = inspect.signature(command, eval_str=True)
    parameters = [_option(given, told.get(given.name)) for given in signature.parameters.values()]

    @wraps(command)
    def run(**values: Any) -> None:
        command(**values)

    run.__doc__, run.__signature__ = words, signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _option(given: inspect.Parameter, words: str | None) -> inspect.Parameter:
    """Give an option its help; a flag has its own name alone, without the opposite that typer adds."""
    if words is None:
        return given
    stated = get_origin(given.annotation) is Annotated
    kind, *known = get_args(given.annotation) if stated else [given.annotation]
    flag = [f"--{given.name.replace('_', '-')}"] * (kind is bool)
    plain = typer.Argument() if given.default is given.empty else typer.Option(*flag)
    option = copy(known[0]) if stated else plain
    option.help = option.help or words
    return given.replace(annotation=Annotated[kind, option])


def show_version(wanted: bool) -> None:
    """Print the version and end, if wanted."""
    if wanted:
        print(f"ldpopt {ldpopt.__version__}")
        raise typer.Exit


def describe(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Design and audit privacy mechanisms by optimisation, with certificates."""


def run(words: list[str]) -> int:
    """Run one command and return its exit code; :mod:`ldpopt.core.ending` answers its errors."""
    if COMPLETE in os.environ:  # a shell asks what may come next
        try:
            get_command(application()).main(prog_name="ldpopt")
        except SystemExit as end:
            return int(end.code or 0)
        return ExitCode.DONE
    words = words or ["--help"]
    named = words[:1] if words[0] in COMMANDS else COMMANDS
    program = get_command(application(named))
    try:
        with program.make_context("ldpopt", words) as context:
            program.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as error:
        return fail(_usage(error), ExitCode.BAD_INPUT)
    return ExitCode.DONE


def _usage(error: typer.TyperException) -> str:
    """Say in one sentence what is wrong with a command line, and how to get help on the command."""
    said = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "ldpopt"
    return f"{said[:1].lower()}{said[1:]} (see {where} --help)"
