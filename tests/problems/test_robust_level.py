"""Levels over uncertainty sets: an independent optimiser finds the same, and nothing more."""

import json
import math

import numpy as np
import pytest
from forgeries.contradicting import judged
from scipy.optimize import minimize

from ldpopt import problem, solve
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Status
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.uncertainty_sets import Chi2Set

SHAPE = (2, 2)


def instance(kind, seed):
    """A random table, a set of the kind around it, and a mechanism."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 3.0)).reshape(SHAPE)
    least = p.sum(axis=1).min()
    described = {
        "known": {"p": p},
        "scenarios": {"members": [rng.dirichlet(np.full(4, 3.0)).reshape(SHAPE) for _ in range(3)]},
        "total-variation": {"p_hat": p, "radius": least / 3},
        "kullback-leibler": {"p_hat": p, "radius": least / 4},
        "likelihood": {"p_hat": p, "radius": 0.1},
        "hellinger": {"p_hat": p, "radius": math.sqrt(least / 5)},
        "wasserstein": {"p_hat": p, "radius": least / 3},
        "chi-squared": {"p_hat": p, "n": 60},
        "credible": {"counts": rng.multinomial(80, p.ravel()).reshape(SHAPE)},
    }[kind]
    rows = 0.7 * rng.dirichlet(np.ones(2), size=4) + 0.15
    return ConvexSet(kind, **described), rows


def others(F):
    """The set once more, for scipy: start, bounds, constraints and the map to the cells."""
    p, plain = F.center.ravel(), F.plain
    k, radius = len(p), plain.get("radius")
    sums = {"type": "eq", "fun": lambda v: v.sum() - 1}
    inside = [(1e-9, 1)] * k
    if F.kind in ("known", "scenarios"):
        listed = [plain["p"]] if F.kind == "known" else plain["members"]
        members = np.array(listed).reshape(-1, k)
        return np.full(len(members), 1 / len(members)), [(0, 1)] * len(members), [sums], members.T
    if F.kind == "total-variation":  # gains, then losses
        both = np.hstack([np.eye(k), -np.eye(k)])
        spent = [
            {"type": "eq", "fun": lambda v: v[:k].sum() - v[k:].sum()},
            {"type": "ineq", "fun": lambda v: radius - v[:k].sum()},
        ]
        return np.zeros(2 * k), [(0, 1)] * k + [(0, q) for q in p], spent, (both, p)
    if F.kind == "wasserstein":  # how much moves from where to where
        cells = [(s, u) for s in range(SHAPE[0]) for u in range(SHAPE[1])]
        far = np.array([[abs(u - v) + (s != z) for z, v in cells] for s, u in cells], float).ravel()
        rows = np.kron(np.eye(k), np.ones(k))
        spent = [
            {"type": "eq", "fun": lambda v: rows @ v - p},
            {"type": "ineq", "fun": lambda v: radius - far @ v},
        ]
        return np.diag(p).ravel(), [(0, 1)] * k * k, spent, np.kron(np.ones(k), np.eye(k))
    if F.kind == "credible":
        from scipy.stats import beta

        n = np.array(plain["counts"], float).ravel() + 0.5
        tail = 0.05 / (2 * k)
        ends = [beta.ppf([tail, 1 - tail], a, n.sum() - a) for a in n]
        return p, [tuple(end) for end in ends], [sums], np.eye(k)
    away = {
        "kullback-leibler": lambda v: radius - (v * np.log(v / p)).sum(),
        "likelihood": lambda v: radius - (p * np.log(p / v)).sum(),
        "hellinger": lambda v: np.sqrt(p * v).sum() - (1 - radius**2),
    }
    if F.kind == "chi-squared":
        bound = Chi2Set(F.center, plain["n"]).bound
        away[F.kind] = lambda v: bound - ((p - v) ** 2 / v).sum()
    return p, inside, [sums, {"type": "ineq", "fun": away[F.kind]}], np.eye(k)


def independent(F, rows, seed):
    """The level by scipy's SLSQP from several starts."""
    start, bounds, constraints, to_cells = others(F)
    linear, constant = to_cells if isinstance(to_cells, tuple) else (to_cells, 0.0)
    rng, best = np.random.default_rng(seed), -math.inf
    for y in range(rows.shape[1]):
        column = rows[:, y].reshape(SHAPE)
        for s, z in ((0, 1), (1, 0)):

            def loss(v, s=s, z=z, column=column):
                P = (linear @ v + constant).reshape(SHAPE)
                return math.log(P[z] @ column[z] / P[z].sum()) - math.log(P[s] @ column[s] / P[s].sum())

            for trial in range(2):
                first = np.clip(start + trial * 0.02 * rng.normal(size=len(start)), *np.array(bounds).T)
                found = minimize(
                    loss,
                    first,
                    bounds=bounds,
                    constraints=constraints,
                    options={"maxiter": 300, "ftol": 1e-13},
                )
                feasible = all(
                    np.all(np.abs(c["fun"](found.x)) < 1e-8)
                    if c["type"] == "eq"
                    else c["fun"](found.x) > -1e-8
                    for c in constraints
                )
                if feasible:
                    best = max(best, -found.fun)
    return best


KINDS = (
    "known",
    "scenarios",
    "total-variation",
    "kullback-leibler",
    "likelihood",
    "hellinger",
    "wasserstein",
    "chi-squared",
    "credible",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 3, 4))])
