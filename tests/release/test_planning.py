"""Planning: the level or the number of rows for a precision."""

import json
import math

import pytest
from matplotlib.figure import Figure

from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.problems import BroadFidelity, Staircase
from ldpopt.release.designing import design
from ldpopt.release.planning import LEVELS, Plan, Point, _Search, plan

TABLE = {"s": ["a"] * 600 + ["b"] * 400}


def test_rows_for_a_level():
    found = plan(TABLE, "s", target=0.05, epsilon=1.0)
    made = design(TABLE, "s", epsilon=1.0, method=found.wanted.method)
    (part,) = made.accuracy()
    assert found.wanted.rows == part.rows_for(0.05)
    assert part.margin(found.wanted.rows) <= 0.05 < part.margin(found.wanted.rows - 1)
    assert found.wanted in found.points


def test_the_least_level():
    found = plan(TABLE, "s", target=0.1)
    assert found.wanted.margin <= 0.1
    lower = design(TABLE, "s", epsilon=found.wanted.epsilon / 1.02, method=found.wanted.method)
    assert lower.accuracy()[0].margin(1000) > 0.1
    margins = [point.margin for point in found.points]
    assert margins == sorted(margins, reverse=True)


def test_out_of_reach():
    found = plan(TABLE, "s", target=0.001)
    assert found.wanted is None
    named = plan({**TABLE, "u": ["x", "y"] * 500}, "s", "u", target=0.1, epsilon=1.0, method="ldp")
    assert all(point.method == "ldp" for point in named.points)


def test_levels_of_secrecy():
    """Values that may be told apart a little more are known more precisely, as from their design."""
    nearer = {"one": ["a"], "other": ["b"], "multiple": ["2"]}
    found = plan(TABLE, "s", target=0.1, epsilon=0.5, secrecy=nearer)
    assert found.wanted.margin == pytest.approx(plan(TABLE, "s", target=0.1, epsilon=1.0).wanted.margin)
    with pytest.raises(InvalidInputError, match="names 'c', and s has the values a, b"):
        plan(TABLE, "s", target=0.1, secrecy={**nearer, "other": ["c"]})


def test_refusals():
    with pytest.raises(InvalidInputError, match="target must lie between 0 and 1, not 2"):
        plan(TABLE, "s", target=2)
    with pytest.raises(InvalidInputError, match="no method applies: there is no public column"):
        plan(TABLE, "s", target=0.1, method="srr")
    for seconds in (0, -3, math.nan):
        with pytest.raises(InvalidInputError, match="time_limit must be a finite number > 0"):
            plan(TABLE, "s", target=0.1, time_limit=seconds)


def test_the_command(tmp_path, ldpopt):
    rows = "\n".join(TABLE["s"])
    (tmp_path / "t.csv").write_text(f"s\n{rows}\n")
    said = ldpopt("plan", "t.csv", "--secret", "s", "--target", "10%", cwd=tmp_path)
    assert said.code == 0, said.err
    assert said.out.startswith("±10 points are reached at epsilon = ")
    level = float(said.out.split("epsilon = ")[1].split()[0])
    made = design(TABLE, "s", epsilon=level, method=said.out.split("--method ")[1].split(".")[0])
    assert made.accuracy()[0].margin(1000) <= 0.1
    assert "with your 1,000 rows" in said.out
    options = ("--secret", "s", "--target", "0.05", "--epsilon", "1", "--json")
    answer = json.loads(ldpopt("plan", "t.csv", *options, cwd=tmp_path).out)
    assert answer["wanted"]["epsilon"] == 1
    assert answer["wanted"]["rows"] == math.ceil(answer["wanted"]["rows"])
    bad = ldpopt("plan", "t.csv", "--secret", "s", "--target", "much", cwd=tmp_path)
    assert bad.code == 2
    assert "--target must look like 1% or 0.01, not 'much'" in bad.err


