"""The benchmark: agreement, ratios, and that it notices a contradiction."""

import numpy as np
import pytest

from ldpopt import bench
from ldpopt.errors import InvalidInputError, UnknownNameError
from ldpopt.problems import PROBLEMS


def test_solvers_agree_and_one_is_the_baseline(tmp_path):
    names = ["enumerate", "column-generation", "cdd"]
    found = bench.run("staircase", sizes=[3], repeats=2, solvers=names)
    assert found.disagreements == []
    assert {row["solver"] for row in found.rows} == set(names)
    assert all(row["speedup"] == 1 for row in found.rows if row["solver"] == found.baseline)
    assert all(row["megabytes"] >= 0 and row["verified"] for row in found.rows)
    bench.draw_profile(found, tmp_path / "profile.png")
    assert (tmp_path / "profile.png").stat().st_size > 1000


def test_a_contradiction_is_noticed():
    row = {"instance": "staircase k=3", "verified": True}
    group = [row | {"value": 0.5, "bound": 0.5}, row | {"value": 0.4, "bound": 0.45}]
    bench._judge(group)
    assert [entry["agrees"] for entry in group] == [False, True]
    assert bench.Benchmark(group, "enumerate").disagreements == ["staircase k=3"]


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_problem_has_random_instances(kind):
    cls = PROBLEMS[kind]
    for size in cls.bench_sizes[:1]:
        labels, problems = zip(*cls.random(size, np.random.default_rng(0)), strict=True)
        assert len(set(labels)) == len(labels)
        assert all(isinstance(problem, cls) for problem in problems)
    assert cls.bench_sizes


def test_a_form_stands_for_all_its_problems():
    kinds = {cls.kind for cls in bench.targets("column-program")}
    assert kinds == {"staircase", "secret-staircase", "polyopt"}


def test_unknown_targets():
    with pytest.raises(UnknownNameError, match="did you mean 'column-program'"):
        bench.run("column-programme")
    with pytest.raises(InvalidInputError, match="no solver of"):
        bench.run("staircase", sizes=[14], solvers=["cdd"])


def test_memory_is_seen():
    with bench.peak_memory() as memory:
        block = bytearray(60_000_000)
        block[::4096] = b"x" * len(block[::4096])
        import time

        time.sleep(0.05)
    assert memory["megabytes"] > 40
