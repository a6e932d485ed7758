"""Composition bounds are theorems: brute force on small questions, hostile numbers, sizes, budget."""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.printed_numbers import MOST_DIGITS, Digits, printed
from ldpopt.checker.kernel.proofs import exposure_rules, rare_cells
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements import composition_bound
from ldpopt.core.errors import InvalidInputError, NoSolverError
from ldpopt.core.form import Status
from ldpopt.problems import CompositionBound, FeatureRelease

HOSTILE = (0.0, 1.0, -1.0, 0.5, -2.0, 1e17, -1e17, 1e308, -1e308, 5e-324, -5e-324, 1e-9, 3.7)


def worst_2_by_2(a, b, t):
    """The most mass in cells of at most t, over all 2 × 2 tables: linear between the break-points.

    Cells of exactly t count, so the most is reached at a break-point itself.
    """
    low, high = max(Fraction(0), a + b - 1), min(a, b)
    points = {low, high, t, a - t, b - t, t - 1 + a + b}
    cells = ([x, a - x, b - x, 1 - a - b + x] for x in points if low <= x <= high)
    return max(sum(c for c in table if c <= t) for table in cells)


def question(rng):
    """Marginals in twentieths or at random, a threshold that is often one of their differences."""
    if rng.random() < 0.7:
        a, b, t = (Fraction(rng.randint(1, 19), 20) for _ in range(3))
    else:
        a, b, t = (printed(rng.uniform(0.01, 0.99)) for _ in range(3))
    if rng.random() < 0.3:
        t = min(a, b, 1 - a, 1 - b, abs(a - b) or a)
    return a, b, t


def random_tree(rng, marginals, cells, depth):
    if depth and cells and rng.random() < 0.6:
        cell = cells[rng.randrange(len(cells))]
        rest = [c for c in cells if c != cell]
        return [
            {"split": list(cell)},
            *random_tree(rng, marginals, rest, depth - 1),
            *random_tree(rng, marginals, rest, depth - 1),
        ]
    size = sum(map(len, marginals))
    kind = rng.random()
    if kind < 0.3:
        dual = [rng.choice(HOSTILE) for _ in range(size)]
    elif kind < 0.6:
        large, first = rng.choice((1e3, 1e17, 1e300)), len(marginals[0])
        dual = [large] * first + [-large] * (size - first)
        dual[rng.randrange(size)] += rng.choice((0.0, 1.0, -1.0))
    else:
        dual = [rng.choice((0.0, 0.5, 1.0)) for _ in range(size)]
    prizes = [[0, rng.choice((0.0, 0.01, 0.3, 1e300, 5e-324))]] if rng.random() < 0.5 else []
    return [{"dual": dual, "cuts": prizes}]


def tries(count):
    rng = random.Random(20)
    for _ in range(count):
        yield rng, *question(rng)


def test_no_tree_proves_less_than_the_truth():
    cells = list(itertools.product(range(2), range(2)))
    useful = 0
    for rng, a, b, t in tries(3000):
        marginals = [[a, 1 - a], [b, 1 - b]]
        cut = [rng.choice((0.0, 1.0, -1.0, 1e308, 0.5)) for _ in range(4)]
        tree = random_tree(rng, marginals, cells, 3)
        found = rare_cells.tree_bound(marginals, t, {"cuts": [cut], "tree": tree}, "proof")
        assert found >= min(worst_2_by_2(a, b, t), 1)
        useful += found < 1
    assert useful > 100


