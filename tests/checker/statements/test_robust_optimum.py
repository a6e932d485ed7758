"""The bound over an outer cone: what proves a leaf, what a tree must be, and forgeries of it."""

import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt import FormSolution, Status, solve, testing
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.proofs.confidence_set import read_robust_question
from ldpopt.checker.kernel.proofs.outer_cone import RATIO, SHARE, Outer, cut_row
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.core.forms.column_program import Columns
from ldpopt.problems import RobustOptimum
from ldpopt.solvers import CuttingPlanes

SMALL = [[0.3, 0.2], [0.15, 0.35]]
GAPPED = [[0.3, 0.2, 0.0], [0.15, 0.3, 0.05]]


@cache
def _solved(objective, gapped):
    table = GAPPED if gapped else SMALL
    return json.dumps(solve(RobustOptimum(1.0, table, 1000, objective=objective), gap=1e-6).to_json())


def document(objective="empirical", gapped=False):
    return json.loads(_solved(objective, gapped))


def judged(file):
    return verdict(frame.check(file))


@pytest.mark.parametrize("objective", ["empirical", "robust"])
def test_genuine_files_are_verified(objective):
    assert judged(document(objective)) is True


def test_a_cell_that_was_never_seen():
    assert judged(document(gapped=True)) is True


def test_the_bound_is_about_every_private_mechanism():
    claims = frame.check(document())
    about = {claim.about for claim in claims if claim.what == "bound"}
    assert about == {"mechanisms private against the set"}


# ---------------------------------------------------------------- lemmas


def test_the_row_of_a_cut():
    member = [[Fraction(1, 8), Fraction(3, 8)], [Fraction(1, 4), Fraction(1, 4)]]
    row = cut_row(member, 1, 0, Fraction(2))
    assert [Fraction(entry, 2**SHARE) for entry in row] == [
        Fraction(1, 2),
        Fraction(3, 2),
        Fraction(-1, 2),
        Fraction(-1, 2),
    ]


@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=4, max_size=4),
    st.floats(-3, 3),
    st.floats(0, 3),
    st.integers(0, 2**32),
)
def test_a_proven_box_has_no_column_above_the_dual(dual, ends, price, weight, seed):
    """Lemma 2, tried on columns of the box that satisfy the cut of p̂."""
    question = read_robust_question({"p_hat": SMALL, "n": 1000, "alpha": 0.05, "epsilon": 1.0})
    outer = Outer(question, [(question.p_hat, 0, 1)], dual)
    low = [int(min(pair) * 2**RATIO) for pair in ends]
    high = [int(max(pair) * 2**RATIO) for pair in ends]
    weights = [(0, int(weight * 2**RATIO))]
    if not outer.proven(low, high, weights, int(price * 2**RATIO)):
        return
    p = np.array(SMALL).ravel()
    rng = np.random.default_rng(seed)
    for t in rng.uniform(low, high, (50, 4)) / 2**RATIO:
        q = p @ t
        private = t[:2] @ [0.6, 0.4] <= math.e * t[2:] @ [0.3, 0.7]
        inside = all(a * q <= x * 2**RATIO <= b * q for a, x, b in zip(low, t, high, strict=True))
        if q > 0 and private and inside:
            information = sum(a * x * math.log(x / q) for a, x in zip(p, t, strict=True) if x > 0)
            assert information <= np.dot(dual, t) + 1e-12


def test_a_box_may_be_proven():
    """The property above is not empty: a generous dual vector proves the whole root."""
    question = read_robust_question({"p_hat": SMALL, "n": 1000, "alpha": 0.05, "epsilon": 1.0})
    outer = Outer(question, [], [0.75] * 4)
    assert outer.covers([{"price": 0.0, "cuts": [], "weights": []}])
    outer = Outer(question, [], [0.25] * 4)
    assert not outer.covers([{"price": 0.0, "cuts": [], "weights": []}])


def test_boxes_that_wait_count_as_memory():
    """A file of cuts alone leaves a box behind at every one: undecided, before the memory goes."""
    question = read_robust_question({"p_hat": SMALL, "n": 1000, "alpha": 0.05, "epsilon": 1.0})
    outer = Outer(question, [], [0.75] * 4)
    tree = [{"input": 0, "at": 2.0**-i} for i in range(1, 60)]
    with limited(memory=10_000), pytest.raises(UndecidedError, match="tree that wait"):
        outer.covers(tree)


# ---------------------------------------------------------------- forgeries


