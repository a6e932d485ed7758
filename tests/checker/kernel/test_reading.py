"""Reading: only plain, finite, unambiguous JSON of bounded size; messages on one line."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.checker.kernel import budget, claims, reading
from ldpopt.checker.kernel.reading import SUSPECT, UNSHOWN, UnreadableError, parse

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
        ("[0.5, 1e-999]", "the number 1e-999 is too small for floats"),
        ("[0." + "0" * 330 + "1]", "is too small for floats"),
        ("[0." + "0" * 180 + "1e-150]", "is too small for floats"),
        ("[0.5, 0.1" + "0" * 398 + "1]", "at most 17 significant digits, not 400"),
        ("[-1.00000000000000001]", "at most 17 significant digits, not 18: -1.00000000000000001"),
        ("[12345678901.2345678E-4]", "at most 17 significant digits, not 18"),
        ("[" + "9" * 199 + ".0e99]", "at most 17 significant digits, not 199"),
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
    assert reading.parse(b"[1" + b"0" * 199 + b".0e99]") == [1e298]
    assert reading.parse(b"[" + b"9" * 18 + b", 1e308, 5e-324]") == [10**18 - 1, 1e308, 5e-324]
    zeros = b"[0.5" + b"0" * 400 + b", 0.0e-999, -0.0, 0." + b"0" * 330 + b"]"
    assert reading.parse(zeros) == [0.5, 0.0, -0.0, 0.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_every_double_that_is_written_is_read_as_itself(numbers):
    assert reading.parse(json.dumps(numbers).encode()) == numbers
    exact = [f"{x:.16e}" for x in numbers]  # 17 digits, as C and R write them
    assert reading.parse(f"[{', '.join(exact)}]".encode()) == numbers


@given(st.decimals(allow_nan=False, allow_infinity=False, places=None))
def test_a_decimal_is_read_if_and_only_if_it_has_17_digits(number):
    """Whatever way it is written, the fast path and :func:`reading._float` agree about it."""
    text = f"{number:f}" if abs(number.adjusted()) < 400 else f"{number:e}"
    text += "" if "." in text or "e" in text else ".0"
    try:
        expected = reading._float(text)
    except UnreadableError:
        with pytest.raises(UnreadableError):
            reading.parse(f"[{text}]".encode())
    else:
        assert reading.parse(f"[{text}]".encode()) == [expected]


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


@pytest.mark.parametrize(
    "bad",
    [
        *("\ud800", "\x00", "\n", "\x85", "\u061c", "\u200e", "\u2029", "\u202e", "\u2069"),
        *("\u00ad", "\u115f", "\u180e", "\u200b", "\u2060", "\u3164", "\ufeff", "\U000e0041"),
    ],
)
@pytest.mark.parametrize("place", ['{{"{}": 1}}', '{{"a": ["{}"]}}', '{{"a": {{"b": "{}"}}}}'])
def test_strings_show_what_they_say(bad, place):
    """Escaped or not, wherever they stand."""
    written = {json.dumps(f"x{bad}y")[1:-1], json.dumps(f"x{bad}y", ensure_ascii=False)[1:-1]}
    for text in written:
        with contextlib.suppress(UnicodeEncodeError):
            content = place.format(text).encode()
            with pytest.raises(UnreadableError, match=f"the character U\\+{ord(bad):04X};"):
                parse(content)


def test_the_quick_look_misses_no_string():
    """Every character that is refused, in the two ways that JSON text may have it."""
    for number in range(0x110000):
        text = chr(number)
        if UNSHOWN.match(text):
            assert SUSPECT.search(json.dumps(text).encode())
            raw = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
            assert SUSPECT.search(raw) or 0xD800 <= number < 0xE000  # which UTF-8 refuses


def test_letters_of_all_directions_are_read():
    words = ["שלום", "ذكر", "می\u200cخواهم", "👩\u200d🔬", "e\u0301", "\u00a0", "❤\ufe0f"]
    assert parse(json.dumps(words).encode()) == words
    assert parse(json.dumps(words, ensure_ascii=False).encode()) == words
