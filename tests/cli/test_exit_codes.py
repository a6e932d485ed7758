"""Exit codes: every command with every class of failure; an error is never a verdict."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path

import pytest

from ldpopt.checker import frame
from ldpopt.checker.kernel.exit_codes import ExitCode
from ldpopt.cli import demonstration
from ldpopt.cli.app import COMMANDS
from ldpopt.cli.terminal import print_table
from ldpopt.core import children, ending, workers
from ldpopt.core.errors import (
    FailedError,
    InvalidInputError,
    RefutedFileError,
    SolverError,
    UndecidedFileError,
)

ROOT = Path(__file__).resolve().parents[2]
QUESTION = {"problem": "staircase", "params": {"epsilon": 1, "prior": [0.4, 0.3, 0.2, 0.1]}}
DESIGN = ("--secret", "sex", "--public", "job", "--epsilon", "1", "--method", "srr")


def test_the_page_lists_every_code():
    page = (ROOT / "docs" / "exit-codes.md").read_text("utf-8")
    listed = re.findall(r"^\| (\d+) \| ([a-z ]+) \|", page, flags=re.MULTILINE)
    assert [(int(code), name.replace(" ", "_").upper()) for code, name in listed] == [
        (code.value, code.name) for code in ExitCode
    ]
    assert {frame.EXIT_CODES[verdict] for verdict in (True, False, None)} == {0, 1, 3}
    assert set(frame.EXIT_CODES.values()) <= {code.value for code in ExitCode}


# ---------------------------------------------------------------- whatever is raised in a command

RAISED = {
    "a mistake": (KeyError("x"), ExitCode.FAILED),
    "text that is no Unicode": (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), ExitCode.FAILED),
    "recursion": (RecursionError("deep"), ExitCode.FAILED),
    "a program that ends by itself": (SystemExit(0), ExitCode.FAILED),
    "a solver": (SolverError("it broke down"), ExitCode.FAILED),
    "a worker": (FailedError("it died"), ExitCode.FAILED),
    "no memory": (MemoryError(), ExitCode.UNDECIDED),
    "no memory for a process": (OSError(12, "Cannot allocate memory"), ExitCode.UNDECIDED),
    "no memory for a library": (ImportError("x.so: failed to map segment"), ExitCode.UNDECIDED),
    "no memory for a thread": (RuntimeError("can't start new thread"), ExitCode.UNDECIDED),
    "no time": (UndecidedFileError("not in time"), ExitCode.UNDECIDED),
    "bad input": (InvalidInputError("k must be 1, not 2"), ExitCode.BAD_INPUT),
    "the disk": (OSError(28, "No space left on device"), ExitCode.BAD_INPUT),
    "a false file": (RefutedFileError("it says what is false"), ExitCode.REFUTED),
    "Ctrl-C": (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    "a pipe that nobody reads": (BrokenPipeError(), ExitCode.NOT_READ),
    "SIGTERM": (ending.TerminatedError(), ExitCode.TERMINATED),
}
SILENT = (ExitCode.NOT_READ, ExitCode.TERMINATED)


def test_every_class_of_failure_is_raised():
    """The other codes are verdicts on files."""
    raised = {code for _, code in RAISED.values()}
    assert raised == set(ExitCode) - {ExitCode.DONE, ExitCode.NOT_PROMISED}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", RAISED)
def test_what_is_raised_in_a_command(command, what, ldpopt, monkeypatch):
    error, code = RAISED[what]
    monkeypatch.setattr(ending, "_drop_output", lambda: None)  # the output of the tests

    def broken() -> None:
        raise error

    module = import_module(f"ldpopt.cli.{command}")
    # as if it were raised in ldpopt itself, and not in a file of one's own
    code_of = broken.__code__.replace(co_filename=module.__file__)
    broken.__code__ = code_of
    monkeypatch.setattr(module, COMMANDS[command], broken)
    said = ldpopt(command)
    assert (said.code, said.out, said.err.count("\n")) == (code, "", code not in SILENT)
    assert said.err.startswith("ldpopt: ") or code in SILENT
    assert "Traceback" not in said.err


def test_a_table_that_nobody_reads(monkeypatch):
    """The library that draws tables would end the process with 1, the code of a refuted claim."""

    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        print_table(["a"], [["1"]])


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_usage(command, ldpopt):
    said = ldpopt(command, "--no-such-option")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)


# ---------------------------------------------------------------- files


@pytest.fixture(scope="module")
def work(tmp_path_factory, ldpopt):
    folder = tmp_path_factory.mktemp("work")
    rows = "".join(f"{s},{j}\n" for s in "fm" for j in "abc" for _ in range(30))
    (folder / "t.csv").write_text(f"sex,job\n{rows}")
    (folder / "q.json").write_text(json.dumps(QUESTION))
    assert ldpopt("design", "t.csv", *DESIGN, "-o", "m.json", cwd=folder).code == 0
    assert ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", cwd=folder).code == 0
    document = json.loads((folder / "m.json").read_text())
    document["value"] += 1
    (folder / "refuted.json").write_text(json.dumps(document))
    (folder / "garbage.json").write_text("{")
    return folder


READING = {
    "solve": ["solve", "FILE"],
    "verify": ["verify", "FILE"],
    "privatize": ["privatize", "t.csv", "-m", "FILE", "-o", "new.csv"],
    "export": ["export", "FILE", "--target", "js", "-o", "new.js"],
    "estimate": ["estimate", "r.csv", "-m", "FILE"],
    "audit": ["audit", "FILE", "--samples", "20", "--confidence", "0.999999"],
    "report": ["report", "FILE", "-o", "new.html", "--curve-seconds", "0"],
}
TABLES = {
    "design": ["design", "FILE", *DESIGN, "-o", "new.json"],
    "plan": ["plan", "FILE", *DESIGN[:4], "--target", "5%"],
    "privatize": ["privatize", "FILE", "-m", "m.json", "-o", "new.csv"],
    "estimate": ["estimate", "FILE", "-m", "m.json"],
    "audit": ["audit", "m.json", "--data", "FILE", "--released", "r.csv", "--samples", "20"],
    "exposure": ["exposure", "FILE"],
}


def given(words, file):
    return [file if word == "FILE" else word for word in words]


@pytest.mark.parametrize("file", ["absent.json", "garbage.json", ".", "t.csv"])
@pytest.mark.parametrize("command", READING)
def test_a_file_that_is_missing_or_unreadable(command, file, work, ldpopt):
    said = ldpopt(*given(READING[command], file), cwd=work)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("file", ["absent.csv", "garbage.json", "/dev/null"])
@pytest.mark.parametrize("command", TABLES)
def test_a_table_that_is_missing_or_unreadable(command, file, work, ldpopt):
    said = ldpopt(*given(TABLES[command], file), cwd=work)
    *warnings, sentence = said.err.splitlines()  # of an earlier release
    assert (said.code, said.out) == (2, "")
    assert sentence.startswith("ldpopt: ")
    assert all(line.startswith("warning: ") for line in warnings)


@pytest.mark.parametrize("command", [name for name in READING if name != "solve"])
def test_a_refuted_file(command, work, ldpopt):
    """A command that uses a mechanism refuses one that is refuted, with the code that says so."""
    said = ldpopt(*given(READING[command], "refuted.json"), cwd=work)
    assert said.code == 1, said.err
    (work / "new.html").unlink(missing_ok=True)
    assert not list(work.glob("new.*"))


DECIDING = {
    **{name: given(words, "m.json") for name, words in READING.items()},
    "solve": ["solve", "q.json"],
    "design": ["design", "t.csv", *DESIGN, "-o", "new.json"],
    "exposure": ["exposure", "t.csv"],
    "demo": ["demo", "--out", "new"],
}


def codes_on_the_page():
    """The commands of the table, each with the codes that it may end with when claims fail."""
    page = (ROOT / "docs" / "exit-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| (.*) \|(.*)\|(.*)\|(.*)\|$", page.split("| command |")[1], re.MULTILINE)
    listed = {}
    for names, *cells in rows:
        codes = [code for code, cell in zip((1, 3, 4), cells, strict=True) if cell.strip(" -")]
        listed |= dict.fromkeys(re.findall("`([a-z]+)`", names), codes)
    return listed


@pytest.mark.parametrize(("verdict", "code"), [(False, 1), (None, 3)], ids=["refuted", "undecided"])
@pytest.mark.parametrize("command", DECIDING)
def test_a_verdict_ends_a_command_with_the_code_of_the_table(
    command, verdict, code, work, ldpopt, monkeypatch
):
    check = frame.check

    def decided(document, plain=None):
        return [
            claim._replace(holds=verdict) if claim.what == "privacy" or command == "exposure" else claim
            for claim in check(document, plain)
        ]

    monkeypatch.setattr(frame, "check", decided)
    monkeypatch.setattr(demonstration, "TABLES", demonstration.TABLES[:1])
    said = ldpopt(*DECIDING[command], cwd=work)
    assert said.code == (code if code in codes_on_the_page()[command] else 0), said.err
    for file in work.glob("new*"):
        file.unlink() if file.is_file() else shutil.rmtree(file)


def test_the_table_names_every_command_that_decides():
    """Where two solvers contradict each other is tested with the benchmark."""
    assert codes_on_the_page().keys() - {"bench"} == DECIDING.keys()


def test_a_budget_that_is_too_small(tmp_path, ldpopt, monkeypatch):
    from ldpopt.checker.kernel import budget

    (tmp_path / "q.json").write_text(json.dumps(QUESTION))
    assert ldpopt("solve", "q.json", "--out", "r.json", cwd=tmp_path).code == 0
    monkeypatch.setattr(budget, "NUMBER", 10**12)
    assert ldpopt("verify", "r.json", cwd=tmp_path).code == 3


# ---------------------------------------------------------------- plug-ins, workers

PLUGIN = """
import os
import signal

