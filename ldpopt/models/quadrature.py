"""Quadrature rules for beta variables, and for the simplex by breaking sticks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, roots_jacobi

from ldpopt.core.validate import Array


class Rule(NamedTuple):
    """A quadrature rule for a beta variable Z: the values of Z and of 1 − Z, and their weights."""

    values: Array
    rest: Array
    weights: Array


def gauss_beta(a: float, b: float, order: int) -> Rule:
    """Build a Gauss–Jacobi quadrature for a Beta(a, b) variable, exact up to degree 2·order − 1.

    Args:
        a: the first parameter, > 0.
        b: the second parameter, > 0.
        order: the number of points.
    """
    with np.errstate(invalid="ignore"):  # for a + b = 1 SciPy computes 0/0 and does not use it
        x, w = roots_jacobi(order, b - 1, a - 1)
    return Rule((1 + x) / 2, (1 - x) / 2, w / w.sum())


def tanh_sinh_beta(a: float, b: float, level: int) -> Rule:
    """Build a double-exponential quadrature for a Beta(a, b) variable with step 2^−level.

    It needs no smoothness at 0 and 1: logarithms and powers there do not slow it down.

    Args:
        a: the first parameter, > 0.
        b: the second parameter, > 0.
        level: each level doubles the number of points.
    """
    h = 2.0**-level
    u = np.arange(-6.5 / h, 6.5 / h + 1) * h
    s = np.pi * np.sinh(u)
    # z = 1/(1 + e^{−s}); both tails keep their relative precision
    log_z, log_rest = -np.logaddexp(0, -s), -np.logaddexp(0, s)
    log_weight = a * log_z + b * log_rest - float(betaln(a, b))
    weight = np.exp(log_weight) * np.pi * np.cosh(u) * h
    keep = weight > 1e-22
    return Rule(np.exp(log_z[keep]), np.exp(log_rest[keep]), weight[keep] / weight[keep].sum())


def break_sticks(rules: list[Rule]) -> tuple[Array, Array]:
    """Build the tensor rule on the simplex from a rule for each relative stick length."""
    broken = _tensor([rule.values for rule in rules])
    left = np.cumprod(_tensor([rule.rest for rule in rules]), axis=1)
    points = np.hstack([broken, np.ones((len(broken), 1))])
    points[:, 1:] *= left
    return points, _tensor([rule.weights for rule in rules]).prod(axis=1)


def _tensor(axes: list[Array]) -> Array:
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
