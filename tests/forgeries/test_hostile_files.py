"""Hostile files: whatever the bytes are, the checker ends with a sentence and one of four exit codes."""

import json
import os
import re
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited, reserve
from ldpopt.checker.kernel.proofs.quadratic_forms import QuadraticForm
from ldpopt.checker.kernel.reading import DEEPEST, MOST_BYTES, UnreadableError, parse

PACKAGE = Path(frame.__file__).parent
WORDS = [
    "problem",
    "params",
    "epsilon",
    "prior",
    "value",
    "certificate",
    "proof",
    "dual",
    "mechanism",
    "matrix",
]
NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "1",
    "1e308",
    "1e309",
    "5e-324",
    "1e-400",
    "01",
    "+1",
    ".5",
    "1.",
    "0x1",
    "NaN",
    "9" * 18,
    "9" * 19,
]
TOKENS = [
    *'[]{},:"\\ \n\t',
    "true",
    "null",
    "Infinity",
    "\\u0000",
    "\\ud800",
    "\x1b[31m",
    "\u202e",
    *NUMBERS,
]

texts = st.lists(st.sampled_from([*TOKENS, *(f'"{word}"' for word in WORDS)]), max_size=40).map("".join)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda part: (
        st.lists(part, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(), part, max_size=4)
    ),
    max_leaves=12,
)


@given(texts.map(str.encode) | st.binary(max_size=60))
@example(b'"\\')
@example(b'"' * 7)
@example(b"\xef\xbb\xbf{}")
def test_any_bytes_are_json_or_unreadable(content):
    """What is read is what the standard reader reads; what that refuses is refused."""
    found, sentence = _parsed(content)
    assert sentence.isprintable()
    if not sentence:
        assert json.dumps(found) == json.dumps(json.loads(content))


@given(values)
def test_plain_values_are_read_as_they_are(value):
    found, sentence = _parsed(json.dumps(value).encode())
    assert re.search(r"digits|the character U\+", sentence) if sentence else found == value


def _parsed(content):
    """The value, and the sentence that refuses the text; one of them is empty."""
    try:
        return parse(content), ""
    except UnreadableError as error:
        return None, str(error)


@given(st.dictionaries(st.sampled_from(sorted(frame.DOCUMENT.required)) | st.text(max_size=5), values))
def test_any_object_has_claims_or_is_unreadable(document):
    with pytest.raises((UnreadableError, UndecidedError)) as caught:
        frame.check(document)
    assert str(caught.value).isprintable()


@given(
    st.sampled_from(sorted(frame.KINDS)),
    st.sampled_from(["feasible", "optimal"]),
    values,
    values,
    values,
    values,
)
def test_any_content_of_the_fields_is_judged(kind, status, params, mechanism, answer, proof):
    document = {
        "format": 1,
        "problem": kind,
        "params": params,
        "status": status,
        "value": 1.0,
        "bound": None if status == "feasible" else 1.0,
        "mechanism": mechanism,
        "answer": answer,
        "certificate": {"proof": proof, "gap": 0.0},
    }
    with pytest.raises((UnreadableError, UndecidedError)), limited(10.0):
        frame.check(document)


