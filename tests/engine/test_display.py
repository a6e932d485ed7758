"""What a notebook shows of a result and of the checker's answer."""

import inspect
import re
from dataclasses import replace

import ldpopt
from ldpopt import Status, Verification, problem, solve, verify
from ldpopt.checker.frame import Claim


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


def test_the_dual_of_a_proof():
    result = solve(problem("staircase", epsilon=1, prior=[0.5, 0.3, 0.2]))
    assert abs(result.dual.sum() - result.bound) < 1e-15
    without = replace(result, certificate=replace(result.certificate, proof=None))
    assert without.dual is None
