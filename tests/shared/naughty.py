"""Solvers that lie, crash, refuse or are interrupted, and a small benchmark of them."""

import numpy as np

from ldpopt import ColumnProgram, Columns, FormSolution, Solver, Status
from ldpopt.bench import benchmark as bench
from ldpopt.solvers import SOLVERS


class Liar(Solver[ColumnProgram]):
    """Claims that no mechanism tells anything."""

    name = "liar"

    def run(self, form, limits):
        k = form.cone.dimension
        nothing = Columns(np.ones(1), np.ones((k, 1)))
        return FormSolution(Status.OPTIMAL, nothing, 0.0, bound=0.0, proof={"dual": [0.0] * k})


class Unproven(Liar):
    name = "unproven"

    def run(self, form, limits):
        return FormSolution(Status.OPTIMAL, super().run(form, limits).point, 0.0, bound=0.0)


class Defeatist(Liar):
    name = "defeatist"

    def run(self, form, limits):
        return FormSolution(Status.INFEASIBLE)


class Crash(Liar):
    name = "crash"

    def run(self, form, limits):
        raise ZeroDivisionError("in two\nlines")


class Quitter(Liar):
    name = "quitter"

    def run(self, form, limits):
        raise SystemExit(0)


class Clumsy(Liar):
    name = "clumsy"

    def accepts(self, form):
        raise KeyError("accepts")


class Recluse(Liar):
    name = "recluse"

    def accepts(self, form):
        return "never <b>any|thing</b>"


class Impatient(Liar):
    """The user presses Ctrl-C at the fifth input."""

    name = "impatient"

    def run(self, form, limits):
        if form.cone.dimension == 5:
            raise KeyboardInterrupt
        return SOLVERS["enumerate"]().run(form, limits)


class Polite(Impatient):
    """It ends with what it has, as column generation does."""

    name = "polite"

    def run(self, form, limits):
        try:
            return super().run(form, limits)
        except KeyboardInterrupt:
            return FormSolution(Status.LIMIT, stats={"interrupted": 1.0})


def small(*added, target="staircase", sizes=(3,), solvers=("enumerate", "cdd")):
    return bench.run(target, sizes=sizes, solvers=solvers, plugins=added)


def of(found, solver):
    return [row for row in found.rows if row["solver"] == solver]
