"""Every claim about φ is decided by the checker; what is tampered with is refuted."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpopt import load, problem, solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import reading
from ldpopt.checker.kernel.proofs import second_moments
from ldpopt.measures import estimation_fidelity
from ldpopt.mechanisms.balanced_designs import step_mechanism, subset_selection
from ldpopt.problems import PROBLEMS

KINDS = ("circulant-fidelity", "square-fidelity", "broad-fidelity")


def document(kind: str, k: int, epsilon: float) -> dict[str, Any]:
    return solve(problem(kind, inputs=k, epsilon=epsilon), "designs").to_json()


def verified(doc: dict[str, Any]) -> bool:
    return all(claim.holds for claim in frame.check(doc))


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind: str, tmp_path: Path) -> None:
    for example in PROBLEMS[kind].examples():
        result = solve(example.problem, "designs")
        result.save(tmp_path / "result.json")
        again = load(tmp_path / "result.json")
        assert verify(tmp_path / "result.json")
        assert again.value == result.value == pytest.approx(example.optimum, rel=1e-11)
        assert again.status.value == "optimal"
        assert example.problem.value(again.answer) == pytest.approx(result.value, rel=1e-11)


@pytest.mark.parametrize(
    ("change", "refuted"),
    [
        (lambda d: d.update(value=d["value"] * (1 - 1e-9)), "its φ is at most"),
        (lambda d: d.update(bound=d["bound"] * (1 + 1e-9)), "has φ below"),
        (lambda d: d["params"].update(epsilon=0.4999), "differ by at most a factor"),
        (lambda d: d["mechanism"]["matrix"][0].__setitem__(0, 0.2), "sums to exactly 1"),
        (lambda d: d["mechanism"]["matrix"].reverse(), "every row is the first one, turned"),
        (lambda d: d.update(bound=d["bound"] * 0.9), 'what "optimal" says'),
    ],
)
def test_tampering_is_refuted(change: Any, refuted: str) -> None:
    doc = document("circulant-fidelity", 7, 0.5)
    assert verified(doc)
    change(doc)
    failed = [claim.statement for claim in frame.check(doc) if not claim.holds]
    assert any(refuted in statement for statement in failed)


def test_a_broad_mechanism_is_no_square_one() -> None:
    doc = document("broad-fidelity", 5, 0.3)
    assert verified(doc)
    doc["problem"] = "square-fidelity"
    assert not verified(doc)


@pytest.mark.parametrize(
    ("name", "value"), [("size", 268), ("size", 0), ("size", 1000), ("ratio", 2.72), ("ratio", 1.0)]
)
def test_structured_answers_are_checked(name: str, value: float) -> None:
    doc = document("broad-fidelity", 1000, 1.0)
    assert verified(doc)
    assert doc["mechanism"] is None
    assert doc["answer"] == {
        "mechanism": "subset-selection",
        "inputs": 1000,
        "size": 269,
        "ratio": pytest.approx(np.e),
    }
    doc["answer"][name] = value
    try:
        assert not verified(doc)
    except reading.UnreadableError as error:
        assert f"answer.{name} must be" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["params"].update(inputs=1),
        lambda d: d["params"].update(inputs=7.5),
        lambda d: d["params"].update(inputs=10**9),
        lambda d: d["params"].update(epsilon=-1),
        lambda d: d["params"].pop("inputs"),
        lambda d: d.update(mechanism=None),
        lambda d: d.update(value="little"),
        lambda d: d.update(status="limit"),
        lambda d: d["mechanism"]["matrix"].pop(),
        lambda d: d["mechanism"]["matrix"][0].__setitem__(0, "x"),
        lambda d: d.update(bound=None),
    ],
)
def test_malformed_files_are_unreadable(change: Any) -> None:
    doc = document("circulant-fidelity", 7, 0.5)
    change(doc)
    with pytest.raises(reading.UnreadableError):
        frame.check(doc)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(answer=None),
        lambda d: d["answer"].pop("size"),
        lambda d: d["answer"].update(size=2.5),
        lambda d: d["answer"].update(inputs=5),
        lambda d: d["answer"].update(mechanism="magic"),
    ],
)
def test_malformed_structured_answers_are_unreadable(change: Any) -> None:
    doc = document("broad-fidelity", 40, 0.9)
    change(doc)
    with pytest.raises(reading.UnreadableError):
        frame.check(doc)


def test_phi_above_is_just_above() -> None:
    for mechanism in (step_mechanism(5, 0.01), subset_selection(6, 0.3, 2), step_mechanism(3, 8)):
        above = second_moments.phi_above(mechanism.matrix.tolist())
        assert above is not None
        assert float(above) == pytest.approx(estimation_fidelity.phi(mechanism), rel=1e-10)


def test_files_are_plain_json() -> None:
    doc = document("broad-fidelity", 40, 0.9)
    assert json.loads(json.dumps(doc, allow_nan=False)) == copy.deepcopy(doc)
