"""Theorems 6 and 12, Section 8.1 and tables in parts (Bravo-Hermsdorff et al. 2022)."""

import math

import numpy as np
import pytest
from scipy.special import rel_entr

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.exposure import (
    exposure,
    hard_pair,
    le_cam_bound,
)
from ldpopt.measures.tallies import log_multinomial
from ldpopt.mechanisms.listings import compositions
from ldpopt.protocol.random_redaction import redact_randomly


def smallest_mean_risk(p0, p1, n, distance):
    """d/2 · (1 − TV): the best estimator says θ0 or θ1, whichever makes the tallies likelier."""
    counts = compositions(n, len(p0))
    ways = log_multinomial(counts)
    law = [np.exp(ways + counts @ np.log(p)) for p in (p0, p1)]
    return distance / 2 * np.minimum(*law).sum()


@pytest.mark.parametrize("n", [1, 4, 12, 30])
@pytest.mark.parametrize("s", [2, 3])
def test_theorem_12_is_below_the_best_estimator(s, n):
    pair = hard_pair(s, n + 1)
    p0, p1 = np.maximum(pair.p0, 1e-12), pair.p1
    assert le_cam_bound(p0 / p0.sum(), p1, n, 1.0) <= smallest_mean_risk(p0, p1, n, 1.0) + 1e-12


@pytest.mark.parametrize("s", [2, 3, 5])
def test_theorem_6_the_risk_does_not_vanish(s):
    risks = [hard_pair(s, n).risk for n in (10, 1000, 10**6)]
    assert risks == sorted(risks)
    assert risks[-1] == pytest.approx(1 / (4 * s), rel=1e-4)
    assert min(risks[1:]) > 1 / (16 * s)
    pair = hard_pair(s, 100)
    assert pair.distance == pytest.approx(1 / s - (s - 1) / (s * 100))
    assert exposure(pair.p1, pair.threshold) == 0


def test_errata_theorem_6_the_printed_bound_on_the_divergence_is_not_enough():
    """n KL ≤ 2 is what (8) gives, Theorem 12 asks for log 2: the pair itself has far less."""
    s, n = 3, 100
    epsilon = (s - 1) / (s * s * n)
    printed = n * 2 * s**2 * epsilon / (s - 1)
    assert printed == pytest.approx(2)
    assert printed > math.log(2)
    pair = hard_pair(s, n)
    assert n * rel_entr(pair.p0, pair.p1).sum() < math.log(2) / 10
    below = 1 - s - s**2 * epsilon  # the second ≤ before (8) drops a term over this
    assert (1 / s - s * epsilon) * s**3 * epsilon / below > s**2 * epsilon / below


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_errata_lemma_11_is_an_equality_at_q(q):
    """p G_q(p) < q always is printed; at p = q it is q, and nowhere more."""
    p = np.linspace(0.01, 0.99, 99)
    values = p * np.minimum(1, q * (1 - p) / (p * (1 - q)))
    assert values.max() == pytest.approx(q)
    assert p[values.argmax()] == pytest.approx(q)
    others = np.abs(p - q) > 1e-9
    assert (values[others] < q).all()


@pytest.mark.parametrize(
    "bad", [([1.0], [0.5, 0.5], 1, 1.0), ([1.0], [1.0], 0, 1.0), ([1.0], [1.0], 1, -1)]
)
def test_bad_pairs(bad):
    with pytest.raises(InvalidInputError):
        le_cam_bound(*bad)


# ---------------------------------------------------------------- random redaction


@pytest.mark.parametrize(
    ("counts", "threshold"), [([60, 39, 1], 0.1), ([500, 300, 195, 3, 2], 0.05), ([10, 10], 0.2)]
)
def test_random_redaction_exposes_nobody_in_expectation(counts, threshold):
    found = redact_randomly(counts, threshold)
    assert found.exposure == 0
    assert found.released.sum() == pytest.approx(1)
    p = np.array(counts) / sum(counts)
    assert (found.chances[p < threshold] == 1).all()
    kept = p * (1 - found.chances)
    assert (kept[p >= threshold] >= threshold - 1e-12).all()


def test_always_redacting_alone_would_expose():
    """The paper's warning: if one user has the rare value, redacting it changes nothing."""
    assert exposure(np.array([60, 39, 1]) / 100, 0.1) == pytest.approx(0.01)
    assert redact_randomly([60, 39, 1], 0.1).exposure == 0
    assert redact_randomly([60, 40], 0.1).chances.tolist() == [0, 0]
    assert redact_randomly([8, 1, 1], 0.6).chances.tolist() == [1, 1, 1]


def test_the_chance_of_too_few_redactions_is_exact():
    found = redact_randomly([20, 9, 1], 0.2)
    rng = np.random.default_rng(0)
    draws = sum(rng.binomial(c, q, 200_000) for c, q in zip([20, 9, 1], found.chances, strict=True))
    assert found.short == pytest.approx(np.mean((draws >= 1) & (draws < 6)), abs=0.005)
    assert redact_randomly([20, 9, 1], 0.2, margin=0.5).short < found.short


@pytest.mark.parametrize("bad", [([], 0.1), ([0, 0], 0.1), ([1.5], 0.1), ([3], 0.0), ([3], math.nan)])
def test_bad_redactions(bad):
    with pytest.raises(InvalidInputError):
        redact_randomly(*bad)
