"""Schemas: one sentence for what is wrong; distributions divided by their exact sum."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpopt.checker import frame
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.kernel.schema import Distribution, Joint, List, Matrix, Number, Record, Whole, Word
from ldpopt.core.errors import InvalidInputError
from ldpopt.problems import Staircase

PARAMS = {"epsilon": 1.0, "prior": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (PARAMS | {"prior ": [0.5, 0.5]}, "no key 'prior '; allowed are epsilon, prior"),
        ({"epsilon": 1.0}, "needs either 'prior' or 'hypotheses'"),
        ({"prior": [0.5, 0.5]}, "needs the key 'epsilon'"),
        (PARAMS | {"epsilon": True}, "epsilon must be a finite number from 1e-06 to 30.0, not true"),
        (PARAMS | {"epsilon": "1"}, "epsilon must be a finite number from 1e-06 to 30.0, not '1'"),
        (PARAMS | {"epsilon": 31}, "not 31"),
        (PARAMS | {"epsilon": 9e-7}, "not 9e-07"),
        (PARAMS | {"prior": [0.5, 0.5 + 2e-9]}, "prior must sum to 1 within 1e-9, but sums to"),
        (PARAMS | {"prior": [1.5, -0.5]}, r"prior\[0\] must be a finite number from 0"),
        (PARAMS | {"prior": [1.0]}, "prior must be a list of 2 or more"),
        (PARAMS | {"prior": {"0": 1}}, "not an object of 1"),
        (PARAMS | {"utility": "kl"}, "a prior needs the utility mutual-information or guessing"),
        (PARAMS | {"utility": "x\ny"}, r"not 'x\\ny'"),
    ],
)
def test_parameters_that_are_refused(params, message):
    with pytest.raises(UnreadableError, match=message):
        frame.question(frame.statement("staircase", params))


@given(st.lists(st.floats(1e-3, 1), min_size=2, max_size=30))
def test_distributions_are_divided_by_their_exact_sum(numbers):
    shares = [x / sum(numbers) for x in numbers]
    found = Distribution().read(shares, "p")
    assert sum(found) == 1
    assert found[0] / found[1] == Fraction(shares[0]) / Fraction(shares[1])


def test_a_joint_is_divided_as_a_whole():
    found = Joint().read([[0.1, 0.2], [0.3, 0.4]], "p")
    assert sum(map(sum, found)) == 1


def test_shapes():
    with pytest.raises(UnreadableError, match="differ in length"):
        Matrix().read([[1, 2], [3]], "m")
    with pytest.raises(UnreadableError, match=r"m\[1\]\[0\] must be a finite number"):
        Matrix().read([[1, 2], [None, 3]], "m")
    with pytest.raises(UnreadableError, match=r"a whole number from 2 to 100,000, not 2\.0"):
        Whole(2, 100_000).read(2.0, "k")
    with pytest.raises(UnreadableError, match=r"^format must be 1, not 99$"):
        Whole(1, 1).read(99, "format")
    with pytest.raises(UnreadableError, match="one of a, b, not a list of 1"):
        Word("a", "b").read(["a"], "w")
    with pytest.raises(UnreadableError, match="not 'a larger number'"):
        Number().read(10**400, "x")
    assert Record({"a": List(Number(above=0))}).read({"a": [1, 2.5]}) == {"a": [1.0, 2.5]}


def test_a_problem_refuses_what_the_checker_refuses():
    for params in (PARAMS | {"epsilon": 31}, PARAMS | {"prior": [0.5, 0.5 + 2e-9]}):
        with pytest.raises(InvalidInputError):
            Staircase(**params)
    loose = [0.5, 0.5 + 8e-10]
    problem = Staircase(1.0, prior=loose)
    assert sum(problem.prior) == pytest.approx(1, abs=1e-15)
    assert Staircase(**problem.to_params()).to_params() == problem.to_params()


def test_whole_numbers_that_no_double_holds():
    """The neighbour would be decided about: 2^53 + 1 is read as 2^53."""
    assert Number().read(2**53, "value") == 2.0**53
    assert Number().read(2**53 + 2, "value") == 2.0**53 + 2
    assert Number().read(10**17, "value") == 1e17
    for number in (2**53 + 1, -(2**53) - 1, 10**17 + 1):
        with pytest.raises(UnreadableError, match=f"must be a number that a double holds, not {number}"):
            Number().read(number, "value")
        with pytest.raises(UnreadableError, match=r"\[1\] must be a number that a double holds"):
            List(Number()).read([1.0, number], "values")
