"""A group of twelve users with two features, and the three roles, without processes."""

import secrets
from types import SimpleNamespace

import pytest

from ldpopt.protocol.roles import Reader, Shuffler, User
from ldpopt.protocol.session import Round, Session

USERS = 12


def make_group(features=("coin", "die"), users=USERS, least=10):
    shuffler, curator, analyst = Shuffler(), Reader(), Reader()
    members = [User(i, [f"{i % (j + 2)}" for j in range(len(features))]) for i in range(users)]
    keys = {"shuffler": shuffler.keys, "curator": curator.keys, "analyst": analyst.keys}
    roster = tuple(user.public for user in members)
    session = Session(secrets.token_bytes(16), features, 16, least, keys, roster)
    first = Round(session)
    shuffler.begin(first)
    return SimpleNamespace(
        users=members,
        shuffler=shuffler,
        curator=curator,
        analyst=analyst,
        session=session,
        first=first,
        second=Round(session, tuple(range(len(features)))),
    )


@pytest.fixture
def group():
    return make_group()


@pytest.fixture
def single():
    """A group with one feature."""
    return make_group(features=("coin",))


@pytest.fixture
def another():
    """A second group, with keys and a session of its own."""
    return make_group()
