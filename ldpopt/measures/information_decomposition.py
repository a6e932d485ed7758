"""The information split of Lopuhaä-Zwakenberg et al. 2019, Table 4.1: every cell, in nats."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ldpopt.core import validate
from ldpopt.measures.channel import mechanism_of
from ldpopt.measures.information_about_p import DRAWS, information_about_p
from ldpopt.measures.information_about_tallies import information_about_tallies
from ldpopt.measures.information_metrics import average_privacy
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.measures.tallies import tally_entropy
from ldpopt.models.priors import Prior


class Part(NamedTuple):
    """One row of the table: the nonprivate, group-private and individual private information.

    The sums of neighbours are the cells below: what is private, what is about the tallies, and all.
    """

    nonprivate: Estimate
    group_private: Estimate
    individual: Estimate

    @property
    def private(self) -> Estimate:
        """H(X | P) of the users; I(Y; X | P), the leakage, of the aggregator."""
        return _sum(self.group_private, self.individual)

    @property
    def tallies(self) -> Estimate:
        """H(T) of the users; I(Y; T) of the aggregator."""
        return _sum(self.nonprivate, self.group_private)

    @property
    def total(self) -> Estimate:
        """H(X) of the users; I(Y; X) of the aggregator."""
        return _sum(self.nonprivate, self.private)


class Split(NamedTuple):
    """What n users hold and what the aggregator gets of it."""

    users: Part
    aggregator: Part


def information_split(
    m: Any,
    prior: Prior,
    n: int,
    *,
    method: str = "auto",
    draws: int = DRAWS,
    seed: int = 0,
) -> Split:
    """Compute every cell of Table 4.1 for n users.

    Args:
        m: the mechanism.
        prior: the prior of P.
        n: the number of users.
        method: "auto", "exact" (refused where it takes too long) or "monte-carlo".
        draws: how many draws of P and reports, where the tallies are too many to list.
        seed: the seed of the draws.

    >>> from ldpopt.models.priors import Dirichlet
    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> split = information_split(flip, Dirichlet.uniform(2), 2)
    >>> round(split.users.total, 6), round(split.aggregator.total, 6)
    (1.329661, 0.258148)
    """
    n = validate.whole_number("n", n, 1)
    m = mechanism_of(m)
    prior.check_size(len(m.inputs))
    private = Estimate(n * prior.expected_entropy(), ROUNDING * n)
    tallies = Estimate(tally_entropy(prior, n), 10 * ROUNDING * n)
    known = information_about_p(np.eye(prior.size), prior, n, method, draws, seed)
    users = _part(known, tallies, private)
    gained = information_about_p(m.matrix, prior, n, method, draws, seed)
    about_tallies = information_about_tallies(m.matrix, prior, n, method, draws, seed)
    leaked = average_privacy(m, prior, seed=seed).through(-float(private), float(private))
    return Split(users, _part(gained, about_tallies, leaked))


def _part(nonprivate: Estimate, tallies: Estimate, private: Estimate) -> Part:
    group = _sum(tallies, nonprivate.through(-1.0))
    return Part(nonprivate, group, _sum(private, group.through(-1.0)))


def _sum(first: Estimate, second: Estimate) -> Estimate:
    rank = ("closed-form", "quadrature", "exact-enumeration", "monte-carlo").index
    method = max(first.method, second.method, key=rank)
    return Estimate(float(first) + float(second), first.error + second.error, method)
