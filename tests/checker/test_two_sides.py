"""A problem and the checker allow the same parameters: what one takes the other takes."""

import copy
import json
import random

import pytest
from forgeries.mutating import at, lists, places
from forgeries.small import SMALL

from ldpopt import problem
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.problems import PROBLEMS

TRIES = 40
PARAMETERS = {
    "epsilon": [1e-6, 9e-7, 30, 30.1, 0.0],
    "utility": ["kl", "bayes", "guessing", "renyi", "chi-squared", ""],
    "order": [0.5, 1, 60, 61, 0.01, 0.001],
    "weights": [[0.5, 0.5], [1, 0], [1.0], [-1, 1], [1e308, 1]],
    "prior": [
        *([0.5, 0.5], [1, 0], [0.5, 0.5 + 5e-9], [[0.5, 0], [0.5, 0]], [5e-324, 1]),
        *([1e-15, 1 - 1e-15], [1e-16, 1], [0, 1], [1e308, 1e308]),
    ],
    "hypotheses": [[[0.5, 0.5], [0.3, 0.7]], [[1, 0], [0, 1]], [[0.5, 0.5]]],
    "p_hat": [[[0.5, 0.5], [0, 0]], [[0.25, 0.25], [0.25, 0.25]], [[0.5], [0.5]], [[1e308] * 2] * 2],
    "counts": [[[1, 2], [3, 4]], [[0, 0], [3, 4]], [[1e12, 1], [1, 1]], [[0.5, 1], [1, 1]]],
    "n": [1e-9, 1e12, 1.1e12, 0, 1e-10],
    "alpha": [1e-12, 1e-13, 1, [1, 1], [0.01, 1e4], [0.009, 1], [1] * 17, [1, 2] * 5],
    "calibrate": [True, False, 1],
    "blocks": ["grr", "optimal", "x"],
    "width": [1, 2, 3, 2.0],
    "groups": [[0, 1], [0, 0], [0, 1, 1], 1],
    "facets": [0, 1, -1],
    "objective": ["robust", "x"],
    "secrets": [[0, 1], [0, 0, 1], [1, 1.0, 2], [True, 1, 0]],
    "costs": [[[0, 1], [1, 0]], [[0, -1], [1, 0]], [[0, 1], [1]]],
    "scale": [1, 0, 10**9, 10**9 + 1],
    "tau": [1, 999, 0],
    "d": [2, 1000, 1],
    "budget": [0, 30, 30.5, -0.1],
    "leakage": [0, 30, 30.5, -0.1],
    "min_average_privacy": [0, 0.999, 1],
    "loss": ["mse", "tv", "x"],
    "family": ["square", "broad", "circulant"],
    "inputs": [2, 1, 100_000, 100_001],
    "p0": [1e-15, 1e-16, 0.25, 1 / 3, 0.5],
    "threshold": [1, 0, 1.5, 5e-324],
    "method": ["theorem-2", "worst-joint", "x"],
    "marginals": [[[0.5, 0.5]], [[0.5, 0.4]], [[]], [[0.0, 1.0]], [[1e308, 1e308]]],
    "users": [1, 2_000_000, 2_000_001, 0],
    "delta": [0.05, 0, 1, 1e-300],
    "redact": [0.1, 2, 0],
    "queries": [[[1, 0, 0, 0]], [[1, 1, 1, 1]], [[1, 0]]],
}
"""Values of the parameters on both sides of what is allowed, by name, whatever the kind."""
LEAVES = [0, -0.0, 1, 1.0, "a", True, None, 5e-324, 1e308, -1, 1e-16, 1e-9, 0.5]


def starts(kind):
    """Parameters of small questions of a kind."""
    if kind in SMALL:
        return SMALL[kind]
    return [json.loads(json.dumps(found.problem.to_params())) for found in PROBLEMS[kind].examples()]


def changed(params, kind, draw):
    """Other parameters: one or two of them replaced, dropped, or lengthened."""
    found = copy.deepcopy(params)
    schema = frame.parameters(kind)
    for _ in range(draw.choice((1, 1, 2))):
        act = draw.choice(("set", "set", "set", "drop", "leaf", "size"))
        paths = lists(found) if act == "size" else [path for path in places(found) if path]
        name = draw.choice([*schema.required, *schema.optional])
        if act == "set" and name in PARAMETERS:
            found[name] = copy.deepcopy(draw.choice(PARAMETERS[name]))
        elif act == "drop":
            found.pop(name, None)
        elif paths and act == "leaf":
            path = draw.choice(paths)
            at(found, path[:-1])[path[-1]] = draw.choice(LEAVES)
        elif paths:
            entries = at(found, draw.choice(paths))
            if isinstance(entries, list):
                entries.append(copy.deepcopy(entries[-1]))
    return found


