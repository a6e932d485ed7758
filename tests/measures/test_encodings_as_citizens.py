"""Unary encoding, hashing, subset selection and Hadamard response wherever a mechanism may stand."""

import numpy as np
import pytest
from bayesian import ALPHA, response

from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.measures import fisher, information_about_tallies, posterior_sampler
from ldpopt.measures.information_about_tallies import log_response
from ldpopt.measures.information_metrics import (
    asymptotic_utility,
    average_privacy,
    tally_utility,
)
from ldpopt.measures.posterior import posterior, posterior_of_reports
from ldpopt.mechanisms import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from ldpopt.models.priors import Dirichlet

THREE = [
    UnaryEncoding.oue(3, 1.0),
    LocalHashing(3, 2, 1.0),
    SubsetSelection(3, 1, 1.0),
    HadamardResponse(3, 1.0),
]


@pytest.mark.parametrize("m", THREE, ids=lambda m: type(m).__name__)
def test_compositions_are_those_of_the_matrix(m):
    dense = Mechanism(m.matrix, m.inputs, m.outputs)
    flip = response(3, 0.7)
    assert m.product(flip) == dense.product(flip)
    assert flip.product(m) == flip.product(dense)
    assert Mechanism.mixture([m, flip], [0.3, 0.7]) == Mechanism.mixture([dense, flip], [0.3, 0.7])
    assert type(m.mixture([m, flip], [0.3, 0.7])) is Mechanism
    blur = Mechanism(np.full((len(m.outputs), 2), 0.5), inputs=m.outputs)
    assert m.then(blur).epsilon() == 0
    assert ALPHA.push(m).mean() == pytest.approx(dense.push(ALPHA.mean()))


def test_a_product_with_too_many_outputs_is_refused():
    wide = UnaryEncoding.oue(13, 1.0)
    with pytest.raises(InvalidInputError, match="at most 100,000,000 entries"):
        wide.product(wide)
    with pytest.raises(InvalidInputError, match="at least one mechanism"):
        Mechanism.mixture([], [])


def test_a_hadamard_response_is_read_back_as_its_matrix():
    m = HadamardResponse(5, 1.0)
    assert np.array_equal(Mechanism.from_json(m.to_json()).matrix, m.matrix)
    assert type(m.from_json(m.to_json())) is Mechanism


@pytest.mark.parametrize(
    "m",
    [
        UnaryEncoding.oue(7, 1.3),
        LocalHashing(7, 3, 2.0),
        SubsetSelection(7, 3, 1.7),
        SubsetSelection(7, 6, 8.9),
        UnaryEncoding.rappor(7, 8.9),
    ],
    ids=repr,
)
def test_sets_counted_by_weight_are_the_sets_listed(m, monkeypatch):
    points = np.random.default_rng(0).dirichlet(np.full(7, 0.5), 3)
    listed = fisher.mechanism_information(points, m)
    W = m.matrix
    assert listed == pytest.approx(np.array([(W / (p @ W)) @ W.T for p in points]), rel=1e-10)
    monkeypatch.setattr(fisher, "LISTED", 1)
    monkeypatch.setattr(fisher, "LISTED_BY_SIZE", 1)
    assert fisher.mechanism_information(points, m) == pytest.approx(listed, rel=1e-10)


def test_asymptotic_utility_of_many_values():
    value = asymptotic_utility(UnaryEncoding.oue(200, 1.0), Dirichlet.jeffreys(200))
    assert value.method == "monte-carlo"
    assert value.error < 1e-5
    hashing = asymptotic_utility(LocalHashing(200, 4, np.log(3)), Dirichlet.jeffreys(200))
    unary = asymptotic_utility(UnaryEncoding.oue(200, np.log(3)), Dirichlet.jeffreys(200))
    assert hashing == pytest.approx(unary, abs=1e-9)  # the same likelihoods


def test_what_is_called_exact_is_exact():
    prior = Dirichlet.jeffreys(7)
    with pytest.raises(InvalidInputError, match="exactly for at most 6 values"):
        asymptotic_utility(UnaryEncoding.oue(7, 1.0), prior, method="exact")
    with pytest.raises(InvalidInputError, match="levels up to 9"):
        asymptotic_utility(UnaryEncoding.oue(12, 12.0), Dirichlet.jeffreys(12))
    square = asymptotic_utility(response(7, 1.0), prior, method="exact")
    assert square.method == "closed-form"
    assert asymptotic_utility(response(7, 1.0), prior, method="monte-carlo").method == "monte-carlo"


# ---------------------------------------------------------------- posteriors from reports


