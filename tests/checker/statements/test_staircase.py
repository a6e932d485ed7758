"""Column programs: extremes verify, forgeries do not, nearly uniform priors are decided at once."""

import json
import math

import numpy as np
import pytest

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.checker.kernel.proofs import corners
from ldpopt.checker.kernel.proofs.weak_duality import on_corners
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.problems import SecretStaircase, Staircase

PAIR = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.25, 0.35]]


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.01, 20.0, 30.0])
@pytest.mark.parametrize(
    "utility", ["mutual-information", "kl", "total-variation", "chi-squared", "hellinger", None]
)
def test_extreme_levels_verify(epsilon, utility):
    if utility is None:
        question = SecretStaircase(epsilon, [[0.2, 0.1, 0.1], [0.3, 0.2, 0.1]])
    elif utility == "mutual-information":
        question = Staircase(epsilon, prior=[0.4, 0.3, 0.2, 0.1])
    else:
        question = Staircase(epsilon, hypotheses=PAIR, utility=utility)
    found = verify(solve(question))
    assert found, str(found)
    assert all(claim.strength == "exact" for claim in found.claims)


@pytest.mark.parametrize("tiny", [1e-12, 1e-100, 5e-324, 0.0])
def test_tiny_probabilities_verify(tiny):
    for question in (
        Staircase(1.0, prior=[0.5, 0.5 - tiny, tiny]),
        Staircase(1.0, hypotheses=[[0.5, 0.5 - tiny, tiny], [tiny, 1 - tiny, 0]], utility="kl"),
        SecretStaircase(1.0, [[0.5, 0.25], [0.25 - tiny, tiny]]),
    ):
        found = verify(solve(question))
        assert found, str(found)


def constant_dual(prior, epsilon, room):
    """β = c·P with c just above the largest g(v)/P·v over the sizes of S: valid if P is uniform."""
    k, E = len(prior), math.exp(epsilon)
    best = max(
        E * epsilon * m / k - (1 + (E - 1) * m / k) * math.log(1 + (E - 1) * m / k) for m in range(k)
    )
    ratio = max(
        (E * epsilon * m / k) / (1 + (E - 1) * m / k) - math.log(1 + (E - 1) * m / k) for m in range(k)
    )
    assert best > 0
    return [(ratio + room) * p for p in prior]


@pytest.mark.parametrize("k", [31, 40])
def test_nearly_uniform_priors_are_decided(k):
    """Astronomically many sets are nearly tight; the number of high entries tells them apart."""
    rng = np.random.default_rng(k)
    prior = 1 + 1e-3 * rng.standard_normal(k)
    prior = (prior / prior.sum()).tolist()
    question = frame.question(
        {
            "form": "column-program",
            "secrets": list(range(k)),
            "epsilon": 1.0,
            "utility": "mutual-information",
            "distributions": [prior],
        }
    )
    assert on_corners(constant_dual(prior, 1.0, 3e-5), question) is True
    assert on_corners(constant_dual(prior, 1.0, -1e-5), question) is False


def test_a_search_that_is_too_long_is_undecided(monkeypatch):
    monkeypatch.setattr(corners, "PLAIN_NODES", 1)
    monkeypatch.setattr(corners, "MOST_NODES", 1)
    search = Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1])
    claims = verify(solve(search)).claims
    assert [claim.what for claim in claims if claim.holds is None] == ["bound"]
    with pytest.raises(UndecidedError):
        on_corners([0.05, 0.04, 0.03, 0.01], frame.question(search.statement()))


@pytest.mark.parametrize(
    "utility", ["mutual-information", "kl", "total-variation", "chi-squared", "hellinger"]
)
@pytest.mark.parametrize("size", [1e-300, 1e-20, 1.0, 1e20, 1e30])
def test_duals_of_any_size(utility, size):
    """+L and −L, or one huge entry: never accepted below the optimum, never a crash."""
    rows = [PAIR[0]] if utility == "mutual-information" else PAIR
    question = frame.question(
        {
            "form": "column-program",
            "secrets": [0, 1, 2, 3],
            "epsilon": 1.0,
            "utility": utility,
            "distributions": rows,
        }
    )
    for dual in ([size, -size, 0.0, 0.0], [size, -size, size, -size], [-size] * 4, [0.0] * 4):
        assert on_corners(dual, question) is not True
    assert on_corners([max(size, 2.0)] * 4, question) is True


def test_a_dual_beyond_all_measure_is_unreadable():
    document = json.loads(json.dumps(solve(Staircase(1.0, prior=[0.5, 0.5])).to_json()))
    document["certificate"]["proof"]["dual"] = [1e300, -1e300]
    with pytest.raises(UnreadableError, match=r"dual\[0\] must be a finite number from -1e\+30"):
        frame.check(document)


def test_sums_that_are_off_make_no_constant_mechanism_informative():
    """A prior whose sum is off by 9e-10 is divided by it; a constant mechanism is worth exactly 0."""
    document = json.loads(json.dumps(solve(Staircase(1e-4, prior=[0.5, 0.5])).to_json()))
    document["params"]["prior"] = [0.5, 0.5 + 9e-10]
    document["mechanism"] = {"matrix": [[1.0], [1.0]]}
    document["certificate"]["audit"] = {}
    claims = {c.what: c.holds for c in frame.check(document | {"value": 1e-300})}
    assert claims["value"] is False
    claims = {c.what: c.holds for c in frame.check(document | {"value": 0.0})}
    assert claims["value"] is True


def test_secrets_that_are_equal_but_written_differently():
    """Whether 1 and true are one secret would depend on who reads the statement."""
    plain = {
        "form": "column-program",
        "secrets": [1, True, 2],
        "epsilon": 1.0,
        "utility": "mutual-information",
        "distributions": [[0.5, 0.25, 0.25]],
    }
    with pytest.raises(UnreadableError, match="equal labels alike"):
        frame.question(plain)
