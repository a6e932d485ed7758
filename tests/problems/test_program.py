"""Composed questions: optima of the literature, other programs, and what the checker refuses."""

import copy
import itertools
import json
import math
import time
from dataclasses import replace
from itertools import permutations

import cvxpy
import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from second_checker import opinion

import ldpopt
from ldpopt import Program, objective, privacy, solve, verify
from ldpopt.checker.kernel.proofs import cut_parts
from ldpopt.core.errors import InvalidInputError, NoSolverError, SolverError, UnreadableFileError
from ldpopt.core.form import Status
from ldpopt.core.limits import Limits, OutOfTime
from ldpopt.engine.verifying import verify_document
from ldpopt.measures.achieved_privacy import used
from ldpopt.problems import RobustFidelity, SecretStaircase, SetOptimum, Staircase, _composition
from ldpopt.solvers import SOLVERS

E = math.e
PRIOR = [0.4, 0.3, 0.2, 0.1]
PATH = np.abs(np.subtract.outer(range(6), range(6)))
SKEWED = np.random.default_rng(1).dirichlet(np.ones(6))


def proven(question, solver="auto", gap=1e-9):
    result = solve(question, solver, gap=gap)
    assert result.status.value == "optimal"
    assert result.gap <= gap
    assert verify(result)
    return result


# ---------------------------------------------------------------- the literature


@pytest.mark.parametrize("level", [0.3, 0.8, 2.0])
@pytest.mark.parametrize("loss", [PATH, PATH**1.5, np.sign(PATH)], ids=["distance", "power", "error"])
@pytest.mark.parametrize("prior", [np.full(6, 1 / 6), SKEWED], ids=["uniform", "skewed"])
def test_geometric_mechanism_with_remap_on_a_path(prior, loss, level):
    """It is the best for every prior and loss (Ghosh, Roughgarden and Sundararajan 2012)."""
    a = math.exp(-level)
    inner = a**PATH / (1 + a) * np.array([1, *[1 - a] * 4, 1])  # reports beyond an end say no more
    best = (prior[:, None, None] * inner[:, :, None] * loss[:, None, :]).sum(axis=0).min(axis=1).sum()
    found = proven(Program(privacy.Metric(level, PATH), objective.Loss(prior, loss)))
    assert found.value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_guessing_one_of_two_with_a_delta(delta):
    question = Program(privacy.LDP(0.7, delta), objective.Guessing([0.5, 0.5]))
    assert proven(question).value == pytest.approx((math.exp(0.7) + delta) / (1 + math.exp(0.7)))


def test_mangat():
    """One sensitive answer: it is always given as it is, the other one is hidden in it (Mangat 1994)."""
    matrix = proven(Program(privacy.Sensitive(1, [0]), objective.Guessing([0.5, 0.5]))).mechanism.matrix
    rows = matrix[:, np.argsort(-matrix[0])]
    assert rows == pytest.approx(np.array([[1, 0], [1 / E, 1 - 1 / E]]), abs=1e-12)


@pytest.mark.parametrize(("k", "m"), [(4, 1), (4, 2), (5, 2), (6, 3)])
def test_pml_of_uniform_inputs(k, m):
    """At e^ε = k/m the reports name m inputs each, and tell ε (Grosse, Saeidian and Oechtering 2023)."""
    question = Program(
        privacy.PML(math.log(k / m), [1 / k] * k), objective.MutualInformation([1 / k] * k)
    )
    assert proven(question).value == pytest.approx(math.log(k / m), abs=1e-9)


def test_pml_at_high_privacy():
    """Below e^ε = 1/(1 − min P) every ray has one entry that is smaller than the others."""
    prior = np.array([0.5, 0.3, 0.2])
    top = math.exp(0.15)
    assert top < 1 / (1 - prior.min())
    rays = np.full((3, 3), top)
    for x in range(3):
        rays[x, x] = (1 - top * (1 - prior[x])) / prior[x]
    weights = np.linalg.solve(rays, np.ones(3))
    value = (weights * (prior[:, None] * rays * np.log(rays)).sum(axis=0)).sum()
    question = Program(privacy.PML(0.15, prior), objective.MutualInformation(prior))
    assert proven(question).value == pytest.approx(value, abs=1e-10)


def test_maximal_leakage_with_hamming_loss():
    """The likeliest inputs are named as long as e^L lasts."""
    found = proven(Program(privacy.MaximalLeakage(0.9), objective.Loss(PRIOR, 1 - np.eye(4))))
    assert found.value == pytest.approx(1 - 0.4 - 0.3 - 0.2 * (math.exp(0.9) - 2))


# ---------------------------------------------------------------- other problems


def test_ldp_is_the_staircase():
    for own in (
        (objective.MutualInformation(PRIOR), {"prior": PRIOR}),
        (objective.KL([PRIOR, PRIOR[::-1]]), {"hypotheses": [PRIOR, PRIOR[::-1]], "utility": "kl"}),
    ):
        same = solve(Staircase(1.0, **own[1])).value
        assert proven(Program(privacy.LDP(1), own[0])).value == pytest.approx(same, abs=1e-9)
        assert proven(Program(privacy.LDP(1), own[0]), "mechanism-rays").value == pytest.approx(same)


