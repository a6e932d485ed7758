"""The same questions, asked with other packages that a user might pick instead.

Each function is the short program that one would write with a package's own interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ldpopt.bench.comparison import OURS, Contender, Contest, same
from ldpopt.core.certify import repair
from ldpopt.core.errors import SolverError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem
from ldpopt.core.validate import Array, Whole
from ldpopt.engine.solving import solve
from ldpopt.measures.estimators import invert
from ldpopt.mechanisms.catalogue import randomized_response
from ldpopt.mechanisms.encodings import UnaryEncoding
from ldpopt.mechanisms.randomizer import secure_words, seeded_words
from ldpopt.models.cones import staircase_cone
from ldpopt.problems.polyopt import PolyOpt
from ldpopt.problems.staircase import Staircase
from ldpopt.problems.statistic_leakage import StatisticLeakage
from ldpopt.release.matrix_randomizer import Matrix

Answer = Callable[[], Any]

MOST_LISTED = 16
"""The most inputs k whose 2^k columns are listed; beyond, the matrix alone would take gigabytes."""
MOST_ENUMERATED = 10
"""Inputs beyond which vertex enumeration takes minutes."""
MULTI_FREQ = "multi-freq-ldpy"
PURE_LDP = "pure-ldp"


def contests(full: bool, time_limit: float) -> Iterator[Contest]:
    """Draw the instances of the comparison.

    Args:
        full: the longer lists of sizes.
        time_limit: seconds for a solve of ldpopt.
    """
    for k in (4, 8, 12, 16, 32, 64) if full else (4, 8, 10, 12, 32):
        yield _best_ldp(k, time_limit)
    for a1 in (2, 3, 4):
        yield _best_robust(a1, time_limit)
    for size in (30, 60, 120, 240) if full else (30, 60):
        yield _leakage(size, time_limit)
    for k, users in ((16, 100_000), (128, 100_000)) if full else ((16, 20_000),):
        yield from _frequencies(k, users)


# ------------------------------------------------------------ the best mechanism


def _best_ldp(k: int, time_limit: float) -> Contest:
    """Ask for the ε-LDP mechanism of most information; the peers list all 2^k staircase columns."""
    prior = np.random.default_rng(k).dirichlet(np.full(k, 0.5))
    problem = Staircase(1.0, prior=prior)
    too_many = f"2^{k} columns are not listed" if k > MOST_LISTED else ""
    too_large = f"vertices of {k} > {MOST_ENUMERATED} inputs" if k > MOST_ENUMERATED else ""
    return Contest(
        "best ε-LDP mechanism",
        f"k = {k}",
        (
            _ours(problem, time_limit),
            Contender(
                "scipy: linprog",
                lambda: by_linprog(prior, staircase_columns(k, 1.0)),
                refusal=too_many,
            ),
            Contender(
                "cvxpy",
                lambda: by_cvxpy(prior, staircase_columns(k, 1.0)),
                refusal=too_many,
            ),
            Contender(
                "pycddlib: vertices",
                lambda: by_linprog(prior, by_cdd(problem.cone.inequalities())),
                module="cdd",
                refusal=too_large,
            ),
        ),
        relative_difference,
        1e-6,
    )


def _best_robust(a1: int, time_limit: float) -> Contest:
    """Ask PolyOpt's question; the peer enumerates the vertices of Γ, as its authors did by MPT3."""
    p_hat = np.random.default_rng(a1).dirichlet(np.full(a1 * 2, 0.5)).reshape(a1, 2)
    problem = PolyOpt(1.0, p_hat, 1000)
    return Contest(
        "PolyOpt",
        f"{a1} × 2 table",
        (
            _ours(problem, time_limit),
            Contender(
                "pycddlib: vertices",
                lambda: by_linprog(p_hat.ravel(), by_cdd(problem.cone.inequalities())),
                module="cdd",
            ),
        ),
        relative_difference,
        1e-6,
    )


def _leakage(size: int, time_limit: float) -> Contest:
    """Ask for the leakage of a deterministic release; the peer finds the flow of Wang et al. 2024."""
    _, problem = next(iter(StatisticLeakage.random(size, np.random.default_rng(size))))
    return Contest(
        "statistic leakage",
        f"{size} parameters",
        (
            _ours(problem, time_limit),
            Contender("networkx: flow", lambda: by_flow(problem)),
        ),
        relative_difference,
        1e-9,
    )


