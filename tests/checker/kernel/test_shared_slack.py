"""The bound over shared slack: what its lemmas say of private columns, and forgeries of it."""

import json
import math
from fractions import Fraction
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from second_checker import opinion

from ldpopt import solve, testing
from ldpopt.checker import frame
from ldpopt.checker.kernel.arithmetic import ONE, enclose
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.fixed_point import BITS
from ldpopt.checker.kernel.proofs import confidence_set
from ldpopt.checker.kernel.proofs.confidence_set import read_robust_question
from ldpopt.checker.kernel.proofs.outer_cone import RATIO
from ldpopt.checker.kernel.proofs.shared_slack import SharedSlack
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.models.chi2_cone import ExactCone
from ldpopt.models.shared_slack_cone import SHARES, SlackCone
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.models.utilities import MutualInformation
from ldpopt.problems import RobustOptimum
from ldpopt.solvers import cutting_planes
from ldpopt.solvers._robust import slack_bound

SMALL = [[0.3, 0.2], [0.15, 0.35]]
QUESTION = {"p_hat": SMALL, "n": 1000, "alpha": 0.05, "epsilon": 1.0}
OPTIMUM = 0.722958722  # proven over the cuts


@cache
def _solved(objective):
    """A small table, solved as if it were a large one, with few parts."""
    with (
        patch.object(cutting_planes, "SMALL_INPUTS", 0),
        patch.object(cutting_planes, "TREE_INPUTS", 0),
        patch.object(slack_bound, "MOST_PARTS", 40),
    ):
        return json.dumps(solve(RobustOptimum(1.0, SMALL, 1000, objective=objective)).to_json())


def document(objective="empirical"):
    return json.loads(_solved(objective))


def judged(file):
    return verdict(frame.check(file))


@pytest.mark.parametrize("objective", ["empirical", "robust"])
def test_genuine_files_are_verified(objective):
    file = document(objective)
    assert set(file["certificate"]["proof"]) == {"dual", "corners", "shares", "cover"}
    assert judged(file) is True
    assert opinion(json.dumps(file)) == "verified"


def test_the_bound_lies_between_the_optimum_and_the_ceiling():
    file = document()
    assert OPTIMUM < file["bound"] < 0.7528
    about = {claim.about for claim in frame.check(file) if claim.what == "bound"}
    assert about == {"mechanisms private against the set"}


def test_no_private_column_is_above_the_dual():
    """μ(w) ≤ β·w for random columns, moved into the cone of all that are private."""
    F = Chi2Set(SMALL, 1000)
    cone = ExactCone(F, 1.0)
    columns = np.random.default_rng(0).random((4, 2000)) ** 3
    columns = cone.inside(columns, cone.excess(columns)[0])
    dual = np.array(document()["certificate"]["proof"]["dual"])
    excess = MutualInformation(F.p_hat.ravel())(columns) - dual @ columns
    assert excess.max() <= 0
    assert (excess / columns.max(axis=0)).max() > -0.05  # some come close


