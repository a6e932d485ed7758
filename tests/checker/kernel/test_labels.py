"""Labels of mechanisms, as the schema reads them."""

import numpy as np
import pytest

from ldpopt.checker.kernel.labels import Label
from ldpopt.checker.kernel.proofs.private_rows import read_matrix
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.kernel.schema import List
from ldpopt.problems.ue_conditional import UEConditional


def test_a_report_of_unary_encoding_may_name_no_secret():
    question = UEConditional(epsilon=1.0, p_hat=[[0.3, 0.2], [0.1, 0.4]], n=1000)
    mechanism = question.mechanism(np.array([0.2, 0.5]))
    assert mechanism.outputs[0] == (None, None)
    labels = [list(label) for label in mechanism.outputs]
    assert List(Label()).read(labels, "outputs") == list(mechanism.outputs)
    assert Label().read([None, [1, "a"]], "outputs[0]") == (None, (1, "a"))


@pytest.mark.parametrize("label", [{}, float("inf"), [float("nan")]])
def test_other_things_are_refused(label):
    with pytest.raises(UnreadableError, match="must be a string, a number, true, false or null"):
        Label().read(label, "outputs[0]")


@pytest.mark.parametrize("label", ["a\ud800", "\u202e5.41", "\x1b[2J", ["s", "u\n"]])
def test_labels_show_what_they_say(label):
    """Also in a result that was never written to a file."""
    with pytest.raises(UnreadableError, match=r"outputs\[0\] has the character U\+"):
        Label().read(label, "outputs[0]")


def colliding(count):
    """Pairs of whole numbers of one hash: what Python's hash of a pair adds can be taken off again."""
    first, second, start = 11400714785074694791, 14029467366897019727, 2870177450012600261
    size = 2**64

    def state(a):
        x = (start + a * second) % size
        return (x << 31 | x >> 33) * first % size

    goal, found = state(1) + 2 * second, []
    for a in range(1, 20 * count + 1):
        b = (goal - state(a)) * pow(second, -1, size) % size
        found += [[a, b]] if b < 10**18 else []
    return found[:count]


def test_lists_of_one_hash_are_refused():
    """A table of them takes a time that grows with their square, and no budget interrupts it."""
    labels = colliding(101)
    assert len(labels) == 101
    if len({hash(tuple(label)) for label in labels}) > 1:
        pytest.skip("this Python hashes pairs in another way")
    assert List(Label()).read(labels[:100], "outputs") == list(map(tuple, labels[:100]))
    assert List(Label()).read(labels[:100] * 2, "outputs")  # the same again is nothing new
    with pytest.raises(UnreadableError, match="outputs must not have over 100 different lists"):
        List(Label()).read(labels, "outputs")


@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_numbers_of_inputs_are_those_of_the_rows(shape):
    """A name says which row is meant, also in words; those that are no numbers are not checked."""
    a, b = shape
    secrets = [s for s in range(2) for _ in range(3)]
    matrix = [[1.0] for _ in secrets]

    def read(inputs):
        return read_matrix({"mechanism": {"matrix": matrix, "inputs": inputs}}, 6, secrets)

    pairs = [[s, u] for s in range(a) for u in range(b)]
    strange = ["", "inf", "nan", "1,", None, [[0], 1]]
    for inputs in (
        None,
        list(range(6)),
        list("012345"),
        list("fedcba"),
        [2010, 2011, 2012, 3, 2, 1],
        strange,
    ):
        assert read(inputs) == matrix
    reversed_words = [f"({s}, {u})" for s, u in pairs[::-1]]
    for inputs in (
        [1, 0, 2, 3, 4, 5],
        [1.0, 0.0, 2, 3, 4, 5],
        ["1", "0", " 2", "3.0", 4, "5"],
        pairs[::-1],
        [[str(s), u] for s, u in pairs[::-1]],
        reversed_words,
    ):
        with pytest.raises(UnreadableError, match=r"must number|must be the pairs"):
            read(inputs)
    if shape == (2, 3):
        assert read(pairs) == matrix
    else:
        with pytest.raises(UnreadableError, match="in the order of the rows"):
            read(pairs)
