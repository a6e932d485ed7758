"""How much a mechanism leaks about a secret statistic, whatever the prior: statistic maximal leakage."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.selections import SelectionProgram
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.measures import row_selection
from ldpopt.models.secret_labels import (
    plain_matrix,
    plain_secret,
    read_matrix,
    read_secrets,
    selection_program,
)


@dataclass(frozen=True, eq=False)
class StatisticLeakage(Problem):
    """Compute SML, the largest log Σ_θ' max_g P(θ'|θ_g) over one parameter θ_g per secret g.

    Wang et al. 2024, (2) and Proposition 1. For a deterministic mechanism it is the logarithm of a
    largest matching between secrets and outputs; in general it is NP-hard (Theorem 1; the approximation
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
    measure: ClassVar[Measure] = Measure("statistic maximal leakage", "nats")
    bench_sizes: ClassVar[tuple[int, ...]] = (12, 24, 48)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (12, 30, 60, 120)
    matrix: Any
    secrets: Any

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        return {"matrix": read_matrix(self.matrix), "secrets": read_secrets(self.secrets)}

    @property
    def form(self) -> SelectionProgram:
        """The selection program: rows grouped by secret."""
        return selection_program(self.matrix, self.secrets)

    def forms(self) -> Iterable[Form]:
        """Give one form."""
        return [self.form]

    def lift(self, form: Form, solution: FormSolution) -> dict[str, list[int]]:
        """Return the selected parameters."""
        return {"selection": [int(row) for row in solution.point]}

    def value(self, answer: Any) -> float:
        """Compute log Σ_θ' max_g P(θ'|θ_g)."""
        return math.log(csr_array(self.matrix)[answer["selection"]].max(axis=0).sum())

    def claim(self, answer: Any) -> float:
        """Evaluate the leakage in exact arithmetic, rounded down."""
        return row_selection.exact_value(csr_array(self.matrix), answer["selection"])

    def to_params(self) -> dict[str, Any]:
        """Return dense rows as lists, a sparse matrix as triples."""
        return {"matrix": plain_matrix(self.matrix), "secrets": [plain_secret(s) for s in self.secrets]}

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw ``size`` parameters and half as many outputs: deterministic, and Dirichlet(0.05) rows."""
        outputs = max(size // 2, 1)
        released = (np.ones(size), (np.arange(size), rng.integers(0, outputs, size)))
        secrets = rng.integers(0, max(size // 3, 1), size).tolist()
        yield f"deterministic size={size}", cls(csr_array(released, shape=(size, outputs)), secrets)
        # random instances with more parameters than this are all deterministic
        if size <= 2_000:
            rows = rng.dirichlet(np.full(outputs, 0.05), size=size)
            few = np.arange(size) // 20 if size >= 40 else np.arange(size) // 3
            yield f"dirichlet size={size}", cls(rows, few.tolist())

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give Fig. 1 of Wang et al. 2024; a deterministic mechanism; two copies of the Fano plane."""
        yield Example(cls([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]], [0, 0, 1]), math.log(7 / 5))
        outputs, secrets = [0, 1, 1, 0, 1, 2, 2], [0, 0, 1, 1, 2, 2, 3]
        yield Example(cls(np.eye(3)[outputs], secrets), math.log(3))
        lines = [[(i + offset) % 7 for offset in (0, 1, 3)] for i in range(7)]
        fano = [[1 / 3 if point in line else 0.0 for point in range(7)] for line in lines]
        yield Example(cls(fano + fano, [0] * 7 + [1] * 7), math.log(5 / 3))
