"""Matrices that tell no value of a table from another, and those that do."""

import json

import numpy as np
import pytest

from ldpopt.checker.kernel.proofs.alike_rows import SLACK, treats_alike
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.engine.verifying import verify_document
from ldpopt.mechanisms import randomized_response, secret_randomized_response
from ldpopt.mechanisms.balanced_designs import subset_selection
from ldpopt.release.designing import design
from ldpopt.release.methods import METHODS
from ldpopt.release.question import Question

KNOWN = {
    "grr": lambda e: (randomized_response(6, e), 3),
    "srr": lambda e: (secret_randomized_response(2, 3, e), 3),
    "subsets": lambda e: (subset_selection(6, e, 2), 1),
    "design": lambda e: (METHODS["learn"].randomizer(Question(np.ones((4, 10)), e), 1e-6, 9).dense, 10),
}
EPSILONS = (0.05, 1.0, 5.0, 12.0, 29.0)


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_known_mechanisms_treat_all_inputs_alike(name, epsilon):
    mechanism, width = KNOWN[name](epsilon)
    assert treats_alike(mechanism.matrix.tolist(), width, epsilon)


def test_the_public_value_as_it_is():
    assert treats_alike(np.tile(np.eye(3), (2, 1)).tolist(), 3, 1.0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_noise_that_is_not_that_of_epsilon_may_tell_a_count(share):
    """The public value with so much noise as the counts allow: the share is a function of them."""
    blurred = (1 - share) * np.tile(np.eye(3), (2, 1)) + share / 3
    assert not treats_alike(blurred.tolist(), 3, 1.0)


@pytest.mark.parametrize("name", KNOWN)
def test_one_entry_that_differs_is_seen(name):
    mechanism, width = KNOWN[name](1.0)
    rows = mechanism.matrix.tolist()
    rows[1][0], rows[1][-1] = rows[1][-1], rows[1][0]
    if rows != mechanism.matrix.tolist():
        assert not treats_alike(rows, width, 1.0)
    for move in (4 * SLACK, 1e-6):
        rows = mechanism.matrix.tolist()
        rows[1][0], rows[1][1] = rows[1][0] - move, rows[1][1] + move
        assert not treats_alike(rows, width, 1.0)
    assert not treats_alike(mechanism.matrix.tolist(), width, 1.01)


def test_inputs_that_are_treated_otherwise_are_found_by_brute_force():
    """Of all matrices of two columns with the entries 0.25 and 0.75, those that treat rows alike."""
    epsilon = float(np.log(3))
    for pattern in np.ndindex(2, 2, 2, 2):
        rows = [[0.75, 0.25] if high else [0.25, 0.75] for high in pattern]
        (a, b), (c, d) = pattern[:2], pattern[2:]
        same_secret, same_public, neither = {a == b, c == d}, {a == c, b == d}, {a == d, b == c}
        alike = all(len(kind) == 1 for kind in (same_secret, same_public, neither))
        assert treats_alike(rows, 2, epsilon) == alike


@pytest.mark.parametrize("method", ["cr", "ir", "polyopt", "ldp"])
def test_a_false_not_at_all_is_refuted(method):
    asked = {"epsilon": 1.0, "method": method, "robust": "chi2"}
    made = design("adult:sex-race", "sex", "race", **asked).public
    document = json.loads(json.dumps(made.to_json()))
    document["public"]["recoverable"] = "not at all"
    document["public"]["digest"] = public_digest(document)
    found = verify_document(document)
    assert [claim.what for claim in found.claims if claim.holds is False] == ["recoverable"]


def test_a_file_without_the_word_still_verifies():
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr").public
    document = json.loads(json.dumps(made.to_json()))
    del document["public"]["recoverable"]
    document["public"]["digest"] = public_digest(document)
    assert verify_document(document)
