"""The entropy of P to some digits, and the prior that hides least (Lopuhaä-Zwakenberg et al. 2019)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, xlogy

from ldpopt.core import validate
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures.channel import matrix_of
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.models.priors import Dirichlet
from ldpopt.models.quadrature import gauss_beta

MOST_CELLS = 3000


def discretised_entropy(prior: Dirichlet, digits: float) -> Estimate:
    """Compute H of the first a − 1 frequencies rounded to the lattice e^−d ℤ, for a = 2 or 3.

    Lemma 4.7: at d = digit utility of n users it nears I(Y; P) as n grows, because it is
    h(P) + (a − 1) d up to what vanishes. The paper rounds all a frequencies. Then the last one tells
    more than the others fix, and the difference does not vanish: for three values and e^d a whole number
    it tends to the entropy of (1/8, 3/4, 1/8), 0.736 nats.

    Args:
        prior: the prior of P, with two or three values.
        digits: d ≥ 0, in base e; at most e^d = 3000 steps.

    >>> round(discretised_entropy(Dirichlet.uniform(2), math.log(100)), 2)
    4.61
    """
    step = math.exp(-digits)
    if not (digits >= 0 and step * MOST_CELLS >= 1):
        raise InvalidInputError(f"digits must be from 0 to log {MOST_CELLS}, not {digits!r}")
    if prior.size not in (2, 3):
        raise InvalidInputError(f"P is discretised for 2 or 3 values, not {prior.size}")
    edges = np.clip((np.arange(math.ceil(1 / step) + 2) - 0.5) * step, 0.0, 1.0)
    chances = _cells(prior, edges)
    return Estimate(-float(xlogy(chances, chances).sum()), ROUNDING * len(edges), "quadrature")


def _cells(prior: Dirichlet, edges: Array) -> Array:
    """Compute the probability of every cell of the first a − 1 frequencies."""
    a, rest = prior.sticks()[0]
    if prior.size == 2:
        return np.diff(betainc(a, rest, edges))
    b, c = prior.sticks()[1]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    scale = np.diff(betainc(a, rest, edges))
    rows = []
    for low, high, mass in zip(edges[:-1], edges[1:], scale, strict=True):
        if mass <= 0:
            continue
        # equal shares of the mass of P_1 within the cell, by its density
        p = low + (high - low) * (nodes + 1) / 2
        density = weights * np.exp(xlogy(a - 1, p) + xlogy(rest - 1, 1 - p))
        if low == 0 or high == 1:
            p, density = _edge_rule(a, rest, low, high)
        inside = betainc(b, c, np.clip(edges / np.maximum(1 - p, 1e-300)[:, None], 0.0, 1.0))
        rows.append(mass * (density / density.sum()) @ np.diff(inside, axis=1))
    return np.array(rows)


def _edge_rule(a: float, b: float, low: float, high: float) -> tuple[Array, Array]:
    """Choose points of Beta(a, b) within [low, high] where its density has a pole at an end."""
    nodes, _, weights = gauss_beta(a, 1.0, 12) if low == 0 else gauss_beta(1.0, b, 12)
    p = low + (high - low) * nodes
    smooth = (1 - p) ** (b - 1) if low == 0 else p ** (a - 1)
    return p, weights * smooth


class WorstPrior(NamedTuple):
    """A distribution under which one output hides hardly more than worst-case privacy.

    Attributes:
        output: the output y.
        likely: the value x that y makes e^LDP times as likely as ``other``.
        other: x'.
        p: the distribution, 1 − δ on x and δ on x'.
        hidden: H(X | Y = y)/H(X) under p, which tends to e^−LDP as δ → 0.
    """

    output: int
    likely: int
    other: int
    p: Array
    hidden: Estimate


def worst_prior(m: Any, *, delta: float = 1e-6) -> WorstPrior:
    """Build the witness of Theorem 5.3 that Remark 5.4 describes.

    The worst case is a limit: δ → 0 makes ``hidden`` fall to e^−LDP, and no δ > 0 reaches it (but
    for a level of 0 or ∞).

    >>> from ldpopt import Mechanism
    >>> flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    >>> round(worst_prior(flip, delta=1e-12).hidden, 3), round(math.exp(-flip.epsilon()), 3)
    (0.346, 0.333)
    """
    delta, W = validate.share("delta", delta), matrix_of(m)
    high, low = W.max(axis=0), W.min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = int(np.argmax(np.where(high > 0, high / low, 0.0)))
    x, other = int(W[:, y].argmax()), int(W[:, y].argmin())
    if x == other:  # nothing depends on the data
        other = (x + 1) % len(W)
    p = np.zeros(len(W))
    p[x], p[other] = 1 - delta, delta
    posterior = delta * W[other, y] / ((1 - delta) * W[x, y] + delta * W[other, y])
    return WorstPrior(y, x, other, p, Estimate(_binary(posterior) / _binary(delta), ROUNDING))


def _binary(share: float) -> float:
    """Compute the entropy of (share, 1 − share)."""
    return -float(xlogy(share, share)) - (1 - share) * math.log1p(-share)