def test_no_rule_proves_less_than_a_joint_has():
    for rng, a, b, t in tries(3000):
        marginals = [[a, 1 - a], [b, 1 - b]]
        x = max(Fraction(0), a + b - 1) + printed(rng.random()) * (min(a, b) - max(0, a + b - 1))
        masses = [x, a - x, b - x, 1 - a - b + x]
        unit = math.lcm(*(m.denominator for m in masses))
        joint = {
            "cells": [[0, 0], [0, 1], [1, 0], [1, 1]],
            "masses": [str(m * unit) for m in masses],
            "denominator": str(unit),
        }
        least = rare_cells.rare_mass(marginals, t, joint, "joint", strict=True)
        assert least == sum(m for m in masses if m < t)
        most = rare_cells.rare_mass(marginals, t, joint, "joint", strict=False)
        assert least <= most <= worst_2_by_2(a, b, t)
        thresholds = [rng.choice([a, b, 1 - a, Fraction(1), t, printed(rng.random())]) for _ in range(2)]
        for rule in exposure_rules.RULES:
            assert exposure_rules.proven(marginals, t, rule, thresholds, rng.randrange(2)) >= least


def least_proven(marginals, t, rule):
    """All combinations of break-points; for theorem-2 only where two thresholds remain, by hand."""
    caps = [sorted({*p, Fraction(1)}) for p in marginals]
    best = Fraction(1)
    for chosen in itertools.product(*caps):
        if rule != "theorem-2":
            best = min(best, exposure_rules.proven(marginals, t, rule, chosen, None))
            continue
        for pivot in range(2):
            filled = list(chosen)
            filled[1 - pivot] = t / chosen[pivot]
            if filled[1 - pivot] <= chosen[1 - pivot]:
                best = min(best, exposure_rules.proven(marginals, t, rule, filled, pivot))
    return best


def test_the_least_that_a_rule_proves_by_brute_force():
    rng = random.Random(4)
    for _ in range(700):
        marginals = []
        for _ in range(2):
            counts = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
            marginals.append([Fraction(n, sum(counts)) for n in counts])
        t = Fraction(rng.randint(1, 40), 100)
        for rule in ("theorem-2", "theorem-3", "theorem-3-tight"):
            least = least_proven(marginals, t, rule)
            assert exposure_rules.provable(marginals, t, rule, least, less=False)
            assert not exposure_rules.provable(marginals, t, rule, least, less=True)
            assert exposure_rules.provable(marginals, t, rule, least + Fraction(1, 10**40), less=True)
    assert not exposure_rules.provable(marginals, t, "theorem-2", Fraction(-1), less=True)


@pytest.mark.parametrize("method", composition_bound.METHODS)
def test_genuine_results_verify(method):
    rng = np.random.default_rng(3)
    for size in (1, 2, 3):
        for t in (0.3, 0.01, 1e-4):
            marginals = [rng.dirichlet(np.ones(rng.integers(2, 4))).tolist() for _ in range(size)]
            result = solve(CompositionBound(marginals, t, method), **fast(method))
            assert verify(result), str(verify(result))
            assert result.status in (Status.OPTIMAL, Status.GAP)
            assert result.gap <= 1e-9 or method in ("worst-joint", "best")


def fast(method):
    return {"proof_lps": 60, "milp_nodes": 60} if method in ("worst-joint", "best") else {}


@pytest.mark.parametrize("t", [0.1, 0.3, 0.05, 0.6])
def test_thresholds_that_are_probabilities(t):
    marginals = [[0.6, 0.3, 0.1], [0.9, 0.1]]
    for method in composition_bound.METHODS:
        result = solve(CompositionBound(marginals, t, method), **fast(method))
        assert verify(result), (method, str(verify(result)))


@pytest.mark.parametrize(
    ("p", "t"),
    [
        ([0.8020018079032311, 0.1285713947559712, 0.06942679734079776], 0.06942679734079776),
        ([0.010577792215534877, 0.9894222077812106, 3.254681797255791e-12], 0.010577792215534877),
        ([0.3730749147992571, 0.626925085200743], 0.3730749147992571),
    ],
)
def test_a_sum_off_by_rounding_breaks_ties_and_nothing_else(p, t):
    """Divided by the exact sum, the value of probability t is a little rarer than t: it is exposed."""
    exposed = sum(x for x in p if x <= t)
    for method in ("theorem-2", "best"):
        result = solve(CompositionBound([p], t, method))
        assert verify(result), str(verify(result))
        assert result.value == pytest.approx(exposed)
    release = solve(FeatureRelease(t, exposed + 1e-12, marginals=[p]))
    assert verify(release)
    assert release.answer["features"] == [0]


