"""Find the level from which on secret randomised response is optimal against all distributions.

Lopuhaä-Zwakenberg and Goseling 2021, Theorem 7. Its proof gives a dual solution α* with v̂·α* = μ(v̂)
for every column v̂ of the mechanism, (113) to (118). Three coefficients are printed wrongly: the
coefficient of e^ε in (114) is −(a − a2 − 1)(a2 − 2), (115) has a − a2 − 1, and (116) has e^ε. The
columns v̂ are linearly independent, so α* is the only candidate: the mechanism is optimal at ε exactly
if v·α* ≥ μ(v) for every generator v of the cone, (105).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import LEAST_EPSILON, MOST_EPSILON
from ldpopt.core.validate import Array
from ldpopt.models.cones import SecretCone, joint_secrets
from ldpopt.models.utilities import MutualInformation

MOST_INPUTS = 16
"""The most inputs a: all generators are listed, at least 2^a."""


def response_dual(prior: Any, epsilon: float) -> Array:
    """Compute α* of (113) to (116), corrected, for every input (s, u).

    >>> prior = np.array([[0.2, 0.1], [0.3, 0.4]])
    >>> alpha = response_dual(prior, 3.0).ravel()
    >>> v = np.array([math.exp(3), math.exp(-3), 1.0, 1.0])
    >>> bool(np.isclose(v @ alpha, MutualInformation(prior.ravel())(v[:, None])[0]))
    True
    """
    p = validate.distribution("prior", prior, ndim=2)
    (_, a2), a, E = p.shape, p.size, math.exp(epsilon)
    below = (E - 1) * (E - a2 + 1) * (E + (a2 - 1) / E + a - a2)
    own = -(a2 - 2) * (a2 - 1) - (a - a2 - 1) * (a2 - 2) * E + (a - 2 * a2 + 1) * E**2 + E**3
    near = a2 - 1 + (a - a2 - 1) * E
    secret = np.arange(a) // a2
    same = secret[:, None] == secret
    columns = np.where(np.eye(a), E, np.where(same, 1 / E, 1.0))
    factors = np.where(np.eye(a), own / (E + 1), np.where(same, near / (E + 1), -E)) / below
    found = factors @ MutualInformation(p.ravel())(columns)
    return np.asarray(found.reshape(p.shape))


def is_response_optimal(prior: Any, epsilon: float) -> bool:
    """Return whether secret randomised response maximises I(X; Y) at a level, by its dual solution."""
    p = validate.distribution("prior", prior, ndim=2)
    if p.size > MOST_INPUTS:
        raise InvalidInputError(f"the table may have at most {MOST_INPUTS} cells, not {p.size}")
    if math.isclose(math.exp(epsilon), p.shape[1] - 1, rel_tol=1e-9):
        return False  # α* has a pole there
    rays = SecretCone(joint_secrets(p.shape), epsilon).rays()
    slack = response_dual(p, epsilon).ravel() @ rays - MutualInformation(p.ravel())(rays)
    # a violation up to this, relative to the largest generator, counts as rounding
    return bool((slack / rays.max(axis=0)).min() >= -1e-12)


def response_threshold(prior: Any) -> float:
    """Compute ε₀ of Theorem 7, the level from which on secret randomised response is optimal.

    The levels of a grid up to 15 are tried from above, and the first change is bisected. The result is
    infinity if the mechanism is not optimal at the highest level.

    >>> round(response_threshold([[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]), 4)
    3.5033
    """
    # levels at which the dual solution is tried, and steps of the bisection between two of them
    levels = np.linspace(MOST_EPSILON / 2, 1e-2, 120)
    high = math.inf
    for level in levels.tolist():
        if not is_response_optimal(prior, level):
            break
        high = level
    else:
        return LEAST_EPSILON
    if high == math.inf:
        return math.inf
    low = level
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_response_optimal(prior, middle) else (middle, high)
    return high
