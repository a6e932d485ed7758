"""ldpopt designs and audits privacy mechanisms by optimisation.

A question is a :class:`Problem`; :func:`solve` hands it to a :class:`Solver` and returns a
:class:`Result`: a :class:`Mechanism` with a certificate; :func:`verify` lets an independent checker
decide every claim of it. For a table of people, :func:`design` makes a mechanism, :func:`privatize`
releases reports, :func:`estimate` reads them, :func:`audit` attacks them, and :func:`report` writes a
page on it.

The rooms are attributes: ``ldpopt.problems``, ``ldpopt.solvers``, ``ldpopt.mechanisms``, …; each is
imported when it is used first.
"""

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; before a program has left the working directory,
if TYPE_CHECKING:  # nothing is imported that could lie there: not even the module typing
    from ldpopt import experiments, measures, mechanisms, models, problems, solvers, testing
    from ldpopt.audit.auditing import audit
    from ldpopt.core import certify, validate
    from ldpopt.core.form import Form, FormSolution, Stage, Status
    from ldpopt.core.forms.column_program import ColumnProgram, Columns
    from ldpopt.core.limits import Limits
    from ldpopt.core.mechanism import Mechanism
    from ldpopt.core.problem import Example, Measure, Problem
    from ldpopt.core.solver import Solver
    from ldpopt.engine.result import Certificate, Result, load
    from ldpopt.engine.solving import problem, solve, solve_many
    from ldpopt.engine.sweep import Experiment
    from ldpopt.engine.verifying import Verification, verify
    from ldpopt.models import objective, privacy
    from ldpopt.problems.column_problem import ColumnProblem
    from ldpopt.problems.composed_problem import ComposedProblem
    from ldpopt.problems.program import Program
    from ldpopt.release.designing import design
    from ldpopt.release.estimating import estimate
    from ldpopt.release.releasing import privatize
    from ldpopt.report.page import report

    __version__: str

__all__ = [
    "Certificate",
    "ColumnProblem",
    "ColumnProgram",
    "Columns",
    "ComposedProblem",
    "Example",
    "Experiment",
    "Form",
    "FormSolution",
    "Limits",
    "Measure",
    "Mechanism",
    "Problem",
    "Program",
    "Result",
    "Solver",
    "Stage",
    "Status",
    "Verification",
    "audit",
    "certify",
    "design",
    "estimate",
    "experiments",
    "load",
    "measures",
    "mechanisms",
    "models",
    "objective",
    "privacy",
    "privatize",
    "problem",
    "problems",
    "report",
    "solve",
    "solve_many",
    "solvers",
    "testing",
    "validate",
    "verify",
]

_ROOMS = (
    "audit",
    "experiments",
    "measures",
    "mechanisms",
    "models",
    "problems",
    "report",
    "solvers",
    "testing",
)
"""Modules of ldpopt itself; ``audit`` and ``report`` can be called, see :mod:`ldpopt.core.verb`."""
_TOOLS = {"certify": "core", "validate": "core", "objective": "models", "privacy": "models"}
"""Modules that a question or a solver of one's own needs, with their rooms."""
_HOMES = {
    "core.form": ("Form", "FormSolution", "Stage", "Status"),
    "core.forms.column_program": ("ColumnProgram", "Columns"),
    "core.limits": ("Limits",),
    "core.mechanism": ("Mechanism",),
    "core.problem": ("Example", "Measure", "Problem"),
    "core.solver": ("Solver",),
    "engine.result": ("Certificate", "Result", "load"),
    "engine.solving": ("problem", "solve", "solve_many"),
    "engine.sweep": ("Experiment",),
    "engine.verifying": ("Verification", "verify"),
    "problems.column_problem": ("ColumnProblem",),
    "problems.composed_problem": ("ComposedProblem",),
    "problems.program": ("Program",),
    "release.designing": ("design",),
    "release.estimating": ("estimate",),
    "release.releasing": ("privatize",),
}


if not TYPE_CHECKING:  # type checkers read the imports above, and report a name that is none of them

    def __getattr__(name):
        """Import a name when it is used first: ``import ldpopt`` alone loads no solver and no numpy."""
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = found = getattr(import_module(f"ldpopt.{home}"), name)
                return found
        if name in _ROOMS:
            return import_module(f"ldpopt.{name}")
        if name in _TOOLS:
            return import_module(f"ldpopt.{_TOOLS[name]}.{name}")
        if name == "__version__":
            return import_module("importlib.metadata").version("ldpopt")
        raise AttributeError(f"module 'ldpopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