def test_tiny_probabilities_and_thresholds():
    marginals = [[0.5, 0.5 - 1e-12, 1e-12], [0.7, 0.3]]
    for t in (1e-12, 1e-9, 5e-324):
        for method in ("theorem-2", "theorem-3", "best"):
            assert verify(solve(CompositionBound(marginals, t, method), **fast(method))), (t, method)
    with pytest.raises(NoSolverError, match="5e-324 is below 1e-10"):
        solve(CompositionBound(marginals, 5e-324, "worst-joint"))


def test_the_words_say_which_cells_count():
    worst, best = (
        " ".join(str(c) for c in frame.check(solve(CompositionBound([[0.6, 0.4]], 0.5, m)).to_json()))
        for m in ("worst-joint", "best")
    )
    assert "in cells of at most 0.5" in worst
    assert "in cells below 0.5" in best
    assert "numeric" not in worst + best


# ---------------------------------------------------------------- sizes and budget


def test_sizes_on_both_sides():
    even = [1 / exposure_rules.MOST_VALUES] * exposure_rules.MOST_VALUES
    assert len(CompositionBound([even], 0.1).marginals[0]) == exposure_rules.MOST_VALUES
    with pytest.raises(InvalidInputError, match="10000"):
        CompositionBound(
            [[1 / (exposure_rules.MOST_VALUES + 1)] * (exposure_rules.MOST_VALUES + 1)], 0.1
        )
    CompositionBound([[1.0]] * exposure_rules.MOST_FEATURES, 0.1)
    with pytest.raises(InvalidInputError, match="64"):
        CompositionBound([[1.0]] * (exposure_rules.MOST_FEATURES + 1), 0.1)
    assert Digits().read("9" * MOST_DIGITS, "") == 10**MOST_DIGITS - 1
    for bad in ("9" * (MOST_DIGITS + 1), "", "-1", "1.0", "1_0", " 1", "٣", 1, None):
        with pytest.raises(UnreadableError):
            Digits().read(bad, "")


def test_what_is_too_large_is_undecided():
    document = json.loads(json.dumps(solve(CompositionBound([[0.6, 0.4]], 0.5, "best")).to_json()))
    document["params"]["marginals"] = [[1 / 1000] * 1000] * 8
    leaf = {"dual": [0.0] * 8000, "cuts": []}
    document["answer"] = {"rule": "dual", "cuts": [], "tree": [leaf]}
    document |= {"status": "feasible", "bound": None, "gap": None}
    with limited(seconds=5):
        claims = frame.check(document)
    assert any(claim.holds is None for claim in claims)
    with limited(seconds=0), pytest.raises(UndecidedError):
        exposure_rules.provable(
            [[Fraction(1, 3)] * 3] * 3, Fraction(1, 100), "theorem-2", Fraction(1, 2), less=True
        )


def test_a_deep_tree_takes_no_stack():
    """A caterpillar through all cells, and a tree without an end."""
    marginals = [[Fraction(1, 40)] * 40, [Fraction(1, 40)] * 40]
    leaf = {"dual": [0.0] * 80, "cuts": []}
    cells = [[i, j] for i in range(40) for j in range(40)]
    deep = [{"split": cell} for cell in cells]
    with pytest.raises(UnreadableError, match="incomplete"):
        rare_cells.tree_bound(marginals, Fraction(1, 100), {"cuts": [], "tree": deep}, "proof")
    few = [node for cell in cells[:60] for node in ({"split": cell}, leaf)]
    tree = {"cuts": [], "tree": [*few, leaf]}
    assert rare_cells.tree_bound(marginals, Fraction(1, 1000), tree, "proof") == 1
