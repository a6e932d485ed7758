"""The door to the checker: what it passes on is there, under one name, and typed as it is."""

from pkgutil import resolve_name

import pytest

from ldpopt.core import exact


@pytest.mark.parametrize("name", sorted(exact.homes()))
def test_every_name_is_there(name):
    home = exact.homes()[name]
    assert home.startswith("ldpopt.checker.")
    assert getattr(exact, name) is resolve_name(home)


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        exact.nothing  # noqa: B018
