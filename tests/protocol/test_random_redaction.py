"""Random redaction inside the protocol: what is proven holds whatever the users draw."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import Policy, run_protocol
from ldpopt.protocol.deciding import decide, proven
from ldpopt.protocol.random_redaction import redacted
from ldpopt.protocol.roles import User
from ldpopt.protocol.session import RejectedError, Round

POLICY = Policy(threshold=0.02, budget=0.2, redact=0.1, random=True)


def columns_of(rows):
    return [Counter(row[j] for row in rows) for j in range(len(rows[0]))]


def test_more_values_are_kept_than_by_redacting_the_next_rarest():
    column = [Counter({"a": 60, "b": 39, "c": 1})]
    drawn, fixed = decide(column, 100, POLICY), decide(column, 100, Policy(0.02, 0.2, redact=0.1))
    assert drawn.kept == (("a", "b"),)
    assert fixed.kept == (("a",),)
    assert all(0 < chance < 0.2 for chance in drawn.chances[0])


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proven_holds_whatever_is_drawn(seed):
    """Every user of a kept value may redact it or not: draws of all kinds expose no more."""
    rng = np.random.default_rng(seed)
    n, t = 60, 0.05
    first = np.minimum(rng.geometric(rng.uniform(0.3, 0.7, n)), 4)
    rows = [(f"{a}", f"{rng.integers(3)}", f"{rng.integers(2)}") for a in first]
    budget = float(rng.choice([0.05, 0.3, 0.6]))
    decision = decide(columns_of(rows), n, Policy(t, budget, redact=0.1, random=True))
    for often in (0.0, 0.1, 0.5, 0.9, 1.0):
        sent = []
        for row in rows:
            shown = []
            for j, kept in zip(decision.features, decision.kept, strict=True):
                hides = kept is not None and (row[j] not in kept or rng.random() < often)
                shown.append("*" if hides else row[j])
            sent.append(tuple(shown))
        sizes = Counter(sent)
        exposed = sum(k for k in sizes.values() if Fraction(k, n) < Fraction(1, 20))
        assert not decision.features or exposed <= budget * n


def test_the_marginal_of_the_proof_has_room_for_the_redacted():
    found = redacted(Counter({"a": 6, "b": 2}), 10, 0.3)
    assert sum(found.halves) == 1
    assert found.halves[-1] >= Fraction(1, 2)
    assert redacted(Counter({"a": 5, "b": 5}), 10, 0.3).kept is None
    assert redacted(Counter({"a": 1, "b": 1, "c": 1}), 3, 1.0).kept == ()


def test_a_user_redacts_as_often_as_the_decision_says(group):
    this = Round(group.session, (0,), (("x",),), ((0.25,),))
    user = User(0, ["x", "y"])
    hidden = sum(user.contents(this) == [("*",)] for _ in range(4000))
    assert abs(hidden - 1000) < 6 * 27.4  # six standard deviations
    never = Round(group.session, (0,), (("x",),), ((0.0,),))
    assert all(user.contents(never) == [("x",)] for _ in range(50))
    assert user.contents(Round(group.session, (0,), (("z",),), ((0.0,),))) == [("*",)]


@pytest.mark.parametrize("chances", [((0.5, 0.5),), ((1.5,),), ((True,),), (("a",),), ((0.1,), (0.1,))])
def test_chances_that_do_not_fit_are_refused(group, chances):
    with pytest.raises(RejectedError, match="a chance for each value"):
        Round(group.session, (0,), (("x",),), chances)


def test_bad_policies():
    with pytest.raises(InvalidInputError, match="needs 'redact'"):
        Policy(0.1, 0.1, random=True)


def test_with_processes():
    rows = [["b" if i < 15 else "a" if i < 29 else "c", f"{i % 2}"] for i in range(30)]
    policy = Policy(0.02, 0.3, redact=0.2, random=True)
    outcome = run_protocol(rows, ("town", "coin"), policy, workers=1)
    assert outcome.incidents == ()
    assert outcome.released == ("town", "coin")
    assert outcome.kept == {"town": ("a", "b")}
    assert not any(row[0] == "c" for row in outcome.rows)
    assert sum(outcome.rows.values()) == 30
    assert "whatever is drawn" in outcome.proven == proven(policy, 30)
