"""Questions of one shape: the ε-LDP mechanism with the largest asymptotic utility under a prior."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from ldpopt.checker import frame
from ldpopt.checker.asymptotic import HALF_LOG_2PIE, DesignStatement
from ldpopt.checker.expectation import prior_points
from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.measure import Measure
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Problem
from ldpopt.core.validate import Array
from ldpopt.forms.convex_program import ConvexProgram
from ldpopt.mechanisms.subsets import subsets
from ldpopt.theory.bayes.fisher import information, orbit_information
from ldpopt.theory.bayes.priors import Dirichlet
from ldpopt.theory.columns.cones import staircase_cone

MOST_UNEQUAL = 8
MOST_COLUMNS = 20_000
"""Outputs of a released mechanism; a mixture over more sets is refused."""


class DesignProblem(Problem):
    """U^as as a concave program over the weights of two-valued columns.

    Lopuhaä-Zwakenberg et al. 2019, (6.1). A mechanism is Σ_v θ_v v = 1 over columns v; J(p) = Σ_v θ_v v
    vᵀ/(v·p) is linear in θ, so E log det J(P) is concave and the average privacy linear. v vᵀ/(v·p) is
    convex in v, so without a floor on the privacy columns with entries {1, e^ε} suffice. With a floor
    they do not: milder columns are needed too, and the program takes those of
    :data:`ldpopt.checker.asymptotic.LEVELS` levels up to ε.

    If all α are equal, averaging over permutations shows that some optimum weighs all columns with m
    high entries alike: k − 1 variables a level, whatever k is.

    The expectation is discretised as ``ldpopt.checker.asymptotic.DesignStatement`` says; for
    randomised response it is exact.
    """

    measure: ClassVar[Measure] = Measure("asymptotic utility", "nats")
    alpha: Any
    epsilon: float

    @property
    @abstractmethod
    def floor(self) -> float | None:
        """The least average privacy, if one is asked for."""

    @cached_property
    def prior(self) -> Dirichlet:
        """Dirichlet(α)."""
        return Dirichlet(self.alpha)

    @cached_property
    def question(self) -> DesignStatement:
        """The statement that the checker decides."""
        return frame.question(frame.statement(self.kind, self.to_params()))

    def forms(self) -> Iterable[Form]:
        """Give one form: the convex program over the columns.

        If all α are equal, it is over the classes of columns.
        """
        return [self._program]

    @cached_property
    def _points(self) -> tuple[list[list[float]], list[float]]:
        return prior_points(self.question.alpha, self.question.epsilon)

    @cached_property
    def _program(self) -> ConvexProgram:
        k = self.prior.size
        atoms = _classes(self.question) if self.prior.exchangeable else _rays(self.question)
        points, weights = map(np.array, self._points)
        blocks = atoms.blocks(points)
        costs, budget = np.zeros(len(atoms.labels)), math.inf
        if self.floor is not None:
            own = self.prior.mean() @ xlogy(atoms.columns, atoms.columns)
            costs = own - self.prior.expected_xlogx(atoms.columns)
            budget = (1 - self.floor) * self.prior.expected_entropy()
        columns = atoms.columns
        constraints = columns.mean(axis=0, keepdims=True) if self.prior.exchangeable else columns
        return ConvexProgram(
            blocks=blocks,
            weights=weights,
            scale=1 / (2 * k - 2),
            offset=-HALF_LOG_2PIE,
            constraints=constraints,
            costs=costs,
            budget=budget,
            labels=atoms.labels,
            start=_start(atoms, costs, budget),
        )

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, repaired to exact arithmetic."""
        assert isinstance(form, ConvexProgram)
        used = [(form.labels[j], float(solution.point[j])) for j in np.flatnonzero(solution.point)]
        parts = [self._columns(label, weight) for label, weight in used]
        count = sum(part.shape[1] for part in parts)
        if count > MOST_COLUMNS:
            raise InvalidInputError(
                f"the optimal mechanism has {count} outputs, more than {MOST_COLUMNS}; "
                "its set sizes and weights are those of mixtures of SubsetSelection"
            )
        matrix = np.hstack(parts)
        return Mechanism(certify.repair(matrix, staircase_cone(self.prior.size, self.question.epsilon)))

    def _columns(self, label: tuple[int, int], weight: float) -> Array:
        """Return the columns that an atom stands for, with its weight spread over them."""
        level, which = label
        k, E = self.prior.size, math.exp(self.question.levels[level])
        if not self.prior.exchangeable:
            sets = subsets(k)[which : which + 1]
        else:
            sets = np.zeros((math.comb(k, which), k))
            for row, members in enumerate(combinations(range(k), which)):
                sets[row, list(members)] = 1
        return weight / len(sets) * (1 + (E - 1) * sets.T)

    def value(self, answer: Mechanism) -> float:
        """Compute the asymptotic utility with its discretised expectation."""
        points, weights = map(np.array, self._points)
        sign, log_det = np.linalg.slogdet(information(points, answer.matrix))
        if (sign <= 0).any():
            return -math.inf
        return float(weights @ log_det) / (2 * self.prior.size - 2) - HALF_LOG_2PIE


