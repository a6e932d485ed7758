"""Messages under attack: forged, replayed, misdirected, of any length; each is refused by itself."""

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol import messages
from ldpopt.protocol.roles import Shuffler, User
from ldpopt.protocol.session import Decision, RejectedError, Round, Session

same_group = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def refusal(call, *args):
    with pytest.raises(RejectedError) as caught:
        call(*args)
    return caught.value.kind


# ---------------------------------------------------------------- sessions


def test_a_session_survives_its_announcement(group):
    announced = json.loads(json.dumps(group.session.to_json()))
    assert Session.from_json(announced) == group.session
    assert Session.from_json(announced).name == group.session.name


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("nonce", "00"),
        ("nonce", 5),
        ("features", []),
        ("features", ["coin", "c\u043ein"]),
        ("length", 0),
        ("length", 16.0),
        ("length", True),
        ("length", 10**30),
        ("least", 1),
        ("least", 13),
        ("keys", {}),
        ("roster", ["00"] * 12),
        ("roster", [["aa"]]),
        ("roster", None),
        ("extra", 1),
    ],
)
def test_what_is_no_session_is_refused(group, entry, value):
    announced = group.session.to_json() | {entry: value}
    with pytest.raises(InvalidInputError):
        Session.from_json(announced)


def test_every_party_has_keys_of_its_own(group):
    """One key under two names would merge two roles, or give a user two votes."""
    announced = group.session.to_json()
    twice = {**announced, "roster": announced["roster"][:-1] + announced["roster"][:1]}
    keys = announced["keys"]
    merged = {**announced, "keys": {**keys, "curator": keys["shuffler"]}}
    stolen = {**announced, "roster": [*announced["roster"][:-1], keys["shuffler"][1]]}
    for content in (twice, merged, stolen):
        with pytest.raises(InvalidInputError, match="keys of its own"):
            Session.from_json(content)


def test_parties_that_were_told_different_things_cannot_talk(group):
    """A board that tells a user other features, limits or keys gains nothing."""
    told = group.session.to_json()
    for entry, value in (("features", ["coin", "dye"]), ("least", 11), ("nonce", "00" * 16)):
        other = Round(Session.from_json(told | {entry: value}))
        sent = group.users[0].send(other)
        assert refusal(group.shuffler.accept, sent) == "replayed"
        renamed = group.session.name[:16] + sent[16:]
        assert refusal(group.shuffler.accept, renamed) == "forged"


def test_a_user_refuses_what_it_did_not_agree_to(group, another):
    user = group.users[0]
    user.check(group.session, ("coin", "die"), 10)
    for session, features, least in (
        (group.session, ("coin", "name"), 10),
        (group.session, ("coin",), 10),
        (group.session, ("coin", "die"), 11),
        (another.session, ("coin", "die"), 10),
    ):
        with pytest.raises(InvalidInputError, match="user 0"):
            user.check(session, features, least)


# ---------------------------------------------------------------- envelopes


def test_each_layer_opens_for_its_reader_alone(group):
    message = group.users[0].send(group.first)
    _, notes = messages.open_envelope(message, group.first, group.shuffler.opener)
    assert len(notes) == 2
    for other in (group.curator, group.analyst):
        assert refusal(messages.open_envelope, message, group.first, other.opener) == "malformed"
    assert group.curator._read(notes[1], group.first, 1)[1] == ("0",)
    for other in (group.shuffler, group.analyst):
        with pytest.raises(Exception, match="not sealed for this key"):
            other.opener.open(notes[1], group.first.context("note", 1))


def test_all_envelopes_of_a_round_have_one_length(group):
    group.users[1].row = ("a longer value", "")
    lengths = {len(user.send(group.first)) for user in group.users}
    assert lengths == {messages.envelope_length(group.first)}


def test_any_changed_byte_is_refused(group):
    message = group.users[3].send(group.first)
    for i in range(len(message)):
        changed = message[:i] + bytes([message[i] ^ 1]) + message[i + 1 :]
        assert refusal(group.shuffler.accept, changed) in ("forged", "replayed")
    assert group.shuffler.accepted == 0


@same_group
@given(message=st.binary(max_size=400))
def test_bytes_of_any_length_are_refused(group, message):
    assert refusal(group.shuffler.accept, message) == "malformed"