def _ours(problem: Problem, time_limit: float) -> Contender:
    return Contender(OURS, lambda: solve(problem, time_limit=time_limit).value)


def relative_difference(ours: float, theirs: float) -> float:
    """Return how far two values are apart, relative to ours."""
    return abs(ours - theirs) / max(abs(ours), 1e-9)


def staircase_columns(k: int, epsilon: float) -> Array:
    """List the 2^k columns with entries 1 and e^ε."""
    return np.array(list(product((1.0, math.exp(epsilon)), repeat=k))).T


def information(prior: Array, columns: Array) -> Array:
    """Return what each column v adds to I(X; Y): Σ_x p_x v_x log(v_x / Σ_x p_x v_x)."""
    safe = np.where(columns > 0, columns, 1.0)
    return (prior[:, None] * columns * np.log(safe / (prior @ columns))).sum(axis=0)


def by_linprog(prior: Array, columns: Array) -> float:
    """Weigh listed columns by scipy.optimize.linprog: max Σ θ_v g(v) with Σ θ_v v = 1."""
    from scipy.optimize import linprog

    found = linprog(-information(prior, columns), A_eq=columns, b_eq=np.ones(len(columns)))
    if found.fun is None:
        raise SolverError(f"linprog: {found.message}")
    return -float(found.fun)


def by_cvxpy(prior: Array, columns: Array) -> float:
    """Weigh listed columns by a model of cvxpy, with the solver that it chooses."""
    import cvxpy as cp

    theta = cp.Variable(columns.shape[1], nonneg=True)
    utility = information(prior, columns) @ theta
    return float(cp.Problem(cp.Maximize(utility), [columns @ theta == 1]).solve())


def by_cdd(inequalities: Array) -> Array:
    """Enumerate the extreme columns of {v : A v ≥ 0} by pycddlib, on the slice Σ_x v_x = 1."""
    import cdd

    k = inequalities.shape[1]
    rows = [[-1.0, *np.ones(k)], *([0.0, *row] for row in inequalities)]
    matrix = cdd.matrix_from_array(rows, rep_type=cdd.RepType.INEQUALITY)
    matrix.lin_set = {0}
    generators = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array)
    return np.maximum(generators[:, 1:].T, 0.0)


def by_flow(problem: StatisticLeakage) -> float:
    """Find the minimum-cost flow of Wang et al. 2024, Algorithm 1, by networkx."""
    from ldpopt.solvers._leakage.flow import algorithm_1
    from ldpopt.solvers.flow_networkx import cheapest_flow

    arcs = algorithm_1(problem.form)
    return math.log(-int(cheapest_flow(*arcs) @ arcs.costs))


# ------------------------------------------------------------ reports and frequencies


def _frequencies(k: int, users: int) -> Iterator[Contest]:
    """Ask for the reports of many users, and for the frequencies that they tell, by two protocols."""
    rng = np.random.default_rng(k)
    truth = rng.dirichlet(np.ones(k))
    values = rng.choice(k, size=users, p=truth).astype(np.int64)
    shares = np.bincount(values, minlength=k) / users
    mechanism = Mechanism(repair(randomized_response(k, 1.0).matrix, staircase_cone(k, 1.0)))
    sampler, count = Matrix(mechanism), partial(np.bincount, minlength=k)
    reports = sampler.sample(values, seeded_words(k))
    yield from _protocol(
        DIRECT,
        k,
        values,
        lambda: sampler.sample(values, secure_words),
        lambda _, found: errors_off(count(found), shares @ mechanism.matrix, users),
        reports.tolist(),
        lambda: invert(mechanism, count(reports)),
    )
    unary, rng = UnaryEncoding.oue(k, 1.0), np.random.default_rng(k)
    law, sets = unary.other + (unary.own - unary.other) * shares, unary.sample(values, rng)
    yield from _protocol(
        UNARY,
        k,
        values,
        lambda: unary.sample(values, rng),
        lambda _, found: errors_off(np.sum(found, axis=0), law, users),
        list(sets.astype(float)),
        lambda: unary.estimate(sets),
    )


At = tuple[int, float]
"""How many values a protocol is about, and its level."""


