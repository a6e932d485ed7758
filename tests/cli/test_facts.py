"""What is printed as a fact comes from a verified claim, or is marked."""

import json
import textwrap

import numpy as np
import pytest

from ldpopt.checker.kernel.claims import Claim
from ldpopt.engine import verifying
from ldpopt.engine.verifying import Verification
from ldpopt.release import promises
from ldpopt.release.designing import design, load_design

SPEC = {"problem": "staircase", "params": {"epsilon": 1.0, "prior": [0.5, 0.3, 0.2]}}
DESIGN = (
    "design",
    "adult:sex-race",
    "--secret",
    "sex",
    "--public",
    "race",
    "--epsilon",
    "1",
    "--explain",
)


def lines(said):
    return dict(line.split(maxsplit=1) for line in said.out.splitlines() if line[:1].strip())


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def deciding(monkeypatch, holds):
    found = Verification((Claim("one is two", "exact", holds, "value"),))
    monkeypatch.setattr(verifying, "verify", lambda *_, **__: found)


def test_solve_prints_what_the_checker_verified(spec, ldpopt):
    said = ldpopt("solve", "spec.json", "--out", "r.json", cwd=spec)
    found = lines(said)
    assert found["status"] == "optimal among mechanisms of this privacy"
    assert found["proven"].startswith("no such mechanism has more than 0.114120468498")
    assert found["certificate"] == "the independent checker verifies every claim"
    assert found["mechanism"].endswith("LDP level 1 [not checked]")
    assert json.loads(ldpopt("solve", "spec.json", "--json", cwd=spec).out)["verified"] is True