def test_a_secret_is_the_secret_staircase():
    joint = [[0.3, 0.1, 0.1], [0.1, 0.2, 0.2]]
    same = solve(SecretStaircase(prior=joint, epsilon=1.0)).value
    question = Program(
        privacy.Secret(1, [0, 0, 0, 1, 1, 1]), objective.MutualInformation(np.ravel(joint))
    )
    assert proven(question).value == pytest.approx(same, abs=1e-9)
    assert proven(question, "mechanism-rays").value == pytest.approx(same, abs=1e-9)


def test_notions_that_say_the_same():
    information = objective.MutualInformation(PRIOR)
    value = proven(Program(privacy.LDP(1), information)).value
    E_rows = [
        [E if z == j else -1 if x == j else 0 for j in range(4)]
        for x in range(4)
        for z in range(4)
        if x != z
    ]
    for same in (
        privacy.Pairs(np.ones((4, 4))),
        privacy.Metric(1, 1 - np.eye(4)),
        privacy.Given(1, (4, 1)),
        privacy.Secret(1, list("abcd")),
        privacy.Sensitive(1, range(4)),
        privacy.Scenarios(1, [np.array(PRIOR)[:, None]]),
        privacy.Cone(E_rows),
        [privacy.LDP(1), privacy.LDP(3)],
        [privacy.LDP(1), privacy.MaximalLeakage(5)],
    ):
        assert proven(Program(same, information)).value == pytest.approx(value, abs=1e-8)


def test_levels_that_are_infinite_need_no_hiding():
    levels = np.where(np.add.outer(range(4), range(4)) % 2, 1.0, math.inf)
    question = Program(privacy.Pairs(levels), objective.Guessing(PRIOR))
    two = Program(privacy.Secret(1, [0, 1, 0, 1]), objective.Guessing(PRIOR))
    assert proven(question).value == pytest.approx(proven(two).value, abs=1e-9)


def independent(prior, loss, D, costs=None, most=None):
    """The least loss over one column a decision, as a dense linear program of its own."""
    k, m = loss.shape
    rows = np.kron(np.eye(m), D)
    limit = np.zeros(len(rows))
    if costs is not None:
        rows, limit = np.vstack([rows, costs.T.ravel()]), np.append(limit, most)
    found = linprog(
        (prior[:, None] * loss).T.ravel(), rows, limit, np.tile(np.eye(k), m), np.ones(k), method="highs"
    )
    return found.fun


@pytest.mark.parametrize("seed", range(5))
def test_against_a_linear_program_of_its_own(seed):
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    prior, loss = rng.dirichlet(np.ones(k)), rng.random((k, m))
    levels = rng.random((k, k)) * 2 + 0.1
    D = np.array(
        [
            np.eye(k)[x] - math.exp(levels[x, z]) * np.eye(k)[z]
            for x in range(k)
            for z in range(k)
            if x != z
        ]
    )
    question = Program(privacy.Pairs(levels), objective.Loss(prior, loss))
    assert proven(question).value == pytest.approx(independent(prior, loss, D), abs=1e-8)
    costs = rng.random((k, m))
    constant = costs.sum(axis=0)
    most = (constant.min() + constant.mean()) / 2
    question = Program(privacy.Pairs(levels), objective.Loss(prior, loss), at_most=[(costs, most)])
    assert proven(question).value == pytest.approx(independent(prior, loss, D, costs, most), abs=1e-8)
    question = Program(privacy.Pairs(levels), objective.Loss(prior, loss), at_least=[(-costs, -most)])
    assert proven(question).value == pytest.approx(independent(prior, loss, D, costs, most), abs=1e-8)


def test_cvxpy_gives_a_second_opinion():
    question = Program(privacy.Metric(0.5, PATH), objective.Loss([1 / 6] * 6, PATH))
    second = solve(question, "mechanism-cvxpy", gap=1e-6)
    assert second.value == pytest.approx(proven(question).value, rel=1e-6)
    assert verify(second)


def test_fisher_information_is_chi_squared_nearby():
    """χ² of a small step h along the score is h² times the Fisher information, to first order."""
    prior, score, h = np.array([0.4, 0.4, 0.2]), np.array([1.0, -1.0, 0.0]), 1e-4
    fisher = proven(Program(privacy.LDP(1), objective.Fisher(prior, score))).value
    moved = prior * (1 + h * score)
    chi = solve(Program(privacy.LDP(1), objective.ChiSquared([moved, prior])), gap=1e-6).value
    assert chi / h**2 == pytest.approx(fisher, rel=1e-3)


# ---------------------------------------------------------------- notions with cuts

SQUARE = [[0.3, 0.2], [0.15, 0.35]]
SETS = {
    "known": {"p": SQUARE},
    "total-variation": {"p_hat": SQUARE, "radius": 0.02},
    "chi-squared": {"p_hat": SQUARE, "n": 1000},
}


