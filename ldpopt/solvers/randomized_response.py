"""Secret randomised response: a known mechanism to compare with."""

from __future__ import annotations

import math
from collections import Counter
from typing import ClassVar, Literal

import numpy as np

from ldpopt.core.forms.column_program import ColumnProgram, Columns
from ldpopt.core.solver import FormSolution, Limits, Solver, Status
from ldpopt.models.cones import names_secrets


class RandomizedResponse(Solver[ColumnProgram]):
    """Secret randomised response; k-ary randomised response if all of x is secret.

    Lopuhaä-Zwakenberg and Goseling 2021, (18). Optimal for large ε only (Theorem 7): no proof for
    others.
    """

    automatic: ClassVar[bool] = False

    def accepts(self, form: ColumnProgram) -> Literal[True] | str:
        """Accept column programs over a secret's cone, with as many public values for every secret."""
        if not names_secrets(form.cone):
            return "is private for every distribution, and this cone does not ask for that"
        if len(set(Counter(form.cone.secrets).values())) > 1:
            return "needs as many inputs for every secret"
        return True

    def run(self, form: ColumnProgram, limits: Limits) -> FormSolution:
        """Build the columns of the mechanism."""
        assert names_secrets(form.cone)
        E = math.exp(form.cone.epsilon)
        secret = np.array([form.cone.secrets.index(s) for s in form.cone.secrets])
        rows = np.where(secret[:, None] == secret, 1 / E, 1.0)
        np.fill_diagonal(rows, E)
        rows /= rows.sum(axis=1, keepdims=True)
        columns = Columns(np.ones(len(secret)), rows)
        return FormSolution(Status.FEASIBLE, columns, float(form.utility(rows).sum()))
