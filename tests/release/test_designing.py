"""From a table to a design, by every method."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ldpopt import load, verify
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.engine.verifying import verify_within
from ldpopt.measures.estimators import covariance
from ldpopt.models.uncertainty_sets import AllDistributions
from ldpopt.problems import ue_conditional
from ldpopt.release import comparing, designing, methods
from ldpopt.release.comparing import best, compare
from ldpopt.release.designing import design, load_design, with_width
from ldpopt.release.methods import METHODS, applicable, chosen
from ldpopt.release.promises import learnable, merged_groups, merging
from ldpopt.release.question import Question

INFORMED = {"robust": "chi2", "goal": "information"}
SMALL = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    return design(SMALL, "s", "u", epsilon=1.0, **INFORMED)


def test_a_design(made):
    assert made.method == "optimum"
    assert made.question.counts.tolist() == [[45, 15], [10, 30]]
    assert made.domain.labels == ("a, x", "a, y", "b, x", "b, y")
    assert made.level.level <= 1.0
    assert made.result.value <= made.entropy
    assert verify(made.result)


@pytest.mark.parametrize("robust", ["chi2", "all", "known"])
def test_every_method(robust):
    first = design(SMALL, "s", "u", epsilon=1.0, robust=robust, goal="information")
    found = compare(first, time_limit=1200)  # that much only on a machine busy with other work
    assert set(found) == set(METHODS)
    solved = {name: other for name, other in found.items() if not isinstance(other, str)}
    assert {"staircase", "srr", "ldp", "grr"} <= set(solved)
    assert ("ir" in solved) == (robust != "all")
    for other in solved.values():
        assert other.level.level <= 1 + 1e-12
        assert verify(other.result, budget=600)
        assert other.worth("information") <= best(found, "information").information
    assert solved["grr"].result.value <= solved["ldp"].result.value + 1e-9
    assert solved["srr"].result.value <= solved["staircase"].result.value + 1e-9
    assert best(found, "information").information >= first.information


def test_a_method_that_fails_is_named(monkeypatch):
    def failing(domain, question, name, *rest):
        if name == "polyopt":
            raise InvalidInputError("no mechanism was found in 1 s")
        return solved(domain, question, name, *rest)

    solved = designing.solved
    monkeypatch.setattr(designing, "solved", failing)
    monkeypatch.setattr(designing, "chosen", lambda *_: ["polyopt", "srr"])
    said = []
    assert design(SMALL, "s", "u", epsilon=1.0, warn=said.append).method == "srr"
    assert said == ["the method polyopt was left out: no mechanism was found in 1 s"]
    assert design(SMALL, "s", "u", epsilon=1.0).method == "srr"


def test_a_protocol_without_a_matrix_is_no_mechanism(monkeypatch):
    """Where its matrix would be wide, unary encoding is stated by its parameters."""
    monkeypatch.setattr(ue_conditional, "MOST_REPORTS", 1)
    with pytest.raises(InvalidInputError, match=r"no mechanism was found in [\d.]+ s; allow more"):
        design(SMALL, "s", "u", epsilon=1.0, method="ue", robust="chi2")
    said = []
    monkeypatch.setattr(designing, "chosen", lambda *_: ["ue", "srr"])
    asked = {"epsilon": 1.0, "robust": "chi2"}
    assert design(SMALL, "s", "u", **asked, warn=said.append).method == "srr"
    assert [sentence.partition(":")[0] for sentence in said] == ["the method ue was left out"]


def test_methods_for_which_no_time_is_left_are_named(monkeypatch):
    """Once there is a design and the time is over, no further method is begun."""

    class Over(Limits):
        def expired(self):
            return True

    monkeypatch.setattr(designing, "Limits", Over)
    said, tried = [], []
    made = design(SMALL, "s", "u", epsilon=1.0, goal="estimates", step=tried.append, warn=said.append)
    names = chosen(made.question, "auto", "estimates")
    assert len(names) > 2
    assert tried == names[:1] == [made.method]
    reason = "no time was left; allow more (time_limit)"
    assert said == [f"the methods {', '.join(names[1:])} were left out: {reason}"]


def test_the_less_is_known_the_less_is_released():
    asked = {"epsilon": 1.0, "goal": "information"}
    values = [design(SMALL, "s", "u", **asked, robust=r).result.value for r in ("known", "chi2", "all")]
    assert values == sorted(values, reverse=True)


def test_learning():
    """Subset selection needs the fewest rows of all that hide every column, but tells less of each."""
    first = design(SMALL, "s", "u", epsilon=1.0, method="learn")
    found = {name: design(SMALL, "s", "u", epsilon=1.0, method=name) for name in ("ldp", "grr")}
    assert first.result.problem.kind == "broad-fidelity"
    assert first.bound is None
    assert first.mechanism.epsilon() <= 1
    assert first.information <= found["ldp"].information + 1e-9
    assert 1 < first.sample_factor <= found["grr"].sample_factor * (1 + 1e-9)
    assert found["ldp"].sample_factor == np.inf or found["ldp"].determined == 4
    raw = np.trace(np.diag(p := first.question.p_hat.ravel()) - np.outer(p, p))
    assert found["grr"].sample_factor == pytest.approx(
        np.trace(covariance(found["grr"].mechanism, p, 1)) / raw, rel=0.05
    )


def test_rows_that_differ_by_rounding_are_said_to():
    """A repaired mechanism may have rank 4 by differences of 1e-11: no table is large enough."""
    made = design(SMALL, "s", "u", epsilon=1.0, method="grr")
    matrix = np.full((4, 8), 1 / 8)
    matrix[range(4), range(4)] += 2.0**-36
    matrix[range(4), range(4, 8)] -= 2.0**-36
    near = replace(made, result=replace(made.result, answer=Mechanism(matrix)))
    assert (np.linalg.matrix_rank(matrix), near.sample_factor) == (4, np.inf)
    none = "reports determine none of the 4 frequencies of the data, 0 of the 3 dimensions"
    assert none in learnable(near)


def test_observers_who_know_the_public_value(made):
    """Robust LDP for a set does not limit them, for all distributions it does.

    Lopuhaä-Zwakenberg and Goseling 2021, Prop. 4.
    """
    W = made.mechanism.matrix.reshape(2, 2, -1)
    given = [
        np.log(W[s, u] / W[1 - s, u]).max() for s in range(2) for u in range(2) if (W[:, u] > 0).all()
    ]
    assert made.level_given_public >= max(given, default=0.0)
    assert made.level_given_public > 1
    everyone = design(SMALL, "s", "u", epsilon=1.0)
    assert everyone.level_given_public <= 1
    assert design(SMALL, "s", epsilon=1.0).level_given_public <= 1


def test_secret_alone_is_plain_ldp():
    made = design(SMALL, ["s", "u"], epsilon=1.0, goal="information")
    assert made.method == "staircase"
    assert made.result.problem.kind == "staircase"
    assert made.mechanism.epsilon() <= 1
    assert isinstance(made.question.uncertainty, AllDistributions)
    assert set(compare(made)) == set(METHODS)


def test_frames_give_the_same(made):
    for frame in (pd.DataFrame(SMALL), pl.DataFrame(SMALL)):
        assert design(frame, "s", "u", epsilon=1.0, **INFORMED).identity == made.identity


def test_bins_are_merged_with_their_neighbours_and_words_with_any():
    """Bins 1 and 6 are alike, and so are 2 and 5: without an order they are merged."""
    times = np.array([[30, 50, 80, 80, 50, 30], [90, 60, 20, 20, 60, 90]])
    rows = [(s, u) for (s, u), n in np.ndenumerate(times) for _ in range(n)]
    ill, age = ["yn"[s] for s, _ in rows], [10 * u + 5 for _, u in rows]
    asked = {"epsilon": 1.0, "robust": "chi2", "method": "polyopt", "width": 3}
    made = design({"ill": ill, "age": age}, "ill", "age", bins={"age": [10, 20, 30, 40, 50]}, **asked)
    groups = made.result.problem.groups
    assert groups == sorted(groups)
    said = merged_groups(made)
    assert (len(said), said[0][:4], said[-1][-4:]) == (3, "< 10", "≥ 50")
    in_words = {"ill": ill, "age": [f"{x} years" for x in age]}
    loose = design(in_words, "ill", "age", **asked).result.problem.groups
    assert loose != sorted(loose)


def test_wide_tables_are_merged():
    rng = np.random.default_rng(0)
    table = {"s": rng.integers(3, size=4000), "u": rng.integers(20, size=4000)}
    question = design(table, "s", "u", epsilon=1.0, method="srr").question
    assert question.merged_width() == 10
    made = design(table, "s", "u", epsilon=1.0, width=3, method="polyopt", robust="chi2")
    assert made.result.problem.width == 3
    assert len(np.unique(made.mechanism.matrix, axis=0)) <= 9
    assert "the 20 values of u are told apart as 3 groups" in merging(made)
    assert "; that costs at most " in merging(made)
    assert len(merged_groups(made)) == 3


def test_the_width_is_chosen_by_utility(monkeypatch):
    """Of the widths that are tried, the best is kept; the search ends where the mechanism gets worse."""
    worth = {2: 0.1, 3: 0.3, 5: 0.2}
    tried = []

    def solved(problem, **_):
        tried.append(problem.width)
        return SimpleNamespace(value=worth[problem.width])

    monkeypatch.setattr("ldpopt.release.designing.solve", solved)
    question = Question(np.ones((3, 20), int), 1.0, "chi2")
    assert with_width(question, "polyopt", 30).width == 3
    assert tried == [2, 3, 5]
    assert with_width(question, "srr", 30).width is None
    assert with_width(Question(np.ones((3, 20), int), 1.0, "chi2", width=4), "polyopt", 30).width == 4


@pytest.mark.parametrize(("apart", "width"), [(0.6, 3), (0.4, 2)])
def test_few_public_values_of_many_secrets_are_told_apart_where_that_is_better(
    apart, width, monkeypatch
):
    worth = {2: 0.5, None: apart}
    monkeypatch.setattr(designing, "solve", lambda trial, **_: SimpleNamespace(value=worth[trial.width]))
    found = with_width(Question(np.ones((12, 3), int), 1.0, "chi2"), "polyopt", 30)
    assert found.width == width
    assert found.merged_width() == (2 if width == 2 else None)


def test_file(made, tmp_path):
    path = tmp_path / "mech.json"
    made.save(path)
    assert verify(path)
    assert load(path).value == made.result.value
    again = load_design(path)
    assert again.identity == made.identity
    assert again.to_json() == made.to_json()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(epsilon=2.0),
        lambda d: d["counts"][0].__setitem__(0, 46),
        lambda d: d.update(robust="all"),
        lambda d: d.update(method="grr"),
        lambda d: d.update(method="none"),
        lambda d: d["domain"]["public"]["members"].pop(),
        lambda d: d.pop("counts"),
        lambda d: d.update(domain=3),
    ],
)
def test_a_tampered_section_is_noticed(made, tmp_path, change):
    path = tmp_path / "mech.json"
    document = json.loads(json.dumps(made.to_json()))
    change(document["design"])
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableFileError):
        load_design(path)


def test_a_result_without_a_table(made, tmp_path):
    made.result.save(tmp_path / "result.json")
    with pytest.raises(UnreadableFileError, match="was not written by ldpopt design"):
        load_design(tmp_path / "result.json")


def test_fingerprints_differ(made):
    others = [
        design(SMALL, "s", "u", epsilon=1.1),
        design({"t": SMALL["s"], "u": SMALL["u"]}, "t", "u", epsilon=1.0),
    ]
    assert len({made.identity, *(other.identity for other in others)}) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number > 0, not 0"),
        ({"robust": "some"}, "robust must be one of all, chi2, known, given, not 'some'"),
        ({"method": "magic"}, "method must be one of auto, optimum"),
        ({"method": "ir"}, "'ir' does not apply: is made for a confidence set"),
        ({"public": (), "method": "srr"}, "'srr' does not apply: there is no public column"),
        ({"alpha": 2}, "alpha must be a finite number from 1e-12"),
        ({"width": 1}, "width must be a whole number >= 2, not 1"),
        ({"time_limit": float("nan")}, "time_limit must be a finite number > 0, not nan"),
        ({"secret": "none"}, "unknown column of the table 'none'"),
    ],
)
def test_bad_input(options, message):
    arguments = {"secret": "s", "public": "u", "epsilon": 1.0} | options
    with pytest.raises(InvalidInputError, match=message):
        design(SMALL, **arguments)


def test_nothing_found_in_time(monkeypatch):
    nothing = type("R", (), {"answer": None, "mechanism": None, "problem": None})
    monkeypatch.setattr(methods, "solve", lambda *_, **__: nothing)
    with pytest.raises(InvalidInputError, match=r"was found in \d.* s; allow more \(time_limit\)$"):
        design(SMALL, "s", "u", epsilon=1.0)
    with pytest.raises(
        InvalidInputError, match="no mechanism was found as no time was left; allow more"
    ):
        design(SMALL, "s", "u", epsilon=1.0, time_limit=1e-9)


def test_too_many_reports():
    question = Question(np.ones((5, 6)), 1.0, "chi2")
    assert "7^5 different reports" in applicable(question)["ue"]
    with pytest.raises(InvalidInputError, match="'ue' does not apply"):
        chosen(question, "ue")


@pytest.mark.parametrize("secret", [0, [0]])
def test_names_are_text(secret):
    with pytest.raises(InvalidInputError, match="the name of a column is text, not 0"):
        design(pd.DataFrame([["f", "a"], ["m", "b"]]), secret, epsilon=1.0)


def test_width_says_how_many_values_are_told_apart():
    with pytest.raises(InvalidInputError, match="width must be a whole number >= 2, not 0"):
        Question([[3, 4], [5, 6]], 1.0, width=0)


def test_numbers_beyond_all_floats_are_refused(made, tmp_path):
    document = made.to_json()
    document["mechanism"]["matrix"][0][0] = 10**400
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(UnreadableFileError, match="whole numbers have at most 18 digits"):
        load_design(tmp_path / "m.json")


def test_ctrl_c_keeps_what_is_found(made, monkeypatch):
    solved = designing.solved

    def interrupted(domain, question, name, *rest):
        if name == "ldp":  # after those that are built at once
            raise KeyboardInterrupt
        return solved(domain, question, name, *rest)

    monkeypatch.setattr(comparing, "solved", interrupted)
    monkeypatch.setattr(
        comparing, "applicable", lambda _: dict.fromkeys(["optimum", "staircase", "srr", "ldp"])
    )
    found = compare(made)
    assert found["optimum"] is made
    assert found["srr"].result.value > 0
    assert found["ldp"] == found["staircase"] == "interrupted"


def test_a_better_design_before_an_interrupted_one_is_kept_and_marked(made, monkeypatch):
    """Ctrl-C in the last method ends the command, too, where an earlier method is worth more."""

    def first_better(domain, question, name, *rest):
        share = 1.0 if name == "public" else 0.0
        mixed = share * made.mechanism.matrix + (1 - share) * made.mechanism.matrix.mean(axis=0)
        answer = replace(made.result, answer=Mechanism(mixed), value=share)
        stats = {} if name == "public" else {"interrupted": 1.0}
        return replace(made, result=replace(answer, stats=stats), method=name)

    monkeypatch.setattr(designing, "solved", first_better)
    found = design("adult:sex-race", "sex", "race", epsilon=1.0, **INFORMED)
    assert found.method == "public"
    assert found.interrupted


def test_nothing_more_is_tried_after_an_interrupted_solve(made):
    stopped = replace(made, result=replace(made.result, stats={"interrupted": 1.0}))
    found = compare(stopped)
    assert [other for other in found.values() if not isinstance(other, str)] == [stopped]


@pytest.mark.parametrize(("column", "values"), [("birthday", 31), ("postcode", 40)])
def test_many_nearly_equal_values_are_designed_and_proven(column, values):
    """Astronomically many sets of days are nearly as good as the best: no search may go through them."""
    drawn = np.random.default_rng(3).integers(0, values, 20_000)
    made = design({column: [f"{x:02}" for x in drawn]}, column, epsilon=1.0, goal="information")
    assert made.result.status.value == "optimal"
    assert verify(made.result)


def test_a_design_that_is_not_checked_in_time_is_undecided(made):
    """A budget of no time leaves every claim undecided, whether or not the question was read."""
    hasty = replace(made, decided=verify_within(made.to_json(), 1e-9))
    assert hasty.verification.verdict is None
    assert hasty.verification.marked("optimal") == "optimal [UNDECIDED]"


def test_a_table_whose_public_values_settle_secrets_can_be_blurred(tmp_path):
    """The level of the public values as they are is infinite, which no file can hold."""
    table = {
        "s": ["a"] * 200 + ["b"] * 200,
        "u": (["x"] * 100 + ["y"] * 100) + (["y"] * 100 + ["z"] * 100),
    }
    made = design(table, "s", "u", epsilon=1.0, method="blurred", robust="chi2")
    made.save(tmp_path / "made.json")
    assert verify(tmp_path / "made.json")
