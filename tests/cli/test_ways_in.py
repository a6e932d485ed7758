"""Ways in: verbs on the top level, what there is, completion, notebooks and data frames."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ldpopt as package
from ldpopt import Mechanism
from ldpopt.problems import PROBLEMS
from ldpopt.release.methods import METHODS
from ldpopt.tables.batches import open_table

VERBS = ("design", "privatize", "estimate", "audit", "report")


@pytest.fixture(scope="module")
def made():
    return package.design("adult:sex-race", "sex", "race", epsilon=1.0, method="srr", robust="all")


def test_the_verbs_lead_from_a_table_to_a_page(made, tmp_path):
    made.save(tmp_path / "m.json")
    made.public.save(tmp_path / "m.public.json")
    rows = package.privatize("adult:sex-race", tmp_path / "m.public.json", tmp_path / "r.csv", seed=1)
    assert rows == 32561
    found = package.estimate(tmp_path / "r.csv", str(tmp_path / "m.json"))
    assert found.n == rows
    assert package.audit(tmp_path / "m.json", samples=100, confidence=0.999999).passed
    (part,) = package.report(tmp_path / "m.json", tmp_path / "page.html", curve_seconds=0)
    assert part.sound
    assert "<h1>" in (tmp_path / "page.html").read_text()


def test_a_verb_that_is_a_room_stays_both():
    code = """
import ldpopt
assert callable(ldpopt.audit) and callable(ldpopt.report)
from ldpopt.audit.findings import Audit
from ldpopt.report import page
assert callable(ldpopt.audit) and callable(ldpopt.report)
assert ldpopt.audit.findings.Audit is Audit
try:
    ldpopt.audit("absent.json")
except ldpopt.core.errors.UnreadableFileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "absent.json" in done.stdout


# ---------------------------------------------------------------- show and list


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_show_says_what_a_kind_takes(kind, ldpopt):
    answer = ldpopt("show", kind)
    assert answer.code == 0, answer.err
    shown = json.loads(ldpopt("show", kind, "--json").out)
    assert shown["summary"] in " ".join(answer.out.split())
    assert set(shown["example"]["params"]) <= set(shown["parameters"])
    assert shown["solvers"]
    for name in (*shown["parameters"], *shown["solvers"]):
        assert f"\n  {name} " in answer.out


def test_the_example_solves_as_it_stands(ldpopt, tmp_path):
    for kind in ("staircase", "leakage-design", "feature-release"):
        path = tmp_path / f"{kind}.json"
        path.write_text(ldpopt("show", kind, "--example").out)
        assert ldpopt("solve", path).code == 0


def test_an_unknown_kind_is_named(ldpopt):
    answer = ldpopt("show", "stircase")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "staircase" in answer.err


def test_list_names_methods_and_tables(ldpopt):
    methods = ldpopt("list", "methods").out
    assert [line.split()[0] for line in methods.splitlines()] == list(METHODS)
    tables = json.loads(ldpopt("list", "tables", "--json").out)
    for name, text in tables.items():
        assert all(f"{column} " in f"{text.replace(',', ' ')} " for column in open_table(name).columns)


# ---------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ldpopt des", ["design"]),
        ("ldpopt show pol", ["polyopt"]),
        ("ldpopt experiment theo", ["theorem-8"]),
        ("ldpopt export --target p", ["python"]),
        ("ldpopt nothing", []),
    ],
)
def test_a_shell_completes(words, expected, ldpopt, monkeypatch):
    monkeypatch.setenv("_LDPOPT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    answer = ldpopt()
    assert (answer.code, answer.out.split()) == (0, expected)


def test_the_help_names_completion(ldpopt):
    assert "--install-completion" in ldpopt("--help").out


# ---------------------------------------------------------------- notebooks


def test_frames(made, tmp_path):
    frame = made.to_frame()
    assert frame.loc["Female, White"].sum() == 1
    assert np.array_equal(frame.to_numpy(), made.mechanism.matrix)
    claims = made.verification.to_frame()
    assert claims["holds"].all()
    assert "statement" in claims
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["a", "b"], outputs=["y", "z"]).to_frame()
    assert flip.loc["a", "y"] == 0.75
    package.privatize("adult:sex-race", made, tmp_path / "r.csv", seed=1)
    found = package.estimate(tmp_path / "r.csv", made)
    table = found.to_frame()
    assert list(table["label"][:2]) == ["Female", "Male"]
    assert "32,561 reports" in found._repr_html_()


def test_a_design_shows_in_a_notebook(made):
    shown = made._repr_html_()
    assert "the independent checker verifies every claim" in shown
    assert "<th>Female, White</th>" in shown


def test_without_pandas_there_is_one_sentence(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs the package 'pandas'"):
        made.to_frame()


def test_every_command_that_writes_takes_o(ldpopt, tmp_path):
    (tmp_path / "q.json").write_text(ldpopt("show", "staircase", "--example").out)
    assert ldpopt("solve", "q.json", "-o", "r.json", cwd=tmp_path).code == 0
    assert package.load(tmp_path / "r.json").status.value == "optimal"
    commands = ("solve", "bench", "experiment", "demo", "design", "privatize", "report", "export")
    for command in (*commands, "exposure", "protocol"):
        assert "-o, --out" in " ".join(ldpopt(command, "--help").out.split()), command
