"""Notes: one length, one way to write a content, everything else refused."""

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldpopt.core.errors import InvalidInputError
from ldpopt.protocol.messages import read_note, value_text, write_note
from ldpopt.protocol.session import SALT, RejectedError, check_names

SALTY = bytes(range(SALT))
same_group = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@same_group
@given(values=st.lists(st.text(max_size=4), min_size=2, max_size=2))
def test_what_is_written_is_read(group, values):
    try:
        texts = [value_text(value, 16) for value in values]
    except InvalidInputError:
        assert any(not unicodedata.normalize("NFC", v).isprintable() for v in values)
        return
    note = write_note(SALTY, texts, group.second)
    assert len(note) == group.second.note_length
    assert read_note(note, group.second) == (SALTY, tuple(texts))


@same_group
@given(plain=st.binary(max_size=80))
def test_bytes_of_any_length_are_refused_or_the_only_writing_of_their_content(group, plain):
    try:
        salt, values = read_note(plain, group.second)
    except RejectedError:
        return
    assert write_note(salt, values, group.second) == plain


@pytest.mark.parametrize("size", range(0, 140, 7))
def test_only_one_length_is_a_note(group, size):
    with pytest.raises(RejectedError, match="bytes, not 34"):
        read_note(bytes(size), group.first)


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        (b"\x00\x11" + b"a" * 16, "wrong length"),
        (b"\xff\xff" + b"a" * 16, "wrong length"),
        (b"\x00\x01" + b"ab".ljust(16, b"\0"), "padding"),
        (b"\x00\x01" + b"a".ljust(16, b" "), "padding"),
        (b"\x00\x01" + b"\xff".ljust(16, b"\0"), "UTF-8"),
        (b"\x00\x03" + b"\xed\xa0\x80".ljust(16, b"\0"), "UTF-8"),
        (b"\x00\x02" + b"\xc0\x80".ljust(16, b"\0"), "UTF-8"),
        (b"\x00\x01" + b"\x1b".ljust(16, b"\0"), "printable"),
        (b"\x00\x03" + "e\u0301".encode().ljust(16, b"\0"), "NFC"),
        (b"\x00\x03" + "\u202e".encode().ljust(16, b"\0"), "printable"),
    ],
)
def test_malformed_values(group, field, complaint):
    with pytest.raises(RejectedError, match=complaint):
        read_note(SALTY + field, group.first)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (None, "None"),
        ("e\u0301", "é"),
        ("", ""),
    ],
)
def test_values_become_text(value, text):
    assert value_text(value, 8) == text


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (10**9, "10 bytes, more than 8"),
        ("ä" * 5, "10 bytes, more than 8"),
        ("a\x1b[2J", "printable"),
        ("\ud800", "printable"),
        ("a\u200bb", "printable"),
    ],
)
def test_values_that_are_refused(value, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        value_text(value, 8)


def test_a_huge_integer_is_refused():
    with pytest.raises(InvalidInputError, match="more than 8 bytes"):
        value_text(10**5000, 8)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ([], "1 to 1000"),
        (["x"] * 1001, "1 to 1000"),
        (["age", "age"], "look the same"),
        (["age", "AGE"], "look the same"),
        (["straße", "STRASSE"], "look the same"),
        (["age", "\u0430ge"], "two alphabets"),
        (["age", "ag\u03b5"], "two alphabets"),
        (["age", "\uff41ge"], "NFKC"),
        (["age", "age "], "outer blanks"),
        (["age", "a\u200bge"], "printable"),
        (["age", "\u202eega"], "printable"),
        (["age", ""], "1 to 200"),
        (["age", "x" * 201], "1 to 200"),
        (["age", 5], "1 to 200"),
        (["age", "a\ud800"], "printable"),
    ],
)
def test_feature_names_that_could_mislead(names, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        check_names(names)


def test_feature_names_of_one_alphabet_each_are_fine():
    check_names(["age", "возраст", "年齢", "ηλικία", "age 2", "Größe"])
