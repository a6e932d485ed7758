"""Nothing is lost, forged on the terminal, or ends in a traceback."""

import contextlib
import errno
import json
import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from ldpopt.core.registry import Registry
from ldpopt.release import releasing

TABLE = pd.DataFrame({"sex": ["f", "m"] * 200, "job": ["a", "a", "b", "b", "c", "b", "c", "c"] * 50})
DESIGN = ("--secret", "sex", "--public", "job", "--epsilon", "1", "--robust", "chi2")


@pytest.fixture(scope="module")
def work(tmp_path_factory, ldpopt):
    folder = tmp_path_factory.mktemp("work")
    TABLE.to_csv(folder / "table.csv", index=False)
    assert ldpopt("design", "table.csv", *DESIGN, "-o", "mech.json", cwd=folder).code == 0
    said = ldpopt("privatize", "table.csv", "-m", "mech.json", "-o", "out.csv", cwd=folder)
    assert said.code == 0
    assert "the table agrees with the design: the frequencies of its 400 rows lie inside" in said.out
    return folder


def clean(text):
    return all(c.isprintable() or c == "\n" for c in text)


def test_nothing_is_overwritten_silently(work, ldpopt):
    for name in ("page.html", "plot.png"):
        (work / name).write_text("of yesterday")
    kept = {
        name: (work / name).read_bytes() for name in ("mech.json", "out.csv", "page.html", "plot.png")
    }
    for words in (
        ("design", "table.csv", *DESIGN, "-o", "mech.json"),
        ("privatize", "table.csv", "-m", "mech.json", "-o", "out.csv"),
        ("report", "mech.json", "-o", "page.html"),
        ("estimate", "out.csv", "-m", "mech.json", "--plot", "plot.png"),
        ("plan", "table.csv", *DESIGN[:4], "--target", "1%", "--plot", "plot.png"),
    ):
        said = ldpopt(*words, cwd=work)
        assert said.code == 2
        assert said.err.endswith("it exists; choose another name, or --force\n")
    assert all((work / name).read_bytes() == content for name, content in kept.items())
    words = ("privatize", "table.csv", "-m", "mech.json", "-o", "out.csv", "--force")
    assert ldpopt(*words, cwd=work).code == 0


def test_the_counts_are_for_the_owner(work):
    assert (work / "mech.json").stat().st_mode & 0o777 == 0o600
    assert (work / "out.csv").stat().st_mode & 0o777 == 0o644


def test_exchanged_labels(work, ldpopt):
    """Refuted where the digest is old; where it is new, the table contradicts the counts."""
    from ldpopt.checker.statements.table_design import digest

    swapped = TABLE.assign(sex=["f", "m", "f", "f", "f", "m", "m", "f"] * 50)
    swapped.to_csv(work / "skew.csv", index=False)
    assert ldpopt("design", "skew.csv", *DESIGN, "-o", "skew.json", cwd=work).code == 0
    document = json.loads((work / "skew.json").read_text())
    document["design"]["domain"]["secret"]["columns"][0]["values"].reverse()
    (work / "forged.json").write_text(json.dumps(document))
    assert ldpopt("verify", "forged.json", cwd=work).code == 1
    assert ldpopt("audit", "forged.json", "--samples", "100", cwd=work).code == 1
    release = ("privatize", "skew.csv", "-m", "forged.json", "-o", "forged.csv")
    assert ldpopt(*release, cwd=work).code == 1
    document["design"]["digest"] = digest(document)
    (work / "forged.json").write_text(json.dumps(document))
    assert ldpopt("verify", "forged.json", cwd=work).code == 0
    said = ldpopt(*release, cwd=work)
    assert said.code == 2
    assert "ldpopt: the table contradicts the design: the frequencies of its 400 rows" in said.err
    assert not (work / "forged.csv").exists()
    said = ldpopt(*release, "--force", cwd=work)
    assert said.code == 0
    assert "warning: the table CONTRADICTS the design" in said.err


