"""A bound on α at a known distribution of many inputs: prices that are affine in the probabilities."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ldpopt.core import certify
from ldpopt.core.exact import affine_bound, exp_above
from ldpopt.core.validate import Array

STARTS = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.0), (0.2, 0.3, -0.1))
"""κ'/Kκ, t and λ'/Kκ of the lemma where the search begins."""


def affine_proof(p: Array, loss: str, epsilon: float) -> tuple[float, dict[str, Any] | None]:
    """Find the five numbers of ``affine_bound`` that prove most, and what they prove.

    κ is 1, and λ the least that the others allow, so that three numbers are sought. It costs K² or so,
    where an optimal design has 2^K columns to price.

    Args:
        p: the distribution to be learnt, all entries positive.
        loss: "f-divergence", "mse" or "tv".
        epsilon: the level ε, in nats.

    Returns:
        The bound and its proof, or 0 and None if nothing is proven.
    """
    k, excess = len(p), math.expm1(epsilon)
    ordered = np.sort(p / p.sum())
    low, high = (np.append(0.0, np.cumsum(entries))[:, None] for entries in (ordered, ordered[::-1]))
    m = np.arange(k + 1)[:, None]
    x = low + (high - low) * (1 - np.cos(np.linspace(0, np.pi, 33))) / 2
    weights = 1 / ordered if loss == "f-divergence" else np.ones(k)

    def least_price(slope: float, share: float, tilt: float) -> float:
        mass, rho = 1 + excess * x, (1 - share) * m / k + share * x
        gain = (m + k * slope * x) * (1 - 2 * rho) + rho**2 * k * (1 + slope)
        return float(((excess**2 * gain / mass - k * tilt * mass) / (k + excess * m)).max())

    def cost(v: Array) -> float:
        slope, share, tilt = v.tolist()
        squares = 1 + k * slope * ordered
        total = k * (least_price(slope, share, tilt) + tilt)
        if squares.min() < 0 or not 0 <= share <= 1 or total <= 0:
            return math.inf
        own = np.sqrt(squares) * (1 - (1 - share) / k - share * ordered)
        power = own ** (2 / 3) if loss == "tv" else own * np.sqrt(weights)
        return math.log(total) - (3 if loss == "tv" else 2) * math.log(power.sum())

    best = (math.inf, STARTS[0])
    for start in STARTS:
        found = np.array(start)
        for _ in range(2):
            simplex = found + np.vstack([np.zeros(3), np.diag([0.2, 0.1, 0.05])])
            found = minimize(
                cost,
                found,
                method="Nelder-Mead",
                options={"maxiter": 600, "xatol": 1e-7, "fatol": 1e-10, "initial_simplex": simplex},
            ).x
        best = min(best, (cost(found), tuple(found.tolist())))
    slope, share, tilt = best[1]
    exact = [Fraction(entry) for entry in p.tolist()]
    source = [entry / sum(exact) for entry in exact]
    price, room = least_price(slope, share, tilt), 1e-12
    while room < 0.1:
        squares, beta = [1.0, k * slope], [price + room * abs(price), k * tilt]
        one, other = ([Fraction(entry) for entry in pair] for pair in (squares, beta))
        proven = affine_bound(source, exp_above(epsilon), loss, one, Fraction(share), other)
        if proven is not None:
            proof = {"squares": squares, "share": share, "beta": beta}
            return certify.value_below(proven), proof
        room *= 8
    return 0.0, None
