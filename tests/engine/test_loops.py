"""Problems in a loop: the same answers as one by one, and results that certify nothing."""

import copy
import pickle
import time

import numpy as np
import pytest

from ldpopt import Status, problem, solve, solve_many, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.problems import PolyOpt, Staircase
from ldpopt.solvers import Enumerate

TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]


def staircases(count, epsilon=1.0):
    rng = np.random.default_rng(7)
    return [Staircase(epsilon, rng.dirichlet(np.ones(4))) for _ in range(count)]


def test_a_loop_gives_the_values_of_single_solves_and_verifies():
    questions = [*staircases(6), *staircases(3, 2.0), PolyOpt(1, TABLE, 1000), *staircases(2)]
    alone = [solve(question) for question in questions]
    together = solve_many(iter(questions))
    assert [found.problem for found in together] == questions
    for one, many in zip(alone, together, strict=True):
        assert many.status is Status.OPTIMAL
        assert many.value == pytest.approx(one.value, rel=1e-9)
        assert many.bound == pytest.approx(one.bound, rel=1e-9)
        assert verify(many)


def test_seconds_are_those_of_each_problem_not_those_that_it_waited():
    start = time.monotonic()
    found = solve_many(staircases(40), time_limit=60)
    elapsed = time.monotonic() - start
    assert 0 < sum(result.seconds for result in found) <= elapsed
    for result in found:
        parts = [taken for name, taken in result.stats.items() if name.endswith("_seconds")]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(result.seconds)


def test_a_solver_object_starts_from_its_last_optimum_and_takes_another_cone():
    solver = Enumerate()
    for question in [*staircases(4), *staircases(4, 2.0), Staircase(1, [0.5, 0.3, 0.2])]:
        warm = solve(question, solver)
        assert warm.value == pytest.approx(solve(question, "enumerate").value, rel=1e-9)
        assert verify(warm)


def test_an_uncertified_result_never_looks_proven(tmp_path):
    question = staircases(1)[0]
    result = solve(question, certify=False)
    proven = solve(question)
    assert result.status is Status.UNCERTIFIED
    assert (result.bound, result.gap, result.certificate.proof) == (None, None, None)
    assert result.value == pytest.approx(proven.value, rel=1e-9)
    assert result.mechanism.epsilon() == pytest.approx(1, abs=1e-9)
    for shown in (str(result), result._repr_html_()):
        assert "uncertified" in shown
        assert "nothing certified" in shown
    assert "uncertified" in repr(result)
    assert result.to_frame()["status"].tolist() == ["uncertified"]
    for refused in (lambda: result.save(tmp_path / "r.json"), lambda: verify(result), result.to_json):
        with pytest.raises(InvalidInputError, match="nothing of it is certified, not even its privacy"):
            refused()
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize(
    "question",
    [
        PolyOpt(1, TABLE, 1000),
        PolyOpt(1, TABLE, 1000, width=2),
        problem("feature-release", marginals=[[0.9, 0.1], [0.5, 0.5]], threshold=0.01, budget=0.5),
        problem("circulant-fidelity", inputs=5, epsilon=1),
    ],
)
def test_other_questions_are_answered_without_a_certificate(question):
    result = solve(question, certify=False)
    proven = solve(question)
    assert result.status is Status.UNCERTIFIED
    assert result.value == pytest.approx(proven.value, rel=1e-6)


def test_no_problem_is_named():
    with pytest.raises(InvalidInputError, match="solve takes a problem"):
        solve_many([staircases(1)[0], "staircase"])
    assert solve_many([]) == []


def test_a_problem_with_its_exact_question_is_copied_and_pickled():
    question = staircases(1)[0]
    for same in (pickle.loads(pickle.dumps(question)), copy.deepcopy(question)):
        assert solve(same).value == solve(question).value


def test_a_result_fits_a_screen():
    shown = str(solve(staircases(1)[0])).splitlines()
    assert len(shown) <= 12
    assert max(map(len, shown)) <= 80