@pytest.mark.parametrize("cut", [1, 17, 64, 100, 281, 10**6])
def test_envelopes_cut_off_or_too_long(group, cut):
    message = group.users[0].send(group.first)
    assert refusal(group.shuffler.accept, message[:-cut]) == "malformed"
    assert refusal(group.shuffler.accept, message + bytes(cut)) == "malformed"


def test_forged_and_replayed_envelopes(group, another):
    user, outsider = group.users[0], User(0, ["0", "0"])
    accept = group.shuffler.accept
    message = user.send(group.first)
    assert refusal(accept, another.users[0].send(another.first)) == "replayed"
    assert refusal(accept, user.send(group.second)) == "malformed"  # another length
    assert refusal(accept, outsider.send(group.first)) == "forged"
    outsider.number = 99
    assert refusal(accept, outsider.send(group.first)) == "forged"
    accept(message)
    assert refusal(accept, message) == "duplicated"
    assert refusal(accept, user.send(group.first)) == "duplicated"
    group.shuffler.begin(group.first)
    accept(message)  # the same round begun anew


def test_a_first_round_envelope_is_not_taken_in_the_second(single):
    """With one feature the lengths of both rounds agree, so only the binding tells them apart."""
    second = Round(single.session, (0,))
    assert messages.envelope_length(second) == messages.envelope_length(single.first)
    message = single.users[0].send(single.first)
    single.shuffler.begin(second)
    assert refusal(single.shuffler.accept, message) == "replayed"
    relabelled = message[:16] + b"\x02" + message[17:]
    assert refusal(single.shuffler.accept, relabelled) == "forged"


def test_nobody_sends_the_sealed_notes_of_somebody_else(group):
    """A copied outer seal, signed by the copier, does not open: it is bound to its first sender."""
    message = group.users[0].send(group.first)
    outer = message[21:-64]
    digest = hashlib.sha256(outer).digest()
    thief = group.users[1]
    header = message[:17] + (1).to_bytes(4, "big")
    copied = header + outer + group.first.sign(thief.key, "envelope", digest, 1)
    assert refusal(group.shuffler.accept, copied) == "malformed"
    group.shuffler.accept(message)  # costs its sender only


# ---------------------------------------------------------------- batches


def mixed(group, users=None):
    for user in group.users if users is None else users:
        group.shuffler.accept(user.send(group.first))
    return group.shuffler.mix()


def test_a_user_cannot_play_the_shuffler(group):
    slots = mixed(group)
    impostor = Shuffler()
    impostor.begin(group.first)
    impostor._records = group.shuffler._records
    batch = impostor.batch(slots)
    assert refusal(messages.batch_size, batch.head, group.first) == "forged"
    for key in (group.users[0].key, group.analyst.key, group.curator.key):
        records = list(group.shuffler._records.values())
        forged = messages.write_batch(records, [b"".join(s) for s in slots], group.first, key)
        assert refusal(messages.open_batch, forged, group.first) == "forged"


def test_a_batch_is_bound_to_session_and_round(group, another):
    batch = group.shuffler.batch(mixed(group))
    assert len(messages.open_batch(batch, group.first)[0]) == 12
    assert refusal(messages.open_batch, batch, another.first) == "forged"
    assert refusal(messages.open_batch, batch, group.second) == "forged"


def test_a_batch_changed_on_its_way_is_refused(group):
    batch = group.shuffler.batch(mixed(group))
    flipped = bytes([batch.slots[0][0] ^ 1]) + batch.slots[0][1:]
    swapped = batch._replace(slots=batch.slots[::-1])
    for changed in (
        batch._replace(slots=(flipped, batch.slots[1])),
        batch._replace(slots=batch.slots[:1]),
        batch._replace(records=batch.records[:-100]),
        swapped,
    ):
        assert refusal(messages.open_batch, changed, group.first) == "forged"
    for cut in range(0, messages.HEAD, 9):
        assert refusal(messages.batch_size, batch.head[:cut], group.first) == "malformed"


