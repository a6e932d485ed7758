"""The catalogue: mechanisms with a name."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from ldpopt import validate
from ldpopt.encodings import HadamardResponse, LocalHashing, SubsetSelection, UnaryEncoding
from ldpopt.errors import InvalidInputError
from ldpopt.histograms import HistogramMaxL, HistogramQuantization, HistogramRandomizedResponse
from ldpopt.mechanism import Mechanism

__all__ = [
    "HadamardResponse",
    "HistogramMaxL",
    "HistogramQuantization",
    "HistogramRandomizedResponse",
    "LocalHashing",
    "SubsetSelection",
    "UnaryEncoding",
    "binary_mechanism",
    "randomized_response",
    "secret_randomized_response",
]


def randomized_response(k: int, epsilon: float) -> Mechanism:
    """Generalised randomised response: the truth e^ε times as likely as each lie (papers/001, (16)).

    >>> randomized_response(2, np.log(3)).matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    _whole("k", k, 2)
    E = math.exp(validate.epsilon(epsilon))
    matrix = np.ones((k, k)) + (E - 1) * np.eye(k)
    return Mechanism(matrix / (E + k - 1))


def secret_randomized_response(a1: int, a2: int, epsilon: float) -> Mechanism:
    """Secret randomised response on inputs (s, u), s < a1 and u < a2 (papers/001, (18)).

    Within a secret the factor is e^2ε, across secrets e^ε.

    >>> secret_randomized_response(2, 1, 1.0).epsilon().__round__(12)
    1.0
    """
    _whole("a1", a1, 2)
    _whole("a2", a2, 1)
    E = math.exp(validate.epsilon(epsilon))
    secret = np.repeat(np.arange(a1), a2)
    matrix = np.where(secret[:, None] == secret[None, :], 1 / E, 1.0)
    np.fill_diagonal(matrix, E)
    labels = list(product(range(a1), range(a2)))
    return Mechanism(matrix / matrix.sum(axis=1, keepdims=True), labels, labels)


def binary_mechanism(chosen: np.typing.ArrayLike, epsilon: float) -> Mechanism:
    """Answer "is x in the chosen set?" by randomised response: the best two outputs at level ε.

    >>> binary_mechanism([True, False, False], np.log(3)).matrix[:, 1]
    array([0.75, 0.25, 0.25])
    """
    inside = np.asarray(chosen, dtype=bool)
    E = math.exp(validate.epsilon(epsilon))
    yes = np.where(inside, E, 1.0) / (1 + E)
    return Mechanism(np.stack([1 - yes, yes], axis=1))


def _whole(name: str, value: int, least: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InvalidInputError(f"{name} must be a whole number >= {least}, not {value!r}")
