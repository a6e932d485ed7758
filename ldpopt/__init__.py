"""ldpopt designs and audits privacy mechanisms by optimisation.

A question is a :class:`Problem`; :func:`solve` hands it to a :class:`Solver` and returns a
:class:`Result`: a :class:`Mechanism` with a certificate; :func:`verify` lets an independent checker
decide every claim of it.
"""

from __future__ import annotations

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Problem
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.engine.result import Certificate, Result, Verification, load, verify
from ldpopt.engine.solving import problem, solve
from ldpopt.forms.column_program import ColumnProgram, Columns

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "ColumnProgram",
    "Columns",
    "Example",
    "Form",
    "FormSolution",
    "Mechanism",
    "Problem",
    "Result",
    "Solver",
    "Status",
    "Verification",
    "load",
    "problem",
    "solve",
    "verify",
]
