"""I(Y; P): how much n reports tell about the unknown distribution P, in nats.

It is a sum over all tallies where they are few; else the average of log P(y | P)/P(y) over draws of P
and of reports, in which P(y) is exact (quadrature; randomised response) or bracketed (annealing).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import xlogy

from ldpopt.core.validate import Array, InvalidInputError
from ldpopt.measures import randomized_response_series, tallies
from ldpopt.measures.evidence import Bracket, bracket
from ldpopt.measures.number_with_error import ROUNDING, Estimate
from ldpopt.measures.randomized_response_series import response_entropy, response_level
from ldpopt.mechanisms.listings import compositions
from ldpopt.models.priors import Dirichlet, Prior, Pushed

DRAWS = 400
LEAST_DRAWS = 100
"""Fewer draws do not show how much they vary."""
WIDENED = 1.1
"""The factor of the standard error. Log ratios are skewed: for means of 100 of them, two standard errors
cover the truth less often than 95 %."""
ANNEALING_STEPS = 150
ANNEALING_WORK = 3e11
WIDEST = 0.05
"""The most nats, for each unknown of P, by which annealing may be off; beyond, it is refused."""


def information_about_p(
    columns: Array, prior: Prior, n: int, method: str, draws: int, seed: int
) -> Estimate:
    """Compute I(Y; P) of n reports in nats.

    Args:
        columns: the mechanism W[x, y].
        prior: the prior of P.
        n: the number of reports.
        method: "auto", "exact" or "monte-carlo".
        draws: how many P and tallies are drawn where the tallies are too many to list.
        seed: the seed of the draws.

    Raises:
        InvalidInputError: the method asked for takes too many operations, or its error is too large.
    """
    if isinstance(prior, Pushed):  # Y depends on the image of P as it does on P
        composed = prior.mechanism.matrix @ columns
        return information_about_p(composed, prior.base, n, method, draws, seed)
    if isinstance(prior, Dirichlet) and np.array_equal(columns, np.eye(prior.size)):
        return _unobfuscated(prior, n)
    W, prior = lumped(tallies.merged(columns), prior)
    if W.shape[1] == 1 or len(W) == 1:
        return Estimate(0.0)
    level = response_level(W) if isinstance(prior, Dirichlet) else None
    log_work = tallies.log_count(n, W.shape[1]) + math.log(prior.node_count(n))
    if isinstance(prior, Dirichlet) and level is not None:
        alike = math.lgamma(prior.size + 1) if prior.exchangeable else 0.0
        shorter = max(0.0, tallies.log_count(n, prior.size) - alike) + math.log(20 * n)
        if method != "monte-carlo" and shorter <= math.log(tallies.EXACT_WORK):
            return _from_entropy(response_entropy(prior, level, n), W, prior, n)
        log_work = min(log_work, shorter)
    if tallies.chosen_method(method, log_work, "I(Y; P)") == "exact":
        counts = compositions(n, W.shape[1])
        log_p = tallies.log_probabilities(counts, W, *prior.nodes(n))
        entropy = -float(np.exp(tallies.log_multinomial(counts) + log_p) @ log_p)
        return _from_entropy(entropy, W, prior, n)
    return _sampled(W, prior, n, draws, seed)


def lumped(W: Array, prior: Prior) -> tuple[Array, Prior]:
    """Merge values with the same row: the reports do not tell them apart."""
    if not isinstance(prior, Dirichlet):
        return W, prior
    rows, group = np.unique(W, axis=0, return_inverse=True)
    if len(rows) in (1, len(W)):
        return rows if len(rows) == 1 else W, prior
    return rows, Dirichlet(np.bincount(group.ravel(), weights=prior.alpha))


def _from_entropy(entropy: float, W: Array, prior: Prior, n: int) -> Estimate:
    """Compute H(Y) − H(Y | P)."""
    given_p = -n * float(prior.expected_xlogx(W).sum())
    return Estimate(entropy - given_p, ROUNDING * n, "exact-enumeration")


def _unobfuscated(prior: Dirichlet, n: int) -> Estimate:
    """Compute I(X; P) = −E log B(α+T)/B(α) − n H(X|P), T Dirichlet-multinomial.

    Lopuhaä-Zwakenberg et al. 2019, (D.20), corrected: it prints + n H(X|P).
    """
    value = -tallies.expected_log_beta(prior, n) - n * prior.expected_entropy()
    return Estimate(value, 10 * ROUNDING * n * prior.size, "closed-form")


# ---------------------------------------------------------------- sampling


def _sampled(W: Array, prior: Prior, n: int, draws: int, seed: int) -> Estimate:
    """Average log P(y | P)/P(y), less control variates whose expectations are known.

    The error is a sum: the standard error, a little widened; half the distance of the bounds where P(y)
    is bracketed; and rounding, which is all that is left where the control variates explain everything.
    """
    rng = np.random.default_rng(seed)
    points = prior.sample(draws, rng)
    q = points @ W
    counts = rng.multinomial(n, q / q.sum(axis=1, keepdims=True))
    given = xlogy(counts, np.maximum(q, 1e-300)).sum(axis=1)
    low, high = _log_evidence(W, prior, points, counts, rng)
    controls = _controls(W, prior, points, counts, given)
    value, error = _regressed(given - (low + high) / 2, controls)
    doubt = abs(float((high - low).mean())) / 2
    if doubt > WIDEST * (len(W) - 1):
        raise InvalidInputError(
            f"I(Y; P) of {n} reports is bracketed only within ±{doubt:.2g} nats by annealing, more than "
            f"{WIDEST} for each of the {len(W) - 1} unknowns"
        )
    return Estimate(max(value, 0.0), WIDENED * error + doubt + ROUNDING * n, "monte-carlo")


def _log_evidence(
    W: Array, prior: Prior, points: Array, counts: tallies.Tallies, rng: np.random.Generator
) -> Bracket:
    """Compute log P(y) of every row of counts, from below and above."""
    n = int(counts[0].sum())
    if isinstance(prior, Dirichlet) and (beta := response_level(W)) is not None:
        own = np.argsort(W.argmax(axis=0))  # the output that stands for each input
        aligned = counts[:, own].astype(np.float64)
        exact = np.array(
            [randomized_response_series.log_probability(prior, beta, row) for row in aligned]
        )
        return Bracket(exact, exact)
    # Gauss quadrature with more points takes longer than annealing
    if not isinstance(prior, Dirichlet) or prior.node_count(n) <= 1e5:
        exact = tallies.log_probabilities(counts, W, *prior.nodes(n))
        return Bracket(exact, exact)
    k, b = W.shape
    work = 10.0 * len(counts) * ANNEALING_STEPS * k * (2 * b + 2 * k)
    if work > ANNEALING_WORK:
        raise InvalidInputError(
            f"I(Y; P) with {k} inputs, {b} outputs and {len(counts)} draws would take {work:.2g} "
            f"operations, more than {ANNEALING_WORK:.2g}"
        )
    size = max(1, 2_000_000 // (k * (k + b)))
    parts = [
        bracket(W, prior, points[i : i + size], counts[i : i + size], ANNEALING_STEPS, rng)
        for i in range(0, len(counts), size)
    ]
    return Bracket(np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]))


def _controls(
    W: Array, prior: Prior, points: Array, counts: tallies.Tallies, given: Array
) -> list[Array]:
    """Compute quantities of expectation 0 that vary with log P(y | P)/P(y).

    For few reports it is nearly log P(y | P) less its mean. For many, log P(y | P)/P(y) is about
    −χ²/2 plus half the log determinant of the information (Theorem 6.7), to which log q is near.
    """
    n = int(counts[0].sum())
    controls = [given - n * float(prior.expected_xlogx(W).sum())]
    if isinstance(prior, Dirichlet) and (W > 0).all():
        q = points @ W
        controls.append(((counts - n * q) ** 2 / (n * q)).sum(axis=1) - (W.shape[1] - 1))
        controls.append(np.log(q).sum(axis=1) - float(prior.expected_log(W).sum()))
    return controls


def _regressed(values: Array, controls: list[Array]) -> tuple[float, float]:
    """Compute the mean of the values less what the controls explain, and its standard error.

    The error is the jackknife's, up to a term of the order 1/draws (MacKinnon and White 1985, HC3): it
    holds where the rest varies more at some draws than at others, and for few draws.
    """
    scaled = [control / max(float(np.abs(control).max()), 1e-300) for control in controls]
    design = np.column_stack([np.ones(len(values)), *scaled])
    inverse = np.linalg.pinv(design, rcond=1e-10)
    found = inverse @ values
    leverage = np.einsum("ij,ji->i", design, inverse)
    rest = (values - design @ found) / np.maximum(1 - leverage, 1e-9)
    return float(found[0]), math.sqrt(float(((inverse[0] * rest) ** 2).sum()))
