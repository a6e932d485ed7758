"""Mechanisms: validation, composition, sampling, JSON."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.stats import chisquare

from ldpopt import Mechanism
from ldpopt.core.errors import InvalidInputError


@st.composite
def mechanisms(draw, inputs=None):
    n = inputs or draw(st.integers(1, 5))
    m = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    return Mechanism(np.random.default_rng(seed).dirichlet(np.full(m, 0.5), size=n))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.4]], "row 0 of the mechanism matrix must sum to 1, but sums to 0.9, off by -0.1"),
        ([[1.5, -0.5]], r"matrix\[0\]\[1\] must be at least 0, not -0.5"),
        ([[0.5, 0.5], [1.0]], "ragged"),
        ([[math.nan, 1]], "must be a finite number"),
        ([], "empty"),
        ([0.5, 0.5], "of 1 axes"),
    ],
)
def test_bad_matrices_are_named(matrix, message):
    with pytest.raises(InvalidInputError, match=message):
        Mechanism(matrix)


def test_bad_labels():
    with pytest.raises(InvalidInputError, match="there must be 2 labels of inputs, not 1"):
        Mechanism(np.eye(2), inputs=["a"])
    with pytest.raises(InvalidInputError, match="'a' appears twice"):
        Mechanism(np.eye(2), outputs=["a", "a"])


def test_immutable():
    identity = Mechanism(np.eye(2))
    with pytest.raises(AttributeError, match="immutable"):
        identity.matrix = np.ones((2, 2))
    with pytest.raises(ValueError, match="read-only"):
        identity.matrix[0, 0] = 0


def test_epsilon():
    assert Mechanism([[0.8, 0.2], [0.4, 0.6]]).epsilon() == pytest.approx(math.log(3))
    assert Mechanism([[1.0, 0.0], [1.0, 0.0]]).epsilon() == 0
    assert Mechanism(np.eye(3)).epsilon() == math.inf


@settings(max_examples=50)
@given(st.data())
def test_post_processing_never_raises_the_level(data):
    first = data.draw(mechanisms())
    second = data.draw(mechanisms(inputs=first.shape[1]))
    assert first.then(second).epsilon() <= first.epsilon() + 1e-9
    np.testing.assert_allclose(first.then(second).matrix, first.matrix @ second.matrix, atol=1e-15)


@settings(max_examples=50)
@given(st.data())
def test_levels_of_product_and_mixture(data):
    first = data.draw(mechanisms())
    second = data.draw(mechanisms(inputs=first.shape[0]))
    assert first.product(second).epsilon() <= first.epsilon() + second.epsilon() + 1e-9
    mixed = Mechanism.mixture([first, second], [0.25, 0.75])
    assert mixed.epsilon() == pytest.approx(max(first.epsilon(), second.epsilon()), abs=1e-9)


def test_composition_refuses_what_does_not_fit():
    two, three = Mechanism(np.eye(2)), Mechanism(np.eye(3))
    with pytest.raises(InvalidInputError, match="2 against 3 labels"):
        two.then(three)
    with pytest.raises(InvalidInputError, match="label 0 is 0 against 'a'"):
        two.product(Mechanism(np.eye(2), inputs=["a", "b"]))
    with pytest.raises(InvalidInputError, match="there must be 2 weights, one per mechanism, not 3"):
        Mechanism.mixture([two, two], [0.5, 0.25, 0.25])
    with pytest.raises(InvalidInputError, match="inputs disagree"):
        Mechanism.mixture([two, three], [0.5, 0.5])
    with pytest.raises(InvalidInputError, match="must have 2 entries, one per input, not 3"):
        two.push([0.2, 0.3, 0.5])


def test_sample_has_the_right_distribution():
    rng = np.random.default_rng(1)
    mechanism = Mechanism(rng.dirichlet(np.full(7, 0.4), size=3))
    x = np.repeat(np.arange(3), 200_000)
    y = mechanism.sample(x, rng)
    for row in range(3):
        counts = np.bincount(y[x == row], minlength=7)
        assert chisquare(counts, 200_000 * mechanism.matrix[row]).pvalue > 1e-4


def test_sample_keeps_shape_and_refuses_unknown_inputs():
    mechanism, rng = Mechanism(np.eye(3)), np.random.default_rng(0)
    np.testing.assert_array_equal(mechanism.sample([[0, 2], [1, 1]], rng), [[0, 2], [1, 1]])
    assert mechanism.sample([], rng).shape == (0,)
    with pytest.raises(InvalidInputError, match="an input index must be from 0 to 2, not 3"):
        mechanism.sample([0, 3], rng)
    with pytest.raises(InvalidInputError, match="indices, not float64"):
        mechanism.sample([0.5], rng)


@settings(max_examples=30)
@given(mechanisms())
def test_json_and_pickle_round_trip_bit_for_bit(mechanism):
    joint = Mechanism(mechanism.matrix, inputs=[("s", i) for i in range(mechanism.shape[0])])
    assert Mechanism.from_json(json.loads(json.dumps(joint.to_json()))) == joint
    assert pickle.loads(pickle.dumps(joint)) == joint
    assert hash(joint) == hash(Mechanism.from_json(joint.to_json()))


def test_from_json_refuses_garbage():
    for garbage in ({}, {"matrix": [[1]], "inputs": 3, "outputs": [0]}, {"matrix": None}):
        with pytest.raises(InvalidInputError):
            Mechanism.from_json(garbage)


def test_matrices_are_multiplied_and_read_by_numpy():
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    assert flip @ flip == flip.then(flip)
    assert np.asarray(flip) is flip.matrix
    assert np.array_equal(np.asarray(flip, dtype=np.float32), flip.matrix)
    copied = np.array(flip)
    copied[0, 0] = 2.0
    assert flip.matrix[0, 0] == 0.75
    with pytest.raises(TypeError):
        flip @ 3


def test_a_seed_is_a_generator():
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    x = np.arange(50) % 2
    assert np.array_equal(flip.sample(x, 7), flip.sample(x, np.random.default_rng(7)))


def test_a_mechanism_is_saved_exactly_and_read_again(tmp_path):
    m = Mechanism([[0.1, 0.9], [1 / 3, 2 / 3]], inputs=["ja", ("nein", 2)], outputs=["ü", 1])
    m.save(tmp_path / "m.json")
    assert Mechanism.from_json(json.loads((tmp_path / "m.json").read_text("utf-8"))) == m


def test_information_of_a_mechanism_and_of_an_encoding():
    flip = Mechanism([[0.75, 0.25], [0.25, 0.75]])
    known = math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)
    assert flip.mutual_information([0.5, 0.5]) == pytest.approx(known, abs=1e-15)
    with pytest.raises(InvalidInputError, match="prior must have 2 entries, one per input, not 3"):
        flip.mutual_information([1 / 3] * 3)


def test_a_picture_of_a_mechanism_names_its_labels():
    axes = Figure().subplots()
    assert Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"]).plot(axes) is axes
    assert [words.get_text() for words in axes.get_yticklabels()] == ["no", "yes"]
    assert axes.images[0].get_array().tolist() == [[0.75, 0.25], [0.25, 0.75]]
