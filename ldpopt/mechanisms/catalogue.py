"""The catalogue: mechanisms with a name, and samplers where the matrix would be too wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Label, Mechanism
from ldpopt.core.validate import Array


def randomized_response(k: int, epsilon: float) -> Mechanism:
    """Build generalised randomised response: the truth e^ε times as likely as each lie.

    Lopuhaä-Zwakenberg and Goseling 2021, (16).

    >>> randomized_response(2, np.log(3)).matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    validate.whole_number("k", k, 2)
    E = math.exp(validate.epsilon(epsilon))
    matrix = np.ones((k, k)) + (E - 1) * np.eye(k)
    return Mechanism(matrix / (E + k - 1))


def secret_randomized_response(a1: int, a2: int, epsilon: float) -> Mechanism:
    """Build secret randomised response on inputs (s, u), s < a1 and u < a2.

    Lopuhaä-Zwakenberg and Goseling 2021, (18). Within a secret the factor is e^2ε, across secrets e^ε.

    Args:
        a1: the number of secrets, at least 2.
        a2: the number of public values.
        epsilon: the level ε at which s is hidden against all distributions, in nats.

    >>> secret_randomized_response(2, 1, 1.0).epsilon().__round__(12)
    1.0
    """
    validate.whole_number("a1", a1, 2)
    validate.whole_number("a2", a2, 1)
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


def independent_reporting(first: Mechanism, second: Mechanism) -> Mechanism:
    """Report s through the first mechanism and u through the second.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 1.

    >>> flip = randomized_response(2, 1.0)
    >>> independent_reporting(flip, flip).shape
    (4, 4)
    """
    matrix = np.kron(first.matrix, second.matrix)
    return Mechanism(
        matrix, product(first.inputs, second.inputs), product(first.outputs, second.outputs)
    )


def grr_conditional_reporting(
    p_hat: Any, epsilon_1: float, blocks: Sequence[Mechanism] | Sequence[float]
) -> Mechanism:
    """Report s by randomised response, and u only if s came out true.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 2.

    Args:
        p_hat: the distribution [s][u] from which u is drawn where s came out false.
        epsilon_1: the level of the randomised response for s; 0 is allowed.
        blocks: for every s the mechanism R^s for u, or the level δ_s of a randomised response.

    >>> grr_conditional_reporting([[0.3, 0.2], [0.1, 0.4]], 1.0, [2.0, 2.0]).shape
    (4, 4)
    """
    a1 = len(_conditionals(p_hat))
    return conditional_reporting(p_hat, response(a1, epsilon_1), range(a1), blocks)


def conditional_reporting(
    p_hat: Any,
    first: Mechanism,
    announced: Sequence[int],
    blocks: Sequence[Mechanism] | Sequence[float],
) -> Mechanism:
    """Report s by any mechanism that announces one secret with every output, and u if it is true.

    Protocol 2 of Lopuhaä-Zwakenberg and Goseling 2021 is the case of randomised response, which
    announces what it reports.

    Args:
        p_hat: the distribution [s][u] from which u is drawn where the announced secret is false.
        first: the report on s.
        announced: for every output of ``first`` the secret t that it announces.
        blocks: for every t the mechanism R^t for u, or the level δ_t of a randomised response.

    >>> pairs = Mechanism([[0.7, 0.3], [0.3, 0.7]])
    >>> conditional_reporting([[0.3, 0.2], [0.1, 0.4]], pairs, [0, 1], [2.0, 2.0]).shape
    (4, 4)
    """
    given = _conditionals(p_hat)
    parts = _blocks(blocks, *given.shape)
    columns, outputs = [], []
    for y, t in enumerate(announced):
        second = parts[t].matrix
        drawn = np.tile(given[t] @ second, (given.shape[1], 1))
        rows = [first.matrix[s, y] * (second if s == t else drawn) for s in range(len(given))]
        columns.append(np.vstack(rows))
        outputs += [(first.outputs[y], v) for v in parts[t].outputs]
    return Mechanism(_rows(np.hstack(columns)), product(*map(range, given.shape)), outputs)


