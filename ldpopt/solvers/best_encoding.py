"""Choose the parameters of an encoding that give the least squared error at a level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from ldpopt.core.exact import MOST_BUCKETS, encoding_error, exp_below, read_encoding
from ldpopt.core.form import FormSolution
from ldpopt.core.forms.encoding_choice import EncodingChoice
from ldpopt.core.limits import Limits
from ldpopt.core.solver import Solver
from ldpopt.core.status import Status
from ldpopt.core.validate import Array

GRID = 2**52


class BestEncoding(Solver[EncodingChoice]):
    """Compare all sizes of subsets or primes; search the probabilities of unary encoding.

    Every probability is the best multiple of 2^−52 that the level allows, in exact arithmetic. Whether
    another choice of probabilities of unary encoding is better is not proven.
    """

    name: ClassVar[str] = "best-encoding"

    def run(self, form: EncodingChoice, limits: Limits) -> FormSolution:
        """Find the parameters."""
        choose = {"unary": _unary, "subset": _subset, "hashing": _hashing}[form.encoding]
        answer = {"kind": form.encoding, "inputs": form.inputs, **choose(form)}
        return FormSolution(Status.FEASIBLE, answer, float(encoding_error(read_encoding(answer))))


def _error(k: int, own: Any, other: Any) -> Any:
    """Compute k s (1 − s)/(p − q)², s = q + (p − q)/k, in floats."""
    s = other + (own - other) / k
    return k * s * (1 - s) / (own - other) ** 2


def _unary(form: EncodingChoice) -> dict[str, Any]:
    """Search p; q is the least that the level allows: p (1 − q) ≤ e^ε q (1 − p).

    For many inputs p tends to 1/2, optimised unary encoding (Wang et al. 2017).
    """
    factor, E = math.exp(form.epsilon), exp_below(form.epsilon)

    def found_error(own: float) -> float:
        return float(_error(form.inputs, own, own / (own + (1 - own) * factor)))

    found = minimize_scalar(
        found_error, bounds=(1e-3, 1 - 1e-3), method="bounded", options={"xatol": 1e-9}
    )
    own = Fraction(round(float(found.x) * GRID), GRID)
    other = own / (own + (1 - own) * E)
    return {"own": float(own), "other": math.ceil(other * GRID) / GRID}


def _subset(form: EncodingChoice) -> dict[str, Any]:
    """Compare all sizes m; p (k − m) ≤ e^ε (1 − p) m."""
    k, factor = form.inputs, math.exp(form.epsilon)
    m = np.arange(1, k)
    own = m * factor / (m * factor + k - m)
    best = int(m[_least(_error(k, own, (m - own) / (k - 1)))])
    E = exp_below(form.epsilon)
    return {"own": _floor(best * E / (best * E + k - best)), "size": best}


def _hashing(form: EncodingChoice) -> dict[str, Any]:
    """Compare all primes g; p (g − 1) ≤ e^ε (1 − p)."""
    g = np.array([form.buckets] if form.buckets else list(_primes(MOST_BUCKETS)))
    own = math.exp(form.epsilon) / (math.exp(form.epsilon) + g - 1)
    best = int(g[_least(_error(form.inputs, own, 1 / g))])
    E = exp_below(form.epsilon)
    return {"own": _floor(E / (E + best - 1)), "buckets": best}


def _least(errors: Array) -> int:
    return int(np.argmin(errors))


def _floor(share: Fraction) -> float:
    """Round a probability down to a multiple of 2^−52; 1 itself is none of an encoding."""
    return min(math.floor(share * GRID), GRID - 1) / GRID


def _primes(most: int) -> Iterator[int]:
    return (n for n in range(2, most + 1) if all(n % d for d in range(2, math.isqrt(n) + 1)))
