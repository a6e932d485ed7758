"""Tails and quantiles are those of scipy.stats, which nothing imports that does not need it."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from ldpopt.core import quantiles

TAILS = (1e-12, 1e-3, 0.05, 0.5, 0.999)


@pytest.mark.parametrize("tail", TAILS)
def test_tails_and_quantiles(tail):
    assert quantiles.normal_quantile(tail) == stats.norm.isf(tail)
    for degrees in (1, 8, 5000):
        x = quantiles.chi2_quantile(tail, degrees)
        assert x == stats.chi2.isf(tail, degrees)
        assert quantiles.chi2_tail(x, degrees) == stats.chi2.sf(x, degrees)


@pytest.mark.parametrize("tail", [0.05, 1e-6])
def test_clopper_pearson(tail):
    hits, trials = np.array([0, 3, 7, 40]), np.array([7, 7, 7, 1000])
    intervals = [
        stats.binomtest(h, n).proportion_ci(1 - 2 * tail, method="exact")
        for h, n in zip(hits, trials, strict=True)
    ]
    low, high = quantiles.least_share(tail, hits, trials), quantiles.greatest_share(tail, hits, trials)
    assert low == pytest.approx([both.low for both in intervals], abs=1e-12)
    assert high == pytest.approx([both.high for both in intervals], abs=1e-12)


def test_design_and_audit_do_not_wait_for_scipy_stats():
    modules = "ldpopt.release.comparing, ldpopt.audit.auditing, ldpopt.release.estimating"
    asked = f"import sys, {modules}; print('scipy.stats' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
