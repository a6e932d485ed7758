"""The two checkers agree: on genuine files, on forgeries, and on mutants."""

import json
import random

import pytest
from forgeries.contradicting import genuine, judged
from forgeries.mutating import mutant

from second_checker import COVERED, opinion

OPEN = {"circulant-fidelity": 1, "minimax-fidelity": 1, "composition-bound": 3, "feature-release": 6}
"""How many of a kind's examples are left open: too large, or in need of what the page says is left."""
QUICK = tuple(kind for kind in COVERED if kind != "secret-staircase")


@pytest.mark.parametrize("kind", COVERED)
def test_genuine_files(kind):
    opinions = [opinion(json.dumps(document)) for document in genuine(kind, 10)]
    assert opinions.count(None) == OPEN.get(kind, 0)
    assert opinions.count("verified") == len(opinions) - OPEN.get(kind, 0)


def clashes(documents, tries, seed):
    """Mutants that one checker verifies and the other does not."""
    draw, verified = random.Random(seed), 0
    for _ in range(tries):
        found = mutant(draw.choice(documents), draw)
        first, second = judged(found), opinion(json.dumps(found))
        verified += first == second == "verified"
        if {first, second} & {"verified"} and {first, second} & {"refuted", "unreadable"}:
            yield first, second, found
    assert verified


@pytest.mark.parametrize("kind", QUICK)
def test_mutants(kind):
    assert list(clashes(genuine(kind, 10), 40, kind)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", COVERED)
def test_many_mutants(kind):
    assert list(clashes(genuine(kind, 10), 1000, f"many {kind}")) == []
