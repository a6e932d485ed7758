"""The best mechanism that prices alone prove to be of bounded leakage: one linear program."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, coo_array, csr_array, eye_array, kron

from ldpopt.core import highs
from ldpopt.core.errors import SolverError
from ldpopt.core.forms.selections import LeakageProgram
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.core.validate import Array

_TIGHT: dict[str, float] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Inner(NamedTuple):
    """A mechanism within the budget, its prices, and the multipliers of its rows and entries.

    The multipliers are a fractional selection, and how much of each output its rows take: those of the
    relaxation of the worst selection.
    """

    matrix: Array
    prices: Array
    rows: Array
    entries: Array


def inner_program(form: LeakageProgram, limits: Limits) -> Inner:
    """Find the best mechanism that prices alone prove to be of bounded leakage.

    Variables in order: W, the excess s ≥ W − v, the prices v, the gains u of the groups, the cost, and
    with a level the least entry of each output. A constant release is always among them.

    Raises:
        OutOfTime: the limits are over before the linear program is solved.
    """
    limits.check()
    m, n = form.costs.shape
    count = int(form.groups.max()) + 1
    size = m * n
    own = csr_array(coo_array((np.ones(m), (np.arange(m), form.groups)), shape=(m, count)))
    sums = kron(eye_array(m), np.ones((1, n)))
    each = kron(np.ones((m, 1)), eye_array(n))
    one = np.ones
    blocks: Any = [
        [block_diag(form.costs[:, None, :]), None, None, None, -one((m, 1))],
        [None, sums, None, -own, None],
        [eye_array(size), -eye_array(size), -each, None, None],
        [None, None, csr_array(one((1, n))), csr_array(one((1, count))), None],
    ]
    upper: Any = block_array(blocks, format="csr")
    right = np.concatenate([np.zeros(m + m + size), [math.exp(form.leakage)]])
    before = upper.shape[1]
    if form.epsilon is not None:
        rest = csr_array((size, before - size))
        least: Any = [
            [upper, None],
            [block_array([[eye_array(size), rest]]), -math.exp(form.epsilon) * each],
            [block_array([[-eye_array(size), rest]]), each],
        ]
        upper = block_array(least, format="csr")
        right = np.concatenate([right, np.zeros(2 * size)])
    total: Any = block_array([[sums, csr_array((m, upper.shape[1] - size))]], format="csr")
    cost = np.zeros(upper.shape[1])
    cost[before - 1] = 1
    arguments: Any = {
        "A_ub": upper,
        "b_ub": right,
        "A_eq": total,
        "b_eq": np.ones(m),
        "options": {**_TIGHT, **highs.scipy_options(limits)},
    }
    found = linprog(cost, method="highs-ds", **arguments)
    if found.status == 1:
        raise OutOfTime
    if found.status == 2:  # a constant release is feasible, but near ε = 0 rounding hides it from HiGHS
        return Inner(*constant_release(form), np.zeros(m), np.zeros((m, n)))
    if found.x is None:
        raise SolverError(f"HiGHS ended with: {found.message}")
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    return Inner(
        matrix=found.x[:size].reshape(m, n),
        prices=np.maximum(found.x[2 * size : 2 * size + n], 0.0),
        rows=weights[m : 2 * m],
        entries=weights[2 * m : 2 * m + size].reshape(m, n),
    )


def constant_release(form: LeakageProgram) -> tuple[Array, Array]:
    """Find the cheapest mechanism with a constant release, and the prices that prove no leakage."""
    m, n = form.costs.shape
    matrix, prices = np.zeros((m, n)), np.zeros(n)
    y = int(form.costs.max(axis=0).argmin())
    matrix[:, y] = prices[y] = 1.0
    return matrix, prices