@pytest.mark.parametrize("kind", SETS)
def test_information_that_is_robust_is_that_of_the_set(kind):
    """The same optimum as by the tree of boxes of set-optimum."""
    F = {"kind": kind, **SETS[kind]}
    found = proven(
        Program(privacy.Robust(1, F), objective.MutualInformation(np.ravel(SQUARE))), gap=1e-6
    )
    assert found.value == pytest.approx(solve(SetOptimum(1.0, F)).value, abs=1e-8)


def test_scenarios_are_a_set():
    other = [[0.25, 0.25], [0.2, 0.3]]
    F = {"kind": "scenarios", "members": [SQUARE, other]}
    guess = objective.Guessing(np.ravel(SQUARE))
    found = proven(Program(privacy.Robust(1, F), guess), gap=1e-6)
    # mixtures of the two are members of the set, too
    assert found.value <= proven(Program(privacy.Scenarios(1, [SQUARE, other]), guess)).value + 1e-9


@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_two_inputs_under_renyi_privacy_have_randomised_response(order):
    """What two hypotheses can be told apart is least told by it, at the level of its divergence."""

    def divergence(p):
        return math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (
            order - 1
        )

    best = brentq(lambda p: divergence(p) - 0.5, 0.5, 1 - 1e-9, xtol=1e-14)
    found = proven(Program(privacy.Renyi(0.5, order), objective.Guessing([0.5, 0.5])))
    assert found.value == pytest.approx(best, abs=1e-9)


def test_renyi_privacy_of_order_two_against_a_convex_program():
    prior = np.array([0.5, 0.3, 0.2])
    W = cvxpy.Variable((3, 3), nonneg=True)
    limits = [cvxpy.sum(W, axis=1) == 1]
    for x in range(3):
        for z in range(3):
            if x != z:
                spent = sum(cvxpy.quad_over_lin(W[x, y], W[z, y]) for y in range(3))
                limits.append(spent <= math.exp(0.7))
    best = cvxpy.Problem(cvxpy.Maximize(prior @ cvxpy.diag(W)), limits).solve(solver="CLARABEL")
    found = proven(Program(privacy.Renyi(0.7, 2), objective.Guessing(prior)))
    assert found.value == pytest.approx(best, abs=1e-7)


def test_renyi_privacy_asks_less_than_ldp():
    guess = objective.Guessing(PRIOR)
    pure = proven(Program(privacy.LDP(0.5), guess)).value
    values = [proven(Program(privacy.Renyi(0.5, order), guess)).value for order in (30, 5)]
    assert pure < values[0] < values[1]


@pytest.mark.slow
def test_smooth_objectives_of_three_inputs_end_with_a_gap():
    """Cells between tangents are too many to list; value and bound are proven all the same."""
    question = Program(privacy.Renyi(0.5, 2), objective.MutualInformation([0.5, 0.3, 0.2]))
    result = solve(question)
    assert result.status.value == "gap"
    assert result.value < result.bound < 1.2 * result.value
    assert verify(result)


def test_notions_with_cuts_are_measured():
    question = Program([privacy.Renyi(0.5, 2), privacy.LDP(1)], objective.Guessing([0.5, 0.3, 0.2]))
    mechanism = proven(question).mechanism
    (own,) = question.subject(mechanism).own
    W = mechanism.matrix
    worst = max(math.log((W[x] ** 2 / W[z]).sum()) for x in range(3) for z in range(3) if x != z)
    assert own.measure.name == "Rényi divergence of order 2"
    assert own.value == pytest.approx(worst)
    assert own.promised == 0.5
    assert 0.499 < own.value <= 0.5
    F = {"kind": "total-variation", "p_hat": SQUARE, "radius": 0.02}
    question = Program(privacy.Robust(1, F), objective.Guessing(np.ravel(SQUARE)))
    (own,) = question.subject(solve(question).mechanism).own
    assert 0.999 < own.value <= 1 + 1e-9


# ---------------------------------------------------------------- two reports


def test_the_best_of_two_reports_by_trying_all():
    """Binary mechanisms under ε-LDP answer to a set of inputs by randomised response."""
    rng = np.random.default_rng(4)
    for level in (0.5, 2.0):
        prior, p, q = rng.dirichlet(np.ones(4), size=3)
        high = math.exp(level) / (1 + math.exp(level))
        subsets = np.array(list(itertools.product([1 - high, high], repeat=4)))

        def information(w, prior=prior):
            told = (prior * w).sum()
            return (prior * w * np.log(w / told)).sum()

        best = max(information(w) + information(1 - w) for w in subsets)
        found = proven(Program(privacy.LDP(level), objective.MutualInformation(prior), max_outputs=2))
        assert found.value == pytest.approx(best, abs=1e-12)
        assert found.mechanism.matrix.shape == (4, 2)
        best = max(abs((p - q) @ w) for w in subsets)
        told = objective.TotalVariation([p, q])
        found = proven(Program(privacy.LDP(level), told, max_outputs=2))
        assert found.value == pytest.approx(best, abs=1e-12)


