"""Merging public values: which become one, what the file says of it, and which groups are refused."""

import itertools
import json

import numpy as np
import pytest

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements.polyopt import rarest_together
from ldpopt.core.errors import InvalidInputError
from ldpopt.experiments.robust_study import drawn_table
from ldpopt.models.uncertainty_sets import entropy_keeping_groups
from ldpopt.problems import GRRConditional, PolyOpt

TABLE = [[0.2, 0.1, 0.05, 0.1], [0.05, 0.25, 0.1, 0.15]]


def kept_entropy(p_hat, groups):
    """H(G, S) of the merged table."""
    joined = np.zeros((len(p_hat), max(groups) + 1))
    np.add.at(joined.T, np.asarray(groups), np.asarray(p_hat).T)
    return -(joined[joined > 0] * np.log(joined[joined > 0])).sum()


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(solve(PolyOpt(1.0, TABLE, 1000, width=3)).to_json()))


def test_one_merging_is_the_best_pair():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p_hat = rng.dirichlet(np.full(15, 0.5)).reshape(3, 5)
        found = kept_entropy(p_hat, entropy_keeping_groups(p_hat, 4))
        pairs = itertools.combinations(range(5), 2)
        all_pairs = [[a if u == b else u - (u > b) for u in range(5)] for a, b in pairs]
        assert found == pytest.approx(max(kept_entropy(p_hat, g) for g in all_pairs), abs=1e-12)


def test_groups_are_numbered_in_order_and_an_empty_column_costs_nothing():
    groups = entropy_keeping_groups(np.array([[0.0, 0.3, 0.0, 0.2], [0.1, 0.2, 0.0, 0.2]]), 3)
    assert groups.tolist() == [0, 1, 0, 2]


def test_values_with_an_order_are_merged_with_neighbours_alone():
    rng = np.random.default_rng(3)
    p_hat = rng.dirichlet(np.ones(24)).reshape(2, 12)
    loose = entropy_keeping_groups(p_hat, 4).tolist()
    found = entropy_keeping_groups(p_hat, 4, [range(12)]).tolist()
    assert found == sorted(found)
    assert loose != sorted(loose)
    # one merging: the best of the neighbours
    first = entropy_keeping_groups(p_hat, 11, [range(12)])
    pairs = [[u - (u > a) for u in range(12)] for a in range(11)]
    best = max(kept_entropy(p_hat, groups) for groups in pairs)
    assert kept_entropy(p_hat, first) == pytest.approx(best, abs=1e-12)
    # values are in another order than their places; the last one has none
    ranks = [*rng.permutation(11).astype(float), np.nan]
    groups = entropy_keeping_groups(p_hat, 3, [ranks])
    for g in range(3):
        own = sorted(np.array(ranks)[(groups == g) & ~np.isnan(ranks)])
        assert own == list(np.arange(own[0], own[0] + len(own)))


def test_in_two_orders_groups_are_neighbours_in_both():
    """A table of 4 x 3 bins: every group spans neighbours in both columns."""
    p_hat = np.random.default_rng(6).dirichlet(np.ones(24)).reshape(2, 12)
    ranks = [np.repeat(range(4), 3), np.tile(range(3), 4)]
    groups = entropy_keeping_groups(p_hat, 4, ranks)
    for g in range(4):
        for rank in ranks:
            own = np.unique(rank[groups == g])
            assert (np.diff(own) == 1).all()


def test_more_entropy_is_kept_than_by_rarity_and_the_mechanism_is_better():
    p_hat = np.random.default_rng(5).dirichlet(np.full(24, 0.5)).reshape(2, 12)
    first = rarest_together(p_hat.tolist(), 4)
    rarest = [list(dict.fromkeys(first)).index(g) for g in first]
    assert kept_entropy(p_hat, entropy_keeping_groups(p_hat, 4)) > kept_entropy(p_hat, rarest)
    best, other = (
        solve(PolyOpt(1.0, p_hat, 10_000, width=4, groups=groups), gap=1e-4).value
        for groups in (None, rarest)
    )
    assert best > 1.05 * other


@pytest.fixture(scope="module")
def wide():
    """Draw a table of two secrets with 16 values each, on which conditional reporting has 2.2429."""
    _, p_hat = drawn_table(2, 16, 100_000, 0)
    return p_hat, solve(GRRConditional(4.0, p_hat, 100_000)).value


def test_at_a_high_level_six_groups_are_worth_more_than_conditional_reporting(wide):
    p_hat, rival = wide
    assert solve(PolyOpt(4.0, p_hat, 100_000, width=6), gap=1e-3).value > rival


@pytest.mark.slow
def test_by_rarity_six_groups_are_worth_less_than_conditional_reporting_and_nine_more(wide):
    p_hat, rival = wide
    first = rarest_together(p_hat.tolist(), 6)
    rarest = [list(dict.fromkeys(first)).index(g) for g in first]
    six = solve(PolyOpt(4.0, p_hat, 100_000, width=6, groups=rarest), gap=1e-3)
    nine = solve(PolyOpt(4.0, p_hat, 100_000, width=9), gap=1e-2)
    assert six.bound < rival < nine.value


def test_the_groups_stand_in_the_file_and_are_verified(document):
    groups = document["params"]["groups"]
    assert max(groups) == 2
    assert all(claim.holds for claim in frame.check(document))
    for other in ([0, 1, 1, 2], [0, 0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 0], [0, 1, 2, 1]):
        claims = frame.check(document | {"params": document["params"] | {"groups": other}})
        refuted = [claim.what for claim in claims if claim.holds is False]
        assert ("member" in refuted) == (other != groups)


def test_a_file_without_groups_means_the_rarest():
    assert rarest_together(TABLE, 3) == [0, 1, 2, 2]
    result = solve(PolyOpt(1.0, TABLE, 1000, width=3, groups=[0, 1, 2, 2]))
    document = json.loads(json.dumps(result.to_json()))
    del document["params"]["groups"]
    assert verify(result)
    assert all(claim.holds for claim in frame.check(document))


@pytest.mark.parametrize(
    ("width", "groups"),
    [(3, [0, 1, 2]), (3, [0, 1, 1, 0]), (3, [1, 0, 2, 2]), (3, [0, 1, 2, 3]), (None, [0, 1, 2, 3])],
)
def test_groups_that_do_not_fit_are_refused_on_both_sides(document, width, groups):
    with pytest.raises(InvalidInputError, match="groups must"):
        PolyOpt(1.0, TABLE, 1000, width=width, groups=groups)
    params = document["params"] | {"groups": groups, "width": width}
    params = {name: given for name, given in params.items() if given is not None}
    with pytest.raises(UnreadableError, match="groups must"):
        frame.check(document | {"params": params})
