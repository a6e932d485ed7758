"""The promise of a public file: proven, refuted or open, and never verified without being decided."""

import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from public_files import NEAR, OPEN_FILES, PROVEN, REFUTED, public_file
from scipy.optimize import linprog
from second_checker import opinion

from ldpopt.checker.frame import EXIT_CODES, check
from ldpopt.checker.kernel.budget import UndecidedError
from ldpopt.checker.kernel.claims import OPEN, Claim, verdict
from ldpopt.checker.kernel.proofs import telling_apart
from ldpopt.checker.kernel.proofs.telling_apart import tells_apart
from ldpopt.checker.statements.public_mechanism import NOT_IN_FILE, PROMISES

CHECKER = Path(__file__).parents[2] / "ldpopt" / "checker"
ALL = [
    *((name, found, 1) for name, found in REFUTED.items()),
    *((name, found, 4) for name, found in OPEN_FILES.items()),
    *((name, found, 0) for name, found in PROVEN.items()),
]


@pytest.mark.parametrize(("name", "document", "code"), ALL, ids=lambda part: str(part)[:40])
def test_what_the_checkers_say(name, document, code):
    found = verdict(check(document))
    assert EXIT_CODES[found] == code
    assert {"refuted": 1, "open": 4, "verified": 0}[opinion(json.dumps(document))] == code
    if code == 1:
        wrong = {claim.what for claim in check(document) if claim.holds is False}
        assert wrong & {*PROMISES, "privacy"}


def test_the_bare_checker_ends_with_4(tmp_path):
    path = tmp_path / "m.public.json"
    path.write_text(json.dumps(OPEN_FILES["no-level"]))
    words = [sys.executable, "-I", "-S", str(CHECKER), str(path)]
    answer = subprocess.run(words, capture_output=True, text=True, check=False)
    assert answer.returncode == 4
    [line] = [line for line in answer.stdout.splitlines() if line.startswith("open")]
    assert line.endswith(f"[{NOT_IN_FILE}]")


def test_open_is_neither_undecided_nor_true():
    [claim] = [claim for claim in check(OPEN_FILES["no-level"]) if claim.what == "promise"]
    assert (claim.holds, claim.open, claim.verdict) == (None, True, OPEN)
    assert not OPEN
    undecided = Claim("a claim", "undecided: out of time", None)
    refuted = Claim("a claim", "exact", False)
    assert verdict([claim]) is OPEN
    assert verdict([claim, undecided]) is None
    assert verdict([undecided, claim, refuted]) is False


def test_out_of_time_is_undecided_and_not_open(monkeypatch):
    def over():
        raise UndecidedError("the time is over")

    monkeypatch.setattr(telling_apart, "tick", over)
    claims = check(OPEN_FILES["no-level"])
    assert verdict(claims) is None
    assert not any(claim.open for claim in claims)


@pytest.mark.parametrize("robust", ["chi2", "known"])
def test_both_sides_of_the_level(robust):
    """log 1.5 is the level of the entries; with the next floats around it nothing is in doubt."""
    level = math.log(1.5)
    for epsilon, width1 in ((math.nextafter(level, 0), 1), (math.nextafter(level, 1), 0)):
        document = public_file([[0.75, 0.25], [0.5, 0.5]], (2, 0), epsilon=2 * epsilon, robust=robust)
        assert EXIT_CODES[verdict(check(document))] == 0  # log 2 is below
        document = public_file([[0.375, 0.625], [0.25, 0.75]], (2, 0), epsilon=epsilon, robust=robust)
        assert EXIT_CODES[verdict(check(document))] == width1


