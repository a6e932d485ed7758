"""The problem of the best encoding: what it refuses; tests of its answers are those of the checker."""

import json

import pytest

from ldpopt import problem
from ldpopt.core.errors import InvalidInputError

ASKED = {"encoding": "hashing", "inputs": 4, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"buckets": 4}, "the number of buckets must be prime, not 4"),
        ({"encoding": "unary", "buckets": 3}, "the encoding 'unary' has no buckets"),
        ({"inputs": 1}, "inputs must be a whole number from 2"),
        ({"encoding": "rappor"}, "encoding must be"),
    ],
)
def test_what_the_checker_refuses_is_not_asked(change, said, tmp_path, ldpopt):
    with pytest.raises(InvalidInputError, match=said):
        problem("frequency-encoding", **ASKED | change)
    (tmp_path / "spec.json").write_text(
        json.dumps({"problem": "frequency-encoding", "params": ASKED | change})
    )
    answer = ldpopt("solve", tmp_path / "spec.json", "--out", tmp_path / "out.json")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "out.json").exists()
