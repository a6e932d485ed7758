"""The door to the checker: what it passes on is there, under one name, and typed as it is."""

import ast
import inspect
from importlib import import_module

import pytest

from ldpopt.core import exact

LISTED = {
    (home, *pair.partition(":")[::2]) for home, pairs in exact.HOMES.items() for pair in pairs.split()
}


def test_type_checkers_and_programs_see_the_same_names():
    froms = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(exact)))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ldpopt.checker")
    ]
    homes = {node: node.module.removeprefix("ldpopt.checker").lstrip(".") for node in froms}
    typed = {(homes[node], name.name, name.asname or "") for node in froms for name in node.names}
    assert typed == LISTED


def test_no_name_has_two_meanings():
    names = [here or there for _, there, here in LISTED]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("home", "there", "here"), sorted(LISTED))
def test_every_name_is_there(home, there, here):
    found = getattr(exact, here or there)
    assert not home or found is getattr(import_module(f"ldpopt.checker.{home}"), there)


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        exact.nothing  # noqa: B018