@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=2, max_size=2),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.floats(-2, 2),
    st.integers(0, 2**32),
)
def test_a_leaf_bounds_every_column_of_its_box(dual, ends, slope, first, second, seed):
    """Lemma 4, tried on columns of the box that keep the ends of the corners."""
    question = read_robust_question(QUESTION)
    corner = [Fraction(13, 20), Fraction(7, 20)]
    slack = SharedSlack(question, [[(corner, Fraction(1, 2))], []], dual)
    low = [int(min(pair) * 2**RATIO) for pair in ends]
    high = [int(max(pair) * 2**RATIO) for pair in ends]
    limits = ([2**BITS, 2**BITS // 2, 0], [2 * 2**BITS, 3 * 2**BITS, 0])
    weights = [(0, int(first * 2**RATIO)), (1, int(second * 2**RATIO))]
    pull = [int(-(b + slope * p) * 2**BITS) for b, p in zip(dual, SMALL[0], strict=False)]
    bound = slack._leaf(0, (low, high), limits, pull, weights) / 2 ** (BITS + RATIO)
    p = np.array(SMALL[0])
    for w in np.random.default_rng(seed).uniform(low, high, (50, 2)) / 2**RATIO:
        if 1 <= w @ [0.6, 0.4] <= 2 and 0.5 <= w @ [0.65, 0.35] <= 3:
            worth = p @ xlogy(w, w) - (np.array(dual[:2]) + slope * p) @ w
            assert worth <= bound + 1e-9


def _private_columns(shape, seed):
    """A random table, and random private columns on the boundary of the cone."""
    rng = np.random.default_rng(seed)
    F = Chi2Set(rng.dirichlet(np.ones(math.prod(shape))).reshape(shape), 300)
    cone = ExactCone(F, 1.0)
    columns = rng.random((math.prod(shape), 60)) ** rng.uniform(0.5, 6, 60)
    return F, cone.inside(columns, cone.excess(columns)[0])


def _slack(F, shares):
    """The corners of a few directions at every share, and the statement."""
    params = {"p_hat": F.p_hat.tolist(), "n": 300, "alpha": 0.05, "epsilon": 1.0}
    cone = SlackCone(F, 1.0)
    corners = [
        [
            ([Fraction(x) / sum(map(Fraction, R)) for x in R], Fraction(float(SHARES[i])))
            for i in shares
            for R in own[i]
        ]
        for own in cone.corners
    ]
    return SharedSlack(read_robust_question(params), corners, [1.0] * F.p_hat.size)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_every_private_column_lies_in_a_root_and_in_a_side_of_every_cut(shape, seed):
    """Lemmas 1 to 3, tried on columns near the boundary of the cone."""
    F, columns = _private_columns(shape, seed)
    slack = _slack(F, (2, 4, 6, 8))
    assert slack.holds_corners() is True
    rng = np.random.default_rng(seed)
    rows = np.array([[float(x) for x in corner.R] for corner in slack.corners])
    owner = np.array([corner.secret for corner in slack.corners])
    inner = np.array([corner.share <= 0.5 for corner in slack.corners])
    for column in columns.T:
        blocks = column.reshape(shape)
        reached = np.array([row @ blocks[s] for row, s in zip(rows, owner, strict=True)])
        least = [reached[inner & (owner == s)].min() for s in range(shape[0])]
        star = int(np.argmin(least))
        reached = reached / least[star]

        def inside(ends, reached=reached):
            low, high = (np.array([float(Fraction(x, 2**BITS)) for x in end]) for end in ends)
            return bool((reached >= low * (1 - 1e-9)).all() and (reached <= high * (1 + 1e-9)).all())

        ends = slack.root(star)
        assert inside(ends)
        for _ in range(12):
            i = int(rng.integers(len(rows)))
            node = {
                "secret": int(owner[i]),
                "share": float(rng.choice([0.0, *map(float, SHARES[::2])])),
                "side": str(rng.choice(["most", "least"])),
                "at": float(reached[i] * rng.uniform(0.9, 1.1)),
            }
            sides = [part for part in slack.cuts.parts(node, *ends) if inside(part)]
            assert sides
            ends = sides[0]


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_corners_hold_for_private_columns(seed):
    """Lemma 4: G·w ≤ 0 for any multipliers of pairs."""
    F, columns = _private_columns((3, 2), seed)
    slack = _slack(F, (1, 4, 7))
    rng = np.random.default_rng(seed)
    pairs, weights = [], []
    while len(pairs) < 40:
        s, z = rng.choice(3, 2, replace=False).tolist()
        i, j = rng.integers(0, 13, 2).tolist()
        if slack.corners[slack.first[s] + i].share + slack.corners[slack.first[z] + j].share <= 1:
            pairs.append([s, i, z, j])
            weights.append(float(rng.random()))
    leaf = {"pairs": pairs, "weights": weights}
    G = 1 + np.array([[x / 2**BITS for x in row] for row in slack._pull(leaf)]).ravel()  # −β − G, β = 1
    assert (G @ columns >= -1e-9).all()


# ---------------------------------------------------------------- forgeries


def _leaf(proof):
    piece = next(node for node in proof["cover"][0] if node.get("blocks"))
    return next(node for node in piece["blocks"][0] if "weights" in node)


def _lower_dual(proof):
    proof["dual"] = [entry - 1e-3 for entry in proof["dual"]]


def _far_corner(proof):
    """A distribution beyond half of the slack would cut private columns off."""
    proof["corners"][0][0] = [0.75, 0.25]


def _lower_slope(proof):
    for nodes in proof["cover"]:
        for node in nodes:
            if "slope" in node:
                node["slope"] -= 0.05


def _heavy_corner(proof):
    leaf = _leaf(proof)
    leaf.update(corners=[*leaf["corners"], 0], weights=[*leaf["weights"], 1.0])


def _other_weight(proof):
    _leaf(proof).update(corners=[1], weights=[0.7])


def _smaller_share(proof):
    """A corner that needs half of the slack, said to need less, would be compared with too many."""
    shares = proof["shares"][0]
    shares[next(i for i, share in enumerate(shares) if share == 0.5)] = 0.25


def _heavy_pair(proof):
    node = next(node for node in proof["cover"][0] if node.get("blocks"))
    node["pairs"].append([0, 0, 1, 0])
    node["weights"].append(5.0)


def _moved_cut(proof):
    """Both sides of a cut are proven where they were, not where it is now."""
    node = max(
        (node for nodes in proof["cover"] for node in nodes if "side" in node),
        key=lambda node: node["at"],
    )
    node["side"] = "least" if node["side"] == "most" else "most"


@pytest.mark.parametrize(
    "forge",
    [
        _lower_dual,
        _far_corner,
        _lower_slope,
        _heavy_corner,
        _other_weight,
        _smaller_share,
        _heavy_pair,
        _moved_cut,
    ],
    ids=lambda f: f.__name__,
)
def test_forged_proofs_are_refuted(forge):
    file = document()
    forge(file["certificate"]["proof"])
    assert judged(file) is False
    assert opinion(json.dumps(file)) == "refuted"


def test_a_lower_bound_is_refuted():
    file = document()
    file["bound"] -= 1e-6
    assert testing.refuted(file)


def _no_last_part(proof):
    proof["cover"][0].pop()


def _one_part_more(proof):
    proof["cover"][0].append(proof["cover"][0][-1])


def _no_tree_of_a_secret(proof):
    proof["cover"].pop()


def _unknown_corner(proof):
    _leaf(proof).update(corners=[10**6], weights=[0.1])


def _no_block(proof):
    next(node for node in proof["cover"][0] if node.get("blocks"))["blocks"].pop()


def _cut_of_no_secret(proof):
    proof["cover"][0].insert(0, {"secret": 2, "share": 0.5, "side": "most", "at": 2.0})
    proof["cover"][0].append(proof["cover"][0][-1])


def _no_side(proof):
    proof["cover"][0].insert(0, {"secret": 1, "share": 0.5, "at": 2.0})


def _pair_of_one_secret(proof):
    node = next(node for node in proof["cover"][0] if node.get("blocks"))
    node["pairs"].append([0, 0, 0, 0])
    node["weights"].append(0.5)


def _pair_beyond_the_slack(proof):
    node = next(node for node in proof["cover"][0] if node.get("blocks"))
    place = [1 + next(i for i, share in enumerate(own) if share > 0.5) for own in proof["shares"]]
    node["pairs"].append([0, place[0], 1, place[1]])
    node["weights"].append(0.5)


def _no_share(proof):
    proof["shares"][0].pop()


def _no_corners(proof):
    del proof["corners"]


def _both(proof):
    proof["tree"], proof["cuts"] = [{"price": 0.0, "cuts": [], "weights": []}], []


@pytest.mark.parametrize(
    "break_",
    [
        _no_last_part,
        _one_part_more,
        _no_tree_of_a_secret,
        _unknown_corner,
        _no_block,
        _cut_of_no_secret,
        _no_side,
        _pair_of_one_secret,
        _pair_beyond_the_slack,
        _no_share,
        _no_corners,
        _both,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_no_tree_of_parts_is_unreadable(break_):
    file = document()
    break_(file["certificate"]["proof"])
    with pytest.raises(UnreadableError):
        frame.check(file)
    assert opinion(json.dumps(file)) == "unreadable"


def test_parts_that_wait_count_as_memory():
    """A file of cuts alone leaves a piece behind at every one: undecided, before the memory goes."""
    slack = SharedSlack(read_robust_question(QUESTION), [[], []], [1.0] * 4)
    tree = [{"secret": 0, "share": 0.0, "side": "most", "at": 1 + 2.0**-i} for i in range(1, 400)]
    with limited(memory=10_000), pytest.raises(UndecidedError, match="cover that wait"):
        slack.covers([tree, tree])


def test_an_empty_cell_is_beyond_the_proof():
    question = read_robust_question(QUESTION | {"p_hat": [[0.5, 0.0], [0.2, 0.3]]})
    with pytest.raises(UndecidedError, match="empty cell"):
        SharedSlack(question, [[], []], [1.0] * 4)


def test_e_to_the_level_is_rounded_up():
    assert SharedSlack(read_robust_question(QUESTION), [[], []], [1.0] * 4).E > Fraction(math.e)


def test_a_corner_beyond_half_of_the_slack_by_1e_18_is_told():
    """Closer than the quantile of χ² is enclosed, to 1e-27, it is not: neither side is said."""
    question = read_robust_question(QUESTION)
    root = ONE + confidence_set.uncertain(question).step[0] / enclose(2)
    most = root * root
    goal = (Fraction(most.low) + Fraction(most.high)) / 2
    q = question.p_hat[0][0] / sum(question.p_hat[0])

    def size(x):
        return q * q / x + (1 - q) ** 2 / (1 - x)

    low, high = q, Fraction(99, 100)  # the size rises from the centre on
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (middle, high) if size(middle) < goal else (low, middle)
    far = Fraction(1, 10**18)
    for move, answer in ((-far, True), (far, False), (Fraction(0), None)):
        corner = [low + move, 1 - low - move]
        assert (
            SharedSlack(question, [[(corner, Fraction(1, 2))], []], [1.0] * 4).holds_corners() is answer
        )
