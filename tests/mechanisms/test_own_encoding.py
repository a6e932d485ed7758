"""An encoding of another package: one file and one line, and every command takes it.

The package is written and installed into a directory, and a fresh interpreter uses it. What the checker
knows of encodings is its own: the last lines add to its table, as a line in its file would.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = '''
from fractions import Fraction

import numpy as np

from ldpopt.core.exact import exp_below
from ldpopt.mechanisms.stated import StatedEncoding, rounded_down, steps, uniform

DRAWN = """
def _drawn(x, random):
    told, step = random(), random()
    end = SPAN - SPAN % (SAMPLER["inputs"] - 1)
    while step >= end:
        step = random()
    moved = (told >= SAMPLER["own"]) * (1 + step % (SAMPLER["inputs"] - 1))
    return str((x + moved) % SAMPLER["inputs"])
"""


class Single(StatedEncoding):
    """Report one input: the own one with probability p, else another one."""

    kind = "single"
    stored = "int64"
    summary = "one cell, the own one more probably than others"

    @classmethod
    def best(cls, asked):
        E = exp_below(asked.epsilon)
        return {"own": rounded_down(E / (E + asked.inputs - 1))}

    def likeliest(self):
        return self.exact.own, "the own input alone"

    @property
    def company(self):
        return 0.0, 1 / (self.inputs - 1)

    @property
    def outputs(self):
        return self.inputs

    @property
    def words(self):
        return 2

    def _drawn(self, x, block, more):
        step = 1 + uniform(block[:, 1], self.inputs - 1, more)
        return np.where(block[:, 0] < steps(self.plain["own"]), x, (x + step) % self.inputs)

    def supports(self, reports):
        return reports[:, None] == np.arange(self.inputs)

    def supported(self, reports, x):
        return (reports == x).astype(np.int64)

    def squares(self, sizes):
        p, q = self.own, self.other
        hit, miss = (1 - sizes * q) ** 2, (sizes * q) ** 2
        chances = p + (sizes - 1) * q, sizes * q
        return tuple((c * hit + (1 - c) * miss) / (p - q) ** 2 for c in chances)

    @property
    def numbers(self):
        return {"inputs": self.inputs, "own": steps(self.plain["own"])}

    def comparisons(self, x):
        yield 0, self.numbers["own"]

    def program(self, ending):
        return {"py.txt": DRAWN}[ending]
'''

USE = """
import json
import numpy as np
from ldpopt import audit, design, estimate, privatize, problem, report, solve, verify
from ldpopt.core.errors import InvalidInputError
from ldpopt.release.comparing import compare
from ldpopt.release.designing import load_mechanism
from ldpopt.release.exporting import export
from ldpopt.release.methods import METHODS
from ldpopt.release.planning import plan
from ldpopt.release.method_summaries import SUMMARIES

assert [*SUMMARIES] == [*METHODS]
assert SUMMARIES["single"] == "one cell, the own one more probably than others"
rng = np.random.default_rng(5)
table = {
    "illness": rng.choice(["a", "b", "c", "d"], 4000, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
    "ward": rng.choice(["x", "y", "z"], 4000, p=[0.6, 0.3, 0.1]).tolist(),
}
try:
    design(table, "illness", "ward", epsilon=2.0, method="single")
    raise SystemExit("the checker does not know it, and it was designed")
except InvalidInputError as error:
    assert "encoding must be one of unary, subset, hashing" in str(error), error

from ldpopt.checker.kernel.proofs import encodings
from ldpopt.checker.kernel.schema import Record
from ldpopt.checker.statements import frequency_encoding

law = encodings.Law({}, lambda k, p, plain: ((1 - p) / (k - 1), p * (k - 1) / (1 - p)))
encodings.LAWS["single"] = law
encodings.ENCODING.records["single"] = Record({"inputs": encodings.INPUTS, "own": encodings.SHARE})
frequency_encoding.PARAMS.required["encoding"].allowed = tuple(encodings.LAWS)

single = solve(problem("frequency-encoding", encoding="single", inputs=12, epsilon=2.0))
subset = solve(problem("frequency-encoding", encoding="subset", inputs=12, epsilon=2.0))
assert verify(single) and subset.value <= single.value
made = design(table, "illness", "ward", epsilon=2.0, method="single")
response = design(table, "illness", "ward", epsilon=2.0, method="grr")
assert made.verification and made.public.verification and made.public.universal
assert np.isclose(made.ldp_level, response.ldp_level)
assert np.isclose(made.sample_factor, response.sample_factor)  # it is randomised response
for one, other in zip(made.accuracy(), response.accuracy()):
    assert np.allclose(one.variances, other.variances)
made.save("mech.json")
made.public.save("mech.public.json")
assert verify("mech.json") and verify("mech.public.json")
assert privatize(table, "mech.public.json", "released.csv", seed=1) == 4000
found = estimate("released.csv", load_mechanism("mech.json"))
shares = {row.label: row for row in found.group("secret")}
assert sum(shares[v].low <= table["illness"].count(v) / 4000 <= shares[v].high for v in "abcd") >= 3
audited = audit("mech.json", table, "released.csv", samples=5000, confidence=1 - 1e-6)
assert audited.passed and len(audited.empirical) == 2 and audited["ldp"].holds
names = {}
exec(export(made, "python"), names)
assert names["self_test"]() > 0
parts = report(["mech.json", "mech.public.json"], "page.html", curve_seconds=0)
assert all(part.sound for part in parts)
assert plan(table, "illness", target=0.1, method="single").wanted.method == "single"
print("done")
"""


@pytest.fixture
def package(tmp_path):
    """The package with its entry point, as ``pip install`` writes it."""
    (tmp_path / "single.py").write_text(PACKAGE)
    installed = tmp_path / "single-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: single\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[ldpopt.encodings]\nsingle = single:Single\n")
    return tmp_path


def run(folder, *words):
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    env = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_every_step_takes_it(package):
    answer = run(package, "-c", USE)
    assert answer.stdout == "done\n", answer.stderr


def test_it_is_listed_and_a_broken_one_hides_no_other(package):
    answer = run(package, "-m", "ldpopt", "list", "methods")
    assert "single" in answer.stdout
    assert "one cell, the own one" in answer.stdout
    (package / "single.py").write_text("class Single(:")
    answer = run(package, "-m", "ldpopt", "list", "methods")
    assert "BROKEN: the module single cannot be read" in answer.stdout
    assert "subset" in answer.stdout
