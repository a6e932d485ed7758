"""Rounds under attack, without processes: what is noticed, by whom, and what it costs."""

import secrets
from collections import Counter

import pytest

from ldpopt.protocol import messages
from ldpopt.protocol.faults import own_note, sent_with_faults, tampered
from ldpopt.protocol.messages import write_note
from ldpopt.protocol.session import ProtocolError, RejectedError, Round


def collect(group, this, hostile=None):
    """Everybody sends; ``hostile`` maps a user to the frames it sends instead."""
    group.shuffler.begin(this)
    refused = []
    for user in group.users:
        own = user.send(this)  # a hostile user also forgets what it would have sent
        for frame in (hostile or {}).get(user.number, [own]):
            try:
                group.shuffler.accept(frame)
            except RejectedError as rejected:
                refused.append((user.number, rejected.kind))
    return refused


def count(group, this, kinds=()):
    """The reader counts what the shuffler, faulty in these ways, sends."""
    reader = group.curator if this.number == 1 else group.analyst
    batch = group.shuffler.batch(tampered(group.shuffler.mix(), this, kinds))
    incidents = []
    counted = reader.count(batch, this, incidents.append, lambda done, total: None)
    return counted, [(i.noticed_by, i.kind) for i in incidents]


def complaints(group, counted):
    return counted.ledger.missing({user.number: user.salts for user in group.users})


def column(group, j, without=()):
    return Counter((user.row[j],) for user in group.users if user.number not in without)


def test_honest_rounds(group):
    for this in (group.first, group.second):
        assert collect(group, this) == []
        counted, incidents = count(group, this)
        assert (incidents, complaints(group, counted)) == ([], {})
        assert list(counted.ledger.users) == list(range(12))
    assert counted.columns == [Counter(user.row for user in group.users)]


def test_the_curator_sees_every_feature_in_an_order_of_its_own(group):
    """Two features of one user stay unlinked: the places are mixed independently."""
    collect(group, group.first)
    before = [list(slot) for slot in group.shuffler._slots]
    orders = [
        [old.index(note) for note in new] for old, new in zip(before, group.shuffler.mix(), strict=True)
    ]
    # equal orders, or an unchanged one, have probability 1/12! each
    assert orders[0] != orders[1]
    assert list(range(12)) not in orders


def signed(user, notes, this):
    """A correctly sealed and signed envelope with any notes."""
    return [messages.envelope(user.number, notes, this, user.key)]


def junk_notes(this):
    """Notes of the right length that are none: what an older format took, and worse."""
    size = this.note_length
    salt = bytes(16)
    contents = [
        b"",
        b'[99, "x"]',
        b"5",
        b"null",
        b'["a"]',
        b"[0, NaN]",
        b"\xff\xff",
        b"\x00\x02\xc3\x28",
    ]
    contents += [b"\x00\x01\x1b", b"1" * (size - 17), b"[" * (size - 16)]
    return [(salt + content).ljust(size, b" ")[:size] for content in contents] + [bytes([255]) * size]


@pytest.mark.parametrize("which", range(12))
@pytest.mark.parametrize("second", [False, True])
def test_a_malformed_note_costs_its_sender_only(group, which, second):
    this = group.second if second else group.first
    user = group.users[4]
    junk = junk_notes(this)[which]
    assert collect(group, this, {4: signed(user, [junk] * this.slots, this)}) == []
    counted, incidents = count(group, this)
    assert incidents == [(this.reader, "malformed")] * this.slots
    assert [len(counted.ledger.users) - of.total() for of in counted.columns] == [1] * this.slots
    expected = [Counter(u.row for u in group.users if u.number != 4)]
    if not second:
        expected = [column(group, j, without=[4]) for j in range(2)]
    assert counted.columns == expected
    assert complaints(group, counted) == {4: "replaced"}  # it knows why


@pytest.mark.parametrize("size", [0, 1, 16, 33, 35, 1000])
def test_notes_of_another_length_do_not_pass_the_shuffler(group, size):
    user = group.users[4]
    sent = signed(user, [bytes(size)] * 2, group.first)
    assert collect(group, group.first, {4: sent}) == [(4, "malformed")]
    counted, incidents = count(group, group.first)
    assert incidents == []
    assert counted.columns == [column(group, j, without=[4]) for j in range(2)]


def test_notes_that_only_together_have_the_right_length(group):
    """A long and a short note in one envelope: both fail to open, nobody else's does."""
    user, size = group.users[4], group.first.note_length
    sent = signed(user, [bytes(size - 1), bytes(size + 1)], group.first)
    assert collect(group, group.first, {4: sent}) == []
    counted, incidents = count(group, group.first)
    assert incidents == [("curator", "malformed")] * 2
    assert counted.columns == [column(group, j, without=[4]) for j in range(2)]


def test_one_feature_sent_for_all_counts_once(group):
    user = group.users[4]
    sent = sent_with_faults(user, group.first, {"misplace"})
    assert collect(group, group.first, {4: sent}) == []
    counted, incidents = count(group, group.first)
    assert incidents == [("curator", "malformed")]
    assert counted.columns == [column(group, 0), column(group, 1, without=[4])]