def test_the_shuffler_cannot_invent_participants(group):
    """It needs the signature of every user that it names."""
    slots = mixed(group, group.users[:10])
    joined = [b"".join(slot) for slot in slots]
    honest = list(group.shuffler._records.values())
    mine = honest[0]
    for invented in (
        mine._replace(user=11),
        mine._replace(user=10**6),
        messages.Record(11, bytes(32), group.first.sign(group.shuffler.key, "envelope", bytes(32), 11)),
        messages.Record(
            11, mine.digest, group.second.sign(group.users[11].key, "envelope", mine.digest, 11)
        ),
    ):
        batch = messages.write_batch([*honest, invented], joined, group.first, group.shuffler.key)
        assert refusal(messages.open_batch, batch, group.first) == "forged"
    twice = messages.write_batch([*honest, mine], joined, group.first, group.shuffler.key)
    assert refusal(messages.open_batch, twice, group.first) == "forged"


def test_the_reader_refuses_a_small_group(group):
    for user in group.users[:9]:
        group.shuffler.accept(user.send(group.first))
    slots = [b"".join(slot) for slot in group.shuffler._slots]
    records = list(group.shuffler._records.values())
    batch = messages.write_batch(records, slots, group.first, group.shuffler.key)
    with pytest.raises(RejectedError, match="a batch of 9 users"):
        messages.batch_size(batch.head, group.first)


# ---------------------------------------------------------------- ledgers and decisions


def test_only_the_curator_decides(group, another):
    decided = Decision((0, 1), (None, ("0", "1")))
    decision = messages.write_decision(decided, group.first, group.curator.key)
    assert messages.read_decision(decision, group.first) == Round(group.session, *decided)
    for other in (group.analyst.key, group.shuffler.key, group.users[0].key):
        forged = messages.write_decision(decided, group.first, other)
        assert refusal(messages.read_decision, forged, group.first) == "forged"
    assert refusal(messages.read_decision, decision, another.first) == "forged"
    for changed in ({"released": [0]}, {"kept": [None, None]}, {"kept": [None, ["0", "1", "2"]]}):
        assert refusal(messages.read_decision, decision | changed, group.first) == "forged"
    nothing = messages.write_decision(Decision((), ()), group.first, group.curator.key)
    assert messages.read_decision(nothing, group.first) is None


@pytest.mark.parametrize(
    "released",
    [[2], [-1], [1, 0], [0, 0], ["0"], [True], [0.0], [[0]], [10**30], [None], [float("nan")]],
)
def test_a_signed_decision_must_name_features(group, released):
    decision = messages.write_decision(Decision(released, ()), group.first, group.curator.key)
    assert refusal(messages.read_decision, decision, group.first) == "malformed"


@pytest.mark.parametrize("kept", [[None], [None] * 3, [["a"], [5]], [["a"], [None]], [5, 5], ["a"]])
def test_a_signed_decision_must_name_values(group, kept):
    decision = messages.write_decision(Decision([0, 1], kept), group.first, group.curator.key)
    assert refusal(messages.read_decision, decision, group.first) == "malformed"


@pytest.mark.parametrize(
    "content",
    [None, 5, [], {}, {"released": 5, "kept": [], "signature": ""}, {"released": [], "kept": []}],
)
def test_what_is_no_decision_or_ledger(group, content):
    assert refusal(messages.read_decision, content, group.first) == "malformed"
    assert refusal(messages.Ledger.from_json, content, group.first) == "malformed"


def test_users_told_different_decisions_send_envelopes_that_do_not_match(group):
    """A curator that tells one user to release more than the others gets nothing of it."""
    told, agreed = Round(group.session, (0, 1)), Round(group.session, (0,))
    group.shuffler.begin(agreed)
    assert refusal(group.shuffler.accept, group.users[0].send(told)) == "malformed"
    for told in (Round(group.session, (1,)), Round(group.session, (0,), (("0",),))):
        assert refusal(group.shuffler.accept, group.users[0].send(told)) == "forged"


def test_a_ledger_is_signed_by_its_reader(group):
    ledger = messages.Ledger((0, 1), (b"a" * 32, b"b" * 32))
    good = ledger.to_json(group.first, group.curator.key)
    assert messages.Ledger.from_json(good, group.first) == ledger
    forged = ledger.to_json(group.first, group.shuffler.key)
    assert refusal(messages.Ledger.from_json, forged, group.first) == "forged"
    assert refusal(messages.Ledger.from_json, good | {"users": [0]}, group.first) == "forged"
    assert refusal(messages.Ledger.from_json, good | {"users": [0.0, 1]}, group.first) == "malformed"
    assert refusal(messages.Ledger.from_json, good, group.second) == "malformed"
