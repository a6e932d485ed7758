"""The hierarchical protocol: pairs are asked about where that is safe, and prove more."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.exposure import exposure_of_table
from ldpopt.protocol import Outcome, Policy, hierarchical_protocol, run_hierarchy
from ldpopt.protocol.deciding import decide

FEATURES = ("town", "district", "coin", "name")
POLICY = Policy(threshold=0.02, budget=0.35)


def people(count=24):
    """A district lies in one town: sixteen pairs could be, four are."""
    return [[f"t{i % 4}", f"d{i % 4}, east", f"{i // 4 % 2}", f"user {i}"] for i in range(count)]


def counted(rows, features, policy, **options):
    """What a session without processes and without faults tells."""
    columns = [Counter(row[j] for row in rows) for j in range(len(features))]
    told = {name: dict(column) for name, column in zip(features, columns, strict=True)}
    if policy is None:
        return Outcome(told, (), {}, (), (len(rows),))
    decision = decide(columns, len(rows), policy)
    seen = Counter(tuple(row[j] for j in decision.features) for row in rows)
    return Outcome(told, tuple(features[j] for j in decision.features), dict(seen), (), (len(rows),) * 2)


@pytest.fixture
def sessions(monkeypatch):
    """The sessions that a run has held: their features."""
    held = []

    def session(rows, features, policy, **options):
        held.append((list(features), policy))
        return counted(rows, features, policy, **options)

    monkeypatch.setattr(hierarchical_protocol, "run_protocol", session)
    return held


def test_pairs_prove_what_single_features_do_not(sessions):
    """All three: 32 cells of 0.02 are too many; with four pairs of town and district eight are left."""
    rows = people()
    found = run_hierarchy(rows, FEATURES, POLICY)
    pairs = ["town + district", "town + coin", "district + coin"]
    assert [features for features, _ in sessions] == [
        list(FEATURES),
        pairs,
        ["town + district", "coin"],
    ]
    assert found.asked["town", "district"] == Counter((row[0], row[1]) for row in rows)
    assert found.refused == (("town", "name"), ("district", "name"), ("coin", "name"))
    assert found.blocks == (("town", "district"), ("coin",))
    assert found.outcome.released == ("town", "district", "coin")
    assert found.outcome.rows == Counter(tuple(row[:3]) for row in rows)
    columns = [Counter(row[j] for row in rows) for j in range(4)]
    assert decide(columns, len(rows), POLICY).features == (0, 1)


@pytest.mark.parametrize("budget", [0.0, 0.2, 0.5, 0.9])
def test_every_question_and_the_release_are_safe_in_truth(sessions, budget):
    rows = people(30)
    found = run_hierarchy(rows, FEATURES, Policy(0.1, budget), largest=3)
    for names in [*(names for names in found.asked if len(names) > 1), found.outcome.released]:
        table = [tuple(row[FEATURES.index(name)] for name in names) for row in rows]
        if names:
            assert exposure_of_table(table, None, Fraction(1, 10)) <= budget


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_are_safe_and_release_no_less_than_single_features(sessions, seed):
    rng = np.random.default_rng(seed)
    cells = np.indices((2, 3, 3, 2)).reshape(4, -1).T
    drawn = rng.choice(len(cells), size=200, p=rng.dirichlet(np.full(len(cells), 0.6)))
    rows = [[str(value) for value in cells[i]] for i in drawn]
    t, weights = Fraction(int(rng.integers(1, 20)), 200), (1.0, 2.0, 3.0, 4.0)
    policy = Policy(float(t), float(rng.uniform(0, 0.5)), weights)
    found = run_hierarchy(rows, FEATURES, policy, largest=3)
    for names in filter(None, [*(n for n in found.asked if len(n) > 1), found.outcome.released]):
        table = [tuple(row[FEATURES.index(name)] for name in names) for row in rows]
        assert exposure_of_table(table, None, t) <= policy.budget
    alone = decide([Counter(row[j] for row in rows) for j in range(4)], len(rows), policy).features
    told = sum(weights[FEATURES.index(name)] for name in found.outcome.released)
    assert told >= sum(weights[j] for j in alone)


def test_a_block_of_later_features_is_told_in_order(sessions):
    rows = [[f"{i % 2}", f"{i % 3}", f"{i % 2}"] for i in range(24)]
    asking = hierarchical_protocol._Asking(rows, ("a", "b", "c"), Policy(0.01, 1.0), 8, {})
    told = asking.release([(0, 2), (1,)])
    assert told.released == ("a", "b", "c")
    assert told.rows == Counter(map(tuple, rows))


def test_what_is_no_list_of_values_stays_a_text():
    assert hierarchical_protocol._read(['["a", "b"]', "c"], [2, 1], [2, 0, 1]) == ("c", "a", "b")
    for junk in ("", "[", '"ab"', '["a"]', '["a", 1]', '{"a": "b"}'):
        assert hierarchical_protocol._read([junk, "c"], [2, 1], [2, 0, 1]) == (junk, "c")
    assert hierarchical_protocol._tallied([(("a",), 2), (("a",), 1)]) == {("a",): 3}


def test_unreadable_notes_count_as_one_value(monkeypatch):
    told = Outcome({"a": {"x": 8}}, (), {}, (), (10,))
    monkeypatch.setattr(hierarchical_protocol, "run_protocol", lambda *given, **options: told)
    asking = hierarchical_protocol._Asking([["x"]] * 10, ("a",), POLICY, 8, {})
    asking.count([(0,)])
    assert asking.known == {(0,): [Fraction(4, 5), Fraction(1, 5)]}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"policy": Policy(0.1, 0.1, redact=0.2)}, "does not redact"),
        ({"largest": 0}, "whole number >= 1"),
    ],
)
def test_bad_input(changed, words):
    given = {"policy": POLICY, "largest": 2} | changed
    with pytest.raises(InvalidInputError, match=words):
        run_hierarchy(people(), FEATURES, **given)


def test_with_processes():
    """Everybody who knows the counts can decide again (Section 8.3), and finds the same."""
    rows = [[f"t{i % 2}", f"d{i % 2}"] for i in range(12)]
    found = run_hierarchy(rows, ("town", "district"), Policy(0.1, 0.5), workers=1)
    assert found.outcome.incidents == ()
    assert found.outcome.rows == {("t0", "d0"): 6, ("t1", "d1"): 6}
    assert found.outcome.users == (12, 12)
    columns = [Counter(column) for column in found.outcome.marginals.values()]
    assert len(columns) == len(found.blocks) == 2
    assert decide(columns, 12, Policy(0.1, 0.5)).features == (0, 1)
