"""Products of linear forms, Π_y (W[:, y]·u)^{s_y}, on the grid of the first k − 1 exponents."""

from __future__ import annotations

import math

import numpy as np

from ldpopt.core.validate import Array
from ldpopt.measures.tallies import Tallies


def one(k: int, n: int) -> Array:
    """Return the polynomial 1 on the grid of exponents up to n."""
    result = np.zeros((n + 1,) * (k - 1))
    result[(0,) * (k - 1)] = 1.0
    return result


def times_form(f: Array, form: Array) -> Array:
    """Multiply a homogeneous polynomial by the linear form."""
    product: Array = form[-1] * f
    for x, q in enumerate(form[:-1]):
        up = tuple(slice(1, None) if z == x else slice(None) for z in range(f.ndim))
        down = tuple(slice(None, -1) if z == x else slice(None) for z in range(f.ndim))
        product[up] += q * f[down]
    return product


def expanded(columns: Array, counts: Tallies) -> tuple[Array, float]:
    """Expand Π_y (W[:, y]·u)^{s_y}: its coefficients, and the log of their common factor.

    Args:
        columns: the forms W[x, y].
        counts: the powers s.
    """
    result, log_scale = one(len(columns), int(counts.sum())), 0.0
    for form, times in zip(columns.T, counts, strict=True):
        for _ in range(times):
            result = times_form(result, form / form.max())
            log_scale += math.log(form.max())
    return result, log_scale
