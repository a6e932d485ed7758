"""Adaptive composition and its account (Wang et al. 2024, Theorem 2, Lemma 2), QM without an order."""

import math
from itertools import product

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures.leakage import statistic_maximal_leakage
from ldpopt.measures.leakage_account import (
    LeakageAccount,
    compose_adaptively,
    composition_bound,
    quantise_without_order,
)

SECRETS = [0, 0, 1, 1, 2]


def random_mechanism(rng, outputs):
    return Mechanism(rng.dirichlet(np.full(outputs, 0.5), len(SECRETS)))


def brute_force(matrix, secrets):
    rows = [[i for i, s in enumerate(secrets) if s == g] for g in sorted(set(secrets))]
    return math.log(max(matrix[list(chosen)].max(axis=0).sum() for chosen in product(*rows)))


@pytest.mark.parametrize("seed", range(6))
def test_lemma_2_and_theorem_2(seed):
    """The joint release is what a simulation of the steps gives, and leaks at most the sum."""
    rng = np.random.default_rng(seed)
    first = random_mechanism(rng, 2)
    second = {(0,): random_mechanism(rng, 3), (1,): random_mechanism(rng, 2)}
    joint = compose_adaptively([first, second])
    for y, (a, b) in enumerate(joint.outputs):
        expected = first.matrix[:, a] * second[a,].matrix[:, b]
        assert joint.matrix[:, y] == pytest.approx(expected, abs=1e-15)
    leaked = brute_force(joint.matrix, SECRETS)
    assert statistic_maximal_leakage(joint.matrix, SECRETS).high == pytest.approx(leaked)
    bound = composition_bound([first, second], SECRETS)
    assert leaked <= bound + 1e-12
    parts = [brute_force(m.matrix, SECRETS) for m in second.values()]
    assert bound == pytest.approx(brute_force(first.matrix, SECRETS) + max(parts))


def test_errata_theorem_2_one_history_is_not_enough():
    """Taking Π of one of the later mechanisms, not the largest, would be too little."""
    data, silent = Mechanism(np.eye(2)), Mechanism([[1.0], [1.0]])
    nearly = Mechanism([[0.1, 0.9], [0.1, 0.9]])
    joint = compose_adaptively([nearly, {(0,): silent, (1,): data}])
    assert brute_force(joint.matrix, [0, 1]) > 0.6  # Π of the first is 0, of `silent` 0
    assert composition_bound([nearly, {(0,): silent, (1,): data}], [0, 1]) == pytest.approx(math.log(2))


def test_the_account_refuses_what_does_not_fit():
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    account = LeakageAccount([0, 1], budget=1.0)
    assert account.spend(flip) == pytest.approx(math.log(1.5))
    account.spend(0.1)
    with pytest.raises(InvalidInputError, match=r"only 0.494535 are left"):
        account.spend(Mechanism(np.eye(2)))
    assert account.spent == pytest.approx(math.log(1.5) + 0.1)
    assert len(account.entries) == 2
    assert account.spend({(0,): flip, (1,): Mechanism([[1.0], [1.0]])}) == pytest.approx(math.log(1.5))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "at least one"),
        ([Mechanism(np.eye(2)), {(0,): Mechanism(np.eye(2))}], "lack"),
        ([Mechanism(np.eye(2)), Mechanism(np.eye(3))], "same inputs"),
        ([Mechanism(np.full((2, 400), 1 / 400))] * 2, "at most 100,000"),
    ],
)
def test_steps_that_do_not_fit(steps, message):
    with pytest.raises(InvalidInputError, match=message):
        compose_adaptively(steps)


def test_bad_costs_of_releases():
    for bad in (-1.0, math.nan, {}):
        with pytest.raises(InvalidInputError):
            LeakageAccount([0, 1], 1.0).spend(bad)


def test_quantisation_without_an_order():
    secrets = ["red", "blue", "blue", "green", "red"]
    bins = {"red": "warm", "blue": "cold", "green": "cold"}
    m = quantise_without_order(secrets, bins)
    assert brute_force(m.matrix, ["red", "blue", "blue", "green", "red"]) == pytest.approx(math.log(2))
    assert m.matrix[0] == pytest.approx([0.5, 0, 0, 0, 0.5])
    with pytest.raises(InvalidInputError, match="lack green"):
        quantise_without_order(secrets, {"red": 0, "blue": 1})