class Protocol(NamedTuple):
    """A protocol as other packages know it.

    Attributes:
        name: ours.
        multi_freq: its name in multi-freq-ldpy.
        pure_ldp: module and beginning of its classes in pure-ldp.
        options: what multi-freq-ldpy is told beside values and level, and pure-ldp by name.
    """

    name: str
    multi_freq: str
    pure_ldp: tuple[str, str]
    options: Mapping[str, Any] = {}

    def told(self, ending: str) -> Any:
        """Return a function of multi-freq-ldpy: its "Client" or its "Aggregator_MI"."""
        module = import_module(f"multi_freq_ldpy.pure_frequency_oracles.{self.multi_freq}")
        return getattr(module, f"{self.multi_freq}_{ending}")

    def built(self, ending: str, at: At) -> Any:
        """Build a "Client" or a "Server" of pure-ldp."""
        module, prefix = self.pure_ldp
        cls = getattr(import_module(f"pure_ldp.frequency_oracles.{module}"), f"{prefix}{ending}")
        k, epsilon = at
        return cls(epsilon, k, index_mapper=int, **self.options)

    def drawn(self, users: list[int], at: At) -> list[Any]:
        """Let multi-freq-ldpy draw the reports."""
        client = self.told("Client")
        return [client(x, *at, *self.options.values()) for x in users]

    def counted(self, reports: list[Any], at: At) -> Any:
        """Let multi-freq-ldpy estimate the frequencies; it does not ask for k where reports are sets."""
        told = at[1:] if self.options else at
        return self.told("Aggregator_MI")(reports, *told, *self.options.values())

    def privatised(self, users: list[int], at: At) -> list[Any]:
        """Let pure-ldp draw the reports."""
        client = self.built("Client", at)
        return [client.privatise(x) for x in users]

    def served(self, reports: list[Any], at: At) -> Any:
        """Let pure-ldp estimate the frequencies."""
        server = self.built("Server", at)
        server.aggregate_all(reports)
        return server.estimate_all(range(at[0]), suppress_warnings=True) / len(reports)


DIRECT = Protocol("GRR", "GRR", ("direct_encoding", "DE"))
UNARY = Protocol("OUE", "UE", ("unary_encoding", "UE"), {"use_oue": True})


def _protocol(
    of: Protocol,
    k: int,
    values: Whole,
    draw: Answer,
    off: Callable[[Any, Any], float],
    reports: list[Any],
    estimate: Answer,
) -> Iterator[Contest]:
    """Ask for the reports of users, then for the frequencies that given reports tell.

    Args:
        of: the protocol.
        k: how many values there are.
        values: what each user holds.
        draw: draws our reports.
        off: how many standard errors the second of two answers is off.
        reports: the given reports.
        estimate: our estimate from them.
    """
    users = values.tolist()
    label, at = f"k = {k}, {len(users):,} users", (k, 1.0)
    drawn, privatised = partial(of.drawn, users, at), partial(of.privatised, users, at)
    rivals = _rivals(draw, drawn, privatised)
    yield Contest(f"sampling {of.name}", label, rivals, off, 6.0, "standard errors")
    counted, served = partial(of.counted, reports, at), partial(of.served, reports, at)
    rivals = _rivals(estimate, counted, served, clipped)
    yield Contest(f"estimating {of.name}", label, rivals, largest_difference, 1e-9)


def _rivals(
    ours: Answer, multi_freq: Answer, pure_ldp: Answer, like: Callable[[Any], Any] = same
) -> tuple[Contender, ...]:
    """List ldpopt and the two packages of protocols; multi-freq-ldpy returns what is like our answer."""
    return (
        Contender(OURS, ours),
        Contender(MULTI_FREQ, multi_freq, module="multi_freq_ldpy", like=like),
        Contender(PURE_LDP, pure_ldp, module="pure_ldp"),
    )


def errors_off(counts: Array | Whole, law: Array, users: int) -> float:
    """Return how many standard errors the frequency of a report is off its probability, at most.

    The values are given, so the true standard error is at most the one of a binomial.

    Args:
        counts: how often each report was made.
        law: the probability of each report.
        users: the number of reports.
    """
    error = np.sqrt(law * (1 - law) / users)
    return float(np.abs((counts / users - law) / error).max())


def largest_difference(ours: Array, theirs: Array) -> float:
    """Return the largest difference of two frequencies."""
    return float(np.abs(ours - theirs).max())


def clipped(frequencies: Array) -> Array:
    """Set negative frequencies to 0 and scale the rest to sum to 1, as multi-freq-ldpy does."""
    kept = np.clip(frequencies, 0.0, None)
    return kept / kept.sum()