LONG = MOST_BYTES - 10
BOMBS = {
    "a long string": b'"' + b"a" * LONG + b'"',
    "strings that never end": b'\\"' * (LONG // 2),
    "many strings": b'"' * LONG,
    "a string of escapes": b'"' + b"\\n" * (LONG // 2) + b'"',
    "a deep list": b"[" * LONG,
    "many objects": b"{}," * (LONG // 3),
    "many digits": b"0." + b"1" * LONG,
    "a large exponent": b"1e" + b"9" * LONG,
    "spaces": b" " * LONG,
    "too long": b" " * (LONG + 20),
}


@pytest.mark.parametrize("name", BOMBS)
def test_large_files_take_little(name, tmp_path):
    """Linear time, and less memory than the budget: the process runs under a limit of its own."""
    (tmp_path / "bomb").write_bytes(BOMBS[name])
    done = _check(tmp_path / "bomb")
    assert done.returncode in (2, 3)
    assert len(done.stderr.splitlines()) == 1
    assert b"MemoryError" not in done.stderr


def _small(kind, params, **fields):
    return {
        "format": 1,
        "problem": kind,
        "params": params,
        "status": "gap",
        "value": 1.0,
        "bound": 1.0,
        "mechanism": None,
        "certificate": {"proof": None, "gap": 0.0},
    } | fields


@pytest.mark.parametrize("kind", ["circulant-fidelity", "broad-fidelity", "minimax-fidelity"])
@pytest.mark.parametrize("k", [100_000, 100_001, 10**17])
def test_small_files_with_large_sizes(kind, k, tmp_path):
    params = {"inputs": k, "epsilon": 1.0} | ({"p0": 1e-15} if kind == "minimax-fidelity" else {})
    answer = {"mechanism": "subset-selection", "inputs": k, "size": k // 2, "ratio": 1.5}
    (tmp_path / "small").write_text(json.dumps(_small(kind, params, answer=answer)))
    done = _check(tmp_path / "small")
    assert done.returncode == (1 if kind == "broad-fidelity" and k == 100_000 else 2)
    assert b"Traceback" not in done.stderr


def test_words_of_a_file_move_no_cursor(tmp_path):
    (tmp_path / "a").write_text(json.dumps(_small("\x1b[2K\rholds\nverified \u202e", {})))
    done = _check(tmp_path / "a")
    assert done.returncode == 2
    assert done.stderr.decode().rstrip("\n").isprintable()
    assert done.stdout == b""


def test_a_terminal_without_greek(tmp_path):
    """A letter that cannot be printed is no verdict: the file is verified, in other letters."""
    from ldpopt import problem, solve

    solve(problem("broad-fidelity", inputs=17, epsilon=0.3)).save(tmp_path / "a.json")
    command = [sys.executable, "-m", "ldpopt", "verify", "a.json"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"its \\u03c6 is at most" in done.stdout


def test_a_full_disk_is_no_verdict(tmp_path, ldpopt, monkeypatch):
    from ldpopt import problem, solve
    from ldpopt.engine import verifying

    def full(self):
        raise OSError(28, "No space left on device")

    solve(problem("broad-fidelity", inputs=17, epsilon=0.3)).save(tmp_path / "a.json")
    monkeypatch.setattr(verifying.Verification, "__str__", full)
    answer = ldpopt("verify", tmp_path / "a.json")
    assert (answer.code, answer.out) == (3, "")
    assert "No space left on device" in answer.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_the_checker_alone_on_a_full_disk(tmp_path):
    """Python itself would end with exit code 120, which is no answer."""
    answer = {"mechanism": "subset-selection", "inputs": 5, "size": 1, "ratio": 1.5}
    (tmp_path / "a").write_text(
        json.dumps(_small("broad-fidelity", {"inputs": 5, "epsilon": 1.0}, answer=answer))
    )
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-I", "-S", str(PACKAGE), str(tmp_path / "a")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3
    assert done.stderr == b"undecided: the claims cannot be printed: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="the shell closes the streams")
def test_closed_streams_leave_the_exit_code(tmp_path):
    """Python has no standard output then, and the crash of its first use would say "refuted"."""
    from ldpopt import problem, solve

    solve(problem("broad-fidelity", inputs=17, epsilon=0.3)).save(tmp_path / "a.json")
    command = 'exec "$0" -m ldpopt verify a.json >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("budget", ["nan", "inf", "-inf", "1e308", "-1", "0"])
def test_a_budget_that_no_clock_can_count_is_refused(budget, tmp_path, ldpopt, capsys):
    answer = ldpopt("verify", tmp_path / "a.json", f"--budget={budget}")
    assert (answer.code, answer.out) == (2, "")
    assert "budget" in answer.err
    with pytest.raises(SystemExit) as ended:
        frame.main(str(tmp_path / "a.json"), f"--budget={budget}")
    assert ended.value.code == 2
    assert "a number above 0, at most 10000000" in capsys.readouterr().err


def _check(path):
    """Run the checker alone, in a process that may not take more than its budget."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))

    return subprocess.run(
        [sys.executable, "-I", "-S", str(PACKAGE), str(path)],
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )


def test_nesting_on_both_sides_of_the_limit():
    assert parse(b"[" * DEEPEST + b"]" * DEEPEST)
    with pytest.raises(UnreadableError, match="nested deeper"):
        parse(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    assert parse(b'["\\"' + b"[" * (DEEPEST + 1) + b'"]')


CONFINED = """
import resource
from ldpopt.core.memory_limit import confined
before = resource.getrlimit(resource.RLIMIT_AS)
with confined(memory=50_000_000):
    assert len(bytearray(1_000_000)) == 1_000_000
    try:
        bytearray(400_000_000)
    except MemoryError:
        print("refused")
assert resource.getrlimit(resource.RLIMIT_AS) == before
"""


def test_the_system_refuses_what_estimates_miss():
    """In a process of its own: where other tests left threads, nothing is confined."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("the system does not say how much memory is in use")
    done = subprocess.run([sys.executable, "-c", CONFINED], capture_output=True, check=True)
    assert done.stdout == b"refused\n"


def test_counts_of_thousands_of_digits_are_undecided():
    """Python writes no text of such a number: the sentence must not need it."""
    with limited(), pytest.raises(UndecidedError, match=r"more than 10\^18 MB"):
        reserve(2**20_000, "the vertices")
    with pytest.raises(UndecidedError, match=r"not more than 10\^18"):
        QuadraticForm([], [], []).on_corners(range(15_000), Fraction(3))


def test_reading_stays_within_the_memory(tmp_path, ldpopt):
    """Thirty million bytes of empty lists would be a gigabyte and more as Python's lists."""
    (tmp_path / "a.json").write_bytes(b'{"stats": {"a": [' + b"[]," * 9_900_000 + b"[]]}}")
    answer = ldpopt("verify", tmp_path / "a.json")
    assert answer.code == 3
    assert "reading the file would take" in answer.err
