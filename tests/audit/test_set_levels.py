"""Levels over sets around a design's table, from Python and the command line."""

import json
import math

import numpy as np
import pytest

from ldpopt.audit import set_levels
from ldpopt.audit.set_levels import levels_over, read_set_name
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.solving import problem, solve
from ldpopt.models.set_climb import Place

TABLE = [[0.3, 0.2], [0.15, 0.35]]


@pytest.fixture(scope="module")
def made():
    return solve(problem("polyopt", epsilon=1.0, p_hat=TABLE, n=1000))


def test_levels_over_sets(made):
    known, near, far = levels_over(made, ["known", "tv:0.01", "tv:0.05"])
    rows, table = made.mechanism.matrix.reshape(2, 2, -1), np.array(TABLE)
    given = np.einsum("su,suy->sy", table / table.sum(axis=1, keepdims=True), rows)
    assert known.value == pytest.approx(abs(np.log(given[0] / given[1])).max(), abs=1e-9)
    assert known.value < near.value < far.value
    for level in (known, near, far):
        assert level.value <= level.bound <= level.value * (1 + 1e-6)


def test_a_member_that_is_none_proves_no_level(made, monkeypatch):
    """The value is that of a member: a place outside the set says nothing of it."""
    outside = Place(9.0, 0, 0, 1, np.array([[1.0, 0.0], [0.0, 0.0]]))
    monkeypatch.setattr(set_levels, "proven_level", lambda *_: (outside, 9.0, None))
    (level,) = levels_over(made, ["tv:0.01"])
    assert level.value is None
    assert "at least" not in level.in_words()


def test_names_of_sets():
    assert read_set_name("kl:0.1") == ("kullback-leibler", 0.1)
    assert read_set_name("known") == ("known", None)
    for words in ("tv", "tv:x", "ball:0.1", "known:x", ""):
        with pytest.raises(InvalidInputError, match="a set is"):
            read_set_name(words)


def test_other_files_are_refused(made):
    with pytest.raises(InvalidInputError, match="positive probability"):
        levels_over(made, ["tv:0.6"])
    with pytest.raises(InvalidInputError, match="counts"):
        levels_over(made, ["credible:0.05"])
    plain = solve(problem("staircase", epsilon=1.0, prior=[0.5, 0.5]))
    with pytest.raises(InvalidInputError, match="a secret and a public column"):
        levels_over(plain, ["known"])


def test_the_command(made, tmp_path, ldpopt):
    made.save(tmp_path / "made.json")
    asked = ["audit", tmp_path / "made.json", "--samples", 1000, "--confidence", 0.999999999]
    found = ldpopt(*asked, "--set", "tv:0.01", "--json")
    assert found.code == 0
    (level,) = json.loads(found.out)["sets"]
    assert level["name"] == "tv:0.01"
    assert math.isfinite(level["bound"])
    ends = f"at least {level['value']!r}, at most {level['bound']!r} [exact]"
    words = f"Level over tv:0.01 around the file's table: {ends}"
    assert words in " ".join(ldpopt(*asked, "--set", "tv:0.01").out.split())
    assert ldpopt(*asked, "--set", "ball:1").code == 2


def test_levels_end_when_their_time_is_over(made):
    (level,) = levels_over(made, ["tv:0.01"], time_limit=1e-9)
    assert (level.bound, level.late) == (None, True)
    assert "the time was over" in level.in_words()
    (whole,) = levels_over(made, ["tv:0.01"])
    assert level.value is None or level.value <= whole.bound
    assert "the time was over" not in whole.in_words()