def test_an_answer_without_a_mechanism_is_printed_and_not_called_checked(tmp_path, ldpopt):
    """Side conditions that no mechanism keeps."""
    dear = {"costs": [[1, 1], [1, 1]], "most": 0.5}
    asked = {"privacy": [{"ldp": {"epsilon": 1.0}}], "maximise": {"guessing": {"prior": [0.5, 0.5]}}}
    spec = {"problem": "program", "params": {**asked, "at_most": [dear]}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    said = ldpopt("solve", "spec.json", cwd=tmp_path)
    assert said.code == 0, said.err
    assert lines(said)["status"] == "infeasible [not checked]"
    assert lines(said)["certificate"] == "not checked: a result of status 'infeasible' makes no claim"


@pytest.mark.parametrize(("holds", "mark", "code"), [(False, "REFUTED", 1), (None, "UNDECIDED", 0)])
def test_optimal_is_a_word_of_the_checker(spec, ldpopt, monkeypatch, holds, mark, code):
    deciding(monkeypatch, holds)
    said = ldpopt("solve", "spec.json", cwd=spec)
    found = lines(said)
    assert said.code == code
    assert found["status"] == f"optimal [{mark}]"
    assert found["value"].endswith(f"[{mark}]")
    assert found["bound"].endswith(f"[{mark}]")
    assert found["proven"] == "nothing about better answers"
    assert found["certificate"] == f"{mark}: one is two"


def test_design_marks_what_is_not_checked(tmp_path, ldpopt, monkeypatch):
    found = lines(ldpopt(*DESIGN, "--method", "srr", "-o", "m.json", cwd=tmp_path))
    assert found["status"].startswith("feasible, by ")
    assert found["proven"] == "nothing about better mechanisms"
    for name in ("share", "audit", "estimates"):
        assert found[name].endswith("[not checked]")
    for name in ("promise", "utility", "status"):
        assert "[" not in found[name]
    deciding(monkeypatch, False)
    said = ldpopt(*DESIGN, "--method", "srr", "-o", "n.json", cwd=tmp_path)
    assert said.code == 1
    for name in ("promise", "utility"):
        assert lines(said)[name].endswith("[REFUTED]")
    assert lines(said)["status"].startswith("feasible [REFUTED]")


def test_information_that_no_claim_states(tmp_path, ldpopt):
    found = lines(ldpopt(*DESIGN, "--method", "learn", "-o", "m.json", cwd=tmp_path))
    assert found["utility"].startswith("φ, the cost of learning the frequencies (less is better): ")
    assert "nats of information, " in found["share"]
    assert found["share"].endswith("[not checked]")


def test_nothing_claimed_is_not_checked():
    assert Verification(()).marked("optimal") == "optimal [not checked]"
    assert Verification((Claim("1", "exact", True),)).marked("optimal") == "optimal"


def test_audit_says_which_numbers_are_not_checked(tmp_path, ldpopt):
    ldpopt(*DESIGN, "--method", "srr", "-o", "m.json", cwd=tmp_path)
    said = ldpopt("audit", "m.json", "--samples", "100", cwd=tmp_path)
    for name in ("levels", "guesses"):
        assert lines(said)[name].endswith("[not checked]")
    said = ldpopt("audit", "m.json", "--samples", "100", "--explain", cwd=tmp_path)
    assert "The measures are computed in floats [not checked]" in said.out


def test_merged_values_stand_first_and_are_not_called_optimal(tmp_path, ldpopt):
    said = ldpopt(
        *DESIGN, "--method", "polyopt", "--robust", "chi2", "--width", "2", "-o", "m.json", cwd=tmp_path
    )
    found = lines(said)
    assert list(found)[:2] == ["outcome", "merged"]
    assert "told apart as 2 groups" in found["merged"]
    stated = json.loads((tmp_path / "m.json").read_text())
    cost = stated["certificate"]["proof"]["ceiling"] - stated["value"]
    said_cost = float(found["merged"].partition("costs at most ")[2].split()[0])
    assert cost <= said_cost <= cost + 1e-4
    assert found["status"].startswith("the best among ")
    assert "race not determined" in found["outcome"]
    assert "for frequencies design without --for and --method" in " ".join(said.out.split())


def test_frequencies_known_badly_for_no_reason_are_remarked():
    """Much information about each person leaves days known to ±14 points; subset selection to ±0.8."""
    days = {"day": np.random.default_rng(0).integers(20, size=200_000)}
    made = design(days, "day", epsilon=1.0, goal="information")
    assert all(part.margin(200_000) < 0.5 for part in made.accuracy())
    assert promises.advice(made) == "; for frequencies design without --for and --method"
    precise = design(days, "day", epsilon=1.0, method="learn")
    assert promises.advice(precise) == ""


@pytest.mark.parametrize(
    ("private", "value", "mark"),
    [
        (True, None, ""),
        (True, False, " [REFUTED]"),
        (None, None, " [UNDECIDED]"),
        (None, True, " [UNDECIDED]"),
    ],
)
@pytest.mark.parametrize("what", ["value", "audit"])
def test_a_promise_does_not_wait_for_what_goes_beyond_it(private, value, mark, what):
    claims = (Claim("private", "exact", private, "private"), Claim("more", "exact", value, what))
    assert Verification(claims).marked_promise("hidden") == f"hidden{mark}"


def test_bounds_are_rounded_to_their_side(tmp_path, ldpopt):
    """e^0.7 is 2.01375…: a report may be more than 2.01 times as likely."""
    asked = ("adult:sex-race", "--secret", "sex", "--public", "race", "--epsilon", "0.7")
    found = lines(
        ldpopt("design", *asked, "--explain", "--method", "staircase", "-o", "m.json", cwd=tmp_path)
    )
    assert "no report is more than 2.02 times as likely" in found["promise"]
    bound = json.loads((tmp_path / "m.json").read_text())["bound"]
    assert bound <= float(found["utility"].rpartition(" ")[2]) <= bound * (1 + 1e-3)
    assert "5 of the 9 dimensions of their distribution" in found["estimates"]
    asked = ("--samples", "1000", "--confidence", "0.9", "--explain")
    said = ldpopt("audit", "m.json", *asked, cwd=tmp_path)
    attack = next(line for line in said.out.splitlines() if line.startswith("Attack"))
    assert "(0.9 confidence), allowed 0.7" in attack


def test_a_promise_without_any_other_claim_is_not_checked():
    assert Verification((Claim("v", "exact", None, "value"),)).marked_promise("x") == "x [not checked]"


def test_the_first_screen_has_ten_lines_and_says_what_a_weaker_promise_costs(tmp_path, ldpopt):
    said = ldpopt(*DESIGN[:-1], "--robust", "chi2", "--method", "cr", "-o", "m.json", cwd=tmp_path)
    found = lines(said)
    shown = [
        line
        for name, text in found.items()
        for line in ([text] if name == "next" else textwrap.wrap(text, 100 - len("certificate  ")))
    ]
    assert len(shown) <= 10
    assert list(found)[:2] == ["outcome", "beware"]
    made = load_design(tmp_path / "m.json")
    p, rng = made.question.p_hat, np.random.default_rng(0)
    x = rng.choice(p.size, size=100_000, p=p.ravel())
    y = made.mechanism.sample(x, rng)
    secret, public = np.divmod(x, p.shape[1])
    joint = made.mechanism.matrix.reshape(*p.shape, -1) * p[:, :, None]
    right = (joint[:, public, y].argmax(axis=0) == secret).mean()
    blind, seen = made.guesses_given_public
    assert abs(right - seen) < 0.01
    often, more = round(100 * blind), round(100 * seen)
    assert f"right in {often} of 100 cases, with one report in {more}" in found["beware"]
