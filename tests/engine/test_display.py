"""What a notebook shows of a result and of the checker's answer."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ldpopt
from ldpopt import Experiment, Mechanism, Status, Verification, problem, solve, verify
from ldpopt.bench import benchmark as bench
from ldpopt.checker.frame import Claim
from ldpopt.core.errors import InvalidInputError, UnreadableFileError


def cells(html, heading):
    return re.findall(rf"<tr><th>{heading}</th><td>(.*?)</td>", html)


def test_a_result_shows_value_bound_and_mechanism():
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    html = result._repr_html_()
    assert cells(html, "status") == ["optimal"]
    assert cells(html, "value") == [repr(result.value)]  # all digits: a rounded one could claim more
    assert cells(html, "bound") == [repr(result.bound)]
    assert html.endswith(result.mechanism._repr_html_())


def test_a_result_with_plain_data():
    result = solve(
        problem("feature-release", marginals=[[0.9, 0.1], [0.5, 0.5]], threshold=0.01, budget=0.5)
    )
    assert "features" in cells(result._repr_html_(), "answer")[0]
    assert replace(result, answer={"x": "<b>"})._repr_html_().count("<b>") == 0


def test_a_result_without_an_answer():
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    nothing = replace(result, status=Status.LIMIT, value=None, bound=None, gap=None, answer=None)
    assert cells(nothing._repr_html_(), "value") == ["None"]
    assert cells(nothing._repr_html_(), "answer") == []


def test_a_verification_shows_every_claim():
    verification = verify(solve(problem("staircase", epsilon=1, prior=[0.5, 0.5])))
    html = verification._repr_html_()
    assert "<caption>verified</caption>" in html
    assert html.count("<tr>") == 1 + len(verification.claims)
    refuted = Verification((Claim("1 < 0 & <b>", "exact", False),))._repr_html_()
    assert "<caption>refuted</caption>" in refuted
    assert cells(refuted, "REFUTED") == ["1 &lt; 0 &amp; &lt;b&gt;"]


def test_results_are_rows_of_a_frame():
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    (row,) = result.to_frame().to_dict("records")
    assert (row["problem"], row["status"], row["value"]) == ("staircase", "optimal", result.value)
    assert (row["epsilon"], row["prior"]) == (1, [0.5, 0.5])


def test_editors_see_the_parameters_of_audit_and_report():
    assert list(inspect.signature(ldpopt.audit).parameters)[:2] == ["design", "data"]
    assert list(inspect.signature(ldpopt.report).parameters)[:2] == ["results", "out"]


def test_a_page_on_what_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    (part,) = ldpopt.report(result, curve_seconds=0)
    assert part.sound
    assert repr(part) == "<Part staircase, ε = 1: 8 claims verified, in report.result-1.json>"
    design = ldpopt.design("adult:sex-race", "sex", "race", epsilon=1, method="srr")
    assert len(ldpopt.report([result, design], curve_seconds=0)) == 2
    pages = {"report.html": ["1"], "report.internal.html": ["1", "2"]}  # the second has counts
    written = [f"{Path(page).stem}.result-{n}.json" for page, files in pages.items() for n in files]
    assert {path.name for path in tmp_path.iterdir()} == {*pages, *written}
    assert all(verify(tmp_path / name) for name in written)
    assert (tmp_path / "report.internal.result-2.json").stat().st_mode & 0o077 == 0
    for other in (result.mechanism, [result, 3], np.eye(2)):
        with pytest.raises(InvalidInputError, match="a page is about files, results of solve and"):
            ldpopt.report(other)


def test_a_mechanism_is_saved_and_loaded(tmp_path):
    mechanism = Mechanism([[0.75, 0.25], [0.1, 0.9]], inputs=[("a", 1), ("b", 2)])
    mechanism.save(tmp_path / "m.json")
    assert Mechanism.load(tmp_path / "m.json") == mechanism
    with pytest.raises(UnreadableFileError, match=r"holds a mechanism alone: Mechanism\.load reads it"):
        ldpopt.load(tmp_path / "m.json")


def test_what_is_printed_fits_a_screen(tmp_path):
    design = ldpopt.design("adult:sex-race", "sex", "race", epsilon=1, method="srr")
    ldpopt.privatize("adult:sex-race", design, tmp_path / "r.csv", seed=1)
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.3, 0.2]))
    experiment = Experiment("e", lambda quick: [{"x": 1}], measured, lambda rows, out: [], str)
    shown = {
        "design": design,
        "frequencies": ldpopt.estimate(tmp_path / "r.csv", design),
        "staircase": result,
        "PASSED": ldpopt.audit(result, samples=10_000, confidence=1 - 1e-9),
        "bench": bench.run("staircase", sizes=[2, 3], solvers=["enumerate", "cdd"]),
        "1 rows": experiment.run(out=tmp_path),
    }
    for first, what in shown.items():
        lines = str(what).splitlines()
        assert lines[0].startswith(first)
        assert len(lines) <= 14
        assert all(len(line) <= 80 for line in lines[1:])


def measured(x):
    return {"y": x}


def test_the_dual_of_a_proof():
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.3, 0.2]))
    assert abs(result.dual.sum() - result.bound) < 1e-15
    without = replace(result, certificate=replace(result.certificate, proof=None))
    assert without.dual is None
