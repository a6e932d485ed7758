"""The mean of a number: from the table to the estimate, the rounding, the files and their forgeries."""

import json

import numpy as np
import pyarrow as pa
import pytest
from programs import node
from second_checker import opinion

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import public_digest
from ldpopt.engine.verifying import verify
from ldpopt.measures.numeric_report_variance import published_moments
from ldpopt.mechanisms.randomizer import seeded_words
from ldpopt.release.accuracy import data_accuracies
from ldpopt.release.designing import design, load_mechanism
from ldpopt.release.estimating import estimate, frequencies
from ldpopt.release.exporting import export
from ldpopt.release.methods import chosen
from ldpopt.release.promises import outcome
from ldpopt.release.question import Question
from ldpopt.release.releasing import privatize
from ldpopt.tables import number_survey
from ldpopt.tables.domain import Column

POINTS = 9
"""The second checker takes up to 12 points."""
AGES = np.clip(np.random.default_rng(0).normal(45, 15, 2000), -5, 105).round()


@pytest.fixture(autouse=True, scope="module")
def _few_points():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_survey, "POINTS", POINTS)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory, ldpopt):
    """A table, its design, private and public, and the release."""
    made = tmp_path_factory.mktemp("mean")
    (made / "t.csv").write_text("age\n" + "".join(f"{age}\n" for age in AGES))
    result = ldpopt(
        "design",
        made / "t.csv",
        "--mean",
        "age",
        "--range",
        "0,100",
        "--epsilon",
        1,
        "-o",
        made / "m.json",
    )
    assert result.code == 0, result.err
    assert "outside 0 to 100" in result.err
    assert len(result.out.splitlines()) <= 10
    released = ldpopt(
        "privatize", made / "t.csv", "--mechanism", made / "m.public.json", "-o", made / "r.csv"
    )
    assert released.code == 0
    assert "count as the nearer end" in released.err
    return made


def test_the_estimate_covers_and_both_files_give_it(folder, ldpopt):
    found = [
        json.loads(ldpopt("estimate", folder / "r.csv", "--mechanism", folder / name, "--json").out)
        for name in ("m.json", "m.public.json")
    ]
    assert found[0] == found[1]
    (row,) = found[0]["quantities"]
    assert row["standard_error"] ** 2 == pytest.approx(found[0]["covariance"]["quantities"][0][0])
    assert abs(row["estimate"] - np.clip(AGES, 0, 100).mean()) < 5 * row["standard_error"]
    assert row["low"] < row["estimate"] < row["high"]
    assert found[0]["frequencies"] == []
    assert "mean of age" in ldpopt("estimate", folder / "r.csv", "-m", folder / "m.json").out


@pytest.mark.parametrize("name", ["m.json", "m.public.json"])
def test_both_checkers_verify_the_files(folder, name):
    assert verify(folder / name)
    assert opinion((folder / name).read_text()) == "verified"


def test_audit_page_and_programs(folder, ldpopt):
    assert ldpopt("audit", folder / "m.json", "--samples", 2000).code == 0
    made = load_mechanism(folder / "m.public.json")
    program = {}
    exec(compile(export(made, "python"), "sampler.py", "exec"), program)
    assert program["self_test"]() > POINTS
    (folder / "sampler.js").write_text(export(made, "js"))
    assert "test vectors pass" in node(folder / "sampler.js").stdout
    sent = np.array([program["report"]({"age": 40.7}) for _ in range(300)])
    assert 0 <= sent.min() <= sent.max() < made.randomizer.outputs
    with pytest.raises(InvalidInputError, match="rounded at random"):
        export(made, "sql")
    page = ldpopt("report", folder / "m.json", "-o", folder / "p.internal.html", "--curve-seconds", 0)
    assert page.code == 0
    text = (folder / "p.internal.html").read_text()
    assert "the mean is known to within" in text
    assert "--range 0.0,100.0" in text
    pairs = ldpopt(
        "audit", folder / "m.json", "--data", folder / "t.csv", "--released", folder / "r.csv"
    )
    assert pairs.code == 2
    assert "rounded at random" in pairs.err


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_intervals_cover_and_the_variance_is_within_the_proven_one(epsilon):
    made, rng = design({"x": AGES}, "x", epsilon=epsilon, mean_over=(0, 100)), np.random.default_rng(1)
    W, points = made.mechanism.matrix, made.domain.secret.columns[0].points
    n, covered, errors = 1000, 0, []
    for _ in range(200):
        p = rng.dirichlet(np.full(POINTS, 0.05))
        (row,) = frequencies(rng.multinomial(n, p @ W), made).quantities
        covered += row.low <= p @ points <= row.high
        errors.append((row.estimate - p @ points) / 50)
    assert covered >= 178  # of 200; fewer than that has a chance of 1e-4 where 95 % cover
    sampling = 1.0  # numbers of [−1, 1] have at most this variance themselves
    assert n * np.mean(np.square(errors)) < 1.5 * (made.result.value + sampling)
    assert made.result.bound <= made.result.value <= 1.02 * made.result.bound