def test_two_reports_of_a_grid_are_no_better():
    """Budgets that couple the reports: no private w of a fine grid gains more."""
    prior = [0.6, 0.4]
    grid = np.linspace(0, 1, 101)
    for notion in (privacy.LDP(0.5, 0.1), privacy.MaximalLeakage(0.3), privacy.Renyi(0.5, 2)):
        question = Program(notion, objective.MutualInformation(prior), max_outputs=2)
        found = proven(question)
        kept = [
            np.array([[a, 1 - a], [b, 1 - b]])
            for a, b in itertools.product(grid, repeat=2)
            if used(np.array([[a, 1 - a], [b, 1 - b]]), question.question.parts[0]) <= 1
        ]
        assert len(kept) > 250
        best = max(question.sublinear(W).sum() for W in kept)
        assert found.value - 0.01 < best <= found.bound + 1e-12


def test_max_outputs_is_two_and_of_sums():
    with pytest.raises(InvalidInputError, match="max_outputs must be 2, not 3"):
        Program(privacy.LDP(1), objective.Guessing(PRIOR), max_outputs=3)
    with pytest.raises(InvalidInputError, match="max_outputs is for sums"):
        Program(privacy.LDP(1), objective.LogDet(PRIOR), max_outputs=2)
    with pytest.raises(NoSolverError, match="at most two reports"):
        solve(Program(privacy.LDP(1), objective.Guessing(PRIOR), max_outputs=2), "mechanism-highs")


# ---------------------------------------------------------------- designs


def test_uniform_inputs_have_subset_selection_as_best_design():
    """J is τK/(K − 1) on what sums to 0; τ = max_m m(K − m)(E − 1)²/(mE + K − m)²."""
    for k, level in ((3, 0.5), (4, 1.0), (5, 2.0)):
        e = math.exp(level)
        tau = max(m * (k - m) * (e - 1) ** 2 / (m * e + k - m) ** 2 for m in range(1, k))
        share, prior = k * tau / (k - 1), [1 / k] * k
        det = proven(Program(privacy.LDP(level), objective.LogDet(prior)))
        assert det.value == pytest.approx(math.log(k) + (k - 1) * math.log(share), abs=1e-9)
        error = proven(Program(privacy.LDP(level), objective.Queries(np.eye(k), prior)))
        assert error.value == pytest.approx((k - 1) / share, rel=1e-9)


@pytest.mark.parametrize("queries", [[[1, 0, 0, 0]], [[1, 1, 0, 0], [1, 0, 1, 0]], np.tri(4)])
def test_queries_are_those_of_robust_fidelity(queries):
    """Also with one query alone, where the best information is singular."""
    found = proven(Program(privacy.LDP(1), objective.Queries(queries, PRIOR)))
    other = solve(RobustFidelity(1.0, [[p] for p in PRIOR], queries))
    assert other.bound - 1e-9 <= found.value <= other.value + 1e-9


def designed(prior, D, queries=None, leakage=None):
    """The best design over one column for each of many directions, by cvxpy: a bound from inside."""
    k, rng = len(prior), np.random.default_rng(5)
    columns = [np.ones(k)]
    for _ in range(300):
        found = linprog(-rng.normal(size=k), D, np.zeros(len(D)), np.ones((1, k)), [1.0])
        columns.append(found.x)
    V = np.unique(np.round(columns, 12), axis=0).T
    theta = cvxpy.Variable(V.shape[1], nonneg=True)
    X = V / np.sqrt(prior @ V)
    J = sum(theta[i] * np.outer(x, x) for i, x in enumerate(X.T))
    limits = [V @ theta == 1]
    if leakage is not None:
        limits.append(V.max(axis=0) @ theta <= math.exp(leakage))
    if queries is None:
        model = cvxpy.Problem(cvxpy.Maximize(cvxpy.log_det(J)), limits)
    else:
        centred = queries - (queries @ prior)[:, None]
        model = cvxpy.Problem(cvxpy.Minimize(sum(cvxpy.matrix_frac(c, J) for c in centred)), limits)
    return model.solve(solver="CLARABEL")


def test_designs_against_a_program_of_their_own():
    rng = np.random.default_rng(2)
    prior, queries = rng.dirichlet(np.full(3, 3.0)), rng.normal(size=(3, 3))
    places = np.abs(np.subtract.outer(range(3), range(3)))
    D = np.array(
        [
            np.eye(3)[x] - math.exp(places[x, z]) * np.eye(3)[z]
            for x in range(3)
            for z in range(3)
            if x != z
        ]
    )
    metric = privacy.Metric(1, places)
    found = proven(Program(metric, objective.LogDet(prior)))
    assert found.value == pytest.approx(designed(prior, D), abs=1e-6)
    found = proven(Program(metric, objective.Queries(queries, prior)))
    assert found.value == pytest.approx(designed(prior, D, queries), rel=1e-6)
    both = [metric, privacy.MaximalLeakage(0.2)]
    found = proven(Program(both, objective.LogDet(prior)))
    inside = designed(prior, D, leakage=0.2)  # over rays of the metric alone: other columns leak less
    assert inside - 1e-6 <= found.value


