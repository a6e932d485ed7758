"""Designs by encodings: from the table to estimates, without a matrix, at any size."""

import json

import numpy as np
import pytest
from programs import in_python

from ldpopt import audit, report
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.engine.verifying import verify
from ldpopt.mechanisms.randomizer import seeded_words
from ldpopt.mechanisms.stated import encoding
from ldpopt.release.comparing import best, compare
from ldpopt.release.designing import design, load_design, load_mechanism
from ldpopt.release.estimating import estimate, frequencies
from ldpopt.release.exporting import export
from ldpopt.release.planning import plan
from ldpopt.release.released_reports import report_counts
from ldpopt.release.releasing import privatize

METHODS = ("unary", "subset", "hashing", "hadamard")
RNG = np.random.default_rng(5)
TABLE = {
    "illness": RNG.choice(["a", "b", "c", "d"], 4000, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
    "ward": RNG.choice(["x", "y", "z"], 4000, p=[0.6, 0.3, 0.1]).tolist(),
}


@pytest.fixture(scope="module", params=METHODS)
def made(request):
    return design(TABLE, "illness", "ward", epsilon=2.0, method=request.param)


def test_the_whole_chain(made, tmp_path):
    """Design, files, release and estimates, from the file and from its public part."""
    file, public = tmp_path / "mech.json", tmp_path / "mech.public.json"
    made.save(file)
    made.public.save(public)
    assert verify(file)
    assert verify(public)
    assert load_design(file).to_json() == json.loads(json.dumps(made.to_json()))
    assert load_mechanism(public).universal
    released = tmp_path / "released.csv"
    assert privatize(TABLE, public, released, seed=1) == 4000
    whole = tmp_path / "released.parquet"
    privatize(TABLE, made, whole, seed=1)
    found, again = estimate(released, made), estimate(whole, load_mechanism(public))
    assert found.rows == again.rows
    assert (
        sum(
            row.low <= TABLE["illness"].count(row.label) / 4000 <= row.high
            for row in found.group("secret")
        )
        >= 3
    )
    assert [len(found.group(name)) for name in ("secret", "public", "joint")] == [4, 3, 12]
    assert all(row.determined for row in found.rows)
    other = design(TABLE, "illness", "ward", epsilon=1.0, method=made.method)
    with pytest.raises(InvalidInputError, match="another mechanism"):
        estimate(released, other)
    with pytest.raises(InvalidInputError, match="need a matrix"):
        estimate(released, made, others=True)


def test_changed_files_are_not_used(made, tmp_path):
    file, public = tmp_path / "mech.json", tmp_path / "mech.public.json"
    for target, where in ((file, made.to_json()["answer"]), (public, made.public.randomizer.plain)):
        document = json.loads(json.dumps((made if target == file else made.public).to_json()))
        place = document["answer"] if target == file else document["mechanism"]["encoding"]
        place["own"] = where["own"] - 2.0**-52
        target.write_text(json.dumps(document))
        with pytest.raises(UnreadableFileError, match="digest"):
            load_mechanism(target)


def test_intervals_cover_and_predictions_hold(made):
    """Of 60 releases: each interval covers as stated, and the squared error is the predicted one."""
    n, runs = 4000, 60
    counts, of = made.question.counts, made.randomizer
    x = np.repeat(np.arange(counts.size), counts.ravel())
    truth = [*counts.sum(axis=1) / n, *counts.sum(axis=0) / n, *counts.ravel() / n]
    covered, errors = 0, np.zeros(len(truth))
    for seed in range(runs):
        reports = of.sample(x, seeded_words(seed))
        supported = of.tallied(reports)
        rows = frequencies(supported, made).rows
        covered += sum(r.low <= t <= r.high for r, t in zip(rows, truth, strict=True))
        plain = of.estimates(supported[:-1], n).reshape(counts.shape)
        found = [*plain.sum(axis=1), *plain.sum(axis=0), *plain.ravel()]
        errors += (np.array(found) - truth) ** 2 / runs
    assert covered / runs / len(truth) > 0.93
    by_column = [part.squared_error for part in made.accuracy()]
    # the prediction is for tables drawn anew: the sampling error of the table, 1 − Σp², is in it
    sampled = [1 - sum(t**2 for t in truth[:4]), 1 - sum(t**2 for t in truth[4:7])]
    measured = [n * errors[:4].sum() + sampled[0], n * errors[4:7].sum() + sampled[1]]
    assert np.allclose(measured, by_column, rtol=0.35)


def test_parts_of_a_table_have_the_reports_of_the_whole(made, tmp_path):
    """Sets and numbers are counted part by part, and a malformed report is named with its row."""
    privatize(TABLE, made, tmp_path / "released.csv", seed=4)
    lines = (tmp_path / "released.csv").read_text().splitlines()
    (tmp_path / "parts").mkdir()
    for i, part in enumerate((lines[1:1500], lines[1500:])):
        (tmp_path / "parts" / f"{i}.csv").write_text("\n".join([lines[0], *part]))
    whole = report_counts(tmp_path / "released.csv", made).tally
    assert (whole == report_counts(tmp_path / "parts", made).tally).all()
    assert whole[-1] == 4000
    bad = "xfff" if made.randomizer.sets else str(made.randomizer.outputs)
    for wrong in (bad, "x0"):
        (tmp_path / "bad.csv").write_text("\n".join([lines[0], lines[1], wrong]))
        with pytest.raises(InvalidInputError, match=r"row [23] |x0"):
            report_counts(tmp_path / "bad.csv", made)


def test_audit(made, tmp_path):
    """The exact sampler and the released table pass; a sampler with less noise does not."""
    privatize(TABLE, made, tmp_path / "released.csv", seed=1)
    sure = 1 - 1e-6  # the reports are random
    found = audit(made, TABLE, tmp_path / "released.csv", samples=5000, confidence=sure)
    assert found.passed
    assert found["ldp"].holds
    assert len(found.empirical) == 2
    nearly = encoding({**made.randomizer.plain, "own": 1 - 2.0**-52})

    def sampler(x):
        return nearly.sample(x, seeded_words(int(x.sum())))

    cheat = audit(made, samples=5000, confidence=sure, sampler=sampler)
    assert cheat.passed is False


def test_page(tmp_path):
    made, files = design(TABLE, "illness", "ward", epsilon=2.0, method="hadamard"), []
    for part, name in ((made, "mech.json"), (made.public, "mech.public.json")):
        files.append(tmp_path / name)
        part.save(files[-1])
    parts = report(files, tmp_path / "page.html", curve_seconds=2)
    assert all(part.sound for part in parts)
    assert all("buckets" in [fact.name for fact in part.plain_answer] for part in parts)
    assert [part.curve is None for part in parts] == [False, True]


def test_several_reports_share_the_level(made):
    twice = design(TABLE, "illness", "ward", epsilon=2.0, method=made.method, reports=2)
    assert twice.verification
    assert twice.randomizer.level <= 1.0 + 1e-12
    assert twice.public.universal


def test_compare_ranks_encodings_by_their_error():
    """Subset selection is the best of the encodings, and learn, its matrix, is as good."""
    first = design(TABLE, "illness", epsilon=1.0, method="grr", goal="estimates")
    found = compare(first, time_limit=20.0)
    errors = {
        name: -made.worth("estimates") for name, made in found.items() if not isinstance(made, str)
    }
    assert errors["subset"] == pytest.approx(errors["learn"], rel=1e-9)
    assert errors["subset"] < min(errors[name] for name in ("unary", "hashing", "hadamard"))
    assert best(found).randomizer.dense is not None  # information is not computed of encodings
    assert np.isnan(found["unary"].information)
    same = found["subset"].sample_factor, found["learn"].sample_factor
    assert same[0] == pytest.approx(same[1], rel=1e-9)


def test_thousands_of_cells(tmp_path):
    """6,000 cells are designed, released, estimated and exported; methods with a matrix say why not."""
    rng, n = np.random.default_rng(0), 3000
    table = {
        name: [f"{name}{i}" for i in np.arange(n) * step % size]
        for name, size, step in (("a", 75, 1), ("b", 80, 7))
    }
    table["a"] += [f"a{i}" for i in rng.integers(0, 75, n)]
    table["b"] += [f"b{i}" for i in rng.integers(0, 80, n)]
    made = design(table, "a", "b", epsilon=4.0, goal="estimates")
    assert (made.method, made.inputs) == ("subset", 6000)
    assert made.verification
    program = export(made, "python")
    assert len(program) < 100_000
    assert in_python(program)["self_test"]() == 40
    with pytest.raises(InvalidInputError, match="writes a matrix, of at most 4,096 cells, not 6,000"):
        design(table, "a", "b", epsilon=4.0, method="grr")
    hadamard = design(table, "a", "b", epsilon=4.0, method="hadamard")
    privatize(table, hadamard, tmp_path / "released.parquet", seed=0)
    found = estimate(tmp_path / "released.parquet", hadamard)
    assert len(found.group("joint")) == 6000


def test_plan_for_an_encoding():
    found = plan(TABLE, "illness", target=0.1, method="unary")
    assert found.wanted is not None
    assert found.wanted.method == "unary"