def test_the_command_reads_tables_as_people_have_them(tmp_path, ldpopt):
    lines = (
        ["Diagnose;Straße"] + ["Müdigkeit;1001", "Grippe;2002", "Grippe;1003"] * 200 + ["Grippe;"] * 7
    )
    (tmp_path / "t.csv").write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    reading = ("--sep", ";", "--encoding", "latin-1", "--missing", "drop", "--levels", "Straße=1")
    asked = (
        "--secret",
        "Diagnose",
        "--public",
        "Straße",
        "--target",
        "20%",
        "--epsilon",
        "1",
        "--method",
        "grr",
    )
    said = ldpopt("plan", "t.csv", *reading, *asked, "--plot", "p.svg", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "7 of 607 rows of t.csv were left out" in " ".join(said.err.split())
    told = " ".join(said.err.split())
    assert "3 values of 'Straße' count by their first 1 character, as 2 values" in told
    assert "the table has 600." in said.out
    top = ldpopt("plan", "t.csv", *reading[:6], "--top", "Straße=1", *asked, cwd=tmp_path)
    assert "2 values of 'Straße' count as (other)" in " ".join(top.err.split())
    drawn = (tmp_path / "p.svg").read_text()
    assert drawn.startswith("<?xml")
    assert "level ε, in nats" in drawn
    bad = ldpopt("plan", "t.csv", *reading, *asked, "--plot", "p.doc", cwd=tmp_path)
    assert bad.code == 2
    assert "--plot must end in .png, .svg or .pdf, not 'p.doc'" in bad.err


def test_a_curve_without_a_point():
    nowhere = Point(1.0, "grr", math.inf, math.inf)
    axes = Plan(0.01, 100, None, (nowhere,), 0.1).plot(Figure().subplots())
    assert "the target" in [words.get_text() for words in axes.get_legend().get_texts()]


def test_a_plan_ends_when_its_time_is_over(clock, monkeypatch):
    """Levels that were not tried are left out, and that is said; the level that is asked for is not."""
    take_a_second = _Search.at
    monkeypatch.setattr(_Search, "at", lambda *given: (clock.move(1.0), take_a_second(*given))[1])
    said = []
    asked = {"target": 0.05, "method": "grr", "warn": said.append}
    found = plan("adult:sex-race", "sex", "race", epsilon=3.0, time_limit=1.5, **asked)
    assert [point.epsilon for point in found.points] == [0.25, 3.0]
    assert found.wanted.epsilon == 3.0
    assert said.pop() == "the time was over after 2 of 7 levels; allow more (--time-limit)"
    found = plan("adult:sex-race", "sex", "race", time_limit=7.5, **asked)
    assert [point.epsilon for point in found.points] == list(LEVELS)
    assert said.pop().startswith("the time was over while the least level was sought")
    whole = plan("adult:sex-race", "sex", "race", time_limit=1000, **asked)
    assert whole.wanted.epsilon <= found.wanted.epsilon
    assert found.wanted.margin <= 0.05
    assert not said


def test_a_plan_evaluates_no_value_that_it_does_not_print(monkeypatch):
    for kind in (BroadFidelity, Staircase):
        monkeypatch.setattr(kind, "claim", None)
    found = plan("adult:sex-race", "sex", "race", target=0.05, epsilon=1.0)
    assert found.wanted.rows < found.n


@pytest.mark.parametrize(
    ("columns", "promise"),
    [
        (("sex", "race"), {"robust": "given"}),
        (("race",), {"sensitive": {"race": ["Black", "Other"]}}),
    ],
)
def test_a_plan_is_that_of_a_design_of_its_promise(columns, promise):
    asked = {"epsilon": 1.0, **promise}
    found = plan("adult:sex-race", *columns, target=0.05, time_limit=1000, **asked)
    made = design("adult:sex-race", *columns, **asked)
    assert found.wanted.method == made.method == "composed"
    margin = max(part.margin(made.rows) for part in made.accuracy())
    assert found.wanted.margin == pytest.approx(margin, rel=1e-4)


def test_a_level_without_a_mechanism_in_time_is_said(monkeypatch):
    def nothing(*_):
        raise SolverError("no mechanism")

    monkeypatch.setattr(_Search, "_accuracy", nothing)
    said = []
    asked = {"epsilon": 1.0, "method": "grr", "target": 0.05, "warn": said.append}
    assert math.isinf(plan("adult:sex-race", "sex", "race", **asked).wanted.margin)
    assert said == [
        "no mechanism was found at ε = 1, 0.25, 0.5, 2, 4, 8 in the time; allow more (--time-limit)"
    ]


def test_plan_takes_one_promise(ldpopt):
    asked = ("plan", "adult:sex-race", "--secret", "sex", "--public", "race", "--target", "5%")
    found = ldpopt(*asked, "--given", "--sensitive", "sex=Female")
    assert found.code == 2
    assert "--given and --sensitive exclude each other" in found.err
