"""Numbers that pages state: computed again, and compared with what stands there."""

import csv
import math
import re
import runpy
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from future_exposure import statistical_exposure_ceiling

from ldpopt import problem, solve
from ldpopt.experiments import optimal_protocols, optimal_squares, robust_study
from ldpopt.measures.estimation_fidelity import phi_bound, printed_phi_bound
from ldpopt.measures.exposure_from_marginals import ThresholdSearch, best_choice
from ldpopt.measures.exposure_of_future_users import (
    deviation,
    estimate_statistical_exposure,
)
from ldpopt.measures.repeated_reports import repeated_level
from ldpopt.mechanisms.histograms import (
    HistogramMaxL,
    HistogramQuantization,
    HistogramRandomizedResponse,
)
from ldpopt.models.chi2_ball import Chi2Ball
from ldpopt.models.cones import SecretCone, joint_secrets
from ldpopt.models.convex_set import ConvexSet
from ldpopt.models.priors import Dirichlet
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.problems import SetOptimum, UEConditional
from ldpopt.problems.table_problem import RobustPrivacy, ceiling_of
from ldpopt.solvers.finite_protocol import best_protocol
from ldpopt.solvers.guaranteed_information import max_min_information
from ldpopt.tables.datasets import adult_features
from ldpopt.tables.datasets import table as embedded

DOCS = Path(__file__).parents[2] / "docs"