def test_no_mechanism_has_a_better_design_than_the_bound():
    """Random private mechanisms; the error and log det from their definitions."""
    rng = np.random.default_rng(3)
    prior, queries = np.array(PRIOR), rng.normal(size=(2, 4))
    least = proven(Program(privacy.LDP(1), objective.Queries(queries, prior))).bound
    most = proven(Program(privacy.LDP(1), objective.LogDet(prior))).bound
    for _ in range(100):
        columns = 1 + (E - 1) * rng.random((4, 8)).round(1)
        rest = 9 - columns.sum(axis=1) / columns.sum(axis=1).max()  # entries from 8 to 9: a small level
        W = np.column_stack([columns / columns.sum(axis=1).max(), rest]) / 9
        assert W.sum(axis=1) == pytest.approx(np.ones(4))
        assert np.log(W.max(axis=0) / W.min(axis=0)).max() <= 1 + 1e-12
        J = (W / (prior @ W)) @ W.T
        inverse = np.linalg.inv(J)
        assert sum(c @ inverse @ c - (c @ prior) ** 2 for c in queries) >= least
        assert np.linalg.slogdet(J)[1] <= most


def test_a_design_needs_its_vectors(tmp_path):
    path = saved(Program(privacy.LDP(1), objective.LogDet(PRIOR)), tmp_path)
    genuine = json.loads(path.read_text())
    vectors = genuine["certificate"]["proof"]["vectors"]
    for forged, verdict in (
        (None, None),
        (vectors[:3], None),
        ([vectors[0], *vectors[:3]], None),
        ((np.array(vectors) * (1 + 1e-3)).tolist(), False),
        ((np.array(vectors) * (1 - 1e-3)).tolist(), False),
    ):
        document = copy.deepcopy(genuine)
        if forged is None:
            del document["certificate"]["proof"]["vectors"]
        else:
            document["certificate"]["proof"]["vectors"] = forged
        path.write_text(json.dumps(document))
        if verdict is None:
            with pytest.raises(UnreadableFileError, match="vectors"):
                verify(path)
        else:
            assert verify(path).verdict is verdict


# ---------------------------------------------------------------- files


def saved(question, tmp_path):
    path = tmp_path / "result.json"
    solve(question).save(path)
    return path


@pytest.mark.parametrize(
    "question",
    [
        Program(privacy.Metric(0.5, PATH), objective.Loss([1 / 6] * 6, PATH)),
        Program([privacy.LDP(2), privacy.MaximalLeakage(0.5)], objective.MutualInformation(PRIOR)),
        Program(privacy.LDP(1, 0.05), objective.Guessing(PRIOR)),
        Program(privacy.Sensitive(1, [0, 1]), objective.MutualInformation(PRIOR)),
        Program(privacy.LDP(1), objective.LogDet(PRIOR)),
        Program(privacy.PML(0.5, PRIOR), objective.Queries(np.tri(4), PRIOR)),
    ],
    ids=["metric", "two", "delta", "sensitive", "log-det", "queries"],
)
def test_forgeries_are_refuted(question, tmp_path):
    path = saved(question, tmp_path)
    genuine = json.loads(path.read_text())
    assert verify(path)
    sign = 1 if question.sense == "maximise" else -1

    def verdict(change):
        forged = copy.deepcopy(genuine)
        change(forged)
        path.write_text(json.dumps(forged))
        return verify(path)

    def raise_value(d):
        d["value"] += sign * 1e-9
        d["bound"] += sign * 1e-9
        d.pop("gap", None)

    def lower_bound(d):
        d["bound"] = d["value"] = d["value"] - sign * 1e-9
        d.pop("gap", None)
        d["certificate"]["proof"]["dual"][0] -= 1e-9

    def less_private(d):
        (part,) = d["params"]["privacy"][0].values()
        part["epsilon"] *= 0.999

    for change in (raise_value, lower_bound, less_private):
        assert verdict(change).verdict is False, change.__name__


def test_a_proof_without_its_multipliers_proves_nothing(tmp_path):
    question = Program(privacy.Metric(0.5, PATH), objective.Loss([1 / 6] * 6, PATH))
    path = saved(question, tmp_path)
    forged = json.loads(path.read_text())
    for column in forged["certificate"]["proof"]["rows"].values():
        column.clear()
    path.write_text(json.dumps(forged))
    assert verify(path).verdict is False


def test_a_budget_without_a_price_is_not_spent(tmp_path):
    """A smaller price of the budget lowers the bound; the rays then refute it."""
    question = Program([privacy.LDP(2), privacy.MaximalLeakage(0.5)], objective.MutualInformation(PRIOR))
    path = saved(question, tmp_path)
    forged = json.loads(path.read_text())
    forged["certificate"]["proof"]["prices"] = [0.0]
    path.write_text(json.dumps(forged))
    assert verify(path).verdict is False