class _Atoms:
    """Single columns: representatives, labels (level, set), and their blocks v vᵀ/(v·p)."""

    def __init__(self, levels: tuple[float, ...], labels: tuple[Any, ...], columns: Array) -> None:
        self.levels, self.labels, self.columns = levels, labels, columns

    def blocks(self, points: Array) -> Array:
        """Compute the blocks [point, atom, x, x']."""
        shares = points @ self.columns
        outer = self.columns.T[:, :, None] * self.columns.T[:, None, :]
        return outer[None] / shares[:, :, None, None]

    def response(self) -> Array:
        """Return the weights of randomised response at the highest level."""
        top = len(self.levels) - 1
        high = (self.columns > 1).sum(axis=0)
        single = np.array([level == top for level, _ in self.labels]) & (high == 1)
        return single / (self.columns[:, single].sum(axis=1)[0])


class _Classes(_Atoms):
    """Classes of columns with labels (level, number of high entries)."""

    def blocks(self, points: Array) -> Array:
        """Compute the blocks [point, atom, x, x'], averaged over the class."""
        averages = [orbit_information(points, 1.0, math.exp(level)) for level in self.levels]
        return np.stack([averages[level][:, m] for level, m in self.labels], axis=1)

    def response(self) -> Array:
        """Return the weight of the class of single high entries, at the highest level."""
        weights = np.zeros(len(self.labels))
        which = self.labels.index((len(self.levels) - 1, 1))
        weights[which] = 1 / self.columns[:, which].mean()
        return weights


def _classes(question: DesignStatement) -> _Atoms:
    k, levels = len(question.alpha), question.levels
    labels = [(0, 0), *((j, m) for j in range(len(levels)) for m in range(1, k))]
    sets = np.tri(k + 1, k, -1)  # row m has its first m entries high
    columns = [1 + math.expm1(levels[j]) * sets[m] for j, m in labels]
    return _Classes(levels, tuple(labels), np.array(columns).T)


def _rays(question: DesignStatement) -> _Atoms:
    k, levels = len(question.alpha), question.levels
    labels = [(0, 0), *((j, mask) for j in range(len(levels)) for mask in range(1, 2**k - 1))]
    sets = subsets(k)
    columns = [1 + math.expm1(levels[j]) * sets[mask] for j, mask in labels]
    return _Atoms(levels, tuple(labels), np.array(columns).T)


def _start(atoms: _Atoms, costs: Array, budget: float) -> Array:
    """Mix randomised response with saying nothing until the budget has room."""
    response = atoms.response()
    silence = np.zeros_like(response)
    silence[0] = 1.0
    leaked = float(costs @ response)
    share = 0.5 if leaked == 0 or math.isinf(budget) else min(0.5, 0.5 * budget / leaked)
    return share * response + (1 - share) * silence