def asks(kind, params):
    """Whether the checker takes the parameters: its schema, and what it reads from them."""
    try:
        with limited(20):
            frame.question(frame.statement(kind, params))
    except UnreadableError:
        return False
    except UndecidedError:
        return None
    return True


def writes(kind, params):
    """The parameters that a problem made of these writes to a file; None if it refuses them."""
    try:
        made = problem(kind, **copy.deepcopy(params))
    except ValueError:  # with one sentence; any other error is a crash
        return None
    return json.loads(json.dumps(made.to_params()))


@pytest.mark.parametrize("kind", frame.KINDS)
def test_both_sides_allow_the_same(kind):
    """What the checker takes, the problem takes; what a problem writes, the checker takes."""
    draw, taken = random.Random(kind), 0
    for _ in range(TRIES):
        params = changed(draw.choice(starts(kind)), kind, draw)
        allowed = asks(kind, copy.deepcopy(params))
        written = writes(kind, params)
        if written is None:
            assert allowed is not True, f"the checker takes {params}, the problem does not"
        else:
            assert asks(kind, written) is not False, f"the problem takes {params} and writes {written}"
            taken += 1
    assert taken


QUARTERS = [[0.25, 0.25], [0.25, 0.25]]
KNOWN = {"kind": "known", "p": QUARTERS}
EDGES = [
    ("fidelity", {"prior": [1e-15, 1], "epsilon": 1.0}),
    ("fidelity", {"prior": [1e-15, 1 + 9e-10], "epsilon": 1.0}),
    ("fidelity", {"prior": [1e-15 * (1 - 3e-9), 1], "epsilon": 1.0}),
    ("statistic-leakage", {"matrix": [[0.5, 0.500000001], [1, 0]], "secrets": [0, 1]}),
    ("statistic-leakage", {"matrix": [[0.5, 0.5000000011], [1, 0]], "secrets": [0, 1]}),
    ("staircase", {"prior": [0.5, 0.500000001], "epsilon": 1.0}),
    ("robust-level", {"matrix": [[True, 0.0], [0.5, 0.5], [1, 0], [0, 1]], "uncertainty": KNOWN}),
    ("robust-level", {"matrix": [[1, 0.0], [0.5, 0.5], [1, 0], [0, 1]], "uncertainty": KNOWN}),
    ("robust-fidelity", {"epsilon": 1.0, "prior": QUARTERS}),
    ("robust-fidelity", {"epsilon": 1.0, "prior": QUARTERS, "queries": None}),
    ("robust-fidelity", {"epsilon": 1.0, "prior": QUARTERS, "queries": [[True, 0, 0, 0]]}),
    ("robust-fidelity", {"epsilon": 1.0, "p_hat": QUARTERS, "n": 9, "alpha": None}),
    ("robust-fidelity", {"epsilon": 1.0, "p_hat": QUARTERS, "n": 9}),
    ("polyopt", {"epsilon": 1.0, "p_hat": QUARTERS, "n": 9, "counts": None}),
    ("polyopt", {"epsilon": 1.0, "p_hat": QUARTERS, "n": 9, "width": None}),
    ("staircase", {"prior": [True, False], "epsilon": 1.0}),
    ("feature-release", {"table": True, "threshold": 0.5, "budget": 0.1, "weights": [1]}),
    ("feature-release", {"table": [True], "threshold": 0.5, "budget": 0.1, "weights": [1]}),
    ("feature-release", {"marginals": True, "threshold": 0.5, "budget": 0.1, "weights": [1]}),
    ("leakage-design", {"tau": 2, "d": 2, "leakage": 0.3, "secrets": ["a", None, True]}),
    ("leakage-design", {"tau": 2, "d": 2, "leakage": 0.3, "secrets": [1, None, True]}),
]
"""Parameters on both sides of an edge: of a sum before it is rounded, of a default, of a type."""


@pytest.mark.parametrize(("kind", "params"), EDGES)
def test_both_sides_have_the_same_edges(kind, params):
    assert asks(kind, copy.deepcopy(params)) == (writes(kind, params) is not None)