@pytest.mark.parametrize("gapped", [False, True])
def test_tampered_files_are_refuted(gapped):
    for why, forged in testing.tampered(document(gapped=gapped)):
        assert testing.refuted(forged), why


def _lower_dual(proof):
    proof["dual"] = [entry - 1e-4 for entry in proof["dual"]]


def _far_member(proof):
    """A distribution outside the set would cut private columns off."""
    for cut in proof["cuts"]:
        cut["member"] = [[0.45, 0.05], [0.05, 0.45]]


def _one_far_member(proof):
    proof["cuts"].append({"member": [[0.45, 0.05], [0.05, 0.45]], "secrets": [0, 1]})


def _heavy_weights(proof):
    for node in proof["tree"]:
        if "weights" in node:
            node["weights"] = [2 * weight for weight in node["weights"]]


def _no_weights(proof):
    for node in proof["tree"]:
        if "weights" in node:
            node["cuts"], node["weights"] = [], []


def _swapped_secrets(proof):
    for cut in proof["cuts"]:
        cut["secrets"].reverse()


def _one_leaf(proof):
    proof["tree"] = [node for node in proof["tree"] if "price" in node][:1]


def _moved_splits(proof):
    for node in proof["tree"]:
        if "at" in node:
            node["at"] *= 1.0 - 1e-3


FORGERIES = [
    _lower_dual,
    _far_member,
    _one_far_member,
    _heavy_weights,
    _no_weights,
    _swapped_secrets,
    _one_leaf,
    _moved_splits,
]


@pytest.mark.parametrize("change", FORGERIES)
def test_forged_proofs_are_refuted(change):
    file = document()
    change(file["certificate"]["proof"])
    assert judged(file) is False


def test_another_level_needs_another_proof():
    file = document()
    file["params"]["epsilon"] = 1.01
    assert judged(file) is False


def test_a_smaller_set_needs_another_proof():
    """With more samples there are fewer members: the old ones are outside, and the optimum is higher."""
    file = document()
    file["params"]["n"] = 2000
    assert judged(file) is False


def _short_tree(proof):
    proof["tree"].pop()


def _long_tree(proof):
    proof["tree"].append(proof["tree"][-1])


def _no_such_cut(proof):
    leaf = next(node for node in proof["tree"] if node.get("cuts"))
    leaf["cuts"][0] = len(proof["cuts"])


def _no_such_input(proof):
    proof["tree"][0]["input"] = 4


def _split_outside(proof):
    proof["tree"][0]["at"] = 100.0


def _mixed_node(proof):
    proof["tree"][0]["price"] = 0.0


def _same_secrets(proof):
    proof["cuts"][0]["secrets"] = [1, 1]


def _third_secret(proof):
    proof["cuts"][0]["secrets"] = [0, 2]


def _negative_weight(proof):
    leaf = next(node for node in proof["tree"] if node.get("weights"))
    leaf["weights"][0] = -leaf["weights"][0]


def _wide_member(proof):
    proof["cuts"][0]["member"] = [[0.3, 0.1, 0.1], [0.15, 0.3, 0.05]]


def _short_dual(proof):
    proof["dual"].pop()


def _no_cuts(proof):
    del proof["cuts"]


def _no_tree(proof):
    del proof["tree"]


def _nothing(proof):
    proof.clear()


MALFORMED = [
    _short_tree,
    _long_tree,
    _no_such_cut,
    _no_such_input,
    _split_outside,
    _mixed_node,
    _same_secrets,
    _third_secret,
    _negative_weight,
    _wide_member,
    _short_dual,
    _no_cuts,
    _no_tree,
    _nothing,
]


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed_proofs_are_unreadable(change):
    file = document()
    change(file["certificate"]["proof"])
    with pytest.raises(UnreadableError):
        frame.check(file)


def test_the_budget_ends_the_tree():
    file = document()
    with limited(seconds=0):
        assert judged(file) is None


def test_the_ceiling_alone_is_a_bound():
    """What a solve returns whose time was over before the tree."""

    class Constant(CuttingPlanes):
        def run(self, form, limits):
            constant = Columns(np.ones(1), np.ones((form.cone.dimension, 1)))
            return FormSolution(Status.FEASIBLE, constant, 0.0)

    found = solve(RobustOptimum(1.0, SMALL, 1000), Constant())
    file = json.loads(json.dumps(found.to_json()))
    assert set(file["certificate"]["proof"]) == {"ceiling", "secret_dual"}
    assert judged(file) is True
    file["bound"] = file["certificate"]["proof"]["ceiling"] - 1e-6
    del file["gap"]
    assert judged(file) is False