def test_the_error_of_a_registry_of_numbers_keeps_that_of_the_rounding():
    numbers = np.full(2000, 43.75)  # halfway between two points, where rounding adds most
    made = design({"x": numbers}, "x", epsilon=8.0, mean_over=(0, 100))
    column, of = made.domain.secret.columns[0], made.randomizer
    found = []
    for seed in range(100):
        codes = column.codes(pa.array(numbers), 1, seeded_words([seed, 1]))
        tally = of.tallied(of.sample(codes, seeded_words(seed)))
        found += frequencies(tally, made, registry=True).quantities
    spread = np.std([row.estimate for row in found])
    assert spread == pytest.approx(np.mean([row.standard_error for row in found]), rel=0.3)
    assert sum(row.low <= 43.75 <= row.high for row in found) >= 87  # of 100


def test_numbers_are_kept_on_average_by_the_rounding():
    column = Column("x", tuple("abcde"), range=(-2.0, 6.0))
    for number, kept in ((-2, -2), (-1.3, -1.3), (3.9, 3.9), (6, 6), (7, 6), (-1e300, -2)):
        cells = pa.array(np.full(40_000, float(number)))
        for rounding in (None, seeded_words(3)):
            codes = column.codes(cells, 1, rounding)
            assert np.ptp(codes) <= 1
            assert column.points[codes].mean() == pytest.approx(kept, abs=0.05)
    assert column.points.tolist() == [-2, 0, 2, 4, 6]


def test_parts_of_a_table_are_rounded_as_the_whole_is(tmp_path):
    made = design({"x": AGES}, "x", epsilon=1.0, mean_over=(0, 100))
    (tmp_path / "parts").mkdir()
    for i, part in enumerate(np.split(AGES, 4)):
        (tmp_path / "parts" / f"{i}.csv").write_text("x\n" + "".join(f"{age}\n" for age in part))
    privatize({"x": AGES}, made, tmp_path / "whole.csv", seed=5)
    privatize(tmp_path / "parts", made, tmp_path / "released", seed=5)
    whole, parts = (estimate(tmp_path / name, made).quantities for name in ("whole.csv", "released"))
    assert whole == parts


def test_published_mechanisms_by_their_definition():
    epsilon, x = 2.0, np.array([-0.5, 0.0, 0.8])
    t, moments = np.exp(epsilon / 2), published_moments(epsilon, x)
    C = (t + 1) / (t - 1)
    left = (C + 1) / 2 * x - (C - 1) / 2
    right, high = left + C - 1, (t**2 - t) / (2 * t + 2)
    cubes = (right**3 - left**3) / 3  # density: high inside [left, right], e^−ε of it outside
    rest = 2 * C**3 / 3 - cubes
    assert moments["piecewise"] == pytest.approx(high * cubes + high / t**2 * rest)
    assert published_moments(0.5, x)["hybrid"] == pytest.approx(published_moments(0.5, x)["Duchi"])


def test_the_method_for_a_mean_is_chosen_whatever_the_goal_and_the_points():
    asked = Question(np.ones((41, 1)), 1.0, of_numbers=True)
    assert chosen(asked, "auto", "information") == ["mean"]
    assert chosen(asked, "auto", "estimates") == ["mean", "average"]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("shape", [(2, 5), (0.3, 0.3), (40, 40), (0.5, 8)])