def test_levels_agree_with_an_independent_optimiser(kind, seed):
    F, rows = instance(kind, seed)
    found = solve(problem("robust-level", matrix=rows, uncertainty=F))
    assert found.status is Status.OPTIMAL
    assert judged(found.to_json()) == "verified"
    assert independent(F, rows, seed) == pytest.approx(found.value, abs=1e-6)
    assert rldp_level(rows, F).level == pytest.approx(found.value, abs=1e-9)


def test_the_chi_squared_set_has_the_level_of_the_other_audit():
    for seed in (3, 4):
        F, rows = instance("chi-squared", seed)
        other = rldp_level(rows, Chi2Set(F.center, F.plain["n"]))
        found = solve(problem("robust-level", matrix=rows, uncertainty=F))
        assert found.value == pytest.approx(other.level, abs=1e-9)


def test_members_lie_below_the_level():
    for kind in KINDS:
        F, rows = instance(kind, 5)
        level = rldp_level(rows, F).level
        rng = np.random.default_rng(0)
        for _ in range(20):
            P = F.sample(rng)
            assert F.contains(P)
            given = np.einsum("su,suy->sy", P / P.sum(axis=1, keepdims=True), rows.reshape(2, 2, -1))
            assert abs(np.log(given[0] / given[1])).max() <= level + 1e-9


def test_a_larger_radius_has_a_larger_level():
    F, rows = instance("total-variation", 6)
    levels = [
        rldp_level(rows, ConvexSet("total-variation", p_hat=F.center, radius=r)).level
        for r in (0.01, 0.05, 0.1)
    ]
    assert levels == sorted(levels)
    assert levels[0] > rldp_level(rows, ConvexSet("known", p=F.center)).level


def test_an_output_that_one_secret_never_sends_has_no_level():
    known = {"kind": "known", "p": [[0.25, 0.25], [0.25, 0.25]]}
    rows = [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    assert solve(problem("robust-level", matrix=rows, uncertainty=known)).status is Status.UNBOUNDED


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"radius": 0.6}, "positive probability"),
        ({"radius": 0.0}, "radius"),
        ({"radius": float("nan")}, "radius"),
        ({"p_hat": [[0.5, 0.5], [0.5, 0.5]]}, "sum to 1"),
        ({"kind": "manhattan"}, "kind must be one of"),
        ({"raduis": 0.1}, "no key 'raduis'"),
    ],
)
def test_what_is_not_a_set_is_refused(changed, words):
    plain = {"kind": "total-variation", "p_hat": [[0.25, 0.25], [0.25, 0.25]], "radius": 0.1, **changed}
    with pytest.raises(InvalidInputError, match=words):
        ConvexSet(**plain)
    with pytest.raises(InvalidInputError, match=words):
        problem("robust-level", matrix=np.full((4, 2), 0.5), uncertainty=plain)


def test_tables_and_rows_that_do_not_fit_are_refused():
    """With a sentence, as the checker does, not by the arrays that they would become."""
    members = [[[0.5, 0.0], [0.2, 0.3]], [[0.5, 0.2], [0.3]]]
    for given, words in ((members, "2 or more entries"), ([[[True, 0.0], [0.0, 0.0]]], "finite number")):
        with pytest.raises(InvalidInputError, match=words):
            ConvexSet("scenarios", members=given)
    with pytest.raises(
        InvalidInputError, match=r"matrix must be a list of 4 or more entries, .* not a list of 3"
    ):
        problem(
            "robust-level",
            matrix=np.full((3, 2), 0.5),
            uncertainty={"kind": "known", "p": [[0.25] * 2] * 2},
        )


@pytest.mark.parametrize("kind", KINDS)
def test_forgeries(kind):
    """A witness outside the set, a higher value and a lower bound are not verified."""
    F, rows = instance(kind, 7)
    genuine = json.dumps(solve(problem("robust-level", matrix=rows, uncertainty=F)).to_json())

    def forged(**fields):
        return {**json.loads(genuine), **fields}

    assert judged(json.loads(genuine)) == "verified"
    value, bound = (json.loads(genuine)[name] for name in ("value", "bound"))
    raised = forged(value=value + 1e-9, bound=bound + 1e-9)
    raised.pop("gap")
    assert judged(raised) == "refuted"
    lowered = forged(bound=value - 1e-6, value=value - 2e-6, status="gap")
    lowered.pop("gap")
    assert judged(lowered) == "refuted"
    if kind not in ("known", "scenarios"):
        outside = json.loads(genuine)
        if kind == "credible":
            tables = outside["params"]["uncertainty"]
            tables["counts"] = (10 * np.array(tables["counts"])).tolist()
        elif kind == "chi-squared":
            outside["params"]["uncertainty"]["n"] *= 1.001
        else:
            outside["params"]["uncertainty"]["radius"] *= 1 - 1e-6
        assert judged(outside) == "refuted"


def test_other_witnesses_are_refused():
    F, rows = instance("wasserstein", 8)
    document = solve(problem("robust-level", matrix=rows, uncertainty=F)).to_json()
    for witness in ([[0.25, 0.25], [0.25, 0.25]], [[1.0, 0, 0, 0]] * 3, None, 5):
        forged = json.loads(json.dumps(document))
        forged["answer"]["witness"] = witness
        assert judged(forged) == "unreadable"
    forged["answer"]["witness"] = [[1.0, 0, 0, 0]] * 4
    assert judged(forged) == "refuted"
    forged["answer"].update(witness=document["answer"]["witness"], secrets=[0, 0])
    assert judged(forged) == "unreadable"
