"""Who takes part in a benchmark: a solver with its options, under the name that the tables show."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ldpopt.core.errors import InvalidInputError, LdpoptError
from ldpopt.core.form import Form
from ldpopt.core.solver import Solver
from ldpopt.engine.plugins import load_solver
from ldpopt.solvers import SOLVERS, solvers_of

ENTRANT = re.compile(r"(?P<solver>[^()]+?)\s*(?:\((?P<options>.*)\))?")


class Entrant(NamedTuple):
    """A solver of a benchmark.

    Attributes:
        name: what the tables call it: its name, with the options that it was given.
        solver: its class.
        options: the parameters of its constructor.
    """

    name: str
    solver: type[Solver[Any]]
    options: dict[str, Any]

    def configured(self) -> Solver[Any]:
        """Build the solver."""
        return self.solver.configured(**self.options)


def split(text: str) -> list[str]:
    """Split at the commas that stand outside parentheses.

    >>> split("enumerate,joint-milp(milp_nodes=9,proof_lps=3)")
    ['enumerate', 'joint-milp(milp_nodes=9,proof_lps=3)']
    """
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)]


def named(text: str) -> Entrant:
    """Read a solver and its options: a registered name, or where a class is.

    A value is a Python literal, or else text.

    >>> named("descent(starts=3)").configured().starts
    3
    >>> named("mechanism-cvxpy(backend=SCS)").options
    {'backend': 'SCS'}
    """
    found = ENTRANT.fullmatch(text.strip())
    if found is None:
        raise InvalidInputError(f"a solver is NAME, NAME(option=value) or file.py:CLASS, not {text!r}")
    solver = load_solver(found["solver"]) if ":" in found["solver"] else SOLVERS[found["solver"]]
    options = dict(_option(part, text) for part in split(found["options"] or "") if part)
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    entrant = Entrant(f"{solver.name}({shown})" if options else solver.name, solver, options)
    if not solver.missing():
        entrant.configured()  # refuses unknown options
    return entrant


def _option(text: str, whole: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name.isidentifier() and value):
        raise InvalidInputError(f"an option is written name=value, not {text!r} as in {whole!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def of_forms(forms: Iterable[type[Form]]) -> list[Entrant]:
    """List every registered solver of some forms; those of broken packages are left out."""
    names = {name for form in forms for name in solvers_of(form)}
    found = []
    for name in SOLVERS:
        if name in names:
            try:
                found.append(Entrant(name, SOLVERS[name], {}))
            except LdpoptError:  # nobody asked for it; ldpopt list solvers says why
                continue
    return found


def together(chosen: Sequence[Entrant], plugins: Iterable[type[Solver[Any]]]) -> list[Entrant]:
    """Add solvers that are not registered; each must have a name of its own."""
    entrants = {entrant.name: entrant for entrant in chosen}
    for plugin in plugins:
        if plugin.name in SOLVERS or plugin.name in entrants:
            raise InvalidInputError(f"the solver name {plugin.name!r} of a plugin is taken")
        entrants[plugin.name] = Entrant(plugin.name, plugin, {})
    return list(entrants.values())