from ldpopt.engine.sweep import Experiment
from ldpopt.problems import Staircase
from ldpopt.solvers import Enumerate


class Breaks(Enumerate):
    name = "breaks"

    def run(self, form, limits):
        return self.deeper(form)

    def deeper(self, form):
        return 1 / 0


class Leaves(Breaks):
    name = "leaves"

    def deeper(self, form):
        raise SystemExit(0)


class Coin(Staircase):
    kind = "coin"
    bench_sizes = (2,)

    def forms(self):
        return 1 / 0


class Fair(Staircase):
    kind = "fair"

    def forms(self):
        if self.epsilon != 1:
            raise ZeroDivisionError("at another level")
        return super().forms()


class Mute(Staircase):
    kind = "mute"

    def statement(self):
        return 1 / 0


measure = lambda n: 1 / 0
DIES = Experiment(
    "dies",
    lambda quick: [{"n": n} for n in range(2)],
    lambda n: os.kill(os.getpid(), signal.SIGKILL),
    lambda rows, out: [],
    lambda rows: "done",
)
FAILS = Experiment(
    "fails", lambda quick: [{"n": 1}], measure, lambda rows, out: [], lambda rows: "done"
)
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "broken.py").write_text("def work():\n    return 1 / 0\n\n\nwork()\n")
    (tmp_path / "q.json").write_text(json.dumps(QUESTION))
    (tmp_path / "coin.json").write_text(json.dumps(QUESTION | {"problem": "coin"}))
    (tmp_path / "fair.json").write_text(json.dumps(QUESTION | {"problem": "fair"}))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "q.json", "--solver", "mine.py:Breaks"],
        ["solve", "coin.json", "--problem", "mine.py:Coin"],
        ["experiment", "mine.py:FAILS", "--out", "out"],
        ["solve", "q.json", "--solver", "broken.py:X"],
        ["verify", "q.json", "--problem", "broken.py:X"],
        ["show", "broken.py:X"],
        ["bench", "broken.py:X"],
    ],
    ids=lambda words: "-".join(words[:1] + words[-1:]),
)
def test_an_exception_in_a_plugin_is_shown_to_its_author(words, mine, ldpopt):
    said = ldpopt(*words, cwd=mine)
    *calls, sentence = said.err.rstrip("\n").split("\n")
    assert (said.code, said.out) == (70, "")
    assert sentence.startswith("ldpopt: ")
    assert "ZeroDivisionError" in sentence
    assert any("1 / 0" in line for line in calls)
    first = next(line for line in calls if line.startswith("  File "))
    assert re.search(r"(mine|broken)\.py", first)


