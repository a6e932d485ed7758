"""Designs of the census that the tests of audits share."""

import pytest

from ldpopt.release.designing import design

TABLE = "adult:sex-race"


@pytest.fixture(scope="session")
def census():
    return design(TABLE, "sex", "race", epsilon=1.0, robust="chi2", goal="information")


@pytest.fixture(scope="session")
def response():
    return design(TABLE, secret="sex", public="race", epsilon=1.0, method="srr")


@pytest.fixture
def file(tmp_path, response):
    path = tmp_path / "mechanism.json"
    response.save(path)
    return path
