"""One public column at a time: what a split design promises and how precise it is."""

from itertools import product

import numpy as np
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.measures import frequency_intervals
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.release import releasing
from ldpopt.release.column_sampling import Wanted
from ldpopt.release.comparing import compare
from ldpopt.release.designing import design, load_design
from ldpopt.release.methods import METHODS, chosen
from ldpopt.release.question import Question
from ldpopt.report.tradeoff import of_design

PUBLIC = ["ward", "sex"]


def table(n=6000):
    """Three diagnoses, three wards and two sexes; both depend a little on the diagnosis."""
    rng = np.random.default_rng(4)
    s = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    ward = (s * (rng.random(n) < 0.2) + rng.choice(3, n)) % 3
    sex = (rng.random(n) < 0.4 + 0.1 * s).astype(int)
    return {
        "diagnosis": [f"d{x}" for x in s],
        "ward": [f"w{x}" for x in ward],
        "sex": [f"s{x}" for x in sex],
    }


def made(**options):
    """Design for the table, with so much time that a busy machine changes nothing."""
    return design(
        table(), "diagnosis", PUBLIC, epsilon=1.0, method="split", time_limit=600, gap=1e-3, **options
    )


@pytest.fixture(scope="module")
def split_design():
    return made(robust="chi2")


@pytest.mark.parametrize("robust", ["chi2", "all"])
def test_a_split_design_is_private_verified_and_tells_every_column(robust, split_design):
    found = split_design if robust == "chi2" else made(robust=robust)
    assert found.verification
    assert found.level.level <= 1.0 + 1e-12
    plain = design(table(), "diagnosis", PUBLIC, epsilon=1.0, method="srr", robust=robust)
    for part, other in zip(found.accuracy(PUBLIC), plain.accuracy(PUBLIC), strict=True):
        assert part.squared_error < other.squared_error / 2


def test_each_report_depends_on_the_secret_and_one_public_column(split_design):
    cells = split_design.mechanism.matrix.reshape(3, 3, 2, -1)
    ward, sex = (np.abs(np.diff(cells, axis=axis)).max(axis=(0, 1, 2)) > 1e-9 for axis in (1, 2))
    assert ward.any()
    assert sex.any()
    assert not (ward & sex).any()


def test_the_marginals_of_the_set_have_its_bound(split_design):
    """The part for a column is private against the merged set, and so are the lifted columns."""
    F, W = split_design.question.uncertainty, split_design.mechanism.matrix
    assert isinstance(F, Chi2Set)
    groups = np.array([ward for ward, _ in split_design.domain.public.members])
    cells = W.reshape(3, 6, -1)
    seen = [y for y in range(cells.shape[2]) if np.ptp(cells[:, groups == 0, y], axis=1).max() < 1e-9]
    part = cells[:, [int(np.flatnonzero(groups == g)[0]) for g in range(3)]][:, :, seen].reshape(9, -1)
    merged = rldp_level(part / part.sum(axis=1, keepdims=True), F.merged(groups)).level
    whole = rldp_level(W[:, seen] / W[:, seen].sum(axis=1, keepdims=True), F).level
    assert whole <= merged + 1e-9


def test_a_saved_design_is_read_again_with_what_is_asked_of_one(split_design, tmp_path):
    split_design.save(tmp_path / "design.json")
    read = load_design(tmp_path / "design.json")
    assert read.fingerprint == split_design.fingerprint
    assert compare(read, time_limit=0.01)["split"] is read
    curve = of_design(read, seconds=1e-9)
    assert curve.own_name == "split"
    assert any(said.startswith("split at ε = ") for said in curve.omitted)


def test_columns_that_nobody_wants_are_not_reported(split_design):
    alone = made(queries=["sex"], robust="chi2")
    only = alone.accuracy(["sex"])[0].squared_error
    assert only < split_design.accuracy(["sex"])[0].squared_error
    assert np.isinf(alone.accuracy(["ward"])[0].squared_error)
    assert np.isfinite(made(queries=["diagnosis"]).accuracy(["diagnosis"])[0].squared_error)


