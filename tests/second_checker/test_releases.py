"""Releases of features: the two checkers agree where marginals, redaction and future users decide."""

import copy
import itertools
import json
import math
from fractions import Fraction

import pytest
from forgeries.contradicting import judged

from ldpopt import problem, solve
from second_checker import opinion
from second_checker.exposure import theorem_2_proves
from second_checker.intervals import bottom, interval, top
from second_checker.releases import peak, redacted, worth

PLAIN = [[0.5, 0.3, 0.2], [0.7, 0.2, 0.06, 0.04], [0.9, 0.1]]
ROWS = [[i % 2, (i * i) % 5, i % 7 // 2] for i in range(120)]
ASKED = {
    "marginals": {"threshold": 0.02, "budget": 0.3, "marginals": PLAIN, "weights": [1.0, 2.0, 1.5]},
    "redacted": {
        "threshold": 0.03,
        "budget": 0.3,
        "marginals": PLAIN,
        "weights": [1.0, 2.0, 1.5],
        "redact": 0.1,
    },
    "table": {"threshold": 0.1, "budget": 0.2, "table": ROWS, "weights": [1.0, 2.0, 1.5], "redact": 0.2},
    "users": {"threshold": 0.02, "budget": 0.2, "table": ROWS, "weights": [1.0, 2.0, 1.5], "users": 300},
}


@pytest.mark.parametrize("name", ASKED)
def test_releases(name):
    document = json.loads(json.dumps(solve(problem("feature-release", **ASKED[name])).to_json()))
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    forged = list(forgeries(document))
    assert len(forged) >= 4
    for other in forged:
        assert judged(other) == opinion(json.dumps(other)) == "refuted"


def forgeries(document):
    """Files with one claim that is false: value, bound, exposure, features, or a conflict."""
    plain = copy.deepcopy(document)
    plain |= {"status": "gap"}
    del plain["gap"]
    yield plain | {"value": document["value"] + 0.001, "bound": document["bound"] + 0.001}
    yield plain | {"value": 0.0, "bound": document["value"] - 0.001}
    exposure = document["answer"]["exposure"]
    if exposure:
        yield plain | {"answer": document["answer"] | {"exposure": exposure * (1 - 1e-12)}}
    yield plain | {"answer": {"features": [0, 1, 2]}, "value": 0.0}
    none = copy.deepcopy(plain)
    none["certificate"]["proof"]["conflicts"].append(document["answer"]["features"])
    yield none


def test_redacted_values():
    """The rarest first, ties by number, and on until they are no rarer than r themselves."""
    shares = {value: Fraction(n, 20) for value, n in enumerate((10, 1, 3, 1, 3, 2))}
    assert redacted(shares, Fraction(1, 20)) == set()
    assert redacted(shares, Fraction(1, 10)) == {1, 3}
    assert redacted(shares, Fraction(3, 20)) == {1, 3, 5}
    assert redacted({0: Fraction(1, 20), 1: Fraction(1, 2), 2: Fraction(9, 20)}, Fraction(1, 10)) == {
        0,
        2,
    }


def test_theorem_2_with_the_best_thresholds():
    """No thresholds of a grid prove less than the least level that is found, and some nearly as much."""
    marginals = [[Fraction(n, 10) for n in p] for p in ((5, 3, 2), (7, 2, 1), (6, 4))]
    t, low, high = Fraction(1, 100), Fraction(0), Fraction(1)
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if theorem_2_proves(marginals, t, middle) else (middle, high)
    grid, best = [math.exp(-j / 2) for j in range(10)], 1.0
    for chosen in itertools.product(grid, repeat=3):
        low_ones = sum(float(x) for p, s in zip(marginals, chosen, strict=True) for x in p if x < s)
        costs = [s * len(p) for p, s in zip(marginals, chosen, strict=True)]
        if math.prod(chosen) >= t:
            best = min(best, low_ones + sum(costs) - max(costs))
    assert high <= best < 1.3 * high


def test_the_peak_of_a_binomial_term():
    """x F(k − 2; n − 1, x) is nowhere larger than at its peak; k = 2: x (1 − x)^(n − 1), at 1/n."""
    left, right = peak(10, 2)
    assert left <= Fraction(1, 10) <= right
    for n, k in ((10, 2), (50, 7)):
        left, right = peak(n, k)
        assert right - left < 1e-30
        most = top(worth(interval(left), n, k))
        assert all(bottom(worth(interval(Fraction(j, 97)), n, k)) < most for j in range(1, 97))