def rows(page, first):
    """List the cells of every table of a page whose heading begins with the given words."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", (DOCS / page).read_text(), re.M):
        lines = [
            [cell.strip(" `") for cell in line.strip("|\n").split("|")] for line in table.splitlines()
        ]
        if lines[0][: len(first)] == first:
            found += [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    assert found
    return found


def agrees(result, cell):
    """Return whether a result is as far above its bound, in percent, as a cell says."""
    if cell == "optimal":
        return result.status.value == "optimal"
    return 100 * (result.value / result.bound - 1) == pytest.approx(float(cell), abs=0.15)


@pytest.mark.parametrize(
    "k", ["K = 4", "5", *(pytest.param(k, marks=pytest.mark.slow) for k in ("6", "8", "10"))]
)
def test_how_far_square_mechanisms_are_above_their_bounds(k):
    size = int(k.removeprefix("K = "))
    for row in rows("fidelity.md", ["ε", "K = 4"]):
        result = solve(problem("square-fidelity", inputs=size, epsilon=float(row["ε"])))
        cell, _, beside = row[k].rstrip(")").partition(" (")
        assert agrees(result, cell), (row, result.value / result.bound)
        if beside:
            above = 100 * (result.value / phi_bound(size, float(row["ε"])) - 1)
            assert above == pytest.approx(float(beside), abs=0.15)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=" ".join(row.values()), marks=[pytest.mark.slow] * (row["ε"] != "1"))
        for row in rows("fidelity.md", ["ε", "loss"])
    ],
)
def test_how_far_minimax_mechanisms_are_above_their_bounds(row):
    for k, cell in list(row.items())[2:]:
        size = int(k.removeprefix("K = "))
        params = {"inputs": size, "epsilon": float(row["ε"]), "p0": 1 / (2 * size), "loss": row["loss"]}
        result = solve(problem("minimax-fidelity", **params))
        assert agrees(result, cell), (k, result.value / result.bound)


TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
SMALL = [[0.3, 0.2], [0.15, 0.35]]
JEFFREYS = Dirichlet.jeffreys(3)


def value(kind, table=TABLE, **params):
    return solve(problem(kind, epsilon=1.0, p_hat=table, n=1000, **params)).value


@cache
def with_optimal_blocks(kind, epsilon=1.0):
    table = TABLE if epsilon == 1.0 else SMALL
    return solve(problem(kind, epsilon=epsilon, p_hat=table, n=1000, blocks="optimal"), gap=1e-4)


def ceiling(table):
    return solve(problem("polyopt", epsilon=1.0, p_hat=table, n=1000)).certificate.proof["ceiling"]


def exposure_bound(rule):
    data = adult_features()
    marginals = [data.marginal(name) for name in data.joint_names]
    return solve(problem("composition-bound", marginals=marginals, threshold=1e-3, method=rule))


def tighter_bound():
    data = adult_features()
    marginals = tuple(data.marginal(name) for name in data.joint_names)
    return best_choice(ThresholdSearch(marginals, 1e-3, "theorem-3-tight")).bound


def future_users(columns):
    data = adult_features()
    counts = data.joint.sum(axis=tuple(range(columns, data.joint.ndim))).ravel()
    return estimate_statistical_exposure(counts, 10_000, 10)


def safe_share(columns):
    """Bound the exposure of 10,000 future users, of whom the table is a sample, with delta = 0.05."""
    data = adult_features()
    counts = data.joint.sum(axis=tuple(range(columns, data.joint.ndim))).ravel()
    m = int(counts.sum())
    reach = 2 * deviation(m, counts.size, 0.05) ** 2
    return statistical_exposure_ceiling(counts / m, 10_000, 10, reach)


@cache
def large_joint():
    """Solve for the largest exposure of a joint of 18,000 cells."""
    rng = np.random.default_rng(0)
    marginals = [rng.dirichlet(np.ones(k)).tolist() for k in (30, 30, 20)]
    params = {"marginals": marginals, "threshold": 1e-4, "method": "worst-joint"}
    return solve(problem("composition-bound", **params))


def least_over(kind, **given):
    """Compute the middle of the bracket of the best least information over a set."""
    found = max_min_information(ConvexSet(kind, **given), 1.0, gap=1e-4)
    return (found.low + found.high) / 2


def drawn(a1):
    return np.random.default_rng(1).dirichlet(np.full(a1 * 4, 0.5)).reshape(a1, 4)


def secret_bound(table):
    F = problem("polyopt", epsilon=1.0, p_hat=table, n=1000).uncertainty
    return ceiling_of(F.secrets, RobustPrivacy.against(F, 1.0).question)["ceiling"]


def within_ball(table, radius):
    ball = {"kind": BALL, "p_hat": table, "radius": radius}
    return solve(SetOptimum(1.0, ball), gap=1e-6).value


def two_reports():
    """Compute the level of two reports of GRR-CR by Theorem 17 about one person."""
    question = problem("grr-conditional", epsilon=1.0, p_hat=TABLE, n=1000)
    return repeated_level(solve(question).mechanism, question.uncertainty, 2).level


@cache
def merged_table():
    counts = embedded("relationship-native_country").counts
    return solve(problem("polyopt", epsilon=1.0, counts=counts, width=3), "column-generation", gap=1e-3)


def too_high():
    """Compute by what factor the printed bound of Lemma 11 exceeds the least φ."""
    return printed_phi_bound(10**6, 10.0) / phi_bound(10**6, 10.0)


def mean_area(added):
    """Average the areas of the releases of Figure 7 with so many infeasible combinations added."""
    with (DOCS / "figures" / "leakage-forest.csv").open() as file:
        return np.mean([float(row["auc"]) for row in csv.DictReader(file) if row["added"] == str(added)])


def rare_rows(columns):
    """Count the rows whose combination of the first columns less than a thousandth of the rows share."""
    joint = adult_features().joint
    counts = joint.sum(axis=tuple(range(columns, joint.ndim)))
    return counts[counts < 0.001 * counts.sum()].sum()


def squares():
    """Count the designs other than the step mechanism that are exactly optimal for some ε."""
    found = (optimal_squares.measure(**point) for point in optimal_squares.points(False))
    return sum(design["m"] > 1 for row in found for design in row["designs"])


def optimum():
    return solve(problem("leakage-design", tau=4, d=3, leakage=math.log(2)))


def response():
    return HistogramRandomizedResponse.for_leakage(4, 3, math.log(2))


def lost(name, k, epsilon):
    """Percent of the effective users of the best protocol that another one loses."""
    return 100 * (1 - optimal_protocols.measure(k, epsilon)[name])


def wide_table():
    return UEConditional(1.0, counts=embedded("relationship-native_country").counts)


def lost_by_caution(method):
    """Percent of the mean utility of Figure 8's 200 tables that a smaller α costs at ε = 0.1."""
    high, low = (
        robust_study.mean_utility(method, 0.1, 200, 5, alpha=alpha)["mean"] for alpha in (0.1, 1e-4)
    )
    return 100 * (1 - low / high)


