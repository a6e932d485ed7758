"""The protocol that tells most about P with n users (Lopuhaä-Zwakenberg et al. 2019, Section 11).

Splitting an output into proportional parts loses nothing, so some best ε-LDP protocol has columns θ_v v
with v ∈ {1, e^ε}^a. A sequence of reports with tallies s has chance Π θ_v^{s_v} · E Π (v·P)^{s_v}, and
log θ cancels in I(Y; P):

    I_n(θ) = Σ_s (n choose s) Π θ_v^{s_v} K(s),   K(s) = E f log f − (E f) log E f,   f = Π (v·P)^{s_v}.

For one user this is linear in θ and the best protocol a linear program. For two values every ε-LDP
protocol is randomised response, processed further. Else I_n is a polynomial of degree n that need not be
concave: ascent finds a protocol, and n I_1 and I(X; P) bound all of them.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize_scalar
from scipy.special import xlogy

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.validate import Array
from ldpopt.measures.information_about_p import DRAWS, information_about_p
from ldpopt.measures.number_with_error import Estimate
from ldpopt.measures.tallies import Tallies, log_count, log_multinomial
from ldpopt.mechanisms.listings import compositions
from ldpopt.models.priors import Dirichlet

MOST_TERMS = 400_000
MOST_WORK = 3e8


class FiniteProtocol(NamedTuple):
    """A protocol for n users, what it tells, and a bound on what any protocol tells.

    Attributes:
        mechanism: the protocol found.
        information: I(Y; P) of it, exact.
        bound: no ε-LDP protocol tells more.
    """

    mechanism: Mechanism
    information: Estimate
    bound: float


def best_protocol(prior: Dirichlet, n: int, epsilon: float, *, seed: int = 0) -> FiniteProtocol:
    """Find an ε-LDP protocol with a large I(Y; P) of n users, and a bound for all protocols.

    The two meet for one user and for two values; else they are a bracket.

    Args:
        prior: the prior of P.
        n: the number of users.
        epsilon: the level ε, in nats.
        seed: the seed of the random starts.

    Raises:
        InvalidInputError: the tallies of n reports of the 2^a − 1 columns are too many to list.

    >>> found = best_protocol(Dirichlet.jeffreys(2), 10, 1.0)
    >>> round(found.information, 6) == round(found.bound, 6)
    True
    """
    n, a = validate.whole_number("n", n, 1), prior.size
    E = math.exp(validate.epsilon(epsilon))
    columns = np.array([v for v in product((1.0, E), repeat=a) if min(v) == 1.0]).T
    log_terms = log_count(n, columns.shape[1])
    nodes = prior.node_count(2 * n + 30)
    if log_terms > math.log(MOST_TERMS) or log_terms + math.log(nodes) > math.log(MOST_WORK):
        raise InvalidInputError(
            f"{n} reports of {columns.shape[1]} columns may have at most {MOST_TERMS:,} tallies, and "
            f"{MOST_WORK:.0e} pairs of a tally and one of the {nodes} points of P, "
            f"not 10^{log_terms / math.log(10):.1f} tallies"
        )
    single = _gain(columns, prior, 1)
    first = _linear(single.coefficients @ single.counts, columns)
    theta = first if n == 1 else _ascended(_gain(columns, prior, n), columns, first, seed)
    used = theta > 1e-12
    W = columns[:, used] * theta[used]
    mechanism = Mechanism(W / W.sum(axis=1, keepdims=True))
    found = information_about_p(mechanism.matrix, prior, n, "exact", DRAWS, seed)
    one = float(single.coefficients @ (single.counts @ first))
    everything = float(information_about_p(np.eye(a), prior, n, "auto", DRAWS, seed))
    bound = float(found) if a == 2 else min(n * one, everything)
    return FiniteProtocol(mechanism, found, max(bound, float(found)))


class Gain(NamedTuple):
    """The polynomial I_n(θ) = Σ_s coefficients[s] Π θ^s."""

    counts: Tallies
    coefficients: Array

    def value(self, theta: Array) -> float:
        """Evaluate I_n."""
        return float(self.coefficients @ self._powers(theta))

    def slope(self, theta: Array) -> Array:
        """Compute the gradient of I_n; columns of weight 0 count as of weight 1e-9."""
        inside = np.maximum(theta, 1e-9)
        return (self.coefficients * self._powers(inside)) @ self.counts / inside

    def _powers(self, theta: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(self.counts > 0, self.counts * np.log(theta), 0.0)
        return np.exp(logs.sum(axis=1))


def _gain(columns: Array, prior: Dirichlet, n: int) -> Gain:
    """Compute the coefficients of I_n, P integrated by Gauss rules: f log f is nearly a polynomial."""
    counts = compositions(n, columns.shape[1])
    points, weights = prior.nodes(2 * n + 30)
    log_q = np.log(points @ columns)
    values = np.empty(len(counts))
    step = max(1, 2_000_000 // len(points))
    for i in range(0, len(counts), step):
        log_f = counts[i : i + step] @ log_q.T
        top = log_f.max(axis=1, keepdims=True)
        f = np.exp(log_f - top)
        mean = f @ weights
        values[i : i + step] = (xlogy(f, f) @ weights - xlogy(mean, mean)) * np.exp(top[:, 0])
    return Gain(counts, np.exp(log_multinomial(counts)) * np.maximum(values, 0.0))


def _linear(gains: Array, columns: Array) -> Array:
    """Maximise gains·θ over the protocols Σ θ_v v = 1."""
    found = linprog(-gains, A_eq=columns, b_eq=np.ones(len(columns)), method="highs")
    assert found.x is not None, "randomised response is a protocol"
    return np.maximum(found.x, 0.0)


def _ascended(gain: Gain, columns: Array, first: Array, seed: int) -> Array:
    """Climb from the best protocol of one user and from random ones, by Frank and Wolfe's steps."""
    rng = np.random.default_rng(seed)
    random = [np.asarray(rng.random(columns.shape[1])) for _ in range(4)]
    starts = [first, *(_linear(gains, columns) for gains in random)]
    return max((_climb(gain, columns, start) for start in starts), key=gain.value)


def _climb(gain: Gain, columns: Array, theta: Array) -> Array:
    for _ in range(60):
        target = _linear(gain.slope(theta), columns)
        step = minimize_scalar(
            lambda x, a=theta, b=target: -gain.value((1 - x) * a + x * b),
            bounds=(0, 1),
            method="bounded",
        )
        ways = [theta, (1 - step.x) * theta + step.x * target, target]
        best = max(ways, key=gain.value)
        if gain.value(best) <= gain.value(theta) * (1 + 1e-10):
            break
        theta = best
    return theta
