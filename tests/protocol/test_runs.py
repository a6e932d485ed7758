"""Whole runs with processes: honest, with every fault, and with a hostile process."""

import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import Fault, Policy, ProtocolError, run, run_protocol
from ldpopt.protocol.deciding import decide, measured, proven
from ldpopt.protocol.run import _Run
from ldpopt.protocol.session import Decision, Round

FEATURES = ("coin", "die", "name")


def people(count):
    rng = np.random.default_rng(0)
    return [[str(rng.integers(2)), str(rng.integers(3)), f"user {i}"] for i in range(count)]


def test_an_honest_run():
    rows, stages = people(30), []
    outcome = run_protocol(
        rows,
        FEATURES,
        Policy(threshold=0.03, budget=0.2),
        workers=2,
        progress=lambda stage, done, total: stages.append((stage, done, total)),
    )
    assert outcome.incidents == ()
    assert outcome.users == (30, 30)
    for j, name in enumerate(FEATURES):
        assert outcome.marginals[name] == Counter(row[j] for row in rows)
    assert outcome.released == ("coin", "die")
    assert outcome.rows == Counter((row[0], row[1]) for row in rows)
    assert ("curator opens", 90, 90) in stages
    assert "at most 6 + 1·m of the rows" in outcome.proven
    assert outcome.measured.startswith("0 of the 30 rows")


def test_every_fault_is_noticed_and_costs_its_sender_only():
    rows = people(20)
    faults = [
        Fault("drop", 1, 1),
        Fault("duplicate", 1, 2),
        Fault("replay", 1, 3),
        Fault("forge", 1, 4),
        Fault("malformed", 1, 5),
        Fault("misplace", 1, 6),
        Fault("oversize", 1, 7),
        Fault("impostor", 1, 8),
        Fault("impostor", 2, 8),
        Fault("malformed", 2, 9),
        Fault("shuffler-duplicate", 1),
        Fault("shuffler-replace", 2),
    ]
    policy = Policy(threshold=0.03, budget=0.5)
    outcome = run_protocol(rows, FEATURES, policy, workers=1, faults=faults)
    noticed = Counter((i.noticed_by, i.kind, i.detail.partition(":")[0]) for i in outcome.incidents)
    replaced = {key: n for key, n in noticed.items() if key[:2] == ("users", "replaced")}
    # the shuffler replaced the note of somebody, maybe of the user whose note was malformed anyway
    assert {("users", "replaced", f"user {u}") for u in (5, 6, 9)} <= set(replaced)
    assert 3 <= sum(replaced.values()) <= 4
    for key in replaced:
        del noticed[key]
    # the shuffler sent a note twice, maybe that of the user whose note was malformed anyway
    twice, malformed = (("curator", kind, "feature 'coin'") for kind in ("duplicated", "malformed"))
    if twice not in noticed:
        noticed.subtract({malformed: 1, twice: -1})
    assert noticed == {
        ("shuffler", "dropped", "user 1"): 1,
        ("shuffler", "duplicated", "user 2"): 1,
        ("shuffler", "replayed", "user 3"): 1,
        ("shuffler", "forged", "user 4"): 1,
        ("shuffler", "dropped", "user 4"): 1,
        ("shuffler", "malformed", "a frame of 4294967295 bytes, more than 523"): 1,
        ("curator", "malformed", "feature 'coin'"): 1,
        ("curator", "malformed", "feature 'die'"): 2,
        ("curator", "malformed", "feature 'name'"): 2,
        ("curator", "duplicated", "feature 'coin'"): 1,
        ("curator", "forged", "a batch that the shuffler did not sign"): 1,
        ("analyst", "forged", "a batch that the shuffler did not sign"): 1,
        ("users", "uncounted", "user 1"): 1,
        ("users", "uncounted", "user 4"): 1,
        **({("analyst", "malformed", "the table"): 1} if sum(replaced.values()) == 4 else {}),
    }
    assert outcome.marginals["coin"] == Counter(r[0] for i, r in enumerate(rows) if i not in (1, 4, 5))
    assert outcome.marginals["die"] == Counter(r[1] for i, r in enumerate(rows) if i not in (1, 4, 5, 6))
    assert outcome.users == (18, 20)


def test_a_group_that_crashes_leaves_the_others_alone(monkeypatch):
    class OneCrashes(run.Board):
        def command(self, name):
            return (
                [sys.executable, "-c", "raise SystemExit(3)"]
                if name == "group 1"
                else super().command(name)
            )

    monkeypatch.setattr(run, "Board", OneCrashes)
    rows = people(30)
    outcome = run_protocol(rows, FEATURES, Policy(0.03, 0.2), workers=2)
    assert [(i.kind, i.detail) for i in outcome.incidents] == [
        ("absent", "users 15 to 29: crashed (exit code 3)")
    ]
    assert outcome.marginals["coin"] == Counter(row[0] for row in rows[:15])
    assert sum(outcome.rows.values()) == 15


