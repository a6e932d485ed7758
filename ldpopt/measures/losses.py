"""The loss of an estimated distribution, and its expectation over n privatised reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, gammaln

from ldpopt.core import validate
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import estimators
from ldpopt.measures.channel import full_support, matrix_of
from ldpopt.measures.number_with_error import Estimate
from ldpopt.mechanisms.listings import compositions

MOST_COUNT_VECTORS = 200_000
"""Beyond this many possible count vectors the expectation is sampled, not enumerated."""


class Divergence(NamedTuple):
    """Σ p f(p̂/p): the convex function f and its second, third and fourth derivative at 1.

    It can be given as a loss wherever a name of :data:`DIVERGENCES` can; f takes arrays and is 0 at 1.

    >>> cubic = Divergence(lambda x: x**3 - 1, second=6, third=6, fourth=0)
    >>> loss_of(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), cubic).tolist()
    [0.0]
    """

    f: Callable[[Array], Array]
    second: float
    third: float
    fourth: float


DIVERGENCES = {
    "kl": Divergence(lambda x: -entr(x), 1, -1, 2),
    "hellinger": Divergence(lambda x: (np.sqrt(x) - 1) ** 2, 1 / 2, -3 / 4, 15 / 8),
    "chi-squared": Divergence(lambda x: (x - 1) ** 2, 2, 0, 0),
    "triangular": Divergence(lambda x: (x - 1) ** 2 / (x + 1), 1, -3 / 2, 3),
}
"""Pastore and Gastpar 2021, Table 1, with the divergence Σ p f(p̂/p); there Σ p̂ f(p/p̂) is printed."""


FINITE_LOSSES = (*DIVERGENCES, "mse", "tv")
"""The losses of :func:`expected_loss`: KL(p̂‖p) and the like, ‖p̂ − p‖₂² and ‖p̂ − p‖₁."""


def divergence_of(loss: str | Divergence) -> Divergence | None:
    """Return the f-divergence that a loss names or is; None for "mse" and "tv"."""
    if isinstance(loss, str):
        return DIVERGENCES.get(validate.choice("loss", loss, FINITE_LOSSES))
    if not isinstance(loss, Divergence):
        raise InvalidInputError(f"a loss must be a name or a Divergence, not {loss!r}")
    derivatives = validate.array("the derivatives of f", loss[1:], 1)
    if derivatives[0] < 0:
        raise InvalidInputError(f"f must be convex, but its second derivative is {derivatives[0]:g}")
    start = float(loss.f(np.ones(1))[0])
    if not abs(start) <= 1e-12:
        raise InvalidInputError(f"f must be 0 at 1, not {start:g}")
    return loss


def loss_of(estimates: Array, p: Array, loss: str | Divergence) -> Array:
    """Compute the loss of every row; "tv" is ‖p̂ − p‖₁, without the half.

    Pastore and Gastpar 2021, (4a)–(4c).

    Args:
        estimates: p̂, one per row.
        p: the distribution that was to be learnt, all entries positive.
        loss: a name, or a divergence of your own.
    """
    if loss == "mse":
        return ((estimates - p) ** 2).sum(axis=1)
    if loss == "tv":
        return np.abs(estimates - p).sum(axis=1)
    f = (DIVERGENCES[loss] if isinstance(loss, str) else loss).f
    return f(estimates / p) @ p


def expected_loss(
    W: Any,
    p: Any,
    n: int,
    loss: str | Divergence,
    estimator: str,
    *,
    samples: int = 20_000,
    seed: int = 0,
) -> Estimate:
    """Return the expected loss of an estimate from n reports (Pastore and Gastpar 2021, (4a)–(4c)).

    It is exact, by enumeration of all count vectors, where they are at most 200 000; else it is a Monte
    Carlo mean with its standard error.

    Args:
        W: the mechanism.
        p: the distribution to be learnt, all entries positive.
        n: the number of reports.
        loss: "kl", "hellinger", "chi-squared", "triangular", "mse" or "tv" (which is ‖p̂ − p‖₁), or a
            :class:`Divergence` of your own.
        estimator: "ml", "mmse" or any other of
            :data:`ldpopt.measures.estimators.ESTIMATORS` that returns distributions.
        samples: how many count vectors to draw where they cannot be enumerated.
        seed: the seed of the random numbers.

    >>> W = [[0.75, 0.25], [0.25, 0.75]]
    >>> round(expected_loss(W, [0.5, 0.5], 1, "tv", "ml"), 6)
    1.0
    """
    matrix = matrix_of(W)
    prior = full_support("p", p, len(matrix))
    divergence_of(loss)
    validate.choice("estimator", estimator, ("ml", "mmse", "projection", "bayes"))
    n = validate.whole_number("n", n, 1)
    q = prior @ matrix
    if math.comb(n + len(q) - 1, len(q) - 1) <= MOST_COUNT_VECTORS:
        counts = compositions(n, len(q)).astype(np.float64)
        weights = multinomial(counts, q)
        losses = loss_of(estimators.estimate(matrix, counts, estimator), prior, loss)
        return Estimate(math.fsum(weights * losses), method="exact-enumeration")
    drawn = np.random.default_rng(seed).multinomial(n, q / q.sum(), size=samples)
    losses = loss_of(estimators.estimate(matrix, drawn, estimator), prior, loss)
    return Estimate(losses.mean(), losses.std(ddof=1) / math.sqrt(samples), "monte-carlo")


def multinomial(counts: Array, q: Array) -> Array:
    """Compute the probability of every row of counts under the output law q."""
    n = counts[0].sum()
    logs = counts @ np.log(q, out=np.full_like(q, -1e9), where=q > 0)
    return np.exp(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + logs)