@pytest.mark.parametrize("m", THREE, ids=lambda m: type(m).__name__)
def test_a_posterior_from_reports_is_that_from_their_tallies(m):
    rng = np.random.default_rng(1)
    reports = m.sample(rng.integers(0, 3, 15), rng)
    sets = [tuple(int(x) for x in np.flatnonzero(row)) for row in m.supports(reports)]
    labels = reports.tolist() if isinstance(m, HadamardResponse) else sets
    counts = [labels.count(label) for label in m.outputs]
    found, known = posterior_of_reports(m, ALPHA, reports), posterior(m, ALPHA, counts)
    assert found.mean() == pytest.approx(known.mean(), abs=1e-12)
    assert found.log_evidence == pytest.approx(known.log_evidence, abs=1e-10)
    assert found.density([0.2, 0.3, 0.5]) == pytest.approx(known.density([0.2, 0.3, 0.5]), rel=1e-10)


def test_a_posterior_beyond_sixteen_values_finds_the_common_value(monkeypatch):
    monkeypatch.setattr(posterior_sampler, "STEPS", 700)  # converged or not
    m, rng = UnaryEncoding.oue(18, 4.0), np.random.default_rng(2)
    found = posterior_of_reports(m, Dirichlet.jeffreys(18), m.sample(np.full(60, 4), rng))
    assert found.method.startswith("monte-carlo")
    assert found.mean()[4] > 0.6
    assert found.mean().argmax() == 4


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (np.zeros(3), "must be rows, one per user"),
        (np.zeros((3, 5), dtype=bool), "must have 4 entries, one per value, not 5"),
    ],
)
def test_reports_that_do_not_fit_are_refused(reports, message):
    with pytest.raises(InvalidInputError, match=message):
        posterior_of_reports(UnaryEncoding.oue(4, 1.0), Dirichlet.uniform(4), reports)
    with pytest.raises(InvalidInputError, match="must have 4 values"):
        posterior_of_reports(UnaryEncoding.oue(4, 1.0), Dirichlet.uniform(3), np.zeros((1, 4)))
    with pytest.raises(InvalidInputError, match="from 0 to 2"):
        posterior_of_reports(response(3, 1.0), ALPHA, [3])


# ---------------------------------------------------------------- tally utility


def test_both_exact_forms_of_tally_information_agree():
    W, prior = UnaryEncoding(2, 0.7, 0.4).matrix, Dirichlet([0.5, 2.0])
    one = information_about_tallies._by_reports(W, prior, 6)
    assert one == pytest.approx(information_about_tallies._by_values(W, prior, 6), abs=1e-12)


def test_the_law_of_response_given_the_tallies():
    """Against all sums of two binomials, and a total of 1 for a thousand users."""
    t, beta = np.array([3, 4]), 1.7
    W = response(2, np.log1p(beta)).matrix
    law = information_about_tallies._sum_distribution(W, t, 7)
    for s in range(8):
        assert np.exp(log_response(t, np.array([s, 7 - s]), beta)) == pytest.approx(law[s], rel=1e-9)
    many = np.array([300, 700])
    total = sum(np.exp(log_response(many, np.array([s, 1000 - s]), 1.5)) for s in range(1001))
    assert total == pytest.approx(1, abs=1e-11)


def test_tally_utility_where_it_was_refused():
    value = tally_utility(UnaryEncoding.oue(3, 1.0), Dirichlet.jeffreys(3), 6)
    drawn = tally_utility(UnaryEncoding.oue(3, 1.0), Dirichlet.jeffreys(3), 6, method="monte-carlo")
    assert value.method == "exact-enumeration"
    assert abs(drawn - value) < 4 * drawn.error < 0.05
    wide = tally_utility(response(5, 1.0), Dirichlet.jeffreys(5), 100, draws=100)
    assert wide.method == "monte-carlo"
    assert abs(wide - 0.1203) < 4 * wide.error + 0.016
    exact = tally_utility(response(3, 1.0), Dirichlet.jeffreys(3), 12)
    series = tally_utility(response(3, 1.0), Dirichlet.jeffreys(3), 12, method="monte-carlo")
    assert abs(series - exact) < 4 * series.error


def test_average_privacy_of_a_mixture_of_encodings_is_linear():
    parts = [UnaryEncoding.oue(3, 1.0), HadamardResponse(3, 1.0)]
    both = Mechanism.mixture(parts, [0.25, 0.75])
    each = [average_privacy(m, ALPHA) for m in parts]
    assert average_privacy(both, ALPHA) == pytest.approx(0.25 * each[0] + 0.75 * each[1], abs=1e-11)
