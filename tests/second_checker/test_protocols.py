"""Reporting protocols: the two checkers agree on calibrated ones, and no box has more than its bound."""

import copy
import itertools
import json
import math
import random
from fractions import Fraction
from functools import cache

import pytest
from forgeries.contradicting import judged
from forgeries.small import SKEW

from ldpopt import problem, solve
from second_checker import opinion
from second_checker.confidence import Robust
from second_checker.intervals import bottom, interval, top
from second_checker.jets import jet
from second_checker.protocols import Protocol
from second_checker.unary import Unary, never_negative, somewhere_negative

KINDS = ("independent-reporting", "grr-conditional", "ue-conditional")
TABLE = {"epsilon": 0.5, "p_hat": SKEW, "n": 100.0}


@cache
def written(kind):
    return json.dumps(solve(problem(kind, **TABLE, calibrate=True)).to_json())


@pytest.mark.parametrize("kind", KINDS)
def test_calibrated_protocols(kind):
    """Genuine ones are verified; a lower bound, another member of F, other responses are refuted."""
    document = json.loads(written(kind))
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    for forged in forgeries(document):
        assert (judged(forged), opinion(json.dumps(forged))) == ("refuted", "refuted")


def forgeries(document):
    """Files with true claims, but for one."""
    value, members = document["value"], document["certificate"]["proof"]["members"]
    plain = {**document, "status": "feasible", "bound": None, "gap": None}
    forged = copy.deepcopy(document)
    forged |= {"status": "gap", "value": value - 1e-3, "bound": value - 1e-6}
    del forged["gap"]
    yield forged
    other = copy.deepcopy(plain)
    other["mechanism"]["matrix"] = [row[::-1] for row in document["mechanism"]["matrix"]]
    yield other
    if members:
        forged = copy.deepcopy(document)
        forged["certificate"]["proof"]["members"] = []
        yield forged
        forged = copy.deepcopy(document)
        forged["certificate"]["proof"]["members"][0]["distribution"] = [[0.01, 0.49], [0.25, 0.25]]
        yield forged


@pytest.mark.parametrize(("kind", "said"), [(KINDS[0], "verified"), (KINDS[2], "refuted")])
def test_calibrated_responses_that_are_right_less_often(kind, said):
    """They may be, but in a unary encoding, whose responses follow from its split."""
    found = json.loads(written(kind))
    found |= {"status": "feasible", "bound": None, "gap": None, "value": 0.0}
    found["certificate"] |= {"audit": {}, "proof": None}
    rows = found["mechanism"]["matrix"]
    found["mechanism"] = {"matrix": [mixed(rows, x) for x in range(4)]}
    assert judged(found) == opinion(json.dumps(found)) == said


def mixed(rows, x):
    """Row x with a quarter of the row of the other value, rounded so that it sums to 1."""
    weighed = zip(rows[x], rows[x ^ 1], strict=True)
    entries = [Fraction(int((0.75 * p + 0.25 * q) * 2**50), 2**50) for p, q in weighed]
    entries[entries.index(max(entries))] += 1 - sum(entries)
    return [float(p) for p in entries]


def test_a_unary_encoding_that_is_stated_by_its_parameters():
    """Seven secrets have too many reports for a matrix; another λ, y or value is refuted."""
    counts = [[20 + 20 * ((3 * s + u * u) % 5) for u in range(3)] for s in range(7)]
    document = json.loads(json.dumps(solve(problem(KINDS[2], epsilon=1.0, counts=counts)).to_json()))
    assert document["mechanism"] is None
    assert judged(document) == opinion(json.dumps(document)) == "verified"
    lower = {**document, "status": "gap", "value": 0.0, "bound": document["value"] - 1e-3}
    del lower["gap"]
    plain = {**document, "status": "feasible", "bound": None, "gap": None}
    answer, y = document["answer"], document["answer"]["right"]
    for forged in (
        lower,
        plain | {"value": document["value"] + 1e-12},
        plain | {"answer": answer | {"lambda": answer["lambda"] - 2**-10}},
        plain | {"value": 0.0, "answer": answer | {"right": [y[0] + 2**-20, *y[1:]]}},
    ):
        assert (judged(forged), opinion(json.dumps(forged))) == ("refuted", "refuted")


@pytest.mark.parametrize("kind", KINDS[:2])
def test_no_box_of_splits_has_more_than_its_bound(kind):
    """Also where a limit ends in the box, which is where the best split may be."""
    table = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
    robust = Robust({"epsilon": 1.0, "p_hat": table, "n": 1000})
    protocol = Protocol(
        kind, robust, ((Fraction(1, 2), Fraction(1, 4)), (Fraction(2, 3), Fraction(2, 5)))
    )
    draw = random.Random(kind)
    for width in (0.5, 0.1, 0.02, 0.004):
        box = sorted(Fraction(1.637 + width * draw.uniform(-1, 1)) for _ in range(2))
        g = box[0] + (box[1] - box[0]) * Fraction(draw.random())
        reached = protocol.utility(interval(g) / protocol.E, protocol.odds(g)).value
        assert bottom(reached) <= protocol.most_on(box)
        assert protocol.most_on((g, g)) - top(reached) < 1e-30


def test_the_polynomial_of_unary_encoding_is_its_utility():
    """As the page states it, by entropies of subsets of three secrets."""
    robust = Robust({"epsilon": 1.0, "p_hat": [[0.2, 0.1], [0.05, 0.35], [0.1, 0.2]], "n": 1000})
    protocol, g, kappa = Protocol("ue-conditional", robust), Fraction(5, 4), 0.7
    rho = float((protocol.E / interval(g)).mid)
    lam, masses = kappa / (kappa + (1 - kappa) * rho), [float(m) for m in robust.secrets]

    def h(*chances):
        return -sum(p * math.log(p) for p in chances)

    said = float(protocol.second([jet(o) for o in protocol.odds(g)]).value.mid)
    utility = kappa * said - h(kappa, 1 - kappa) - 2 * h(lam, 1 - lam)
    for Z in itertools.product((0, 1), repeat=3):
        j, mass = sum(Z), sum(m for m, z in zip(masses, Z, strict=True) if z)
        inside = kappa * lam ** (j - 1) * (1 - lam) ** (3 - j)
        utility += h(mass * inside + (1 - mass) * (1 - kappa) * lam**j * (1 - lam) ** (2 - j))
    coefficients = [float(c.value.mid) for c in Unary(protocol, 2).at(g, protocol.odds(g))]
    terms = [c * math.comb(3, j) * lam**j * (1 - lam) ** (3 - j) for j, c in enumerate(coefficients)]
    assert sum(terms) / (1 + (rho - 1) * lam) == pytest.approx(2 - utility, abs=1e-12)


def test_signs_of_bernstein_polynomials():
    """(1 − 2x)² + c, with the coefficients 1 + c, −1 + c, 1 + c."""
    for c, negative in ((1e-12, False), (-1e-12, True)):
        exact = [Fraction(x) + Fraction(c) for x in (1, -1, 1)]
        assert never_negative(exact) is not negative
        assert somewhere_negative([int(x * 2**200) for x in exact]) is negative