@pytest.mark.parametrize("kind", ["unary", "subset", "hashing"])
def test_encodings_at_both_sides(kind):
    rest = {"unary": {"other": 0.25}, "subset": {"size": 1}, "hashing": {"buckets": 3}}[kind]
    plain = {"kind": kind, "inputs": 4, "own": 0.5, **rest}
    level = math.log({"unary": 3.0, "subset": 3.0, "hashing": 2.0}[kind])
    for shape in ((4, 0), (4, 1), (2, 2)):
        for robust in ("chi2", "known", "all"):
            for stated in (None, 30.0):
                for epsilon, code in ((level * (1 - 1e-12), 1), (level * (1 + 1e-12), 0)):
                    asked = {"epsilon": epsilon, "robust": robust, "level": stated}
                    assert EXIT_CODES[verdict(check(public_file(plain, shape, **asked)))] == code


# ---------------------------------------------------------------- the lemma


def keeps(matrix, width, level):
    """The slack with which some P(u|s) keep the level, by a linear program; below 0, none do."""
    W = np.array(matrix).reshape(-1, width, len(matrix[0]))
    secrets, factor = len(W), math.exp(level)
    rows = []
    for s, z in permutations(range(secrets), 2):
        for y in range(W.shape[2]):
            row = np.zeros((secrets, width))
            row[s], row[z] = W[s, :, y], -factor * W[z, :, y]
            rows.append([*row.ravel(), 1.0])
    sums = np.kron(np.eye(secrets), np.ones(width))
    found = linprog(
        [*[0.0] * (secrets * width), -1.0],
        A_ub=rows,
        b_ub=np.zeros(len(rows)),
        A_eq=np.hstack([sums, np.zeros((secrets, 1))]),
        b_eq=np.ones(secrets),
        bounds=[*[(0, 1)] * (secrets * width), (-1, 1)],
    )
    return found.x[-1]


def random_rows(draw, rows, outputs):
    shares = [[draw.choice([0, 1, 2, 8, 64]) for _ in range(outputs)] for _ in range(rows)]
    shares = [[*row[:-1], 128 * outputs - sum(row[:-1])] for row in shares]
    return [[x / (128 * outputs) for x in row] for row in shares]


def test_what_is_refuted_no_distribution_keeps():
    """Against all distributions, by a linear program; and most of what none keeps is refuted."""
    draw, counts = random.Random(7), {True: 0, False: 0}
    for _ in range(400):
        secrets, width, outputs = draw.choice([2, 3]), draw.choice([1, 2, 3]), draw.choice([2, 4])
        matrix = random_rows(draw, secrets * width, outputs)
        level = draw.choice([0.1, 0.5, 1.0, 3.0])
        slack = keeps(matrix, width, level)
        found = tells_apart(matrix, width, Fraction(level))
        if found:
            assert slack < 1e-9, (matrix, width, level)
        elif width == 1:
            assert slack > -1e-9, (matrix, level)
        if slack < -1e-6:
            counts[found] += 1
    assert counts[True] > 50
    assert counts[True] > 2 * counts[False], counts


def test_several_reports_in_such_a_set():
    """P(B^r|s) by brute force, for any distribution of the public values."""
    matrix, draw = [[0.7, 0.3], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]], random.Random(3)
    level = Fraction(0.8) / 2
    assert tells_apart(matrix, 2, level)
    for _ in range(100):
        given = [[p, 1 - p] for p in (draw.random(), draw.random())]
        worst = 0.0
        for pair in product(range(2), repeat=2):
            law = [
                sum(given[s][u] * math.prod(matrix[2 * s + u][y] for y in pair) for u in range(2))
                for s in range(2)
            ]
            worst = max(worst, abs(math.log(law[0] / law[1])))
        assert worst > 0.8
    assert not tells_apart(NEAR, 2, Fraction(1, 10**6))


def test_numbers_below_all_normal_floats():
    tiny = 2.0**-1074
    rows = [[tiny, 1.0], [tiny, 1.0], [0.0, 1.0], [0.0, 1.0]]
    assert tells_apart(rows, 2, Fraction(30))
    assert not tells_apart([[tiny, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 2, Fraction(30))