def test_files_hold_words_that_a_person_can_write(tmp_path, ldpopt):
    path = tmp_path / "question.json"
    path.write_text(
        json.dumps(
            {
                "problem": "program",
                "params": {
                    "privacy": [{"ldp": {"epsilon": 1, "delta": 0.05}}],
                    "maximise": {"guessing": {"prior": [0.5, 0.5]}},
                },
            }
        )
    )
    out = tmp_path / "best.json"
    assert ldpopt("solve", path, "--out", out).code == 0
    said = ldpopt("verify", out)
    assert said.code == 0
    assert "every set of reports has p ≤ e^1.0 p' + 0.05" in said.out


def test_a_bound_under_side_conditions_is_about_the_report_of_each_piece():
    """Randomised response that calls the input 0 "3" keeps the condition, and guesses better."""
    often = np.outer(PRIOR, [1, 0, 0, 0])
    bounded = proven(Program(privacy.LDP(1), objective.Guessing(PRIOR), at_most=[(often, 0.3)]))
    renamed = ((np.ones((4, 4)) + (E - 1) * np.eye(4)) / (E + 3))[:, [3, 1, 2, 0]]
    assert (often * renamed).sum() <= 0.3
    assert (np.array(PRIOR)[:, None] * renamed).max(axis=0).sum() > bounded.bound + 0.003
    claims = {claim.what: claim for claim in verify(bounded).claims}
    assert "probability of guessing" not in claims["value"].statement
    assert claims["bound"].about == "mechanisms of this privacy and these side conditions"


def test_questions_survive_json():
    question = Program(
        [privacy.Pairs([[0, math.inf], [1, 0]]), privacy.LDP(3)],
        objective.Loss([0.5, 0.5], [[0, 1], [1, 0]]),
        at_most=[([[1, 0], [0, 1]], 1.5)],
    )
    params = json.loads(json.dumps(question.to_params()))
    assert params["privacy"][0] == {"pairs": {"levels": [[0, None], [1, 0]]}}
    assert Program.from_params(**params).to_params() == params


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parts", "goal", "words"),
    [
        (privacy.LDP(-1), objective.Guessing(PRIOR), r"privacy\[0\].ldp.epsilon must be"),
        (privacy.LDP(1, 2), objective.Guessing(PRIOR), r"privacy\[0\].ldp.delta must be"),
        (privacy.PML(1, [0.5, 0.5]), objective.Guessing(PRIOR), "prior must be 4, the number of inputs"),
        (privacy.Metric(1, [[0, 1], [2, 0]]), objective.Guessing([0.5, 0.5]), "symmetric"),
        (privacy.Metric(1, [[0, 40], [40, 0]]), objective.Guessing([0.5, 0.5]), "at most 30"),
        (privacy.Sensitive(1, [4]), objective.Guessing(PRIOR), "from 0 to 3"),
        (privacy.Secret(1, list("aaaa")), objective.Guessing(PRIOR), "two different labels"),
        (privacy.LDP(1), objective.Fisher(PRIOR, [1, 1, 1, 1]), "mean 0"),
        (privacy.LDP(1), objective.Renyi([PRIOR, PRIOR], 1), "order other than 1"),
        (privacy.Renyi(1, 1), objective.Guessing(PRIOR), "order must be"),
        (
            privacy.Robust(1, {"kind": "known", "p": [[0.5, 0.5]]}),
            objective.Guessing(PRIOR),
            "p must be",
        ),
        (
            privacy.Robust(1, {"kind": "known", "p": SQUARE}),
            objective.Guessing([0.5, 0.5]),
            "cells of the uncertainty set must be 2",
        ),
        (privacy.Robust(1, 3), objective.Guessing(PRIOR), "uncertainty must be"),
        (privacy.LDP(1), objective.LogDet([0.5, 0.5, 0]), "log-det needs a prior without zeros"),
        (privacy.LDP(1), objective.Queries([[1, 0]], PRIOR), "4 entries, one for each input, not 2"),
        (privacy.LDP(1), objective.Queries([[1] * 4], PRIOR), "two different entries"),
        ([], objective.Guessing(PRIOR), "privacy must be"),
        ("ldp", objective.Guessing(PRIOR), "a part must be a Privacy"),
        ({"lpd": {}}, objective.Guessing(PRIOR), "one of ldp, secret"),
        ({"ldp": {"eps": 1}}, objective.Guessing(PRIOR), "ldp takes epsilon, delta"),
        ({"ldp": {}}, objective.Guessing(PRIOR), "ldp needs epsilon, delta"),
    ],
)
def test_bad_parts_get_a_sentence(parts, goal, words):
    with pytest.raises(InvalidInputError, match=words):
        Program(parts, goal)