def test_a_short_or_long_row_is_noticed(group):
    """Rows of one and of three values where two are released."""
    user, room = group.users[4], group.session.length + 2
    row = write_note(bytes(16), ["1", "2"], group.second)
    for note in (row[:-room], row + row[-room:]):
        sent = signed(user, [note], group.second)
        assert collect(group, group.second, {4: sent}) == [(4, "malformed")]
    counted, _ = count(group, group.second)
    assert counted.columns[0].total() == 11


def test_a_second_envelope_inflates_nothing(group):
    user = group.users[4]
    frames = [user.send(group.first) for _ in range(5)]
    assert collect(group, group.first, {4: frames}) == [(4, "duplicated")] * 4
    counted, _ = count(group, group.first)
    assert counted.columns[0].total() == 12


def test_two_users_with_one_salt_cost_themselves_only(group):
    """Accomplices who agree on a salt: the second of the two is not counted."""
    salt = secrets.token_bytes(16)
    hostile = {}
    for user in group.users[:2]:
        notes = [write_note(salt, content, group.first) for content in user.contents(group.first)]
        hostile[user.number] = signed(user, notes, group.first)
    assert collect(group, group.first, hostile) == []
    counted, incidents = count(group, group.first)
    assert incidents == [("curator", "duplicated")] * 2
    assert counted.columns[0].total() == 11
    assert set(complaints(group, counted)) == {0, 1}


def test_reordered_envelopes_change_nothing(group):
    group.shuffler.begin(group.first)
    for user in reversed(group.users):
        group.shuffler.accept(user.send(group.first))
    counted, incidents = count(group, group.first)
    assert (incidents, counted.columns[0]) == ([], column(group, 0))


# ---------------------------------------------------------------- groups too small


@pytest.mark.parametrize("present", [0, 1, 9])
def test_too_few_users_and_nothing_is_forwarded(group, present):
    group.shuffler.begin(group.first)
    for user in group.users[:present]:
        group.shuffler.accept(user.send(group.first))
    assert group.shuffler.absent() == list(range(present, 12))
    with pytest.raises(ProtocolError, match=f"{present} users took part"):
        group.shuffler.mix()


# ---------------------------------------------------------------- a faulty shuffler


def test_a_dropped_note_is_noticed_by_the_reader_and_its_user(group):
    collect(group, group.first)
    counted, incidents = count(group, group.first, {"shuffler-drop"})
    assert incidents == [("curator", "dropped")]
    assert list(complaints(group, counted).values()) == ["replaced"]


def test_a_duplicated_note_counts_once(group):
    collect(group, group.first)
    counted, incidents = count(group, group.first, {"shuffler-duplicate"})
    assert incidents == [("curator", "duplicated")]
    assert (counted.columns[0], complaints(group, counted)) == (column(group, 0), {})


@pytest.mark.parametrize("second", [False, True])
def test_a_replaced_note_is_noticed_by_its_user(group, second):
    """The reader cannot tell it from a genuine one; the user misses its salt in the ledger."""
    this = group.second if second else group.first
    collect(group, this)
    counted, incidents = count(group, this, {"shuffler-replace"})
    assert incidents == []
    assert list(complaints(group, counted).values()) == ["replaced"]


def test_a_user_whose_notes_are_all_replaced_notices(group):
    """The shuffler keeps the user's signature and puts notes of its own in its places."""
    collect(group, group.first)
    slots = group.shuffler.mix()
    own = [own_note(group.first, slot) for slot in range(2)]
    batch = group.shuffler.batch([[mine, *slot[1:]] for mine, slot in zip(own, slots, strict=True)])
    counted = group.curator.count(batch, group.first, pytest.fail, lambda done, total: None)
    assert set(complaints(group, counted).values()) == {"replaced"}


def test_an_added_note_ends_the_round(group):
    collect(group, group.first)
    with pytest.raises(ProtocolError, match="13 different notes of 12 users"):
        count(group, group.first, {"shuffler-add"})


def test_a_user_left_out_by_the_shuffler_notices(group):
    collect(group, group.first)
    del group.shuffler._records[5]
    slots = [slot[:-1] for slot in group.shuffler.mix()]
    counted = group.curator.count(
        group.shuffler.batch(slots), group.first, lambda incident: None, lambda done, total: None
    )
    assert complaints(group, counted)[5] == "uncounted"


def test_notes_of_another_round_or_place_do_not_open(group):
    """A shuffler that moves notes between features, rounds or sessions only loses them."""
    collect(group, group.first)
    first, second = group.shuffler.mix()
    swapped = group.shuffler.batch([[second[0], *first[1:]], second])
    incidents = []
    counted = group.curator.count(swapped, group.first, incidents.append, lambda done, total: None)
    assert [i.kind for i in incidents] == ["malformed"]
    assert len(counted.ledger.users) - counted.columns[0].total() == 1


def test_a_round_with_one_released_feature_is_not_the_first_round(single):
    assert Round(single.session, (0,)).context("note") != single.first.context("note")
