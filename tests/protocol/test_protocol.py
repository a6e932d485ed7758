"""The two-round protocol: honest runs, every fault noticed, nobody opens what is not theirs."""

import json
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import messages, sealing
from ldpopt.protocol import parties as protocol
from ldpopt.protocol.messages import RejectedError

# ---------------------------------------------------------------- seals


def test_only_the_owner_opens():
    curator, analyst = sealing.Opener(), sealing.Opener()
    sealed = sealing.seal(curator.public, b"secret", b"round 1")
    assert curator.open(sealed, b"round 1") == b"secret"
    for opener, context in ((analyst, b"round 1"), (curator, b"round 2")):
        with pytest.raises(sealing.SealError):
            opener.open(sealed, context)


def test_any_changed_byte_is_noticed():
    curator = sealing.Opener()
    sealed = sealing.seal(curator.public, b"secret", b"c")
    for i in range(len(sealed)):
        changed = bytearray(sealed)
        changed[i] ^= 1
        with pytest.raises(sealing.SealError):
            curator.open(bytes(changed), b"c")
    with pytest.raises(sealing.SealError, match="at least"):
        curator.open(sealed[:40], b"c")


def test_equal_contents_look_different():
    curator = sealing.Opener()
    assert sealing.seal(curator.public, b"x", b"c") != sealing.seal(curator.public, b"x", b"c")


# ---------------------------------------------------------------- messages


@pytest.fixture
def parties():
    return {name: sealing.Opener() for name in ("shuffler", "curator", "analyst")}


@pytest.fixture
def session(parties):
    public = {name: opener.public for name, opener in parties.items()}
    return messages.Session(b"0123456789abcdef", ("a", "b"), length=32, **public)


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


@pytest.fixture
def roster(key):
    return [key.public_key().public_bytes_raw()]


def sent(session, key, user=0, round_number=1):
    notes = [messages.note([j, "yes"], session) for j in range(2)]
    return messages.envelope(user, notes, round_number, session, key)


def test_notes_are_salted_and_of_one_length(session):
    a, b, c = (messages.note(v, session) for v in ("x", "x", "a longer value"))
    assert a != b
    assert len(a) == len(b) == len(c)
    assert messages.read_note(a)[1] == "x"
    with pytest.raises(InvalidInputError, match="bytes, more than 32"):
        messages.note("y" * 40, session)


def test_each_layer_opens_for_its_reader_alone(parties, session, key, roster):
    message = sent(session, key)
    user, notes = messages.open_envelope(message, 1, session, parties["shuffler"], roster, 2)
    assert (user, len(notes)) == (0, 2)
    for other in ("curator", "analyst"):
        with pytest.raises(RejectedError, match="broken"):
            messages.open_envelope(message, 1, session, parties[other], roster, 2)
    context = session.context(1, "reader")
    assert messages.Reader(parties["curator"], context).read(notes[1]) == [1, "yes"]
    for other in ("shuffler", "analyst"):
        with pytest.raises(RejectedError, match="does not open"):
            messages.Reader(parties[other], context).read(notes[1])


def test_forged_and_replayed_envelopes(parties, session, key, roster):
    def refused(message, at=session, round_number=1, count=2):
        with pytest.raises(RejectedError) as caught:
            messages.open_envelope(message, round_number, at, parties["shuffler"], roster, count)
        return caught.value.kind

    message = sent(session, key)
    assert refused(message[:-1] + bytes([message[-1] ^ 1])) == "forged"
    assert refused(b"short") == "forged"
    assert refused(sent(session, key, user=7)) == "forged"
    assert refused(sent(session, Ed25519PrivateKey.generate())) == "forged"
    assert refused(message, count=3) == "forged"
    assert refused(message, round_number=2) == "replayed"
    assert refused(message, at=session._replace(name=b"another session!")) == "replayed"
    renamed = b"another session!" + message[16:]
    assert refused(renamed, at=session._replace(name=b"another session!")) == "forged"


def test_a_note_is_read_once(parties, session):
    context = session.context(1, "reader")
    sealed = sealing.seal(parties["curator"].public, messages.note([0, "x"], session), context)
    reader = messages.Reader(parties["curator"], context)
    assert reader.read(sealed) == [0, "x"]
    with pytest.raises(RejectedError) as caught:
        reader.read(sealed)
    assert caught.value.kind == "duplicated"


# ---------------------------------------------------------------- whole runs

FEATURES = ("coin", "die", "name")


def users(count):
    rng = np.random.default_rng(0)
    return [[str(rng.integers(2)), str(rng.integers(3)), f"user {i}"] for i in range(count)]


def test_an_honest_run():
    rows, stages = users(30), []
    outcome = protocol.run_protocol(
        rows,
        FEATURES,
        protocol.Policy(threshold=0.03, budget=0.2),
        workers=2,
        progress=lambda stage, done, total: stages.append((stage, done, total)),
    )
    assert outcome.incidents == ()
    for j, name in enumerate(FEATURES):
        assert outcome.marginals[name] == Counter(row[j] for row in rows)
    assert outcome.released == ("coin", "die")
    assert outcome.rows == Counter((row[0], row[1]) for row in rows)
    assert ("curator opens", 90, 90) in stages
    assert "user 7" not in json.dumps([*map(list, outcome.rows)])


def test_every_fault_is_noticed():
    rows = users(20)
    faults = [
        protocol.Fault("drop", 1, 1),
        protocol.Fault("duplicate", 1, 2),
        protocol.Fault("replay", 1, 3),
        protocol.Fault("forge", 1, 4),
        protocol.Fault("shuffler-duplicate", 1),
        protocol.Fault("shuffler-drop", 2),
    ]
    policy = protocol.Policy(threshold=0.03, budget=0.5)
    outcome = protocol.run_protocol(rows, FEATURES, policy, workers=1, faults=faults)
    noticed = {(i.noticed_by, i.kind, i.detail.partition(":")[0]) for i in outcome.incidents}
    assert noticed == {
        ("shuffler", "dropped", "user 1"),
        ("shuffler", "duplicated", "user 2"),
        ("shuffler", "replayed", "user 3"),
        ("shuffler", "forged", "user 4"),
        ("shuffler", "dropped", "user 4"),
        ("curator", "duplicated", "a note that was read before"),
        ("analyst", "dropped", "the table"),
    }
    left = [row for i, row in enumerate(rows) if i not in (1, 4)]
    assert outcome.marginals["coin"] == Counter(row[0] for row in left)
    assert sum(outcome.rows.values()) == 19


@pytest.mark.parametrize(
    ("rows", "features", "faults", "complaint"),
    [
        ([], ["a"], [], "at least one user"),
        ([["x"]], [], [], "one feature"),
        ([["x", "y"]], ["a"], [], "user 0 has 2 values for 1 features"),
        ([["x"]], ["a"], [protocol.Fault("lie", 1)], "lie"),
    ],
)
def test_bad_input(rows, features, faults, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        protocol.run_protocol(rows, features, protocol.Policy(0.1, 0.1), faults=faults)
