"""False files about exposure and feature release: tests/forgeries/anonymity, each with its reason."""

import json
from pathlib import Path

import pytest

from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.reading import UnreadableError

CORPUS = sorted((Path(__file__).parents[2] / "forgeries" / "anonymity").glob("*.json"))


def said(document):
    try:
        return {True: "verified", False: "refuted", None: "undecided"}[verdict(frame.check(document))]
    except UnreadableError:
        return "unreadable"


def test_there_is_a_corpus():
    assert len(CORPUS) >= 25


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_no_forgery_is_verified(path):
    forgery = json.loads(path.read_text(encoding="utf-8"))
    assert forgery["why"]
    assert said(forgery["document"]) == forgery["verdict"]
    assert forgery["verdict"] in ("refuted", "unreadable")


def test_without_time_a_forgery_is_undecided_and_never_verified():
    found = set()
    for path in CORPUS:
        document = json.loads(path.read_text(encoding="utf-8"))["document"]
        try:
            with limited(seconds=0):
                found.add(said(document))
        except UndecidedError:
            found.add("undecided")
    assert "verified" not in found
    assert "undecided" in found