def test_the_rows_of_queries_are_read_as_columns():
    rows = [
        [1.0 if pick(s, u) == value else 0.0 for s, u in product(range(2), range(4))]
        for pick, values in ((lambda s, u: s, 2), (lambda s, u: u // 2, 2), (lambda s, u: u % 2, 2))
        for value in range(values)
    ]
    wanted = Wanted(rows, (2, 4))
    assert [codes.tolist() for codes in wanted.secret] == [[0, 1]]
    assert [codes.tolist() for codes in wanted.public] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert wanted.cells(2) == 4


@pytest.fixture(scope="module")
def sampled_design():
    return design(table(), "diagnosis", PUBLIC, epsilon=1.0, method="sampled", time_limit=600)


def test_a_sampled_column_is_private_whatever_is_known(sampled_design):
    """Plain ε-LDP: the exact level is ε, and the checker proves it."""
    assert sampled_design.mechanism.epsilon() == pytest.approx(1.0, rel=1e-9)
    assert sampled_design.public.universal
    assert sampled_design.verification


def test_a_sampled_column_has_the_error_of_subset_selection(sampled_design):
    """Each column from its share of the reports, the shares in proportion to the roots of the errors."""
    alone = []
    for column in ("diagnosis", *PUBLIC):
        (part,) = design(table(), column, epsilon=1.0, method="learn").accuracy()
        alone.append(part.squared_error)
    shares = np.sqrt(alone) / np.sqrt(alone).sum()
    found = [part.squared_error for part in sampled_design.accuracy()]
    assert found == pytest.approx(np.array(alone) / shares, rel=1e-3)


def test_subset_selection_on_one_column_needs_a_column_to_name():
    refusal = METHODS["sampled"].refusal
    assert "none are named" in refusal(Question(np.ones((2, 3)), 1.0))
    assert refusal(Question(np.ones((3, 1)), 1.0, queries=np.eye(3))) == (
        "the table has one column: learn is the same"
    )


def test_wide_tables_are_sampled_where_their_columns_are_too_wide_to_split():
    """Twelve diseases and 36 districts: 432 cells, of which srr and grr learn next to nothing."""
    secret, public = np.repeat(np.eye(12), 36, axis=1), np.tile(np.eye(36), 12)
    counts = 1 + np.arange(432).reshape(12, 36) % 7  # the public values betray the secret
    question = Question(counts, 1.0, queries=np.vstack([secret, public]))
    assert chosen(question, "auto", "estimates") == ["sampled", "subset"]


def test_wide_tables_are_split_and_wide_columns_refused():
    shape = (4, 36)
    narrow = [[float(u // 6 == g) for _ in range(4) for u in range(36)] for g in range(6)]
    question = Question(np.ones(shape), 1.0, queries=narrow)
    assert chosen(question, "auto", "estimates")[-1] == "split"
    every = [[float(u == g) for _ in range(4) for u in range(36)] for g in range(36)]
    refusal = METHODS["split"].refusal
    reason = refusal(Question(np.ones(shape), 1.0, queries=every))
    assert reason == "takes at most 120 cells of the secret and one public column, not 144"
    assert "none are named" in refusal(Question(np.ones(shape), 1.0))
    with pytest.raises(InvalidInputError, match="no public column"):
        chosen(Question([[3], [4]], 1.0), "split")


def test_columns_of_which_nothing_is_known_are_one_line(sampled_design, tmp_path, ldpopt, monkeypatch):
    """No ranges of the combinations of public columns are sought here, and none of them is listed."""
    monkeypatch.setattr(frequency_intervals, "MOST_RANGES", 0)
    sampled_design.save(tmp_path / "m.json")
    releasing.privatize(table(), tmp_path / "m.json", tmp_path / "r.csv")
    answer = ldpopt("estimate", "r.csv", "--mechanism", "m.json", cwd=tmp_path)
    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert "Frequencies of ward × sex (public): none of the 6 is determined; no narrower range" in said
    assert "w0, s0" not in said
    assert "Frequencies of ward (public)" in said
