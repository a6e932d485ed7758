"""Many queries about many inputs: the bound by singular values, and mechanisms near it."""

import json

import numpy as np
import pytest

from ldpopt import load, problem, solve, verify
from ldpopt.core.exact import query_bound_below
from ldpopt.models.workloads import marginals, prefixes, ranges
from ldpopt.solvers._query_descent import Spectrum, projected


def asked(p, queries, epsilon=1.0):
    return problem("robust-fidelity", epsilon=epsilon, prior=np.array(p)[:, None], queries=queries)


def of_a_fixed_table(error, p, queries):
    """The part of the error that the reports add to the draw of the people."""
    return error - (queries**2 @ p - (queries @ p) ** 2).sum()


def spectral(question):
    """The bound by singular values, as the checker proves it."""
    (form,) = question.forms()
    found = query_bound_below(question.question, Spectrum(form).bound()[1])
    return float(found)


@pytest.mark.parametrize(
    ("k", "bound", "optimum"), [(4, 5.399, 5.993), (8, 22.139, 23.031), (12, 45.074, 46.630)]
)
def test_prefixes_of_few_inputs(k, bound, optimum):
    p, C = np.full(k, 1 / k), prefixes(k)
    question = asked(p, C)
    assert of_a_fixed_table(spectral(question), p, C) == pytest.approx(bound, abs=6e-4)
    best = solve(question, gap=1e-7)
    assert verify(best)
    assert of_a_fixed_table(best.value, p, C) == pytest.approx(optimum, abs=6e-4)


def test_prefixes_of_32_inputs():
    p, C = np.full(32, 1 / 32), prefixes(32)
    result = solve(asked(p, C))
    assert verify(result)
    assert of_a_fixed_table(result.bound, p, C) == pytest.approx(211.56, abs=0.01)
    assert of_a_fixed_table(result.value, p, C) < 223.67  # the value before the descent


@pytest.mark.slow
def test_prefixes_of_128_inputs_beat_workload_factorisation(tmp_path):
    """The published mechanism (McKenna et al. 2020) has 1858."""
    p, C = np.full(128, 1 / 128), prefixes(128)
    result = solve(asked(p, C))
    assert of_a_fixed_table(result.bound, p, C) == pytest.approx(1511.37, abs=0.01)
    assert of_a_fixed_table(result.value, p, C) < 1640
    result.save(tmp_path / "prefixes.json")
    assert verify(load(tmp_path / "prefixes.json"))


WORKLOADS = {
    "ranges": ranges(24),
    "marginals": marginals([2, 3, 4], 2),
    "histogram": np.eye(24),
    "two queries": prefixes(24)[[5, 11]],
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_other_workloads_and_distributions(name, tmp_path):
    """Also where the queries leave directions open: rows for no queries complete the proof."""
    p = np.random.default_rng(1).dirichlet(np.full(24, 2.0))
    result = solve(asked(p, WORKLOADS[name]), time_limit=3)
    assert verify(result)
    assert result.value >= result.bound > 0
    path = tmp_path / "forged.json"
    result.save(path)
    forged = json.loads(path.read_text())
    forged["bound"] *= 1 + 1e-5
    path.write_text(json.dumps(forged))
    assert not verify(path)


def test_no_mechanism_is_below_the_bound():
    """Random mechanisms with entries between 1 and e: none has a smaller error."""
    rng, k = np.random.default_rng(2), 24
    p, C = rng.dirichlet(np.full(k, 2.0)), ranges(k)
    question = asked(p, C)
    bound = spectral(question)
    for _ in range(20):
        R = rng.normal(size=(k, 60)) * rng.choice([0.01, 0.1])
        W = projected(R, np.full(60, 1 / 100), np.e)
        assert np.abs(W.sum(axis=1) - 1).max() < 1e-12
        assert W.max() <= np.e * W.min() * (1 + 1e-12)
        J = (W / (p @ W)) @ W.T
        assert (C * np.linalg.solve(J, C.T).T).sum() - ((C @ p) ** 2).sum() >= bound


def test_ranges_are_differences_of_prefixes():
    every = np.array([np.arange(7) >= a for a in range(7)], float)
    rows = [low * (np.arange(7) <= b) for a, low in enumerate(every) for b in range(a, 7)]
    assert ranges(7).T @ ranges(7) == pytest.approx(np.transpose(rows) @ rows)