@dataclass(frozen=True, eq=False)
class UEConditional:
    """UE conditional reporting as a sampler.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 3. No column is ever built. A report is a vector with
    one entry per secret s': −1 if s' is not reported, else the output of R^{s'} for u (if s' = s) or for
    a value drawn from p̂_{U|s'} (if not).
    """

    p_hat: Any
    kappa: float
    lam: float
    blocks: Sequence[Mechanism]

    @property
    def outputs(self) -> int:
        """How many different reports there are: Π_s (1 + outputs of R^s)."""
        return math.prod(1 + part.shape[1] for part in self.blocks)

    def sample(self, x: Any, rng: np.random.Generator | int) -> NDArray[np.int64]:
        """Draw one report per input index (s·a2 + u): an array of shape (len(x), a1)."""
        rng = np.random.default_rng(rng)
        given = _conditionals(self.p_hat)
        a1, a2 = given.shape
        s, u = np.divmod(np.asarray(x, dtype=np.int64), a2)
        reports = np.full((len(s), a1), -1, dtype=np.int64)
        for t, part in enumerate(self.blocks):
            mine = s == t
            chosen = rng.random(len(s)) < np.where(mine, self.kappa, self.lam)
            value = np.where(mine, u, rng.choice(a2, size=len(s), p=given[t]))
            reports[:, t] = np.where(chosen, part.sample(value, rng), -1)
        return reports

    def mechanism(self) -> Mechanism:
        """Build the dense matrix, for few secrets."""
        given = _conditionals(self.p_hat)
        a1, a2 = given.shape
        # the most cells of a matrix; beyond them only the sampler is offered
        if self.outputs * a1 * a2 > 2**22:
            raise InvalidInputError(
                f"UE conditional reporting has {self.outputs:.3g} outputs here: use its sampler"
            )
        true = [_with_silence(self.kappa, part.matrix) for part in self.blocks]
        false = [
            _with_silence(self.lam, np.tile(given[t] @ part.matrix, (a2, 1)))
            for t, part in enumerate(self.blocks)
        ]
        rows = []
        for s in range(a1):
            row = np.ones((a2, 1))
            for t in range(a1):
                factor = true[t] if t == s else false[t]
                row = (row[:, :, None] * factor[:, None, :]).reshape(a2, -1)
            rows.append(row)
        labels: list[list[Label]] = [[None, *part.outputs] for part in self.blocks]
        return Mechanism(_rows(np.vstack(rows)), product(range(a1), range(a2)), product(*labels))


def ue_conditional_reporting(
    p_hat: Any, kappa: float, lam: float, blocks: Sequence[Mechanism] | Sequence[float]
) -> UEConditional:
    """Report a random set of secrets, each with a value of u.

    Lopuhaä-Zwakenberg and Goseling 2021, Protocol 3.

    Args:
        p_hat: the distribution [s][u] from which u is drawn for the false secrets.
        kappa: the probability that the true secret is in the set.
        lam: the probability that a given false secret is in the set, at most κ.
        blocks: for every s the mechanism R^s for u, or the level δ_s of a randomised response.

    >>> protocol = ue_conditional_reporting([[0.3, 0.2], [0.1, 0.4]], 0.5, 0.3, [2.0, 2.0])
    >>> protocol.outputs, protocol.mechanism().shape
    (9, (4, 9))
    """
    given = _conditionals(p_hat)
    if not 0 <= lam <= kappa <= 1:
        raise InvalidInputError(f"0 <= lambda <= kappa <= 1 is needed, not {lam} and {kappa}")
    return UEConditional(p_hat, float(kappa), float(lam), _blocks(blocks, *given.shape))


def response(k: int, epsilon: float) -> Mechanism:
    """Build randomised response as a building block: any level from 0 to ∞, without checks."""
    odds = np.where(np.eye(k), 1.0, math.exp(-epsilon))
    return Mechanism(odds / odds.sum(axis=1, keepdims=True))


def _blocks(blocks: Sequence[Any], a1: int, a2: int) -> list[Mechanism]:
    if len(blocks) != a1:
        raise InvalidInputError(f"there must be {a1} blocks, one per secret, not {len(blocks)}")
    parts = [part if isinstance(part, Mechanism) else response(a2, float(part)) for part in blocks]
    for s, part in enumerate(parts):
        if part.shape[0] != a2:
            raise InvalidInputError(f"blocks[{s}] must have {a2} inputs, not {part.shape[0]}")
    return parts


def _conditionals(p_hat: Any) -> Array:
    joint = validate.distribution("p_hat", p_hat, ndim=2)
    mass = joint.sum(axis=1, keepdims=True)
    if (mass == 0).any():
        raise InvalidInputError(
            f"p_hat[{int(mass.argmin())}] must have a positive entry: its value of u cannot be drawn"
        )
    return joint / mass


def _with_silence(chosen: float, matrix: Array) -> Array:
    silent = np.full((len(matrix), 1), 1 - chosen)
    return np.hstack([silent, chosen * matrix])


def _rows(matrix: Array) -> Array:
    return matrix / matrix.sum(axis=1, keepdims=True)
