"""The contradiction fuzzer: a short run, and with ``-m slow`` one of LDPOPT_MUTANTS mutants per kind."""

import copy
import os

import pytest
from forgeries import contradicting
from forgeries.contradicting import ClashError, Ledger, genuine, run

from ldpopt.checker.frame import KINDS

TRIES = int(os.environ.get("LDPOPT_MUTANTS", "6000"))
QUICK = (
    "staircase",
    "secret-staircase",
    "circulant-fidelity",
    "broad-fidelity",
    "fidelity",
    "minimax-fidelity",
    "composition-bound",
    "feature-release",
)
"""Kinds that are fuzzed in every run of the suite."""


@pytest.mark.parametrize("kind", QUICK)
def test_no_two_verified_files_clash(kind):
    counts = run(genuine(kind, 3), 60, kind)
    assert counts["verified"] > 0
    assert counts["refuted"] > 0
    assert counts["unreadable"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_two_verified_files_clash_in_the_long_run(kind):
    assert sum(run(genuine(kind, 10), TRIES, f"long {kind}").values()) == TRIES


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


def test_a_checker_that_believes_everything_is_caught(monkeypatch):
    monkeypatch.setattr(contradicting, "judged", lambda document, seconds=0: "verified")
    with pytest.raises(Exception, match=r"at least|must|needs|has no key|not"):
        run(genuine("staircase", 1), 100, 0)