@pytest.mark.parametrize("command", ["verify", "audit", "report", "solve"])
def test_a_plugin_that_cannot_state_its_question(command, mine, ldpopt):
    """The file is neither unreadable nor undecided: the program failed."""
    assert ldpopt("solve", "q.json", "--out", "r.json", cwd=mine).code == 0
    document = json.loads((mine / "r.json").read_text()) | {"problem": "mute"}
    (mine / "r.json").write_text(json.dumps(document))
    more = {"audit": ["--samples", "20"], "report": ["-o", "new.html", "--curve-seconds", "0"]}
    said = ldpopt(command, "r.json", *more.get(command, []), "--problem", "mine.py:Mute", cwd=mine)
    assert (said.code, said.out) == (70, "")
    assert "ZeroDivisionError" in said.err.splitlines()[-1]
    assert not (mine / "new.html").exists()


def test_a_plugin_that_ends_the_program(mine, ldpopt):
    said = ldpopt("solve", "q.json", "--solver", "mine.py:Leaves", cwd=mine)
    assert (said.code, said.out) == (70, "")


def test_an_installed_package_is_no_plugin(capsys):
    """Packages may lie where another Python keeps them; what fails there is not a file of the user."""
    for folder, shown in (("/other/lib/site-packages/typer", None), ("/home/me", "/home/me/core.py")):
        with pytest.raises(ZeroDivisionError) as failed:
            exec(compile("1 / 0", f"{folder}/core.py", "exec"))
        error = failed.value.with_traceback(failed.value.__traceback__.tb_next)
        assert ending._show_plugin(error) == shown
        assert ("core.py" in capsys.readouterr().err) == (shown is not None)