def test_selections_are_listed_or_cuts(monkeypatch):
    """Both ways to the leakage about a secret have one optimum; the second needs a few selections."""
    secrets = [0, 1, 0, 1, 2, 0, 1, 2]
    prior = np.random.default_rng(7).dirichlet(np.ones(8))
    cases = [
        (privacy.StatisticLeakage(0.3, secrets), objective.Guessing(prior)),
        ([privacy.LDP(1), privacy.StatisticLeakage(0.1, secrets)], objective.Guessing(prior)),
    ]
    listed = [proven(Program(*case)).value for case in cases]
    for module in (cut_parts, privacy):
        monkeypatch.setattr(module, "MOST_SELECTIONS", 1)
    for case, value in zip(cases, listed, strict=True):
        found = proven(Program(*case))
        assert found.value == pytest.approx(value, abs=1e-9)
        assert 0 < len(found.certificate.proof["cuts"][-1]) < 18
        (own,) = found.problem.subject(found.mechanism).own
        assert own.value == pytest.approx(own.promised, abs=1e-9)


def test_side_conditions_need_pieces():
    with pytest.raises(InvalidInputError, match="linear pieces, not mutual-information"):
        Program(privacy.LDP(1), objective.MutualInformation(PRIOR), at_most=[(np.ones((4, 4)), 1)])
    with pytest.raises(InvalidInputError, match="costs must be 4 × 4"):
        Program(privacy.LDP(1), objective.Guessing(PRIOR), at_most=[(np.ones((4, 3)), 1)])
    with pytest.raises(InvalidInputError, match="a pair"):
        Program(privacy.LDP(1), objective.Guessing(PRIOR), at_most=[3])


def test_the_sense_is_that_of_the_objective():
    with pytest.raises(InvalidInputError, match="loss is minimised, not maximised"):
        ldpopt.problem(
            "program",
            privacy=[{"ldp": {"epsilon": 1}}],
            maximise={"loss": {"prior": [0.5, 0.5], "loss": [[0, 1], [1, 0]]}},
        )


def test_side_conditions_that_nothing_meets_are_infeasible():
    question = Program(privacy.LDP(1), objective.Guessing(PRIOR), at_most=[(np.ones((4, 4)), 1)])
    assert solve(question).status.value == "infeasible"


def cheapest(notions, goal, conditions=()):
    """The optimum of a loss by a linear program over one column for each decision and cone."""
    k, m = np.shape(goal.loss)
    cones = [np.array(rows) for rows in notions]
    count, ratios, costs = len(cones), [], []
    for at in range(m * count):
        place = np.eye(m * count)[at]
        ratios.append(np.kron(place, -cones[at % count]))
    spread = np.repeat(np.array(goal.prior)[:, None] * goal.loss, count, axis=1)
    for matrix, _ in conditions:
        costs.append(np.repeat(matrix, count, axis=1).T.ravel())
    upper = np.vstack([*ratios, *costs])
    limit = np.append(np.zeros(len(upper) - len(costs)), [most for _, most in conditions])
    rows = np.tile(np.eye(k), m * count)
    found = linprog(spread.T.ravel(), upper, limit, rows, np.ones(k), method="highs-ipm")
    return found.fun if found.status == 0 else None


def ratio_rows(k, epsilon, alone=()):
    """The cones of Sensitive: rows a with a·w ≥ 0; one cone more for each input of ``alone``."""
    unit = np.eye(k)
    hidden = [unit[z] - math.exp(-epsilon) * unit[x] for x, z in permutations(range(k), 2)]
    return [hidden, *([-unit[z] for z in range(k) if z != x] for x in alone)]


@pytest.mark.parametrize("epsilon", [0.5, 15, 21, 30])
@pytest.mark.parametrize("second", [None, 0.5])
def test_large_levels_are_proven(epsilon, second):
    goal = objective.Loss(PRIOR, np.abs(np.subtract.outer(range(4), range(4))) ** 0.5)
    notions = [privacy.LDP(level) for level in (epsilon, second) if level is not None]
    found = proven(Program(notions, goal))
    expected = cheapest(ratio_rows(4, min(epsilon, second or 99)), goal)
    assert found.value == pytest.approx(expected, abs=1e-8)
    assert solve(Program(privacy.LDP(epsilon, 0.01), goal)).status.value == "optimal"


@pytest.mark.parametrize("epsilon", [1, 30])
def test_side_conditions_hold_for_unions_of_cones(epsilon):
    """Sensitive has reports of one input alone: several reports for each decision."""
    goal = objective.Loss(PRIOR, 1 - np.eye(4))
    often = np.outer(PRIOR, [1, 0, 0, 0])
    question = Program(privacy.Sensitive(epsilon, [0, 1]), goal, at_most=[(often, 0.3)])
    found = proven(question)
    expected = cheapest(ratio_rows(4, epsilon, [2, 3]), goal, [(often, 0.3)])
    assert found.value == pytest.approx(expected, abs=1e-8)
    assert found.mechanism.shape[1] == 12
    document = found.to_json()
    assert opinion(json.dumps(document)) == "verified"
    document["mechanism"]["outputs"] = list(range(13))
    document["mechanism"]["matrix"] = [
        [*row[:11], 0.0, row[11]] for row in found.mechanism.matrix.tolist()
    ]
    with pytest.raises(UnreadableFileError, match="as many columns for each of 4 pieces, not 13"):
        verify_document(document, question)


