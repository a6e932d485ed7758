"""Multi-start descent over the polytope of ε-LDP mechanisms, with analytic gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, minimize

from ldpopt.core.forms.matrix_program import MatrixProgram, SmoothObjective
from ldpopt.core.solver import UNLIMITED, Array, FormSolution, Limits, OutOfTime, Solver, Status
from ldpopt.measures.estimation_fidelity import block_size
from ldpopt.measures.moment_objectives import MomentObjective
from ldpopt.mechanisms.balanced_designs import difference_sets, two_level
from ldpopt.solvers._affine_prices import affine_proof
from ldpopt.solvers._phi_branch_and_bound import MOST_INPUTS as TREE_INPUTS
from ldpopt.solvers._phi_branch_and_bound import phi_proof
from ldpopt.solvers.optimal_design import MOST_INPUTS, certified, optimal_design

MOST_CIRCULANT = 200


class Descent(Solver[MatrixProgram]):
    """Local minima from many starts, the best kept: balanced designs and random two-level mechanisms.

    Circulants are minimised over their first row in a box (L-BFGS-B), square mechanisms over all
    entries under the linear constraints of ε-LDP (SLSQP). A supremum over distributions is the largest
    of several functions with gradients: it is descended in epigraph form from mechanisms of small φ.

    Args:
        starts: how many random starts to descend from.
    """

    def __init__(self, starts: int = 24) -> None:
        self.starts = starts

    def accepts(self, form: MatrixProgram) -> Literal[True] | str:
        """Accept circulant and square families."""
        if form.family == "broad":
            return "the number of outputs must be that of the inputs"
        if form.k > MOST_CIRCULANT:
            return f"{form.k} > {MOST_CIRCULANT} inputs are too many"
        return True

    def run(self, form: MatrixProgram, limits: Limits) -> FormSolution:
        """Descend from every start until the bound is met, the starts or the time are used up."""
        best = FormSolution(Status.LIMIT)
        value = math.inf
        with suppress(OutOfTime):
            for tried, found in enumerate(minima(form, self.starts, limits.part(0.7)), start=1):
                if (reached := form.objective(found)) < value:
                    value, stats = reached, {"starts": float(tried)}
                    best = FormSolution(Status.GAP, found, value, form.bound, form.proof, stats)
                    limits.keep(value, form.bound, partial(replace, best))
                if value <= form.bound * (1 + limits.gap / 4):
                    break
        with limits.proving():
            bound, proof = proven_bound(form, value, limits)
            return replace(best, bound=bound, proof=proof)


def proven_bound(
    form: MatrixProgram, value: float, limits: Limits
) -> tuple[float, dict[str, Any] | None]:
    """Return the form's own bound, or a better one: of free outputs, or of its family alone.

    Args:
        form: the matrix program.
        value: the least value found.
        limits: when to stop.
    """
    objective = form.objective
    if objective.loss == "phi" and 2 < form.k <= TREE_INPUTS[form.family] and math.isfinite(value):
        known = value <= form.bound * (1 + limits.gap / 4)
        return (form.bound, form.proof) if known else phi_proof(form, value, limits)
    if objective.is_design and form.k <= MOST_INPUTS:
        with suppress(OutOfTime):
            design = optimal_design(objective.prior, objective.loss, form.epsilon, limits.expired)
            return certified(design, objective.prior, objective.loss, form.epsilon, form.bound)
    elif objective.is_design:
        found = affine_proof(objective.prior, objective.loss, form.epsilon)
        return max(found, (form.bound, form.proof), key=lambda pair: pair[0])
    return form.bound, form.proof


def minima(form: MatrixProgram, starts: int, limits: Limits) -> Iterator[Array]:
    """Find mechanisms worth comparing: the balanced designs, then local minima from many starts.

    Args:
        form: the matrix program.
        starts: how many random starts to descend from.
        limits: the seed, and when to stop.

    Raises:
        OutOfTime: the time is over; the first mechanism comes in any case.
    """
    rng = limits.generator()
    designs = difference_sets(form.k, cyclic=form.family == "circulant")
    two_levels = [two_level(design.blocks(), form.epsilon) for design in designs]
    yield from two_levels
    objective = form.objective
    if objective.is_symmetric:
        for _ in range(starts):
            row = descend_circulant(_random_row(form, rng), form.epsilon, limits)
            yield np.array([np.roll(row, x) for x in range(form.k)])
    # larger matrices are improved as circulants only: k² variables are too many for many starts
    if form.family != "square" or form.k > 12:
        return
    parts = objective.parts
    average = [MomentObjective(objective.prior)] if len(parts) > 1 else parts
    drawn = (_random_square(form, rng) for _ in range(max(2, starts * 36 // max(36, form.k**2))))
    least = math.inf
    for matrix in itertools.chain(two_levels, drawn):
        found = descend_square(matrix, average, form.epsilon, limits)
        yield found
        if average is not parts and (reached := average[0].slope(found).value) < least * (1 - 1e-6):
            least = reached
            yield descend_square(found, parts, form.epsilon, limits)


def _random_row(form: MatrixProgram, rng: np.random.Generator) -> Array:
    """Draw a random row, nearly two-level with about the best block size."""
    size = np.clip(block_size(form.k, form.epsilon) + rng.integers(-1, 2), 1, form.k - 1)
    height = 0.1 * rng.random(form.k)
    height[rng.choice(form.k, size, replace=False)] += 0.9
    return 1 + math.expm1(form.epsilon) * height


def descend_circulant(row: Array, epsilon: float, limits: Limits = UNLIMITED) -> Array:
    """Find a local minimum over circulant mechanisms.

    For u ∈ [1, E]^K with spectrum û, φ = 1 + û₀² Σ_{j≥1} |û_j|⁻².

    Args:
        row: the first row to start from, scaled to entries in [1, E].
        epsilon: the level ε, in nats.
        limits: when to stop.

    Returns:
        The first row of the minimum, summing to 1.
    """

    def slope(u: Array) -> tuple[float, Array]:
        limits.check()
        spectrum = np.fft.fft(u)
        power = np.abs(spectrum[1:]) ** 2 + 1e-40
        total, tail = u.sum(), (1 / power).sum()
        weights = np.append(0.0, spectrum[1:].conj() / power**2)
        gradient = 2 * total * tail - 2 * total**2 * np.fft.fft(weights).real
        return float(1 + total**2 * tail), gradient

    # the descent is run on log φ, whose scale does not depend on ε
    def log_slope(u: Array) -> tuple[float, Array]:
        value, gradient = slope(u)
        return math.log(value), gradient / value

    E = math.exp(epsilon)
    found = minimize(
        log_slope,
        row,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(1, E),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500},
    )
    u = np.clip(found.x, 1, E)
    return u / u.sum()


def _random_square(form: MatrixProgram, rng: np.random.Generator) -> Array:
    """Draw a random two-level matrix, blended with the step mechanism until its rows sum to 1."""
    k = form.k
    blocks = np.array([rng.permutation(k) for _ in range(k)]) < block_size(k, form.epsilon)
    mixed = 1 + math.expm1(form.epsilon) * (0.7 * blocks + 0.3 * np.eye(k))
    return mixed / mixed.sum(axis=1, keepdims=True)


def descend_square(
    matrix: Array, parts: Sequence[SmoothObjective], epsilon: float, limits: Limits = UNLIMITED
) -> Array:
    """Find a local minimum of the largest of some functions over square mechanisms.

    Variables: the entries W and the least entry l_y of every column, with l_y ≤ W[x, y] ≤ E l_y and rows
    that sum to 1. Of several functions f_i a variable t ≥ log f_i(W) is minimised: the epigraph form.

    Args:
        matrix: the mechanism to start from.
        parts: the functions.
        epsilon: the level ε, in nats.
        limits: when to stop.
    """
    k, E = len(matrix), math.exp(epsilon)
    rows, levels = _constraints(k, E)

    def logarithms(v: Array) -> tuple[Array, Array]:
        """Compute the logarithm of every function and its gradient."""
        limits.check()
        values, gradients = np.full(len(parts), 1e3), np.zeros((len(parts), len(v)))
        for i, part in enumerate(parts):
            value, gradient = part.slope(v[: k * k].reshape(k, k))
            if math.isfinite(value) and value > 0:
                values[i], gradients[i, : k * k] = math.log(value), gradient.ravel() / value
        return values, gradients

    low = matrix.min(axis=0)
    start = np.concatenate([np.minimum(matrix, E * low).ravel(), low, [0.0]])
    start[-1] = logarithms(start)[0].max()
    linear = [LinearConstraint(rows, 1, 1), LinearConstraint(levels, 0, np.inf)]
    run = partial(
        minimize,
        x0=start,
        method="SLSQP",
        bounds=Bounds([*np.full(k * k + k, 1e-9), -np.inf], [*np.ones(k * k + k), np.inf]),
        options={"maxiter": 300, "ftol": 1e-14},
    )
    if len(parts) == 1:
        found = run(lambda v: [part[0] for part in logarithms(v)], jac=True, constraints=linear)
    else:
        top = np.eye(len(start))[-1]
        above = NonlinearConstraint(
            lambda v: v[-1] - logarithms(v)[0], 0, np.inf, jac=lambda v: top - logarithms(v)[1]
        )
        found = run(lambda v: (v[-1], top), jac=True, constraints=[*linear, above])
    return private(found.x[: k * k].reshape(k, k), epsilon)


def _constraints(k: int, E: float) -> tuple[Array, Array]:
    """Write rows that sum to 1, and l_y ≤ W[x, y] ≤ E l_y, for the variables (W, l, t)."""
    rows = np.zeros((k, k * k + k + 1))
    for x in range(k):
        rows[x, x * k : (x + 1) * k] = 1
    entries = np.eye(k * k, k * k + k + 1)
    least = np.zeros((k * k, k * k + k + 1))
    least[:, k * k : -1] = np.tile(np.eye(k), (k, 1))
    return rows, np.vstack([entries - least, E * least - entries])


def private(matrix: Array, epsilon: float) -> Array:
    """Mix the mechanism with the uniform one just enough to be ε-LDP in floating point."""
    W: Array = np.maximum(matrix, 0)
    W = W / W.sum(axis=1, keepdims=True)
    k = W.shape[1]
    excess = (W.max(axis=0) - math.exp(epsilon) * W.min(axis=0)).max()
    if excess <= 0:
        return W
    touch = excess / (excess + math.expm1(epsilon) / k)
    return (1 - touch) * W + touch / k
