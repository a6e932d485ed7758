"""Bound the worst joint distribution from both sides by one linear program, for very many cells."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from ldpopt.core import highs
from ldpopt.core.certify import printed_above
from ldpopt.core.exact import printed, rare_cells_bound
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.measures.exposure_from_marginals import exact_marginals


class JointLp(Solver[JointProgram]):
    """Fill every cell up to the threshold as far as the marginals allow; put the rest on few cells.

    Maximise Σ s_v, 0 ≤ s_v ≤ min(t, U_v), with no more mass in any value than its marginal: the small
    cells of every joint are such an s, so the optimum is a bound, and its multipliers prove it (one
    leaf of the proof tree). What the marginals still miss goes to at most as many cells as there are
    values, which may cease to be small: this loses at most t times that number. The bound does not see
    that the rest must lie somewhere, so the two ends stay apart by about as much.
    """

    def accepts(self, form: JointProgram) -> Literal[True] | str:
        """Accept joint programs whose cells can be listed."""
        return form.fits(200_000)

    def run(self, form: JointProgram, limits: Limits) -> FormSolution:
        """Solve the program, place the rest, and evaluate the proof exactly."""
        product = form.mass[form.rows].prod(axis=1)
        nothing = np.zeros(len(form.mass))
        limits.keep(form.exposed(product), 1.0, lambda: _claimed(form, product, nothing, limits))
        limits.check()
        small, dual = _filled(form, limits)
        found = small + _placed(form, small)
        with limits.proving():
            return _claimed(form, max(found, product, key=form.exposed), dual, limits)


def _filled(form: JointProgram, limits: Limits) -> tuple[Array, Array]:
    """Fill the cells in units of the threshold; the masses, and the multipliers of the marginals."""
    cells, parts = form.rows.shape
    entries = (np.ones(cells * parts), (form.rows.ravel(), np.repeat(np.arange(cells), parts)))
    program: Any = {
        "A_ub": csr_array(entries, shape=(len(form.mass), cells)),
        "b_ub": form.mass / form.threshold,
        "bounds": np.column_stack([np.zeros(cells), form.most_small / form.threshold]),
        "options": highs.scipy_options(limits),
    }
    found = linprog(-np.ones(cells), method="highs", **program)
    if found.x is None:
        return np.zeros(cells), np.zeros(len(form.mass))
    dual = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    return np.clip(found.x * form.threshold, 0.0, form.most_small), dual


def _placed(form: JointProgram, small: Array) -> Array:
    """Place what the marginals miss on few cells, the values with most of it first."""
    starts = np.cumsum([0, *(len(p) for p in form.marginals)])
    met = np.zeros(len(form.mass))
    np.add.at(met, form.rows, small[:, None])
    rest = np.maximum(form.mass - met, 0.0)
    left = [rest[a:b].copy() for a, b in pairwise(starts)]
    order = [np.argsort(-part, kind="stable").tolist() for part in left]
    strides = np.cumprod([1, *(len(p) for p in form.marginals[:0:-1])])[::-1]
    result = np.zeros(len(small))
    while all(order):
        values = [queue[0] for queue in order]
        mass = min(float(part[v]) for part, v in zip(left, values, strict=True))
        result[int(np.dot(values, strides))] += mass
        for part, queue, v in zip(left, order, values, strict=True):
            part[v] -= mass
            if part[v] <= 0:
                queue.pop(0)
    return result


def _claimed(form: JointProgram, joint: Array, dual: Array, limits: Limits) -> FormSolution:
    """Return the joint, with the bound that one leaf proves."""
    leaf: dict[str, Any] = {"dual": dual.tolist(), "cuts": []}
    return claimed(form, joint, {"cuts": [], "tree": [leaf]}, {"cells": form.size()}, limits)


def claimed(
    form: JointProgram, joint: Array, proof: dict[str, Any], stats: dict[str, float], limits: Limits
) -> FormSolution:
    """Return a joint, with the bound that the proof really proves.

    Args:
        form: the program.
        joint: the masses of the cells.
        proof: cuts and a tree, as the checker reads them.
        stats: the statistics of the solve.
        limits: the limits of the run.
    """
    exact = rare_cells_bound(
        exact_marginals(form.marginals), printed(form.threshold), proof, "the proof"
    )
    value, bound = form.exposed(joint), printed_above(exact)
    status = Status.OPTIMAL if bound <= value * (1 + limits.gap) else Status.GAP
    return FormSolution(status, joint, value, bound, proof, stats)
