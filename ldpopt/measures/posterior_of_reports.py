"""The posterior of P from reports as they come in: sets of any number of values.

A matrix over all 2^k sets is never built. Only the sets that were reported matter, and of each only its
likelihood relative to the reference measure of :class:`SetMechanism`: ``high`` inside, ``low`` outside.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Channel
from ldpopt.core.validate import Array
from ldpopt.measures.channel import mechanism_of
from ldpopt.measures.posterior import Posterior, of_columns, posterior
from ldpopt.mechanisms.encodings import SetMechanism
from ldpopt.models.priors import Prior, dirichlet_prior


def posterior_of_reports(
    m: Channel | ArrayLike, prior: Prior, reports: ArrayLike, *, seed: int = 0
) -> Posterior:
    """Compute the posterior of P given reports as ``m.sample`` draws them, for any number of values.

    Args:
        m: the mechanism that made the reports.
        prior: the prior of P, a Dirichlet.
        reports: one per user: output indices of a matrix; rows of a set-valued mechanism.
        seed: the seed of the sampler, where the posterior is sampled.

    Raises:
        InvalidInputError: prior or reports do not fit the mechanism.

    >>> from ldpopt.mechanisms import UnaryEncoding
    >>> from ldpopt.models.priors import Dirichlet
    >>> reports = [[1, 0, 0], [1, 1, 0], [1, 0, 0]]
    >>> posterior_of_reports(UnaryEncoding.oue(3, 2.0), Dirichlet.jeffreys(3), reports).mean().round(4)
    array([0.6836, 0.1823, 0.134 ])
    """
    m = mechanism_of(m)
    if not isinstance(m, SetMechanism):
        return posterior(m, prior, _tallied(m, reports), seed=seed)
    prior = dirichlet_prior("the posterior", prior)
    prior.check_size(m.k)
    rows = np.asarray(reports)
    if rows.ndim != 2:
        raise InvalidInputError(
            f"reports must be rows, one per user, not an array of shape {rows.shape}"
        )
    sets, counts = np.unique(m.supports(rows), axis=0, return_counts=True)
    if sets.shape[1] != m.k:
        raise InvalidInputError(f"reports must have {m.k} entries, one per value, not {sets.shape[1]}")
    columns: Array = (m.low + (m.high - m.low) * sets.astype(np.float64)).T
    if (columns.max(axis=0, initial=0.0) == 0).any():
        raise InvalidInputError("a set that was reported has probability zero under every input")
    found = of_columns(columns, prior, counts.astype(np.int64), seed)
    found.log_reference = float(counts @ _log_weights(m)[sets.sum(axis=1)])
    return found


def _tallied(m: Channel, reports: ArrayLike) -> ArrayLike:
    y = np.asarray(reports)
    if y.ndim != 1 or (y.size and not np.issubdtype(y.dtype, np.integer)):
        raise InvalidInputError(f"reports must be output indices, not {y.dtype} of shape {y.shape}")
    if y.size and not (0 <= y.min() and y.max() < len(m.outputs)):
        wrong = y[(y < 0) | (y >= len(m.outputs))][0]
        raise InvalidInputError(f"an output index must be from 0 to {len(m.outputs) - 1}, not {wrong}")
    return np.bincount(y, minlength=len(m.outputs))


def _log_weights(m: SetMechanism) -> Array:
    """Compute the log of the reference probability of one set of each size."""
    size = np.arange(m.k + 1)
    log_sets = gammaln(m.k + 1) - gammaln(size + 1) - gammaln(m.k - size + 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(m.sizes) - log_sets)
