"""The page on notation names every parameter of a question, and a level comes first."""

import inspect
import re
from pathlib import Path

import pytest

from ldpopt import objective, privacy
from ldpopt.problems import PROBLEMS

PAGE = (Path(__file__).parents[2] / "docs" / "notation.md").read_text(encoding="utf-8")
TABLE = PAGE.split("## Names of parameters")[1].split("## ")[0]
LISTED = {
    name for row in re.findall(r"^\| (`.*?) \|", TABLE, re.M) for name in re.findall(r"`(\w+)`", row)
}


def parts(module, base):
    return {
        name: part
        for name, part in vars(module).items()
        if inspect.isclass(part) and issubclass(part, base) and part is not base
    }


TAKEN = {
    name: inspect.signature(part).parameters
    for name, part in {
        **{kind: PROBLEMS[kind] for kind in PROBLEMS},
        **parts(privacy, privacy.Privacy),
        **parts(objective, objective.Objective),
    }.items()
}


def test_the_table_has_the_names_that_are_used_and_no_others():
    assert {name for names in TAKEN.values() for name in names} - {"privacy"} == LISTED


@pytest.mark.parametrize("name", TAKEN)
def test_a_level_comes_first(name):
    level = TAKEN[name].get("epsilon")
    assert level is None or level.default is not level.empty or next(iter(TAKEN[name])) == "epsilon"