def test_names_of_files_are_spelt_out(work, ldpopt):
    name = "h\x1b[2J.json"
    for words in (
        ("design", "table.csv", *DESIGN, "--method", "srr", "-o", name),
        ("audit", name, "--samples", "100"),
        ("verify", name),
        ("privatize", "table.csv", "-m", name, "-o", "h\x1b[2J.csv"),
        ("estimate", "h\x1b[2J.csv", "-m", name, "--joint"),
        ("privatize", "table.csv", "-m", name, "-o", "again.csv"),  # the ledger is read
    ):
        said = ldpopt(*words, cwd=work)
        assert said.code == 0, said.err
        assert clean(said.out)
        assert clean(said.err)
    said = ldpopt("verify", "none\x1b[2J\nldpopt: verified", cwd=work)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert clean(said.err)


HIDDEN = ["\x1b", "\x00", "\t", "\n", "\x7f", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066"]


@pytest.mark.parametrize("bad", HIDDEN, ids=ascii)
def test_a_table_whose_values_do_not_show_what_they_say(bad, work, ldpopt, tmp_path):
    """The sentence names the row and the column, and shows neither the cell nor the row."""
    table = TABLE.copy()
    table.loc[6, "job"] = f"person{bad}number"
    table.to_csv(tmp_path / "t.csv", index=False)
    for more in ((), ("--levels", "job=8")):
        said = ldpopt("design", "t.csv", *DESIGN, *more, "-o", "m.json", cwd=tmp_path)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert f"'job' holds the character U+{ord(bad):04X}" in said.err
        assert "person" not in said.err
        assert more or "row 7 of column 'job'" in said.err
    said = ldpopt(
        "design", "t.csv", *DESIGN, "--top", "job=3", "--method", "srr", "-o", "m.json", cwd=tmp_path
    )
    assert said.code == 0, said.err  # the cell counts as (other), and is no label
    table = TABLE.rename(columns={"sex": f"s{bad}x"})
    table.to_csv(tmp_path / "names.csv", index=False)
    for words in (
        ("design", "names.csv", "--secret", f"s{bad}x", *DESIGN[2:]),
        ("exposure", "names.csv"),
    ):
        said = ldpopt(*words, "-o", "n.html", cwd=tmp_path)
        assert said.code == 2, said.out
        assert clean(said.err)
    said = ldpopt(
        "design", "names.csv", "--secret", "job", "--epsilon", "1", "-o", "n.json", cwd=tmp_path
    )
    assert said.code == 0, said.err  # a column that is not used may have any name


def test_other_letters_are_welcome(ldpopt, tmp_path):
    """Arabic, Hebrew, Persian with its joiner, combining marks, pictures of several characters."""
    words = ["שלום עולם", "ذكر", "می\u200cخواهم", "e\u0301te\u0301", "👩\u200d🔬", "a" * 3000]
    rows = "".join(f"{s},{u}\n" for s in ("נקבה", "זכר") for u in words for _ in range(20))
    (tmp_path / "t.csv").write_text(f"מין,עיסוק\n{rows}", "utf-8")
    options = ("--secret", "מין", "--public", "עיסוק", "--epsilon", "1", "--method", "srr")
    for line in (
        ("design", "t.csv", *options, "-o", "m.json"),
        ("verify", "m.json"),
        ("verify", "m.public.json"),
        ("privatize", "t.csv", "-m", "m.json", "-o", "r.csv"),
        ("estimate", "r.csv", "-m", "m.json"),
        ("export", "m.json", "--target", "js", "-o", "s.js"),
        ("report", "m.json", "-o", "r.html", "--curve-seconds", "0"),
    ):
        said = ldpopt(*line, cwd=tmp_path)
        assert said.code == 0, said.err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "\u2068נקבה\u2069" in page
    outside = re.sub("\u2068[^\u2068\u2069]*\u2069|<code>.*?</code>", "", page)
    assert not re.search("[\u0590-\u08ff]", outside)


def test_a_table_that_may_not_be_read(work, ldpopt, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    said = ldpopt("design", "table.csv", *DESIGN, "-o", "new.json", cwd=work)
    assert (said.code, said.err) == (2, "ldpopt: cannot read table.csv: permission denied\n")


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk(work, ldpopt, monkeypatch):
    from matplotlib.figure import Figure

    from ldpopt.experiments import EXPERIMENTS

    before = set(work.iterdir())
    monkeypatch.setattr(Figure, "savefig", full_disk)
    said = ldpopt("estimate", "out.csv", "-m", "mech.json", "--plot", "e.png", cwd=work)
    assert (said.code, said.err) == (2, "ldpopt: cannot write e.png: No space left on device\n")
    name = next(iter(EXPERIMENTS))
    monkeypatch.setattr(type(EXPERIMENTS[name]), "run", full_disk)
    said = ldpopt("experiment", name, cwd=work)
    assert (said.code, said.err) == (2, "ldpopt: No space left on device\n")
    monkeypatch.setattr(releasing, "_writer", full_disk)
    said = ldpopt("privatize", "table.csv", "-m", "mech.json", "-o", "new.csv", cwd=work)
    assert said.code == 2
    assert said.err.endswith("ldpopt: cannot write new.csv: No space left on device\n")
    assert set(work.iterdir()) == before


@contextlib.contextmanager
def small_disk(most):
    """Let the system itself refuse to write more than so many bytes into a file."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITING = {
    "design": ["design", "table.csv", *DESIGN, "--method", "srr", "-o", "new.json"],
    "privatize": ["privatize", "table.csv", "-m", "mech.json", "-o", "new.csv"],
    "privatize parquet": ["privatize", "table.csv", "-m", "mech.json", "-o", "new.parquet"],
    "estimate": ["estimate", "out.csv", "-m", "mech.json", "--plot", "new.svg"],
    "report": ["report", "mech.json", "-o", "new.html", "--curve-seconds", "0"],
    "export": ["export", "mech.json", "--target", "js", "-o", "new.js"],
    "bench": ["bench", "staircase", "--sizes", "3", "--solvers", "enumerate", "--out", "new"],
    "experiment": ["experiment", "step-is-not-optimal", "--out", "new"],
}


@pytest.mark.parametrize("name", WRITING)
def test_a_file_that_the_system_refuses_to_write(name, work, ldpopt, tmp_path):
    """Whatever writes it, a sentence says why, and no half file is left; rows of a journal are lines."""
    shutil.copytree(work, tmp_path, dirs_exist_ok=True)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with small_disk(100):
        said = ldpopt(*WRITING[name], cwd=tmp_path)
    assert said.code == 2
    words = r"ldpopt: cannot write \S*new\S*: " + re.escape(os.strerror(errno.EFBIG))
    assert re.fullmatch(words, said.err.splitlines()[-1])
    left = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert {path.suffix for path in left} <= {".jsonl"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_standard_output_on_a_full_disk():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ldpopt", "list", "problems"]
        said = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == 2
    assert said.stderr.startswith("ldpopt: ")
    assert said.stderr.endswith("No space left on device\n")
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize("size", ["-3", "0"])
def test_sizes_are_positive(ldpopt, tmp_path, size):
    said = ldpopt("bench", "column-program", f"--sizes={size}", cwd=tmp_path)
    assert (said.code, said.err) == (2, f"ldpopt: sizes must be whole numbers >= 1, not {size}\n")


def test_a_plug_in_that_fails_at_import(tmp_path, monkeypatch, ldpopt):
    """It is one line of the list, and one sentence where it is asked for."""
    from ldpopt import solvers

    package = tmp_path / "broken_plugin"
    package.mkdir()
    (package / "__init__.py").write_text("raise ValueError('no\\x1b[2J licence')")
    (package / "solver.py").write_text("class Mine: ...")
    monkeypatch.syspath_prepend(tmp_path)
    broken = Registry("solver", "no.such.group", {"mine": "broken_plugin.solver:Mine"})
    monkeypatch.setattr(solvers, "SOLVERS", broken)
    said = ldpopt("list", "solvers", cwd=tmp_path)
    assert said.code == 0
    assert "mine  BROKEN: the module broken_plugin.solver cannot be read: ValueError: no" in said.out
    assert clean(said.out)
    with pytest.raises(Exception, match=r"the solver 'mine' cannot be loaded .* ValueError"):
        broken["mine"]
