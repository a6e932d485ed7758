"""A table against the design: the same counts, another sample, exchanged labels."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from ldpopt.cli.privatize import _compare
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.release.designing import Design, design, load_design
from ldpopt.release.releasing import privatize
from ldpopt.release.table_consistency import CONTRADICTION, Agreement, agreement, homogeneity
from ldpopt.tables.domain import Domain

TABLE = {"s": ["a"] * 600 + ["b"] * 400, "u": ["x"] * 450 + ["y"] * 150 + ["x"] * 100 + ["y"] * 300}


@pytest.fixture(scope="module")
def made():
    return design(TABLE, "s", "u", epsilon=1.0, robust="chi2", goal="information")


def exchanged(made):
    """The same design with its two secrets' labels exchanged, and a digest of its own."""
    column = made.domain.secret.columns[0]
    column = dataclasses.replace(column, values=column.values[::-1])
    secret = dataclasses.replace(made.domain.secret, columns=(column,))
    return Design(made.result, Domain(secret, made.domain.public), made.question, made.method)


def test_the_table_of_the_design_agrees(made):
    found = agreement(made, made.question.counts)
    assert (found.distance, found.statistic, found.p_value, found.degrees) == (0, 0, 1, 3)
    assert not found.doubtful


def test_the_statistic_is_pearsons(made):
    counts = np.array([[40, 20], [12, 28]])
    found = agreement(made, counts)
    known = chi2_contingency(np.array([made.question.counts.ravel(), counts.ravel()]), correction=False)
    assert found.statistic == pytest.approx(known.statistic)
    assert found.p_value == pytest.approx(known.pvalue)


def test_other_samples_of_the_distribution_agree(made):
    """At the design's α about 1 in 20 is doubtful; none of 400 is a contradiction."""
    rng = np.random.default_rng(1)
    p = made.question.p_hat.ravel()
    drawn = [agreement(made, rng.multinomial(n, p)) for n in (5, 40, 1000, 100_000) for _ in range(25)]
    assert not any(found.contradicts for found in drawn)
    pairs = []
    for _ in range(400):
        first, second = rng.multinomial(1000, p), rng.multinomial(300, p)
        question = dataclasses.replace(made.question, counts=first.reshape(2, 2))
        pairs.append(agreement(Design(made.result, made.domain, question, made.method), second))
    assert not any(found.contradicts for found in pairs)
    assert 0.02 < np.mean([found.doubtful for found in pairs]) < 0.09


def test_single_rows_in_rare_cells_do_not_contradict(made):
    question = dataclasses.replace(made.question, counts=np.array([[998, 0], [1, 1]]))
    rare = Design(made.result, made.domain, question, made.method)
    for cell in range(4):
        assert agreement(rare, np.eye(4)[cell]).p_value > CONTRADICTION


def test_few_rows_of_a_rare_secret_contradict(made):
    """Too few for Pearson's test: 11 rows, all of them with what 11 of 440 rows of the design have."""
    question = dataclasses.replace(made.question, counts=np.array([[429, 0], [6, 5]]))
    rare = Design(made.result, made.domain, question, made.method)
    found = agreement(rare, np.array([[0, 0], [6, 5]]))
    assert found.degrees == 0
    assert found.contradicts
    assert "too few for a χ² test" in found.in_words()
    assert not agreement(rare, np.array([[2, 0], [0, 0]])).doubtful


def test_the_test_of_few_rows_keeps_its_level():
    rng, p = np.random.default_rng(3), np.array([0.9, 0.06, 0.03, 0.01])
    drawn = [homogeneity(rng.multinomial(n, p), rng.multinomial(9, p)) for n in [20, 400, 10**6] * 200]
    few = [found.p_value for found in drawn if found.degrees == 0]
    assert len(few) > 300
    assert np.mean(np.array(few) < 0.05) < 0.05


def test_exchanged_labels_contradict(made, tmp_path):
    out = tmp_path / "released.csv"
    with pytest.raises(InvalidInputError, match=r"contradicts the design: .* outside the"):
        privatize(TABLE, exchanged(made), out)
    assert not list(tmp_path.iterdir())
    found = []
    assert privatize(TABLE, exchanged(made), out, force=True, compared=found.append) == 1000
    assert found[0].contradicts
    assert out.exists()


def test_a_promise_for_every_distribution_needs_no_test(tmp_path):
    made, found = design(TABLE, "s", "u", epsilon=1.0, method="srr"), []
    privatize(TABLE, exchanged(made), tmp_path / "released.csv", compared=found.append)
    assert found == [None]


def test_a_file_whose_labels_were_exchanged_is_not_loaded(made, tmp_path):
    path = tmp_path / "mech.json"
    made.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    document = json.loads(path.read_text())
    document["design"]["domain"]["secret"]["columns"][0]["values"].reverse()
    path.write_text(json.dumps(document))
    with pytest.raises(UnreadableFileError, match="they do not match its digest"):
        load_design(path)


@pytest.mark.parametrize(("inside", "p_value"), [(True, 0.5), (False, 0.5), (False, 0.01), (False, 0)])
def test_a_table_outside_the_set_is_not_said_to_agree(inside, p_value, made, capsys):
    """Frequencies of few rows may lie outside by chance: that neither contradicts nor agrees."""
    distance = 7.8149 if inside else 7.8151
    found = Agreement(10, distance, 7.815, 1.0, 3, p_value, 0.05)
    _compare(made, found)
    said = " ".join("".join(capsys.readouterr()).split())
    assert ("agrees with the design" in said) == (inside and p_value > 0.05)
    assert ("does not contradict" in said) == (not inside and p_value > 0.05)
    where = "inside the confidence set (χ² 7.815" if inside else "outside the confidence set (χ² 7.815"
    assert where in said
