"""Files of version 1 of the format, written before parameters were renamed, read and verify today."""

import json
from pathlib import Path

import pytest
from second_checker import opinion

import ldpopt
from ldpopt.checker import frame
from ldpopt.checker.kernel.former_names import FORMER_NAMES, with_names_of_today
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.result import Result
from ldpopt.problems import PROBLEMS

FILES = json.loads((Path(__file__).parent / "version_1.json").read_text(encoding="utf-8"))
"""A result file of every kind of version 1, by its kind."""
RENAMED = [kind for kind in FILES if FORMER_NAMES.get(kind, {}).keys() & FILES[kind]["params"].keys()]
SLOTS = {"stats": {}, "attempts": {}, "environment": {}}
"""Provenance, which the files kept here leave out."""


def with_both(kind):
    """The parameters, with one of them under its former name and under today's."""
    params = FILES[kind]["params"]
    return with_names_of_today(kind, params) | params


def test_every_kind_that_version_1_had_is_there():
    assert FILES.keys() == set(PROBLEMS) - {"program", "numeric-mean"} - set(PROBLEMS.added())


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_version_1_verifies(kind):
    assert FILES[kind]["format"] == 1
    assert all(claim.holds for claim in frame.check(FILES[kind]))
    assert frame.unchecked(FILES[kind]) is not None


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_version_1_is_loaded_and_written_as_version_2(kind):
    again = Result.from_json(FILES[kind] | SLOTS).to_json()
    assert again["format"] == 2
    assert not FORMER_NAMES.get(kind, {}).keys() & again["params"].keys()
    assert all(claim.holds for claim in frame.check(again))


@pytest.mark.parametrize("kind", RENAMED)
def test_the_second_checker_reads_both_versions(kind):
    assert opinion(json.dumps(FILES[kind])) == "verified"
    doubled = FILES[kind] | {"params": with_both(kind)}
    assert opinion(json.dumps(doubled)) == "unreadable"


@pytest.mark.parametrize("kind", RENAMED)
def test_a_file_of_version_2_has_the_names_of_today(kind):
    with pytest.raises(UnreadableError, match="has no key"):
        frame.check(FILES[kind] | {"format": 2})
    assert opinion(json.dumps(FILES[kind] | {"format": 2})) == "unreadable"


@pytest.mark.parametrize("kind", RENAMED)
def test_one_parameter_under_two_names_is_refused(kind):
    words = "is the former name of .*: give one of them, not both"
    with pytest.raises(UnreadableError, match=words):
        frame.check(FILES[kind] | {"params": with_both(kind)})
    with pytest.raises(InvalidInputError, match=words):
        ldpopt.problem(kind, **with_both(kind))


@pytest.mark.parametrize("kind", RENAMED)
def test_a_question_may_have_the_former_names_but_a_class_has_those_of_today(kind):
    params = FILES[kind]["params"]
    assert not FORMER_NAMES[kind].keys() & ldpopt.problem(kind, **params).to_params().keys()
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        PROBLEMS[kind](**params)


@pytest.mark.parametrize("kind", [[], {}, None, 3, "no-such-kind"])
@pytest.mark.parametrize("params", [[], None, "k", {"k": 1, "inputs": 2}])
def test_what_is_no_question_is_left_to_the_reader(kind, params):
    assert with_names_of_today(kind, params) is params


def test_former_names_are_those_of_no_parameter_of_today():
    for kind, names in FORMER_NAMES.items():
        record = frame.parameters(kind)
        fields = {*record.required, *record.optional}
        assert not names.keys() & fields, kind
        assert set(names.values()) <= fields, kind