def test_a_library_that_ends_the_process_gives_no_verdict(tmp_path):
    """OpenBLAS calls exit(1) where memory is short; 1 is the code of a refuted file."""
    (tmp_path / "ends.py").write_text("import ctypes\n\nctypes.CDLL(None).exit(1)\n")
    program = [sys.executable, "-P", "-m", "ldpopt"]
    for words, code in ((["show", "ends.py:X"], 3), (["list", "problems"], 0), (["show", "none"], 2)):
        said = subprocess.run([*program, *words], cwd=tmp_path, capture_output=True, check=False)
        assert said.returncode == code


def test_a_solver_that_crashes_in_the_benchmark(mine, ldpopt):
    words = ("bench", "staircase", "--sizes", 2, "--solvers", "enumerate", "--plugin", "mine.py:Breaks")
    said = ldpopt(*words, cwd=mine)
    assert said.code == 70
    assert "enumerate" in said.out  # the rows of the others are kept
    assert "ZeroDivisionError" in said.err


def test_a_failure_at_another_level_does_not_lose_the_page(mine, ldpopt):
    own = ("--problem", "mine.py:Fair")
    assert ldpopt("solve", "fair.json", "--out", "r.json", *own, cwd=mine).code == 0
    said = ldpopt("report", "r.json", "-o", "r.html", "--curve-seconds", "20", *own, cwd=mine)
    assert said.code == 0, said.err
    page = (mine / "r.html").read_text("utf-8")
    assert "it failed, ZeroDivisionError(&#39;at another level&#39;)." in page


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_library_whose_process_dies(tmp_path, ldpopt, monkeypatch):
    pytest.importorskip("cdd")
    wide = {"epsilon": 1, "prior": [1 / 16] * 8 + [1 / 4, 1 / 4]}
    (tmp_path / "q.json").write_text(json.dumps(QUESTION | {"params": wide}))
    dying = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(children, "command", lambda code: dying)
    said = ldpopt("solve", "q.json", "--solver", "cdd", "--time-limit", 60, cwd=tmp_path)
    assert (said.code, said.out) == (70, "")
    assert said.err == (
        "ldpopt: the process of enumerate_rays ended before its work was done: exit code -9\n"
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_dies(mine, ldpopt):
    said = ldpopt("experiment", "mine.py:DIES", "--jobs", 2, "--out", "out", cwd=mine)
    assert (said.code, said.out, said.err.count("\n")) == (70, "", 1)
    assert said.err.startswith("ldpopt: a worker process ended before its work was done")


@pytest.mark.parametrize("words", [["privatize", "t.csv", "-o", "new.csv"], ["estimate", "r.csv"]])
def test_a_worker_of_a_table_that_dies(words, work, ldpopt, monkeypatch):
    def died(*_, **__):
        def run(tasks):
            yield from ()
            raise BrokenProcessPool("A worker process was terminated. The exit codes are {SIGKILL(-9)}")

        return run

    monkeypatch.setattr(workers.joblib, "Parallel", died)
    said = ldpopt(*words, "-m", "m.json", "--jobs", 2, cwd=work)
    assert (said.code, said.out) == (70, "")
    last = said.err.strip().split("\n")[-1]
    assert (
        last == "ldpopt: a worker process ended before its work was done: exit codes are {SIGKILL(-9)}"
    )
    assert not (work / "new.csv").exists()


# ---------------------------------------------------------------- the other programs


@pytest.mark.parametrize(
    ("error", "code"), [(KeyError("x"), 70), (MemoryError(), 3), (RecursionError(), 3)]
)
def test_the_checker_alone(error, code, work, monkeypatch, capsys):
    def broken(document):
        raise error

    monkeypatch.setattr(frame, "check", broken)
    assert frame.main(str(work / "m.json")) == code
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert frame.main(str(work / "absent.json")) == 2
    with pytest.raises(SystemExit) as ended:
        frame.main("--no-such-option")
    assert ended.value.code == 2


@pytest.mark.parametrize("words", [["--threshold", "0"], ["--columns", "age"], ["--random"]])
def test_bad_input_of_the_protocol(words, ldpopt):
    pytest.importorskip("cryptography")
    said = ldpopt("protocol", "adult:sex-race", *words)
    assert (said.code, said.err.count("\n")) == (2, 1)


def test_a_party_of_the_protocol_that_dies(monkeypatch, ldpopt):
    pytest.importorskip("cryptography")
    from ldpopt.protocol import run

    dying = [sys.executable, "-c", "raise SystemExit(9)"]
    monkeypatch.setattr(run.Board, "command", lambda self, name: dying)
    said = ldpopt("protocol", "adult:sex-race")
    assert said.code == 70
    assert "ldpopt: " in said.err


def test_the_self_test_of_an_exported_program(work, ldpopt):
    for target in ("python", "js"):
        file = work / f"sampler.{target}"
        assert ldpopt("export", "m.json", "--target", target, "-o", file, cwd=work).code == 0
        program_of = sys.executable if target == "python" else "node"
        text = file.read_text("utf-8")
        first = re.search(r'"vectors": \[\n\[(\[.*?\]), (\d+), (\d+)\]', text)
        wrong = text.replace(first[0], f'"vectors": [\n[{first[1]}, {first[2]}, {int(first[3]) + 1}]')
        nothing = "None" if target == "python" else "null"
        broken = text.replace(first[0], f'"vectors": [\n[{nothing}, 0, 0]')
        for content, code in ((text, 0), (wrong, 1), (broken, 70)):
            file.write_text(content, "utf-8")
            try:
                said = subprocess.run([program_of, file], capture_output=True, text=True, check=False)
            except FileNotFoundError:
                pytest.skip("node is not installed here")
            assert said.returncode == code, said.stderr
            assert said.stderr.count("\n") == (code != 0)


# ---------------------------------------------------------------- names of files


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode elsewhere")
def test_names_that_are_not_utf8(work, tmp_path, ldpopt):
    odd = os.fsdecode(b"caf\xe9")
    for name in ("t.csv", "r.csv", "m.json", "q.json"):
        (tmp_path / name).write_bytes((work / name).read_bytes())
        (tmp_path / f"{odd}.{name}").write_bytes((work / name).read_bytes())
    for words in (
        ["solve", f"{odd}.q.json", "--out", f"{odd}.json"],
        ["verify", f"{odd}.m.json"],
        ["privatize", "t.csv", "-m", f"{odd}.m.json", "-o", "new.csv"],
        ["estimate", "r.csv", "-m", f"{odd}.m.json", "--plot", f"{odd}.png"],
        ["export", f"{odd}.m.json", "--target", "python", "-o", f"{odd}.py"],
        ["audit", f"{odd}.m.json", "--samples", "20", "--confidence", "0.999999"],
        ["report", f"{odd}.m.json", "-o", f"{odd}.html", "--curve-seconds", "0"],
        ["exposure", "t.csv", "-o", f"{odd}.exposure.html"],
    ):
        said = ldpopt(*words, cwd=tmp_path)
        assert said.code == 0, said.err
        (said.out + said.err).encode()
    (tmp_path / "new.csv").unlink()
    for command, words in TABLES.items():
        said = ldpopt(*given(words, f"{odd}.t.csv"), cwd=tmp_path)
        assert said.code == 2, command
        assert said.err.endswith(
            "ldpopt: the name of a table must be UTF-8, not caf\\udce9.t.csv: rename it\n"
        )
    said = ldpopt("privatize", "t.csv", "-m", "m.json", "-o", f"{odd}.csv", cwd=tmp_path)
    assert said.code == 2
