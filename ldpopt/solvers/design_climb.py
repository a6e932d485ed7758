"""The best mechanism for a known distribution of many inputs: columns by local search, not by a list."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from ldpopt.core.forms.matrix_program import MatrixProgram
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status
from ldpopt.solvers._affine_prices import affine_proof
from ldpopt.solvers.descent import private
from ldpopt.solvers.optimal_design import DesignProgram, Optimum
from ldpopt.solvers.truncated_block_designs import MOST_INPUTS, best_blocks

LEAST_GAIN = 1e-4
"""Two rounds in succession that lower the value by a smaller share are the last ones."""


class DesignClimb(Solver[MatrixProgram]):
    """An interior-point method over few staircase columns, to which a local search adds some in rounds.

    The first columns are single inputs and the blocks of a symmetric design on as many points or more,
    which is nearly the best for a uniform distribution. After each round every column of the optimum is
    climbed from: inputs go in and out of its set while the excess of its gain over its price rises.
    Nothing is proven by that; the bound is that of ``affine_proof``.
    """

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """Accept α at a known distribution, any number of outputs."""
        if form.family != "broad" or not form.objective.is_design:
            return "the number of outputs must be free and the distribution known"
        if form.k > MOST_INPUTS:
            return f"more than {MOST_INPUTS} inputs cannot be certified in seconds"
        return True

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Prove the bound, then solve and add columns until a round gains little or the time is over."""
        objective = form.objective
        p = objective.prior / objective.prior.sum()
        with limits.proving():
            bound, proof = affine_proof(p, objective.loss, form.epsilon)
            if bound <= form.bound:
                bound, proof = form.bound, form.proof
        searching = limits.part(0.9)
        blocks = best_blocks(form.k, form.epsilon)[: form.k].T
        sets = np.unique(np.vstack([np.eye(form.k), blocks]), axis=0)
        program = DesignProgram(p, objective.loss, form.epsilon, sets, searching.expired)
        best, value, idle = FormSolution(Status.LIMIT), np.inf, 0
        while True:
            found = program.optimum()
            matrix = private(found.matrix, form.epsilon)
            reached, before = objective(matrix), value
            if reached < value:
                value, stats = reached, {"outputs": float(matrix.shape[1])}
                best = FormSolution(Status.GAP, matrix, value, bound, proof, stats)
                limits.keep(value, bound, partial(replace, best))
            idle = 0 if value < (1 - LEAST_GAIN) * before else idle + 1
            proven = value <= bound * (1 + limits.gap / 4)
            if proven or idle == 2 or searching.expired() or not grow(program, found):
                return best


def grow(program: DesignProgram, found: Optimum) -> bool:
    """Drop the columns of no weight and add those that a climb from the others ends at, at most K.

    The gain of a column v is Σ_i c_i ((Σv)_i)²/(p·v), c_i the derivative of the cost by Σ_ii, its price
    β·v.

    Args:
        program: the program whose columns change.
        found: its optimum.

    Returns:
        Whether a column was added.
    """
    p, excess, covariance, beta = program.p, program.excess, found.covariance, found.beta
    variances = np.diag(covariance)
    weights = 0.5 / np.sqrt(variances) if program.loss == "tv" else program.weights()
    form = (covariance * weights) @ covariance
    kept = program.theta > 1e-9 * program.theta.max()
    sets = program.sets[kept]
    climbed = sets.copy()
    best = np.full(len(sets), -np.inf)
    for _ in range(2 * program.k):
        turn = 1 - 2 * climbed  # 1 where an input would go in, −1 where it would go out
        pull = climbed @ form
        square = (pull * climbed).sum(axis=1)[:, None] + 2 * turn * pull + np.diag(form)
        mass = 1 + excess * ((climbed @ p)[:, None] + turn * p)
        price = beta.sum() + excess * ((climbed @ beta)[:, None] + turn * beta)
        excesses = excess**2 * square / mass - price
        at = excesses.argmax(axis=1)
        reached = excesses[np.arange(len(sets)), at]
        better = np.flatnonzero(reached > best + 1e-12 * np.abs(beta).sum())
        if len(better) == 0:
            break
        climbed[better, at[better]] = 1 - climbed[better, at[better]]
        best[better] = reached[better]
    old = {row.tobytes() for row in sets}
    order = np.argsort(-best)
    unique: dict[bytes, Array] = {}
    for i in order[best[order] > 0]:
        if climbed[i].tobytes() not in old:
            unique.setdefault(climbed[i].tobytes(), climbed[i])
    new = np.array(list(unique.values())[: program.k]).reshape(-1, program.k)
    little = 1e-3 * program.theta[kept].mean()
    program.theta = np.append(program.theta[kept], np.full(len(new), little))
    program.sets = np.vstack([sets, new])
    program.q = 1 + excess * program.sets @ p
    program.taken = np.arange(len(program.sets))
    return len(new) > 0
