"""The contradiction fuzzer: a short run, and with ``-m slow`` one of LDPOPT_MUTANTS mutants per kind."""

import copy
import os

import pytest
from forgeries import composing, contradicting
from forgeries.contradicting import CORPUS, DESIGN, PUBLIC, ClashError, FalseError, Ledger, genuine, run
from forgeries.small import SMALL

from ldpopt.checker.kernel.reading import UnreadableError

TRIES = int(os.environ.get("LDPOPT_MUTANTS", "6000"))


@pytest.mark.parametrize("kind", CORPUS)
def test_no_verified_file_is_false(kind):
    slow = kind in (*SMALL, DESIGN, PUBLIC) and kind != "program"
    counts, opinions = run(genuine(kind, 1 if slow else 10), 25 if slow else 60, kind)
    assert counts["verified"] > 0
    assert counts["refuted"] > 0
    assert counts["unreadable"] > 0
    assert opinions["verified"] > 0


def test_no_verified_file_of_a_random_composition_is_false():
    found, counts, opinions = composing.fuzzed(300, seed=0)
    assert min(found["verified"], counts["verified"], counts["refuted"], opinions["verified"]) > 0


def test_one_more_notion_of_privacy_never_allows_more():
    stricter, other = genuine("program", 1) * 2
    composing.compare(stricter, other)
    sign = 1 if "maximise" in stricter["params"] else -1
    with pytest.raises(ClashError, match="one more notion"):
        composing.compare(stricter | {"value": other["bound"] + sign * 1e-6}, other)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CORPUS)
def test_no_verified_file_is_false_in_the_long_run(kind):
    counts, _ = run(genuine(kind), TRIES, f"long {kind}")
    assert sum(counts.values()) == TRIES


def test_the_fuzzer_sees_a_clash():
    """Were a false file verified, the fuzzer would say so: for one ε, and across two."""
    [document] = genuine("staircase", 1)
    for change in ({"value": document["bound"] * 1.01}, {"bound": document["value"] * 0.99}):
        ledger = Ledger()
        ledger.enter(document)
        with pytest.raises(ClashError, match="at least"):
            ledger.enter(document | change)
    ledger = Ledger()
    ledger.enter(document)
    stricter = copy.deepcopy(document) | {"value": document["bound"] * 1.01, "bound": 1.0}
    stricter["params"]["epsilon"] *= 0.5
    with pytest.raises(ClashError, match="at least"):
        ledger.enter(stricter)


def test_the_fuzzer_sees_a_clash_of_two_radii():
    """A smaller ball has no higher level."""
    document = next(d for d in genuine("robust-level") if "radius" in d["params"]["uncertainty"])
    ledger = Ledger()
    ledger.enter(document)
    smaller = copy.deepcopy(document) | {"value": document["bound"] * 1.01, "bound": 1.0}
    smaller["params"]["uncertainty"]["radius"] *= 0.5
    with pytest.raises(ClashError, match="at least"):
        ledger.enter(smaller)


def test_a_checker_that_believes_everything_is_caught(monkeypatch):
    monkeypatch.setattr(contradicting, "judged", lambda document, seconds=0: "verified")
    with pytest.raises((ClashError, FalseError, UnreadableError)):
        run(genuine("staircase", 1), 100, 0)


def test_a_false_file_without_a_clash_is_seen(monkeypatch):
    """What clashes with nothing, as the question is another, is seen by the second checker."""
    monkeypatch.setattr(contradicting, "judged", lambda document, seconds=0: "verified")
    monkeypatch.setattr(contradicting.Ledger, "enter", lambda ledger, document: None)
    with pytest.raises(FalseError, match=r"refuted|unreadable"):
        run(genuine("leakage-design", 1), 100, 0)