def test_nothing_is_released_if_nothing_is_safe():
    outcome = run_protocol(people(10), FEATURES, Policy(0.9, 0.0), workers=1)
    assert (outcome.released, outcome.rows, outcome.users) == ((), {}, (10,))
    assert (outcome.proven, outcome.measured) == ("", "")


@pytest.mark.parametrize(
    ("faults", "complaint"),
    [
        ([Fault("shuffler-add", 1)], "curator: the shuffler sent 11 different notes of 10 users"),
        ([Fault("drop", 1, 3)], "shuffler: 9 users took part in round 1"),
    ],
)
def test_runs_that_end_without_a_release(faults, complaint):
    with pytest.raises(ProtocolError, match=complaint):
        run_protocol(people(10), FEATURES, Policy(0.03, 0.2), workers=1, faults=faults)


@pytest.mark.parametrize(
    ("rows", "features", "options", "complaint"),
    [
        ([], ["a"], {}, "at least one user"),
        ([["x"]], [], {}, "one feature"),
        ([["x", "y"]], ["a"], {}, "user 0 must have 1 values, one per feature, not 2"),
        ([["x"]], ["a"], {"faults": [Fault("lie", 1)]}, "lie"),
        ([["x"]], ["a"], {"faults": [Fault("drop", 3)]}, "1 or 2"),
        ([["x"]], ["a"], {"faults": [Fault("drop", 1, 9)]}, "below 1"),
        ([["x"]], ["a"], {}, "group of 10 users to hide among, not 1"),
        ([["x"]] * 9, ["a"], {}, "group of 10 users to hide among, not 9"),
        ([["x"]] * 9, ["a"], {"least": 1}, ">= 2"),
        ([["x"]] * 9, ["a"], {"least": 2.0}, ">= 2"),
        ([["x"]] * 9, ["a"], {"length": 0}, "1 to 4096"),
        ([["x"]] * 10, ["a"], {"patience": float("nan")}, "patience"),
        ([["x" * 65]] * 10, ["a"], {}, "65 bytes, more than 64"),
        ([["x", "y"]] * 10, ["a", "A"], {}, "look the same"),
        ([["x"] * 65] * 10, [f"f{j}" for j in range(65)], {}, "at most 64 features, not 65"),
    ],
)
def test_bad_input(rows, features, options, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        run_protocol(rows, features, Policy(0.1, 0.1), **options)


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 0.1),
        (1.1, 0.1),
        (float("nan"), 0.1),
        (0.1, -0.1),
        (0.1, float("nan")),
        ("0.1", 0.1),
        (True, 0),
    ],
)
def test_bad_policies(arguments):
    with pytest.raises(InvalidInputError, match=r"threshold|budget"):
        Policy(*arguments)
    with pytest.raises(InvalidInputError, match="weight"):
        Policy(0.1, 0.1, (1.0, -1.0))
    for redact in (0, 1.5, float("nan"), "0.1"):
        with pytest.raises(InvalidInputError, match="redact"):
            Policy(0.1, 0.1, redact=redact)


# ---------------------------------------------------------------- registration


def roster_of(claimed, taken=()):
    from ldpopt.protocol.board import Board

    board = Board(60, None)
    made = _Run(board, [["x"]] * 3, ("a",), Policy(0.1, 0.1), 2, 8, 60, [])
    return made._roster(claimed, set(taken), b"nonce"), [i.detail for i in board.incidents]


def test_only_the_owner_registers_a_key():
    """A copied key stays with its owner, even if the copy comes first; one person has one place."""
    from ldpopt.protocol.roles import User

    owner, other = User(1, ["x"]), User(2, ["x"])
    proof = owner.prove(b"nonce")
    copied = [(0, owner.public, owner.prove(b"an older run")), (1, owner.public, proof)]
    roster, incidents = roster_of([*copied, (2, other.public, other.prove(b"nonce"))])
    assert roster == (b"", owner.public, other.public)
    assert len(incidents) == 1
    roster, _ = roster_of([(1, owner.public, proof), (2, owner.public, proof)])
    assert roster == (b"", owner.public, b"")
    assert roster_of([(1, owner.public, proof)], taken=[owner.public])[0] == (b"",) * 3
    assert roster_of([(1, b"short", proof)])[0] == (b"",) * 3


