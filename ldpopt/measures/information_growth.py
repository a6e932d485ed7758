"""How I(Y; P) and I(Y; T) grow with the number n of users (Lopuhaä-Zwakenberg et al. 2019, Section 6).

I(Y; P) is (d − 1)/2 · log n + r_μ and I(Y; T) is (d + b' − 2)/2 · log n + s_μ, up to what vanishes
(Theorem 6.7). The paper gives r_μ of faithful mechanisms only and no s_μ. Since I(Y; T) = I(Y; P) +
H(S | P) − H(S | T) and both are entropies of nearly normal tallies on a lattice,

    s_μ = r_μ + (b' − 1)/2 · log 2πe + ½ E (Σ_y log q_y − log det C(P)),

q = P(Y), C = Σ_x P_x (diag W_x − W_x W_xᵀ) without one output of each of the b' classes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from ldpopt.core.mechanism import Channel, Mechanism
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import asymptotics, information_metrics
from ldpopt.measures.channel import mechanism_of
from ldpopt.measures.information_about_p import lumped
from ldpopt.measures.number_with_error import Estimate
from ldpopt.measures.tallies import merged
from ldpopt.models.priors import Dirichlet, Prior, dirichlet_prior


class Growth(NamedTuple):
    """The limits of Theorem 6.7 and Corollary 6.8.

    Attributes:
        inputs: the number a of values.
        rank: d.
        classes: b'.
        distribution_constant: r_μ.
        tally_constant: s_μ.
    """

    inputs: int
    rank: int
    classes: int
    distribution_constant: Estimate
    tally_constant: Estimate

    @property
    def distribution_utility(self) -> float:
        """The limit (d − 1)/(a − 1) of distribution utility, (6.2)."""
        return (self.rank - 1) / (self.inputs - 1)

    @property
    def tally_utility(self) -> float:
        """The limit (d + b' − 2)/(2a − 2) of tally utility, (6.3)."""
        return (self.rank + self.classes - 2) / (2 * self.inputs - 2)

    def about_p(self, n: int) -> Estimate:
        """Approximate I(Y; P) of n users; the error is that of the constant, not of the limit."""
        return self.distribution_constant.through(1.0, (self.rank - 1) / 2 * math.log(n))

    def about_tallies(self, n: int) -> Estimate:
        """Approximate I(Y; T) of n users; the error is that of the constant, not of the limit."""
        return self.tally_constant.through(1.0, (self.rank + self.classes - 2) / 2 * math.log(n))


def growth(m: Any, prior: Prior, *, seed: int = 0) -> Growth:
    """Compute the ranks and constants of Theorem 6.7.

    Args:
        m: the mechanism; values with equal rows are merged, and the merged mechanism must be faithful.
        prior: the prior of P, a Dirichlet.
        seed: the seed of the Monte Carlo draws beyond six values.

    Raises:
        InvalidInputError: the prior is not a Dirichlet, or different rows are linearly dependent: the
            density of what the reports tell about P is then not a Dirichlet's.

    >>> from ldpopt.mechanisms import randomized_response
    >>> found = growth(randomized_response(2, 1.0), Dirichlet.uniform(2))
    >>> found.rank, found.classes, found.distribution_utility, found.tally_utility
    (2, 1, 1.0, 0.5)
    """
    m, prior = mechanism_of(m), dirichlet_prior("the limit", prior)
    rank, classes = information_metrics.rank_and_classes(m)
    about_p = _constant(m, prior, seed)
    W = merged(m.matrix)
    gap = asymptotics.expected_value(
        lambda points: _log_ratio(points, W), m.epsilon(), prior, "auto", seed
    )
    half = 0.5 * (classes - 1) * math.log(2 * math.pi * math.e)
    total = float(about_p) + half + 0.5 * float(gap)
    method = gap.method if about_p.method == "closed-form" else about_p.method
    about_t = Estimate(total, about_p.error + 0.5 * gap.error, method)
    return Growth(len(m.inputs), rank, classes, about_p, about_t)


def _constant(m: Channel, prior: Dirichlet, seed: int) -> Estimate:
    """Compute r_μ = (a − 1) U^as + h(P), for the values that the reports tell apart."""
    if information_metrics.is_faithful(m):
        scale, shift = prior.size - 1, prior.differential_entropy()
        return asymptotics.utility(m, prior, "auto", seed).through(scale, shift)
    W, groups = lumped(merged(m.matrix), prior)
    if len(W) == 1:
        return Estimate(0.0)
    if not isinstance(groups, Dirichlet) or np.linalg.matrix_rank(W) < len(W):
        raise InvalidInputError(
            f"r_μ is known where the different rows of the mechanism are independent; these {len(W)} "
            f"rows have rank {np.linalg.matrix_rank(W)}"
        )
    return _constant(Mechanism(W), groups, seed)


def _log_ratio(points: Array, W: Array) -> Array:
    """Compute Σ_y log q_y − log det C(p) at every p."""
    q = points @ W
    kept = _all_but_one_of_each_class(W)
    V = W[:, kept]
    covariance = np.einsum("nx,xy,xz->nyz", -points, V, V, optimize=True)
    diagonal = np.arange(len(kept))
    covariance[:, diagonal, diagonal] += q[:, kept]
    return np.log(q).sum(axis=1) - np.linalg.slogdet(covariance)[1]


def _all_but_one_of_each_class(W: Array) -> list[int]:
    """List the outputs without the first of each class of outputs that share inputs."""
    _, label = connected_components((W > 0).T.astype(np.int64) @ (W > 0), directed=False)
    first = {int(c): y for y, c in reversed(list(enumerate(label)))}
    return [y for y, c in enumerate(label) if first[int(c)] != y]