@pytest.mark.parametrize("notion", [privacy.PML(0.5, PRIOR), privacy.LDP(1, 0.05)])
def test_a_report_that_costs_too_much_is_never_given(notion):
    often = np.outer(PRIOR, [1, 0, 0, 0])
    found = proven(Program(notion, objective.Guessing(PRIOR), at_most=[(often, 0)]))
    assert not found.mechanism.matrix[:, 0].any()


def test_side_conditions_without_room_for_rounding_are_refused():
    often = np.outer(PRIOR, [1, 0, 0, 0])
    ends = {"at_most": [(often, 0.3)], "at_least": [(often, 0.3)]}
    with pytest.raises(SolverError, match="the side conditions leave rounding no room"):
        solve(Program(privacy.LDP(1), objective.Guessing(PRIOR), **ends))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1e-2])
def test_designs_at_small_levels_are_proven(epsilon):
    """Randomised response estimates p from q = c p + (1 − c)/2 with the variance q (1 − q)/c²."""
    c = math.tanh(epsilon / 2)
    q = 0.4 * c + (1 - c) / 2
    found = proven(Program(privacy.LDP(epsilon), objective.Queries([[1, 0]], [0.4, 0.6])))
    assert found.value == pytest.approx(q * (1 - q) / c**2, rel=1e-8)
    square = 2 * math.log(c) - math.log(q * (1 - q))  # det J = c²/(q (1 − q)) at k = 2
    assert proven(Program(privacy.LDP(epsilon), objective.LogDet([0.4, 0.6]))).value == pytest.approx(
        square, abs=1e-8
    )
    proven(Program(privacy.Sensitive(epsilon, [0]), objective.LogDet([0.4, 0.6])))
    leaked = Program(privacy.MaximalLeakage(epsilon), objective.Queries([[1, 0]], [0.4, 0.6]))
    proven(leaked, gap=1e-9 if epsilon > 1e-5 else 1e-6)


@pytest.mark.parametrize("goal", ["queries", "log-det"])
def test_designs_of_a_small_leakage_are_proven(goal):
    """Four directions of which the budget leaves little: coordinates and repair must not lose one."""
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    asked = objective.LogDet(prior)
    if goal == "queries":
        asked = objective.Queries([[1, 0, 0, 0], [0, 1, 0, 1]], prior)
    for leakage in (1e-3, 1e-2):
        proven(Program([privacy.LDP(2), privacy.MaximalLeakage(leakage)], asked))


def test_designs_without_a_mechanism_are_told_from_those_that_stay_blind():
    goal = objective.LogDet([0.4, 0.6])
    assert solve(Program(privacy.Cone([[-1, -1]]), goal)).status.value == "infeasible"
    assert solve(Program(privacy.Cone([[-1, 0]]), goal)).status.value == "infeasible"
    for rows in ([[1, -1], [-1, 1]], [[1, -1], [2, 2]]):  # w₀ ≥ w₁, and both sum to 1: all are constant
        with pytest.raises(SolverError, match="leaves some frequencies open"):
            solve(Program(privacy.Cone(rows), goal))


@pytest.mark.parametrize("leakage", [1e-8, 1e-4, 0.3])
def test_small_leakages_are_proven(leakage):
    """Of two inputs, each named with the chance e^L − 1: what is named is told."""
    named = math.expm1(leakage)
    question = Program(privacy.MaximalLeakage(leakage), objective.MutualInformation([0.5, 0.5]))
    assert proven(question, gap=1e-6).value == pytest.approx(named * math.log(2), rel=1e-6)


def test_what_no_solver_takes_is_said():
    question = Program(privacy.LDP(1, 0.1), objective.MutualInformation(PRIOR))
    with pytest.raises(NoSolverError, match="not the largest of linear functions"):
        solve(question, "mechanism-highs")


@pytest.mark.parametrize("goal", [objective.MutualInformation(PRIOR), objective.LogDet(PRIOR)])
def test_a_list_of_rays_without_end_ends_with_the_time(goal):
    def endless():
        while True:
            pass

    form = next(iter(Program(privacy.PML(0.5, PRIOR), goal).forms()))
    solver = SOLVERS["mechanism-rays" if goal.name == "mutual-information" else "mechanism-design"]()
    with pytest.raises(OutOfTime):
        solver.run(replace(form, rays=endless), Limits(deadline=time.monotonic() + 0.1))


def test_rays_of_too_many_cuts_are_not_listed(monkeypatch):
    """A round of cuts multiplies them: the answer of the rounds before stays, and nothing crashes."""
    asked = Program(privacy.Renyi(1, 2), objective.Guessing([0.5, 0.3, 0.2]))
    monkeypatch.setattr(_composition, "MOST_ON_THE_WAY", 30)
    first = solve(asked, "mechanism-rays")
    monkeypatch.setattr(_composition, "MOST_ON_THE_WAY", 700)
    second = solve(asked, "mechanism-rays")
    assert (first.status, second.status) == (Status.GAP, Status.GAP)
    assert first.stats["rays"] <= 30 < second.stats["rays"] <= 700
    assert second.gap < first.gap
    assert verify(first).verdict