# ---------------------------------------------------------------- what is said


def redacted(row, decision):
    """What a user sends in round 2."""
    chosen = zip((row[j] for j in decision.features), decision.kept, strict=True)
    return tuple(v if kept is None or v in kept else "*" for v, kept in chosen)


@pytest.mark.parametrize("redact", [None, 0.3])
def test_what_is_proven_holds_for_every_table_and_every_change(redact):
    """Brute force: all tables near the marginals' proof, with up to two users who change."""
    rng = np.random.default_rng(1)
    users, policy = 12, Policy(0.25, 0.35, redact=redact)
    tried = 0
    for _ in range(300):
        table = [tuple(map(str, row)) for row in rng.integers(0, 2, (users, 2)) * rng.integers(0, 2, 2)]
        columns = [Counter(row[j] for row in table) for j in range(2)]
        decision = decide(columns, users, policy) if tried < 25 else Decision((), ())
        if not decision.features:
            continue
        tried += 1
        words = proven(policy, users)
        most, each = 4, 3
        assert f"at most {most} + {each}·m of the rows are each sent by fewer than {each} users" in words
        for changed in range(3):
            later = [*table]
            for user in rng.choice(users, changed, replace=False):
                later[user] = tuple(map(str, rng.integers(0, 3, 2)))
            rows = Counter(redacted(row, decision) for row in later)
            rare = sum(n for n in rows.values() if n < each)
            assert rare <= most + each * changed
            assert measured(rows, policy, users).startswith(f"{rare} of the {users} rows")
    assert tried == 25


def test_unreadable_notes_are_a_value_in_the_proof():
    """Ten users, nine of them readable: the tenth is exposed at t = 1/5 and breaks a budget of 0."""
    assert decide([Counter({"a": 10})], 10, Policy(0.2, 0.0)) == Decision((0,), (None,))
    assert decide([Counter({"a": 9})], 10, Policy(0.2, 0.0)) == Decision((), ())


def test_rare_values_are_redacted_with_the_next_rarest():
    """One user alone would stand out as the one who redacts: so the next rarest value goes, too."""
    towns, coins = Counter({"a": 20, "b": 14, "c": 5, "d": 1}), Counter({"0": 20, "1": 20})
    assert decide([towns, coins], 40, Policy(0.1, 0.0)) == Decision((1,), (None,))
    found = decide([towns, coins], 40, Policy(0.1, 0.0, (2.0, 1.0), redact=0.1))
    assert found == Decision((0,), (("a", "b"),))
    assert decide([Counter({"a": 39, "b": 1})], 40, Policy(0.1, 0.0, redact=0.1)).kept == ((),)


def test_a_run_that_redacts():
    rows = [[town, str(i % 2)] for i, town in enumerate("a" * 20 + "b" * 14 + "c" * 5 + "d")]
    policy = Policy(0.02, 0.2, redact=0.1)
    outcome = run_protocol(rows, ("town", "coin"), policy, workers=1)
    assert outcome.released == ("town", "coin")
    assert outcome.kept == {"town": ("a", "b")}
    assert outcome.rows == {
        ("a", "0"): 10,
        ("a", "1"): 10,
        ("b", "0"): 7,
        ("b", "1"): 7,
        ("*", "0"): 3,
        ("*", "1"): 3,
    }
    assert outcome.incidents == ()
    assert outcome.proven.endswith("redacted as the decision says")
    rows[3][1] = "*"
    with pytest.raises(InvalidInputError, match="stands for a redacted one"):
        run_protocol(rows, ("town", "coin"), policy)


@pytest.mark.parametrize("content", [None, 5, "ab", [1], {"a": 1}, [["00"]], [[[], 1]], [{"x": None}]])
def test_what_a_role_announces_is_read_or_ends_the_run_in_words(content):
    """Keys, marginals and rows of a broken shuffler, curator or analyst: no traceback of the board."""
    board = SimpleNamespace(expect=lambda party, what: content)
    found = _Run(board, [], ("coin",), Policy(0.1, 0.1), 10, 64, 1.0, [])
    found.shuffler = found.curator = found.analyst = SimpleNamespace(name="party")
    session = SimpleNamespace(features=("coin",))
    with pytest.raises(ProtocolError, match="the party announced no keys that can be read"):
        found._agree(b"")
    with pytest.raises(ProtocolError, match="the party announced no marginals that can be read"):
        found._marginals(Round(session))
    with pytest.raises(ProtocolError, match="the party announced no rows that can be read"):
        found._table(Round(session, (0,)))
