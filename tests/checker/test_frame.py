"""The frame: what every file claims, decided once; verdicts, budget and the exit codes."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ldpopt
from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited, reserve, tick
from ldpopt.checker.kernel.claims import Claim, decided, verdict
from ldpopt.checker.kernel.optimality import NOISE, is_optimal, relative_gap
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements import program
from ldpopt.core.form import Status
from ldpopt.problems import LeakageDesign, Staircase

PACKAGE = Path(frame.__file__).parent


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(solve(Staircase(1.0, prior=[0.4, 0.3, 0.2, 0.1])).to_json()))


def refuted(document):
    return [claim.what for claim in frame.check(document) if claim.holds is False]


def test_value_and_bound_are_in_order(document):
    below = document["value"] * (1 - 1e-8)
    assert "order" in refuted(document | {"bound": below})


def test_the_gap_is_what_value_and_bound_give(document):
    assert refuted(document | {"gap": document["gap"] * (1 + 1e-12)}) == ["gap"]
    assert refuted(document | {"gap": 0.0}) == ["gap"]
    without = {key: part for key, part in document.items() if key != "gap"}
    assert refuted(without) == []


@pytest.mark.parametrize("gap", [1e6, 1.0, -1e-9, True, "0"])
def test_a_certificate_cannot_call_everything_optimal(document, gap):
    with pytest.raises(UnreadableError, match=r"certificate\.gap must be"):
        frame.check(document | {"certificate": document["certificate"] | {"gap": gap}})


def test_optimal_has_one_meaning(document):
    """A gap of 1e-3 was asked for and met; the result is not optimal."""
    bound = document["value"] * 1.0005
    gap = float(relative_gap(document["value"], bound))
    certificate = document["certificate"] | {"gap": 1e-3}
    loose = document | {"bound": bound, "gap": gap, "certificate": certificate}
    assert refuted(loose) == ["agreement"]
    assert refuted(loose | {"status": "gap"}) == []


def test_a_useless_mechanism_is_not_optimal_because_little_can_be_had():
    """At ε = 1e-6 the best information is 1.25e-13: a constant mechanism is within 1e-9 · 1e-4 of it."""
    genuine = solve(Staircase(epsilon=1e-6, prior=[0.4, 0.3, 0.3]))
    document = json.loads(json.dumps(genuine.to_json()))
    assert genuine.status is Status.OPTIMAL
    assert refuted(document) == []
    constant = document | {"mechanism": {"matrix": [[1.0]] * 3}, "value": 0.0}
    constant["gap"] = float(relative_gap(0.0, document["bound"]))
    del constant["certificate"]["audit"]
    assert refuted(constant) == ["agreement"]
    assert refuted(constant | {"status": "gap"}) == []


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [(0.0, 5.6e-17, True), (0.0, 1e-14, False), (1e-13, 1.005e-13, True), (1e-13, 1.02e-13, False)],
)
def test_what_optimal_means_near_zero(value, bound, expected):
    assert is_optimal(value, bound, 1e-9, NOISE) is expected
    assert is_optimal(value, bound, 1e-9) is (expected and value > 0)


def test_the_audit_is_a_claim(document):
    audit = document["certificate"]["audit"]
    for level in (0.5, audit["level"] + 1e-11, 1e300):
        certificate = document["certificate"] | {"audit": {"level": level}}
        assert refuted(document | {"certificate": certificate}) == ["audit"]
    with pytest.raises(UnreadableError, match=r"certificate\.audit has no key 'x'"):
        frame.check(document | {"certificate": document["certificate"] | {"audit": {"x": 1}}})


def test_an_audit_that_is_not_decided_is_listed():
    document = json.loads(json.dumps(solve(LeakageDesign(3, 2, 0.3)).to_json()))
    document["certificate"]["audit"] = {"level": 0.5}
    assert frame.unchecked(document) == ["certificate.audit.level = 0.5"]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 3},
        {"format": 0},
        {"format": True},
        {"bounds": 1},
        {"status": "optimal "},
        {"status": "feasible"},
        {"bound": None},
        {"gap": None},
        {"seconds": -1},
        {"stats": []},
        {"certificate": {"proof": {"dual": [1, 1, 1, 1]}, "gap": 1e-9, "margin": 1}},
    ],
)
def test_documents_that_are_refused(document, change):
    with pytest.raises(UnreadableError):
        frame.check(document | change)


def test_a_level_is_printed_in_full():
    result = solve(Staircase(1.0000004, prior=[0.5, 0.5]))
    assert "e^1.0000004 [exact]" in str(verify(result))


def test_statements_of_other_packages_go_through_the_schema(document):
    plain = frame.statement("staircase", document["params"])
    assert all(claim.holds for claim in frame.check(document, plain))
    for change in ({"epsilon": -1.0}, {"secrets": ["a"] * 4}, {"cost": 1}, {"form": "unheard-of"}):
        with pytest.raises(UnreadableError):
            frame.check(document, plain | change)


def test_verdicts():
    holds, false, unknown = (Claim("", "exact", verdict) for verdict in (True, False, None))
    assert verdict([holds]) is True
    assert verdict([holds, unknown]) is None
    assert verdict([unknown, false]) is False
    assert decided("value", "x", lambda: None).strength.startswith("undecided")


def test_what_takes_too_long_is_undecided(document):
    with limited(seconds=-1):
        with pytest.raises(UndecidedError):
            tick()
        claims = frame.check(document)
    assert {claim.what for claim in claims if claim.holds is None} == {"value", "bound"}
    assert verdict(claims) is None
    tick()  # no budget, no limit


def test_what_takes_too_much_memory_is_undecided():
    with limited(memory=1000), pytest.raises(UndecidedError, match="the table would take"):
        reserve(10**6, "the table")
    reserve(10**30, "the table")


@pytest.mark.parametrize("error", [RecursionError, MemoryError, OverflowError, ZeroDivisionError])
def test_a_crash_is_no_verdict(document, monkeypatch, tmp_path, capsys, error):
    def crash(*_):
        raise error("on purpose")

    monkeypatch.setattr(frame, "_claims", crash)
    with pytest.raises(UndecidedError):
        frame.check(document)
    (tmp_path / "r.json").write_text(json.dumps(document))
    assert frame.main(str(tmp_path / "r.json")) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_exit_codes(tmp_path, document):
    path = tmp_path / "r.json"
    for content, options, code in (
        (json.dumps(document), [], 0),
        (json.dumps(document | {"value": 1.0, "bound": 1.0, "gap": 0.0}), [], 1),
        (json.dumps(document)[:-1], [], 2),
        (json.dumps(document), ["--budget", "1e-9"], 3),
    ):
        path.write_text(content)
        command = [sys.executable, "-I", "-S", str(PACKAGE), str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr


CHI_SQUARED = {"p_hat": [[0.3, 0.2], [0.1, 0.4]], "n": 1000, "epsilon": 1.0}
BALL = {"kind": "total-variation", "p_hat": [[0.25, 0.25], [0.25, 0.25]], "radius": 0.1}
ROWS = [[0.6, 0.4], [0.5, 0.5], [0.3, 0.7], [0.3, 0.7]]


def refuted_beside_undecided(made, change, what):
    """Check a result whose claims ``what`` are beyond the checker, then with a false gap as well."""
    document = json.loads(json.dumps(solve(made).to_json()))
    change(document)
    assert what in {claim.what for claim in frame.check(document) if claim.holds is None}
    return refuted(document | {"gap": 0.125})


def test_a_level_beyond_all_numbers_leaves_its_own_claim_undecided():
    def change(document):
        document["certificate"]["audit"] |= {"level": 1e308, "output": 0}
        document["mechanism"] = {"matrix": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]}

    found = refuted_beside_undecided(ldpopt.problem("polyopt", **CHI_SQUARED), change, "audit")
    assert {"privacy", "gap"} <= set(found)  # and a private mechanism has every level above its own


def test_a_bound_beyond_all_numbers_leaves_its_own_claim_undecided():
    def change(document):
        document |= {"bound": 1e7, "status": "gap"}

    asked = ldpopt.problem("robust-level", matrix=ROWS, uncertainty=BALL)
    assert refuted_beside_undecided(asked, change, "bound") == ["gap"]


@pytest.mark.parametrize("error", [UndecidedError, RecursionError, MemoryError, OverflowError])
def test_what_gives_up_between_two_claims_ends_its_own_part_alone(document, monkeypatch, error):
    """Also where a section computes something before it names its next claim."""

    def gives_up(_):
        yield Claim("", "exact", True, "bound")
        raise error("on purpose")

    form = replace(program.SECTION.forms["column-program"], bound=gives_up)
    monkeypatch.setitem(program.SECTION.forms, "column-program", form)
    found = frame.check(document | {"gap": 0.125})
    assert [claim.holds for claim in found if claim.what == "bound"] == [True, None]
    assert [claim.what for claim in found if claim.holds is False] == ["gap"]
