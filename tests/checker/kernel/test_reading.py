"""Reading: only plain, finite, unambiguous JSON of bounded size; messages on one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.checker.kernel import budget, claims, reading
from ldpopt.checker.kernel.reading import UnreadableError

PACKAGE = Path(reading.__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ('{"a": {"b": 1, "b": 1}}', "the key 'b' occurs twice"),
        ("[NaN]", "NaN is not a number"),
        ("[-Infinity]", "-Infinity is not a number"),
        ("[1e999]", "1e999 is beyond the range of floats"),
        ("[0.5, -1.5E+309]", "beyond the range of floats"),
        ("[" + "1" * 250 + ".5e99]", "beyond the range of floats"),
        ("[" + "1" * 310 + ".0]", "beyond the range of floats"),
        ("[" + "9" * 19 + "]", "whole numbers have at most 18 digits"),
        ("[" * 201 + "]" * 201, "nested deeper than 200 levels"),
        ('{"a":' * 201 + "1" + "}" * 201, "nested deeper than 200 levels"),
        ("[" * 100_000, "nested deeper than 200 levels"),
        ("[1,", "it is not JSON"),
        ("", "it is not JSON"),
    ],
)
def test_what_is_not_plain_is_refused(text, message):
    with pytest.raises(UnreadableError, match=message):
        reading.parse(text.encode())


def test_limits_from_the_inside():
    assert reading.parse(b"[" * 200 + b"]" * 200) is not None
    assert reading.parse(b'["' + b"[" * 1000 + b'"]') == ["[" * 1000]
    assert reading.parse(b"[" + b"9" * 199 + b".0e99]") == [1e298]
    assert reading.parse(b"[" + b"9" * 18 + b", 1e308, 1e-999]") == [10**18 - 1, 1e308, 0.0]


def test_bytes_that_are_not_utf8():
    with pytest.raises(UnreadableError, match="it is not JSON"):
        reading.parse(b'["\xff"]')


def test_other_things_than_files(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), tmp_path / "absent"):
        with pytest.raises(UnreadableError, match="cannot read"):
            reading.read(str(path))
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(PACKAGE), str(path)], capture_output=True, check=False
        )
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


def test_a_file_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 10)
    (tmp_path / "a").write_text("[1,2,3,4]\n")
    assert reading.read(str(tmp_path / "a")) == [1, 2, 3, 4]
    (tmp_path / "a").write_text("[1,2,3,4] \n")
    with pytest.raises(UnreadableError, match="more than 10 bytes"):
        reading.read(str(tmp_path / "a"))


def test_memory_is_estimated_before_it_is_taken():
    with budget.limited(memory=1000), pytest.raises(budget.UndecidedError, match="would take"):
        reading.parse(b"[" + b"0," * 100 + b"0]")


@given(st.text())
def test_words_of_a_file_stay_on_one_line(text):
    shown = claims.escaped(text)
    assert shown.isprintable()
    assert len(shown) <= 10 * claims.LONGEST + 1


def test_terminal_codes_and_bidi_marks_are_spelt_out():
    assert claims.quoted("a\x1b[2Jb\u202ec\nd") == "'a\\x1b[2Jb\\u202ec\\nd'"