def test_never_worse_than_published_mechanisms(epsilon, shape, monkeypatch):
    monkeypatch.setattr(number_survey, "POINTS", 41)
    numbers = np.random.default_rng(1).beta(*shape, 5000) * 2 - 1
    made = design({"x": numbers}, "x", epsilon=epsilon, mean_over=(-1, 1))
    (found,) = made.accuracy()
    (known,) = data_accuracies(made.question.counts, made.domain)
    ours = 4 * (found.squared_error - known.squared_error)  # the reports' part, in units of [-1, 1]
    published = published_moments(epsilon, numbers).values()
    assert ours <= 1.005 * min((moments - numbers**2).mean() for moments in published)


def test_outcome_names_the_published_ones():
    said = outcome(design({"x": [0.0, 100.0] * 5000}, "x", epsilon=1.0, mean_over=(0, 100)))
    assert said.startswith("with your 10,000 rows (95 %): mean of x ±2.2 (without noise at most ±0.98)")
    assert "Duchi ±2.2, piecewise ±2.5, hybrid ±2.3" in said


def forged(folder, change):
    """The public file with its column changed, and a digest that fits."""
    document = json.loads((folder / "m.public.json").read_text())
    secret = document["public"]["domain"]["secret"]
    change(secret, secret["columns"][0])
    document["public"]["digest"] = public_digest(document)
    return json.dumps(document)


def widen(secret, column):
    column["range"] = [0.0, 1000.0]


def swap(secret, column):
    column["range"].reverse()


def equal(secret, column):
    column["range"] = [5.0, 5.0]


def huge(secret, column):
    column["range"] = [-1e308, 1e308]


def rename(secret, column):
    column["values"][3] = "7.6"


def also_text(secret, column):
    column["text"] = True


def also_edges(secret, column):
    column["edges"] = [50.0]


def also_missing(secret, column):
    column["missing"] = True


@pytest.mark.parametrize(
    "change", [widen, swap, equal, huge, rename, also_text, also_edges, also_missing]
)
def test_both_checkers_refute_a_range_that_is_not_that_of_the_points(folder, tmp_path, change):
    text = forged(folder, change)
    (tmp_path / "forged.json").write_text(text)
    assert not verify(tmp_path / "forged.json")
    assert opinion(text) == "refuted"


def three_ends(secret, column):
    column["range"].append(200.0)


def words(secret, column):
    column["range"] = ["0", "100"]


@pytest.mark.parametrize("change", [three_ends, words])
def test_neither_checker_reads_what_is_no_range(folder, tmp_path, change, ldpopt):
    text = forged(folder, change)
    (tmp_path / "forged.json").write_text(text)
    assert ldpopt("verify", tmp_path / "forged.json").code == 2
    assert opinion(text) == "unreadable"


def test_points_in_another_order_are_refuted(folder, tmp_path):
    document = json.loads((folder / "m.json").read_text())
    document["design"]["domain"]["secret"]["members"].reverse()
    (tmp_path / "forged.json").write_text(json.dumps(document))
    assert not verify(tmp_path / "forged.json")
    assert opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mean", "age"), "--mean needs --range LOW,HIGH"),
        (("--mean", "age", "--range", "0,x"), "--range must look like LOW,HIGH"),
        (("--mean", "age", "--range", "9,1"), "the range must be two finite numbers"),
        (("--mean", "age", "--range", "0,inf"), "the range must be two finite numbers"),
        (("--mean", "age", "--secret", "age", "--range", "0,9"), "give the columns to hide"),
        ((), "give the columns to hide"),
        (("--secret", "age", "--range", "0,9"), "--range is that of the numbers of --mean"),
        (("--mean", "age", "--range", "0,9", "--method", "grr"), "is made for frequencies"),
        (("--secret", "age", "--bins", "age=3", "--method", "mean"), "is made for the mean of a number"),
        (("--mean", "age", "--range", "0,9", "--public", "age"), "a mean is that of one column"),
        (("--mean", "age", "--range", "0,9", "--missing", "category"), "missing must be one of"),
    ],
)
def test_bad_input(folder, words, said, ldpopt):
    found = ldpopt("design", folder / "t.csv", *words, "--epsilon", 1, "-o", folder / "bad.json")
    assert found.code == 2
    assert said in " ".join(found.err.split())