def lost_without_lemma_8():
    """The same for GRR-CR, if every secret had the B of the whole set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Chi2Set,
            "conditionals",
            property(lambda F: tuple(Chi2Ball(row / row.sum(), F.bound) for row in F.p_hat)),
        )
        return lost_by_caution("grr-cr")


def slow(*row):
    return pytest.param(*row, marks=pytest.mark.slow)


def first_cell():
    table, query = [[0.3, 0.2, 0.1], [0.15, 0.15, 0.1]], [[1, 0, 0, 0, 0, 0]]
    return solve(problem("robust-fidelity", epsilon=0.5, prior=table, queries=query)).value


SIX, NEAR = joint_secrets((6, 2)), {"epsilon": 1.0, "p_hat": TABLE, "n": 1000}
BALL, CHI, AROUND = "total-variation", "chi-squared", {"p_hat": SMALL, "radius": 0.02}
COUNTS = [[300, 200], [150, 350]]
PAGE_1 = "papers/001-robust-ldp.md"
JOINT, INDEPENDENT = "worst-joint", "independent-reporting"
STATED = [
    ("metrics.md", "{} % of its effective users (k = 8, ε = 0.2)", "49", lambda: lost("GRR", 8, 0.2)),
    ("metrics.md", "RAPPOR {} %", "40", lambda: lost("RAPPOR", 3, 1.4)),
    ("metrics.md", "OUE {} % (k = 3;", "50", lambda: lost("OUE", 3, 4.0)),
    ("robust-ldp.md", "UE-CR has the most, {}", "0.0886", lambda: solve(wide_table()).value),
    ("leakage.md", "MaxL {}", "0.75", lambda: HistogramMaxL(4, 3, 3).distortion()),
    slow("robust-ldp.md", "0.908081 | {}", "0.936889", lambda: value("polyopt", calibrate=True)),
    slow("anonymity.md", "the proof tree {}", "0.0945", lambda: exposure_bound(JOINT).bound),
    slow("anonymity.md", "worst joint reaches {}", "0.0935", lambda: exposure_bound(JOINT).value),
    ("robust-ldp.md", "the largest I(X; Y) over the cone Γ | {}", "0.9081", lambda: value("polyopt")),
    slow("robust-ldp.md", "solved by `cdd` alone | {}", "0.9447", lambda: value("polyopt", facets=3)),
    ("robust-ldp.md", "at ε = 1 the ceiling is {}", "1.0338", lambda: ceiling(TABLE)),
    ("robust-ldp.md", "0.722959 | 0.722959 | {}", "0.752882", lambda: ceiling(SMALL)),
    ("robust-ldp.md", "((.3, .2), (.15, .35)) | {}", "0.712196", lambda: value("polyopt", SMALL)),
    ("robust-ldp.md", "| 0.712196 | {}", "0.720988", lambda: value("polyopt", SMALL, calibrate=True)),
    *(
        (PAGE_1, words, number, partial(value, kind, calibrate=calibrate))
        for words, number, kind, calibrate in (
            ("that gives {}", "0.2465", "independent-reporting", True),
            ("(Theorem 15: {})", "0.1716", "independent-reporting", False),
            ("{} for GRR-CR", "0.4038", "grr-conditional", True),
            ("for GRR-CR ({})", "0.1890", "grr-conditional", False),
            ("{} for UE-CR", "0.9129", "ue-conditional", True),
            ("for UE-CR ({})", "0.3371", "ue-conditional", False),
        )
    ),
    (PAGE_1, "GRR-CR has {} (with", "0.2267", lambda: with_optimal_blocks("grr-conditional").value),
    (PAGE_1, "and IR {} (the", "0.1716", lambda: with_optimal_blocks(INDEPENDENT).value),
    slow(PAGE_1, "200 tables, finds {} %", "39.7", lambda: lost_by_caution("grr-cr")),
    slow(PAGE_1, "39.7 % and {} %", "41.8", lambda: lost_by_caution("ue-cr")),
    slow(PAGE_1, "GRR-CR would lose {} %", "35.8", lost_without_lemma_8),
    slow(PAGE_1, "at ε = 4 it is {}", "0.7994", lambda: with_optimal_blocks(INDEPENDENT, 4.0).bound),
    slow(PAGE_1, "the value {}.", "0.7779", lambda: with_optimal_blocks(INDEPENDENT, 4.0).value),
    ("metrics.md", "ε = 1: {} and", "0.2694", lambda: best_protocol(JEFFREYS, 6, 1.0).information),
    ("metrics.md", "and\n{})", "0.3062", lambda: best_protocol(JEFFREYS, 6, 1.0).bound),
    ("anonymity.md", "Theorem 3 proves {}", "0.4698", lambda: exposure_bound("theorem-3").value),
    ("anonymity.md", "its tighter variant {}", "0.1025", tighter_bound),
    ("anonymity.md", "statistical exposure of {} by plug-in", "0.019", lambda: future_users(4).value),
    ("anonymity.md", "(Theorem 8: {})", "0.229", lambda: future_users(3).high),
    slow("uncertainty-sets.md", "it is {} for the ball", "0.7277", lambda: least_over(BALL, **AROUND)),
    slow(
        "uncertainty-sets.md", "{} for `chi-sq", "0.7111", lambda: least_over(CHI, p_hat=SMALL, n=1000)
    ),
    slow("uncertainty-sets.md", "{} for `cred", "0.6945", lambda: least_over("credible", counts=COUNTS)),
    ("robust-ldp.md", "where the ceiling is {};", "0.761", lambda: secret_bound(drawn(4))),
    ("robust-ldp.md", "same kind the ceiling is {}", "0.940", lambda: secret_bound(drawn(6))),
    slow("uncertainty-sets.md", "in 6 s: {}", "1.008089", lambda: within_ball(TABLE, 0.01)),
    ("robust-ldp.md", "two of `GRRConditional`'s {}", "2.31", two_reports),
    slow("robust-ldp.md", "ε = 1: {}, with", "0.3932", lambda: merged_table().value),
    slow("robust-ldp.md", "the bound {} for the merged", "0.3934", lambda: merged_table().bound),
    (
        "robust-ldp.md",
        "and the ceiling {}",
        "0.7635",
        lambda: merged_table().certificate.proof["ceiling"],
    ),
    ("anonymity.md", "census table {} have", "671", lambda: rare_rows(4)),
    ("anonymity.md", "that fewer than {} rows share", "33", lambda: math.ceil(0.001 * 32_561)),
    ("anonymity.md", "work class {} rows are exposed", "61", lambda: rare_rows(3)),
    (
        "fidelity.md",
        "({} rays, a singular design)",
        "4,120",
        lambda: SecretCone(SIX, 1.0).rays().shape[1],
    ),
    ("fidelity.md", "2 × 3 cells has the error {}, proven", "4.0368", first_cell),
    ("fidelity.md", "({} rays). Beyond", "58,663", problem("polyopt", **NEAR).cone.size),
    slow("fidelity.md", "({} beside the step mechanism for K ≤ 200)", "47", squares),
    ("gallery.md", "K = 10⁶ by a factor of {})", "11.8", too_high),
    ("gallery.md", "to {} with 20,000", "0.849", lambda: mean_area(20_000)),
    ("gallery.md", "to {} with 50,000", "0.842", lambda: mean_area(50_000)),
    ("gallery.md", "{} with 200,000.", "0.813", lambda: mean_area(200_000)),
    ("leakage.md", "the least distortion is {}", "0.30", lambda: optimum().value),
    ("leakage.md", "randomised response has {}", "0.50", lambda: response().distortion()),
    ("leakage.md", "quantisation {}", "0.625", lambda: HistogramQuantization(4, 3, 3).distortion()),
]


ENDS = [
    ("anonymity.md", "at most {} by proof", "0.0579", lambda: safe_share(4), "above"),
    ("anonymity.md", "three columns at most {} (", "0.0026", lambda: safe_share(3), "above"),
    ("anonymity.md", "lies between {} and", "0.6639", lambda: large_joint().value, "below"),
    ("anonymity.md", "0.6639 and {}.", "0.6663", lambda: large_joint().bound, "above"),
]
"""Numbers that are ends: what was found lies on the side that the words say, within the last digit."""


BESIDE = {"chi-squared": {"p_hat": SMALL}, "known": {"p": SMALL}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", rows("uncertainty-sets.md", ["set", "optimum"]), ids=lambda row: row["set"].split("`")[0]
)
def test_optima_against_sets(row):
    kind, _, said = row["set"].partition("`")
    name, _, number = said.removeprefix(", ").partition(" = ")
    numbers = {{"ρ": "radius", "n": "n"}[name]: float(number)} if number else {}
    given = BESIDE.get(kind, {"p_hat": SMALL}) if kind != "credible" else {"counts": COUNTS}
    result = solve(SetOptimum(1.0, {"kind": kind, **given, **numbers}))
    assert result.status.value == "optimal"
    assert result.value == pytest.approx(float(row["optimum"].partition(",")[0]), abs=5.1e-7)


@pytest.mark.parametrize(("page", "words", "number", "found"), STATED)
def test_numbers_in_the_text(page, words, number, found):
    text = (DOCS / page).read_text()
    assert words.format(number) in text
    digit = 10.0 ** -len(number.partition(".")[2])
    assert float(found()) == pytest.approx(float(number.replace(",", "")), abs=0.51 * digit)


@pytest.mark.parametrize(("page", "words", "number", "found", "side"), ENDS)
def test_ends_in_the_text(page, words, number, found, side):
    assert words.format(number) in " ".join((DOCS / page).read_text().split())
    digit = 10.0 ** -len(number.partition(".")[2])
    off = float(number) - float(found())
    assert 0 <= (off if side == "above" else -off) < digit


STUDY = rows("fidelity.md", ["method", "diagnosis"])


@pytest.mark.slow
@pytest.mark.parametrize("row", STUDY, ids=lambda row: row["method"].split("`")[0][:12])
def test_the_study_of_a_hospital(row):
    """The draws are seeded: errors and coverage come out again, to the last digit.

    What is searched for within a time limit, or drawn from a global generator, comes out to within 15 %.
    """
    hospital = SimpleNamespace(**runpy.run_path(str(DOCS / "hospital.py")))
    table, method = hospital.hospital(), row["method"].split("`")[0]
    said = {name: float(row[name]) for name in hospital.COLUMNS if row[name] != "not told"}
    searched = method in ("queries", "split")
    if method in hospital.ENCODINGS:
        errors = hospital.predicted(hospital.designed(table, method))
    elif searched or method in hospital.OTHERS:
        made = hospital.designed(table, "auto" if method == "queries" else method)
        assert {
            part.name for part in made.accuracy() if np.isfinite(part.margin(hospital.ROWS))
        } == said.keys()
        found = hospital.measured(made, hospital.FEW_RUNS)
        errors = {name: found[name][0] for name in said}
        if not searched:
            held = [float(share) for share in re.findall(r"[\d.]+", row["± held"])]
            assert [100 * found[name][1] for name in said] == pytest.approx(held, abs=0.051)
    else:
        pytest.importorskip("multi_freq_ldpy")
        errors, searched = hospital.peer(table, hospital.FEW_RUNS), True
    assert errors == pytest.approx(said, rel=0.15 if searched else 0, abs=5.1e-5)


@pytest.mark.slow
def test_queries_is_ahead_of_split_in_the_hospital():
    hospital = SimpleNamespace(**runpy.run_path(str(DOCS / "hospital.py")))
    table, text = hospital.hospital(), (DOCS / "fidelity.md").read_text()
    best, split = (hospital.predicted(hospital.designed(table, name)) for name in ("auto", "split"))
    for name in hospital.COLUMNS:
        assert best[name] < split[name]
    for errors in (best, split):
        assert f"{errors['diagnosis']:.6f} and {errors['ward']:.6f}" in " ".join(text.split())
