"""How far the points that stand for a prior are off: optima against the integral over the prior.

The integral is a mean over scrambled Sobol points, regressed on sums of logarithms with known means; for
randomised response, with or without silence, these explain everything and the reference is exact.
"""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import qmc

from ldpopt import solve
from ldpopt.measures.asymptotics import HALF_LOG_2PIE
from ldpopt.measures.fisher import differences
from ldpopt.measures.information_metrics import asymptotic_utility
from ldpopt.mechanisms import randomized_response
from ldpopt.models.priors import Dirichlet
from ldpopt.problems import AsymptoticUtility, PrivacyUtilityFrontier

EQUAL = [[a] * k for k in range(2, 9) for a in (0.1, 0.2, 0.5, 1.0, 2.0)]
UNEQUAL = [[1, 2, 1], [0.5, 1, 1.5, 2], [0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 2, 5], [0.1, 1, 1, 3]]
LEVELS = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)


def sobol(alpha, log_count, seed):
    """Points of Dirichlet(α) by stick-breaking."""
    u = np.clip(qmc.Sobol(len(alpha) - 1, seed=seed).random_base2(log_count), 1e-15, 1 - 1e-15)
    left, points = np.ones(len(u)), []
    for (a, b), v in zip(Dirichlet(alpha).sticks(), u.T, strict=True):
        points.append(left * betaincinv(a, b, v))
        left = left * betaincinv(b, a, 1 - v)
    return np.maximum(np.array([*points, left]).T, 1e-290)


def columns(k, epsilon):
    """Lists of columns 1 + β 1_S: the logarithms of each list are added."""
    for m in range(1, max(2, k // 2 + 1)):
        sets = np.array([[x in S for x in range(k)] for S in combinations(range(k), m)], float).T
        for divisor in (1, 2, 4, 8) if m == 1 else (1, 2):
            yield 1 + math.expm1(epsilon / divisor) * sets


def integrated(mechanism, alpha, epsilon):
    """U^as of the mechanism and its standard error, from two scramblings."""
    k, prior, found = len(alpha), Dirichlet(alpha), []
    known = [float(prior.expected_log(C).sum()) for C in columns(k, epsilon)]
    for seed in range(2):
        points = sobol(alpha, 14 if k <= 5 else 12, seed)
        values = np.linalg.slogdet(differences(points, mechanism.matrix))[1]
        sums = np.array([np.log(points @ C).sum(axis=1) for C in columns(k, epsilon)]).T
        away = sums - sums.mean(axis=0)
        slopes = np.linalg.lstsq(away, values - values.mean(), rcond=None)[0]
        found.append(values.mean() + (known - sums.mean(axis=0)) @ slopes)
    scaled = np.array(found) / (2 * k - 2) - HALF_LOG_2PIE
    return scaled.mean(), abs(scaled[0] - scaled[1]) / 2


def off(problem):
    """The value of the optimum minus its utility under the prior itself."""
    result = solve(problem, gap=1e-5)
    utility, error = integrated(result.mechanism, problem.dirichlet, problem.question.epsilon)
    assert error < 1e-5
    return result.value - utility


@pytest.mark.parametrize("alpha", [*EQUAL, *UNEQUAL], ids=str)
def test_randomised_response_is_exact(alpha):
    for epsilon in (1.0, 10.0) if len(alpha) > 3 else LEVELS:
        response = randomized_response(len(alpha), epsilon)
        problem = AsymptoticUtility(epsilon, alpha)
        points, weights = problem._points
        found = problem._utility(points, weights, response.matrix)
        assert found == pytest.approx(asymptotic_utility(response, Dirichlet(alpha)), abs=1e-11)


@pytest.mark.parametrize(
    ("problem", "known"),
    [
        (AsymptoticUtility(1.0, [0.5] * 7), -2.3e-5),
        pytest.param(PrivacyUtilityFrontier([1, 2, 1], 0.5), 5.6e-4, marks=pytest.mark.slow),
        pytest.param(PrivacyUtilityFrontier([0.1, 2, 5], 0.8), 5.2e-3, marks=pytest.mark.slow),
    ],
)
def test_the_largest_errors_that_were_found(problem, known):
    assert off(problem) == pytest.approx(known, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [*EQUAL, *UNEQUAL], ids=str)
def test_optima_without_a_floor(alpha):
    assert max(abs(off(AsymptoticUtility(epsilon, alpha))) for epsilon in LEVELS) < 3e-5


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [a for a in [*EQUAL, *UNEQUAL] if len(a) in (3, 4, 5)], ids=str)
def test_optima_with_a_floor(alpha):
    found = [off(PrivacyUtilityFrontier(alpha, floor, None)) for floor in (0.1, 0.3, 0.5, 0.8)]
    found += [off(PrivacyUtilityFrontier(alpha, floor, 5.0)) for floor in (0.3, 0.8)]
    assert max(map(abs, found)) < 6e-3
