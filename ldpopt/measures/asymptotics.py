"""The utility of very many reports and bounds on it.

Lopuhaä-Zwakenberg et al. 2019, (6.1) and Section 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ldpopt.core.mechanism import Channel
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.fisher import information, mechanism_information
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.measures.tallies import merged
from ldpopt.mechanisms.encodings import SetMechanism
from ldpopt.models.priors import Dirichlet, Prior, dirichlet_prior

HALF_LOG_2PIE = 0.5 * math.log(2 * math.pi * math.e)
LARGEST_FINE = 4
"""Up to this many values the rules are double-exponential: their error is far below their difference."""
CONVERGED = 1e-4
"""Where two Gauss rules differ by more, they have not begun to converge: at ε = 10 with six values their
difference is a fifth of the error. Below, it was at least twice the error wherever it was measured."""
LogDet = Callable[[Array], Array]


def unobfuscated_utility(prior: Prior) -> float:
    """Compute C_μ = U^as of the identity, −½ log 2πe − Σ_x E log P_x / (2a − 2)."""
    a = dirichlet_prior("the asymptotic utility", prior).size
    return -HALF_LOG_2PIE - float(prior.expected_log(np.eye(a)).sum()) / (2 * a - 2)


def utility(mechanism: Channel, prior: Prior, method: str, seed: int) -> Estimate:
    """Compute U^as of a faithful mechanism.

    Args:
        mechanism: a mechanism of full rank.
        prior: the prior of P, a Dirichlet.
        method: "auto"; "exact" for a closed form or quadrature; "monte-carlo" draws.
        seed: the seed of the Monte Carlo draws.

    Raises:
        InvalidInputError: the prior is not a Dirichlet, or "exact" was asked for and is not known.
    """
    prior = dirichlet_prior("the asymptotic utility", prior)
    a = prior.size
    if isinstance(mechanism, SetMechanism):
        informed = partial(mechanism_information, mechanism=mechanism)
    else:
        W = merged(mechanism.matrix)
        informed = partial(information, columns=W)
        if W.shape[1] == a and method != "monte-carlo":
            # det(Qᵀ D Q) = det(Q)² Π 1/(Qp)_y, (D.10)
            log_det = 2 * float(np.linalg.slogdet(W)[1]) - float(prior.expected_log(W).sum())
            return Estimate(log_det).through(1 / (2 * a - 2), -HALF_LOG_2PIE)

    def log_det_of(points: Array) -> Array:
        return np.asarray(np.linalg.slogdet(informed(points))[1])

    expected = expected_value(log_det_of, mechanism.epsilon(), prior, method, seed)
    return expected.through(1 / (2 * a - 2), -HALF_LOG_2PIE)


def expected_value(f: LogDet, epsilon: float, prior: Dirichlet, method: str, seed: int) -> Estimate:
    """Compute E f(P), by the sharpest rule that the dimension allows.

    Args:
        f: a function of points, one per row, smooth inside the simplex.
        epsilon: the level of the mechanism behind f.
        prior: the prior of P.
        method: "auto", "exact" (quadrature, else refused) or "monte-carlo".
        seed: the seed of the draws.

    Raises:
        InvalidInputError: "exact" was asked for, and there are too many values or the rules disagree.
    """
    a = prior.size
    # beyond this many values the expectation over P is sampled
    largest = 6 if epsilon < math.inf else LARGEST_FINE
    if a > largest and method == "exact":
        raise InvalidInputError(
            f"U^as is computed exactly for at most {largest} values at level {epsilon:.6g}, or for as "
            f"many outputs as inputs once proportional outputs are merged, not for {a} values; "
            "use method='auto' or 'monte-carlo'"
        )
    if method == "monte-carlo" or a > largest:
        return _sampled(f, epsilon, prior, seed)
    found = _integrated(f, prior)
    if a <= LARGEST_FINE or found.error <= CONVERGED:
        return found
    if method == "exact":
        raise InvalidInputError(
            f"the expectation is computed exactly for at most {LARGEST_FINE} values or where two Gauss "
            f"rules agree to {CONVERGED:g}, not for {a} values where they differ by {found.error:.2g}; "
            "use method='auto' or 'monte-carlo'"
        )
    return _sampled(f, epsilon, prior, seed)


def _integrated(f: LogDet, prior: Dirichlet) -> Estimate:
    """Integrate by quadrature; the error stated is the difference to a coarser rule."""
    a = prior.size
    if a <= LARGEST_FINE:
        fine, coarse = {2: (6, 5), 3: (4, 3), 4: (3, 2)}[a]
        rules = [prior.fine_nodes(fine), prior.fine_nodes(coarse)]
    else:
        degrees = {5: (21, 17), 6: (13, 11)}[a]
        rules = [prior.nodes(degree) for degree in degrees]
    best, other = (float(weights @ _blockwise(f, points)) for points, weights in rules)
    return Estimate(best, abs(best - other) + ROUNDING, "quadrature")


def _blockwise(f: LogDet, points: Array) -> Array:
    # a point on the boundary to rounding would divide by zero
    inside = np.maximum(points, 1e-290)
    # numbers in the matrices that are held at a time
    step = max(1, 4_000_000 // inside.shape[1] ** 2)
    return np.concatenate([f(inside[i : i + step]) for i in range(0, len(inside), step)])


def _sampled(f: LogDet, epsilon: float, prior: Dirichlet, seed: int) -> Estimate:
    """Estimate by Monte Carlo with Σ_x log(1 + β P_x), whose mean is known, as control variate."""
    k = prior.size
    draws = 4000 if k <= 10 else int(np.clip(64e9 / k**3, 64, 400))  # k³ is the work of a determinant
    beta = math.expm1(min(epsilon, 20.0))
    points = np.maximum(prior.sample(draws, np.random.default_rng(seed)), 1e-290)
    values = _blockwise(f, points)
    control = np.log1p(beta * points).sum(axis=1)
    known = float(prior.expected_log(1 + beta * np.eye(k)).sum())
    away, short = control - control.mean(), control.mean() - known
    spread = float(away @ away) or math.inf
    slope = float(away @ values) / spread
    # few draws with long tails pull the slope to themselves: without draw i the residual is r/(1 − h)
    residuals = values - values.mean() - slope * away
    weights, leverage = 1 / draws - short * away / spread, 1 / draws + away**2 / spread
    error = float(np.linalg.norm(weights * residuals / (1 - leverage)))
    return Estimate(float(values.mean()) - slope * short, error + ROUNDING * k, "monte-carlo")
