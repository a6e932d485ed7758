"""A page on results that were never saved."""

import pytest

from ldpopt import problem, report, solve, verify
from ldpopt.core.errors import InvalidInputError

QUESTION = problem("staircase", epsilon=1, prior=[0.5, 0.3, 0.2])


def test_results_are_saved_beside_their_page(tmp_path):
    page = tmp_path / "page.html"
    result = solve(QUESTION)
    (alone,) = report(result, page, curve_seconds=0)
    assert alone.sound is True
    assert verify(tmp_path / "page.result-1.json")
    both = report([result, tmp_path / "page.result-1.json", result], page, curve_seconds=0)
    assert [part.sound for part in both] == [True] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "page.html",
        "page.result-1.json",
        "page.result-3.json",
    ]
    assert repr(result.value)[:8] in page.read_text(encoding="utf-8")


def test_an_uncertified_result_has_no_page(tmp_path):
    with pytest.raises(InvalidInputError, match="nothing of it is certified"):
        report(solve(QUESTION, certify=False), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
