"""How much a mechanism leaks about a secret statistic, whatever the prior: statistic maximal leakage."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from ldpopt import selection, validate
from ldpopt.errors import InvalidInputError
from ldpopt.forms import Form, FormSolution, SelectionProgram
from ldpopt.mechanism import Mechanism
from ldpopt.problem import Example, Problem

MOST_DENSE = 2_000
"""Random instances beyond this many parameters are deterministic only."""


@dataclass(frozen=True, eq=False)
class StatisticLeakage(Problem):
    """SML = max over one parameter θ_g per secret g of log Σ_θ' max_g P(θ'|θ_g), in nats.

    papers/003, (2) and Proposition 1. For a deterministic mechanism it is the logarithm of a largest
    matching between secrets and outputs; in general it is NP-hard (Theorem 1; the approximation
    scheme claimed there is about a flow's cost, there is none for e^SML unless P = NP).

    Args:
        matrix: the mechanism, ``matrix[θ][θ']``: dense, a scipy sparse matrix, a :class:`Mechanism`,
            or plain triples {"shape", "rows", "columns", "values"}.
        secrets: the secret of each parameter θ, any labels.

    The answer is {"selection": [θ of each secret, in order of first appearance]}.

    >>> problem = StatisticLeakage([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], ["a", "a", "b"])
    >>> round(math.exp(problem.value({"selection": [0, 2]})), 12)
    1.4
    """

    kind: ClassVar[str] = "statistic-leakage"
    bench_sizes: ClassVar[tuple[int, ...]] = (12, 24, 48)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (12, 30, 60, 120)
    matrix: Any
    secrets: Any

    def __post_init__(self) -> None:
        sparse = issparse(self.matrix) or isinstance(self.matrix, dict)
        matrix = _sparse(self.matrix) if sparse else _dense(self.matrix)
        _check_rows(csr_array(matrix))
        if not isinstance(self.secrets, Iterable):
            raise InvalidInputError(f"secrets must be a list of labels, not {self.secrets!r}")
        secrets = tuple(_label(secret) for secret in self.secrets)
        if len(secrets) != matrix.shape[0]:
            raise InvalidInputError(
                f"secrets has {len(secrets)} labels for {matrix.shape[0]} rows of the matrix"
            )
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "secrets", secrets)

    @property
    def form(self) -> SelectionProgram:
        """The selection program: rows grouped by secret."""
        matrix = csr_array(self.matrix)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        numbers: dict[Any, int] = {}
        groups = [numbers.setdefault(secret, len(numbers)) for secret in self.secrets]
        return SelectionProgram(matrix, np.array(groups))

    def forms(self) -> Iterable[Form]:
        """One form."""
        return [self.form]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, list[int]]:
        """The selected parameters."""
        return {"selection": [int(row) for row in solution.point]}

    def value(self, answer: Any) -> float:
        """log Σ_θ' max_g P(θ'|θ_g)."""
        return math.log(csr_array(self.matrix)[answer["selection"]].max(axis=0).sum())

    def claim(self, answer: Any) -> float:
        """The leakage in exact arithmetic, rounded down."""
        return selection.exact_value(csr_array(self.matrix), answer["selection"])

    def to_params(self) -> dict[str, Any]:
        """Dense rows as lists, a sparse matrix as triples."""
        return {"matrix": _plain_matrix(self.matrix), "secrets": [_plain(s) for s in self.secrets]}

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """``size`` parameters and half as many outputs: deterministic, and Dirichlet(0.05) rows."""
        outputs = max(size // 2, 1)
        released = (np.ones(size), (np.arange(size), rng.integers(0, outputs, size)))
        secrets = rng.integers(0, max(size // 3, 1), size).tolist()
        yield f"deterministic size={size}", cls(csr_array(released, shape=(size, outputs)), secrets)
        if size <= MOST_DENSE:
            rows = rng.dirichlet(np.full(outputs, 0.05), size=size)
            few = np.arange(size) // 20 if size >= 40 else np.arange(size) // 3
            yield f"dirichlet size={size}", cls(rows, few.tolist())

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """papers/003, Fig. 1; a deterministic mechanism; two copies of the Fano plane."""
        yield Example(cls([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [0, 0, 1]), math.log(7 / 5))
        outputs, secrets = [0, 1, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3]
        yield Example(cls(np.eye(3)[outputs], secrets), math.log(3))
        lines = [[(i + offset) % 7 for offset in (0, 1, 3)] for i in range(7)]
        fano = [[1 / 3 if point in line else 0.0 for point in range(7)] for line in lines]
        yield Example(cls(fano + fano, [0] * 7 + [1] * 7), math.log(5 / 3))


def _dense(matrix: Any) -> validate.Array:
    return validate.array("matrix", matrix.matrix if isinstance(matrix, Mechanism) else matrix, 2)


def _sparse(matrix: Any) -> csr_array:
    if isinstance(matrix, dict):
        try:
            places = (matrix["rows"], matrix["columns"])
            matrix = coo_array((matrix["values"], places), shape=tuple(matrix["shape"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"matrix is no sparse matrix: {error}") from None
    result = csr_array(matrix, dtype=np.float64)
    result.sum_duplicates()
    return result


def _check_rows(matrix: csr_array) -> None:
    bad = np.flatnonzero(~np.isfinite(matrix.data) | (matrix.data < 0))
    if len(bad):
        raise InvalidInputError(f"matrix has the entry {matrix.data[bad[0]]}, not a probability")
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > validate.SUM_TOLERANCE:
        raise InvalidInputError(
            f"row {worst} of the matrix sums to {sums[worst]:.12g}, off by {sums[worst] - 1:.3g}"
        )


def _label(secret: Any) -> Any:
    if isinstance(secret, (list, tuple)):
        return tuple(_label(part) for part in secret)
    plain = secret.item() if isinstance(secret, np.generic) else secret
    if not isinstance(plain, (str, int, float, bool)):
        raise InvalidInputError(f"a secret must be a string or a number, not {plain!r}")
    return plain


def _plain(secret: Any) -> Any:
    return [_plain(part) for part in secret] if isinstance(secret, tuple) else secret


def _plain_matrix(matrix: Any) -> Any:
    if not isinstance(matrix, csr_array):
        return matrix.tolist()
    triples = matrix.tocoo()
    return {
        "shape": list(matrix.shape),
        "rows": triples.coords[0].tolist(),
        "columns": triples.coords[1].tolist(),
        "values": triples.data.tolist(),
    }
