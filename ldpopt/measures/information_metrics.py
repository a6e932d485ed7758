"""Privacy and utility of a mechanism in nats: common ones, and those of Lopuhaä-Zwakenberg et al. 2019.

Every metric takes a :class:`Mechanism`, a set-valued one or a matrix; it returns an :class:`Estimate`, a
float with ``.error`` and ``.method``: "closed-form", "quadrature", "exact-enumeration" or "monte-carlo".

>>> from ldpopt.models.priors import Dirichlet
>>> flip = [[0.75, 0.25], [0.25, 0.75]]
>>> average_privacy(flip, Dirichlet.uniform(2)).__round__(6)
0.823959
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from ldpopt.core import validate
from ldpopt.core.mechanism import Channel, distribution_over
from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import asymptotics, tallies
from ldpopt.measures.channel import matrix_of, mechanism_of
from ldpopt.measures.information_about_p import DRAWS, LEAST_DRAWS, information_about_p
from ldpopt.measures.information_about_tallies import information_about_tallies
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.mechanisms.encodings import LARGEST_DENSE, SetMechanism
from ldpopt.models import utilities
from ldpopt.models.priors import Dirichlet, Prior

METHODS = ("auto", "exact", "monte-carlo")


# ---------------------------------------------------------------- privacy


def ldp_level(m: Channel | ArrayLike) -> Estimate:
    """Compute LDP(Q) = max log Q_{y|x}/Q_{y|x'} (Lopuhaä-Zwakenberg et al. 2019, (3.1))."""
    return Estimate(mechanism_of(m).epsilon())


def worst_case_privacy(m: Channel | ArrayLike) -> Estimate:
    """Compute S^wc = e^{−LDP}.

    It is the worst share of private information that stays hidden (Theorem 5.3).
    """
    return Estimate(math.exp(-float(ldp_level(m))))


def average_privacy(m: Channel | ArrayLike, prior: Prior, *, seed: int = 0) -> Estimate:
    """Compute S_μ = H(X | Y, P)/H(X | P): the share of private information that stays hidden (4.1).

    Every Dirichlet prior and every matrix take one-dimensional integrals. Set-valued mechanisms with an
    exchangeable prior take one integral per set size: (10.10) without its large powers.

    Args:
        m: the mechanism.
        prior: the prior of P, over as many values as the mechanism has inputs.
        seed: the seed of the draws for set-valued mechanisms under a prior that is not exchangeable.
    """
    m = _checked(m, prior)
    leaked = _set_leakage(m, prior, seed) if isinstance(m, SetMechanism) else _leakage(m.matrix, prior)
    share = leaked.through(-1 / prior.expected_entropy(), 1.0)
    return Estimate(min(max(0.0, share), 1.0), share.error, share.method)


def _leakage(W: Array, prior: Prior) -> Estimate:
    """Compute I(Y; X | P) of a matrix."""
    value = float(prior.mean() @ xlogy(W, W).sum(axis=1)) - float(prior.expected_xlogx(W).sum())
    return Estimate(max(value, 0.0), ROUNDING * W.shape[1])


def _set_leakage(m: SetMechanism, prior: Prior, seed: int) -> Estimate:
    """Compute I(Y; X | P) = E log-likelihood ratio − Σ_S w(S) E r log r, r = low + (high − low) P(S)."""
    own = float(xlogy(m.own, m.high) + xlogy(1 - m.own, m.low))
    if isinstance(prior, Dirichlet) and prior.exchangeable:
        sizes, a = m.sizes, float(prior.alpha[0])
        terms = [w * _ratio_entropy(m, g * a, (m.k - g) * a) for g, w in enumerate(sizes) if w > 1e-20]
        return Estimate(own - math.fsum(terms))
    if m.k <= LARGEST_DENSE:
        return _leakage(m.matrix, prior)
    if not isinstance(prior, Dirichlet):
        raise InvalidInputError(
            f"with k = {m.k} > {LARGEST_DENSE} the prior must be a Dirichlet, not {prior!r:.80}"
        )
    rng = np.random.default_rng(seed)
    alpha, draws = prior.alpha, 2000
    values = []
    for size in rng.choice(m.k + 1, draws, p=m.sizes / m.sizes.sum()):
        inside = float(alpha[rng.permutation(m.k)[:size]].sum())
        values.append(_ratio_entropy(m, inside, prior.total - inside))
    error = float(np.std(values, ddof=1)) / math.sqrt(draws)
    return Estimate(own - float(np.mean(values)), error + ROUNDING, "monte-carlo")


def _ratio_entropy(m: SetMechanism, inside: float, outside: float) -> float:
    """Compute E r log r with r = high·B + low·(1 − B), B ~ Beta(inside, outside)."""
    if inside <= 0 or outside <= 0:
        r = m.low if inside <= 0 else m.high
        return float(xlogy(r, r))
    column = np.array([[m.high], [m.low]])
    return float(Dirichlet([inside, outside]).expected_xlogx(column)[0])


# ---------------------------------------------------------------- utility


def distribution_utility(
    m: Channel, prior: Prior, n: int, *, method: str = "auto", draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Compute I(Y; P)/I(X; P) of n users (4.2): the share of what the data tell about P.

    Where the tallies are too many to list, it is an average over draws of P and reports.

    Args:
        m: the mechanism.
        prior: the prior of P.
        n: the number of users.
        method: "auto", "exact" (refused where it takes too long) or "monte-carlo".
        draws: how many draws of P and reports, where the tallies are too many to list.
        seed: the seed of the draws.
    """
    W, n = _prepare(m, prior, n, method, draws)
    whole = information_about_p(np.eye(prior.size), prior, n, method, draws, seed)
    part = information_about_p(W, prior, n, method, draws, seed)
    value = min(1.0, float(part) / float(whole))
    error = (part.error + abs(value) * whole.error) / abs(float(whole))
    return Estimate(value, error, part.method)


def tally_utility(
    m: Channel, prior: Prior, n: int, *, method: str = "auto", draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Compute I(Y; T)/H(T) of n users (4.2): the share of the information in the tallies.

    Args:
        m: the mechanism.
        prior: the prior of P.
        n: the number of users.
        method: "auto", "exact" (refused where it takes too long) or "monte-carlo".
        draws: how many draws of P and tallies, where the tallies are too many to list.
        seed: the seed of the draws.
    """
    W, n = _prepare(m, prior, n, method, draws)
    gained = information_about_tallies(W, prior, n, method, draws, seed)
    return gained.through(1 / tallies.tally_entropy(prior, n))


def digit_utility(
    m: Channel, prior: Prior, n: int, *, method: str = "auto", draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """Compute (I(Y; P) − h(P))/(a − 1): about how many digits of P, in base e, are learned (4.4).

    Args:
        m: the mechanism.
        prior: the prior of P, with a density.
        n: the number of users.
        method: "auto", "exact" (refused where it takes too long) or "monte-carlo".
        draws: how many draws of P and reports, where the tallies are too many to list.
        seed: the seed of the draws.
    """
    W, n = _prepare(m, prior, n, method, draws)
    scale = 1 / (prior.size - 1)
    gained = information_about_p(W, prior, n, method, draws, seed)
    return gained.through(scale, -scale * prior.differential_entropy())


def asymptotic_utility(
    m: Channel | ArrayLike, prior: Prior, *, method: str = "auto", seed: int = 0
) -> Estimate:
    """Compute U^as = −½ log 2πe + E log det(Qᵀ D_P Q)/(2a − 2), (6.1); −inf where it is not faithful.

    It has a closed form (one-dimensional integrals) where, after merging proportional outputs, there are
    as many outputs as inputs; else it takes quadrature up to a = 4, and for a = 5 and 6 where two rules
    agree; beyond, Monte Carlo with a control variate. Sets of many values are counted by weight, never
    listed.

    Args:
        m: the mechanism.
        prior: the prior of P, a Dirichlet.
        method: "auto"; "exact" for a closed form or quadrature, else refused; "monte-carlo" draws.
        seed: the seed of the Monte Carlo draws.
    """
    m = _checked(m, prior)
    validate.choice("method", method, METHODS)
    if not is_faithful(m):
        return Estimate(-math.inf)
    return asymptotics.utility(m, prior, method, seed)


def participation_factor(
    m: Channel | ArrayLike, prior: Prior, *, method: str = "auto", seed: int = 0
) -> Estimate:
    """Compute F_μ = e^{2U^as − 2C_μ}.

    n obfuscated reports are worth F_μ n plain ones (Definition 6.10).

    Args:
        m: the mechanism.
        prior: the prior of P, a Dirichlet.
        method: "auto"; "exact" for a closed form or quadrature, else refused; "monte-carlo" draws.
        seed: the seed of the Monte Carlo draws.
    """
    found = asymptotic_utility(m, prior, method=method, seed=seed)
    value = math.exp(2 * (float(found) - asymptotics.unobfuscated_utility(prior)))
    return Estimate(value, 2 * value * found.error, found.method)


def asymptotic_utility_bound(m: Channel | ArrayLike) -> Estimate:
    """Bound U^as from the LDP level alone, whatever the prior.

    Theorem 8.1: −½ log 2πe + log(e^ε − 1); for two inputs sharper: −½ log 2πe + log(2 sinh(ε/2)).
    """
    m = mechanism_of(m)
    epsilon = m.epsilon()
    if epsilon == math.inf:
        return Estimate(math.inf)
    growth = 2 * math.sinh(epsilon / 2) if len(m.inputs) == 2 else math.expm1(epsilon)
    return Estimate(math.log(growth) - asymptotics.HALF_LOG_2PIE)


def participation_factor_bound(m: Channel | ArrayLike, prior: Prior | None = None) -> Estimate:
    """Bound F_μ by (8.2), by at most 1.

    Without a prior it is a^{−a/(a−1)} (e^ε − 1)² for every μ, as C_μ ≥ −½ log 2πe + a log a/(2a − 2) by
    Jensen's inequality (the paper says that no bound holds for every prior).
    """
    a = len(mechanism_of(m).inputs)
    least = a * math.log(a) / (2 * a - 2) - asymptotics.HALF_LOG_2PIE
    identity = least if prior is None else asymptotics.unobfuscated_utility(prior)
    return Estimate(math.exp(min(0.0, 2 * (float(asymptotic_utility_bound(m)) - identity))))


def is_faithful(m: Channel | ArrayLike) -> bool:
    """Return whether different P give different output distributions: rank a (Definition 6.1)."""
    return rank_and_classes(m).rank == len(mechanism_of(m).inputs)


class RankAndClasses(NamedTuple):
    """The rank d and the number b' of classes of outputs, of Theorem 6.7."""

    rank: int
    classes: int


def rank_and_classes(m: Channel | ArrayLike) -> RankAndClasses:
    """Compute the rank d of the matrix and the number b' of classes of outputs that share inputs.

    >>> rank_and_classes([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    RankAndClasses(rank=2, classes=2)
    """
    m = mechanism_of(m)
    if isinstance(m, SetMechanism) and m.low > 0:
        tells = m.high != m.low and m.sizes[1:-1].any()
        return RankAndClasses(m.k if tells else 1, 1)
    W = m.matrix
    rank = int(np.linalg.matrix_rank(tallies.merged(W)))
    x, y = np.nonzero(W)
    nodes = sum(W.shape)
    graph = coo_array((np.ones(len(x)), (x, y + len(W))), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    return RankAndClasses(rank, len(set(label[: len(W)])))


# ---------------------------------------------------------------- for a known distribution


def entropy(p: ArrayLike) -> Estimate:
    """Compute H(p) = −Σ p log p."""
    return Estimate(utilities.entropy(p))


def mutual_information(m: Channel | ArrayLike, p: ArrayLike) -> Estimate:
    """Compute I(X; Y) for X ~ p."""
    return Estimate(mechanism_of(m).mutual_information(p))


def min_entropy_leakage(m: Channel | ArrayLike, p: ArrayLike) -> Estimate:
    """Compute the log of the factor by which a report raises the chance to guess X ~ p."""
    return Estimate(math.log(float(attacker_success(m, p)) / float(_known(m, p)[1].max())))


def attacker_success(m: Channel | ArrayLike, p: ArrayLike) -> Estimate:
    """Compute the chance Σ_y max_x p_x W[x, y] that the best guess of X ~ p from one report is right."""
    W, q = _known(m, p)
    return Estimate(float((q[:, None] * W).max(axis=0).sum()))


class Guesses(NamedTuple):
    """The chances to guess a secret right without any report, and from one."""

    blind: float
    seen: float


def guesses_given_public(m: Channel | ArrayLike, joint: ArrayLike) -> Guesses:
    """Compute the chances that whoever knows u guesses s right.

    They are Σ_u max_s p(s, u) without a report, and Σ_uy max_s p(s, u) W[(s, u), y] from one.

    Args:
        m: the mechanism, its inputs all (s, u) in order.
        joint: the distribution p[s][u].

    >>> W = [[1, 0], [1, 0], [0, 1], [1, 0]]
    >>> guesses_given_public(W, [[0.25, 0.25], [0.25, 0.25]])
    Guesses(blind=0.5, seen=0.75)
    """
    p = np.asarray(joint, dtype=float)
    W, q = _known(m, p.ravel())
    both = (q[:, None] * W).reshape(*p.shape, -1)
    return Guesses(float(p.max(axis=0).sum()), float(both.max(axis=0).sum()))


# ---------------------------------------------------------------- input


def _prepare(m: Channel | ArrayLike, prior: Prior, n: Any, method: str, draws: Any) -> tuple[Array, int]:
    W = _checked(m, prior).matrix
    validate.choice("method", method, METHODS)
    validate.whole_number("draws", draws, LEAST_DRAWS)
    return W, validate.whole_number("n", n, 1)


def _checked(m: Channel | ArrayLike, prior: Prior) -> Channel:
    m = mechanism_of(m)
    if not isinstance(prior, Prior):
        raise InvalidInputError(f"prior must be a Prior such as Dirichlet(alpha), not {prior!r}")
    prior.check_size(len(m.inputs))
    return m


def _known(m: Channel | ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
    """Return the matrix and the distribution of its inputs."""
    W = matrix_of(m)
    return W, distribution_over(len(W), "p", p)
