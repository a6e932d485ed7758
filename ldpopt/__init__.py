"""ldpopt designs and audits privacy mechanisms by optimisation.

A question is a :class:`Problem`; :func:`solve` hands it to a :class:`Solver` and returns a
:class:`Result`: a :class:`Mechanism` with a certificate; :func:`verify` lets an independent checker
decide every claim of it.
"""

from __future__ import annotations

from ldpopt.forms import ColumnProgram, Columns, Form, FormSolution
from ldpopt.mechanism import Mechanism
from ldpopt.problem import Example, Problem
from ldpopt.result import Certificate, Result, Verification, load, verify
from ldpopt.solver import Solver
from ldpopt.solving import problem, solve
from ldpopt.status import Status

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
