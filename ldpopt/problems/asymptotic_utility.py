"""Questions of one shape: the ε-LDP mechanism with the largest asymptotic utility under a prior."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.exact import (
    POINT_UNIT,
    DesignStatement,
    UnreadableError,
    asymptotic_utility,
    column_renamings,
    prior_points,
    private_enough,
)
from ldpopt.core.form import Form, FormSolution
from ldpopt.core.forms.convex_program import Column, ConvexProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem
from ldpopt.core.validate import Array
from ldpopt.measures.asymptotics import HALF_LOG_2PIE
from ldpopt.measures.fisher import differences, set_information
from ldpopt.mechanisms.listings import subsets
from ldpopt.models.cones import staircase_cone
from ldpopt.models.priors import Dirichlet

MOST_COLUMNS = 20_000
"""Outputs of a released mechanism; a mixture over more sets is refused."""
SILENCES = (0.0, *(1e-12 * 8**n for n in range(13)), *(1 - 2.0**-n for n in range(1, 21)))
"""Shares of silence, an output that does not depend on the input, that are mixed into a mechanism, one
after the other, until it hides enough."""
DISCRETISED = "nats, over the points that stand for the prior"
"""The unit of value and bound: both are about the discretised expectation."""
MOST_RENAMED = 5
"""Up to this many values the utility of any mechanism is averaged over all renamings of the inputs."""


class DesignProblem(Problem):
    """U^as as a concave program over the weights of two-valued columns.

    Lopuhaä-Zwakenberg et al. 2019, (6.1). A mechanism is Σ_v θ_v v = 1 over columns v; J(p) = Σ_v θ_v v
    vᵀ/(v·p) is linear in θ, so E log det J(P) is concave and the average privacy linear. v vᵀ/(v·p) is
    convex in v, so without a floor on the privacy columns with entries {1, e^ε} suffice. With a floor
    they do not, as milder columns leak less: the program starts from some, and whoever solves it may
    ask for it over others. The program works on the differences of the entries, F with det F = det J
    (:mod:`ldpopt.checker.kernel.proofs.fisher_information`): they keep their digits.

    If all α are equal, averaging over permutations shows that some optimum weighs all renamings of a
    column alike: without a floor, k − 1 variables, whatever k is. With a floor the program then keeps to
    columns of two values, and the bound says what others might add.

    The expectation is discretised as :mod:`ldpopt.checker.statements.asymptotic_utility` says.
    """

    measure: ClassVar[Measure] = Measure("asymptotic utility", DISCRETISED)
    dirichlet: Any
    epsilon: float
    min_average_privacy: float | None

    def cleaned(self) -> dict[str, Any]:
        """Read the level and the prior."""
        return {**super().cleaned(), "dirichlet": Dirichlet(self.dirichlet).alpha}

    @cached_property
    def prior(self) -> Dirichlet:
        """Dirichlet(α)."""
        return Dirichlet(self.dirichlet)

    def forms(self) -> Iterable[Form]:
        """Give one form: the convex program over the columns.

        If all α are equal, it is over the classes of columns.
        """
        return [self._program]

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        try:
            rule = prior_points(self.question.alpha, self.question.epsilon)
        except UnreadableError as refusal:
            raise InvalidInputError(str(refusal)) from None
        return np.array(rule.points, dtype=float) / POINT_UNIT, np.array(
            rule.weights, dtype=float
        ) / POINT_UNIT

    @cached_property
    def _program(self) -> ConvexProgram:
        k, exchangeable = self.prior.size, self.prior.exchangeable
        if self.min_average_privacy is not None:
            return self._over(mild_columns(k, self.question.epsilon, exchangeable))
        return self._built(_Classes(self.question) if exchangeable else _Rays(self.question))

    def _over(self, columns: Sequence[Column]) -> ConvexProgram:
        return self._built(_Columns(self.question, columns))

    def _built(self, atoms: _Atoms) -> ConvexProgram:
        k, exchangeable, floor = self.prior.size, self.prior.exchangeable, self.min_average_privacy
        points, weights = self._points
        costs, budget = np.zeros(len(atoms.labels)), math.inf
        if floor is not None:
            columns = 1 + atoms.top * atoms.shares
            costs = np.maximum((columns * self.prior.leakage_slopes(columns)).sum(axis=0), 0.0)
            # the share of the leakage budget that solvers use: the rest covers the rounding of the
            # mechanism
            budget = (1 - 1e-10) * (1 - floor) * self.prior.expected_entropy()
        mean = 1 + atoms.shares.mean(axis=0) * atoms.top
        spread = min(atoms.top, 1.0)  # rows of Σ θ_v v = 1 differ by e^ε − 1 only: stretch what differs
        rows = mean + (atoms.shares - atoms.shares.mean(axis=0)) * (atoms.top / spread)
        return ConvexProgram(
            blocks=atoms.blocks(points),
            weights=weights,
            scale=1 / (2 * k - 2),
            offset=math.log(atoms.top) - HALF_LOG_2PIE,
            constraints=mean[None] if exchangeable else rows,
            spread=spread,
            costs=costs,
            budget=budget,
            labels=atoms.labels,
            start=_start(atoms, costs, budget),
            question=self.question,
            points=points,
            over=None if floor is None else self._over,
        )

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism with columns θ_v v, repaired to exact arithmetic.

        Where rounding leaves too little privacy on average, some silence is mixed in.

        Raises:
            SolverError: there is too little even with almost nothing but silence.
        """
        columns = np.hstack([self._columns(label, weight) for label, weight in solution.point])
        if columns.shape[1] > MOST_COLUMNS:
            raise InvalidInputError(
                f"the optimal mechanism has {columns.shape[1]} outputs, more than {MOST_COLUMNS}; "
                "its set sizes and weights are those of mixtures of SubsetSelection"
            )
        cone = staircase_cone(self.prior.size, self.question.epsilon)
        for touch in SILENCES:
            silence = np.full((self.prior.size, 1 if touch else 0), touch)
            mixed = Mechanism(certify.repair(np.hstack([(1 - touch) * columns, silence]), cone))
            if self.min_average_privacy is None or private_enough(mixed.matrix.tolist(), self.question):
                return mixed
        raise SolverError(
            f"the mechanism that was found has an average privacy below {self.min_average_privacy!r}, "
            "even if almost all reports are replaced by one that says nothing; ask for less average "
            "privacy"
        )

    def _columns(self, label: Any, weight: float) -> Array:
        """Return the columns that an atom stands for, with its weight spread over them."""
        k = self.prior.size
        if self.min_average_privacy is not None:
            columns = np.array(
                column_renamings(tuple(sorted(label))) if self.prior.exchangeable else [label]
            )
            return weight / len(columns) * columns.T
        c, which = float(self.question.contrast), label[1]
        if not self.prior.exchangeable:
            sets = subsets(k)[which : which + 1]
        else:
            sets = np.zeros((math.comb(k, which), k))
            for row, members in enumerate(combinations(range(k), which)):
                sets[row, list(members)] = 1
        return weight / len(sets) * (1 + c * sets.T)

    def value(self, answer: Mechanism) -> float:
        """Compute the asymptotic utility with its discretised expectation.

        With equal α it is a mean over all renamings of the inputs. They agree for a mechanism that
        treats all inputs alike; for any other the mean is taken up to :data:`MOST_RENAMED` values only.
        """
        points, weights = self._points
        if not self.prior.exchangeable or self.prior.size > MOST_RENAMED:
            return self._utility(points, weights, answer.matrix)
        renamed = [list(order) for order in permutations(range(self.prior.size))]
        return float(
            np.mean([self._utility(points, weights, answer.matrix[order]) for order in renamed])
        )

    def _utility(self, points: Array, weights: Array, matrix: Array) -> float:
        sign, log_det = np.linalg.slogdet(differences(points, matrix))
        if (sign <= 0).any():
            return -math.inf
        return float(weights @ log_det) / (2 * self.prior.size - 2) - HALF_LOG_2PIE

    def claim(self, answer: Mechanism) -> float:
        """Compute the utility by the checker's arithmetic, rounded down."""
        found = asymptotic_utility(answer.matrix.tolist(), self.question)
        if found is None:
            return self.value(answer)
        return certify.value_below(found.low)


def mild_columns(k: int, epsilon: float, exchangeable: bool) -> list[Column]:
    """List the columns that a program with a floor starts from, the constant one first.

    If all α are equal: two values at eight levels up to ε, one column a set size; else entries of 1,
    e^(ε/2) and e^ε.

    Args:
        k: the number of values.
        epsilon: the level ε, in nats.
        exchangeable: whether all α are equal.
    """
    if not exchangeable:
        entries = (1.0, math.exp(epsilon / 2), math.exp(epsilon))
        mixed = (v for v in product(entries, repeat=k) if min(v) == 1 < max(v))
        return [(1.0,) * k, *mixed]
    levels = [math.exp(epsilon * j / 8) for j in range(1, 9)]
    return [(1.0,) * k, *((1.0,) * (k - m) + (e,) * m for e in levels for m in range(1, k))]


class _Atoms:
    """Columns 1 + top · ``shares``, shares from 0 to 1, with their labels."""

    def __init__(self, question: DesignStatement, shares: Array, labels: Iterable[Any]) -> None:
        self.top, self.shares, self.labels = float(question.contrast), shares, tuple(labels)

    def blocks(self, points: Array) -> Array:
        """Compute [point, atom, a, b]: d dᵀ/(v·p), d the differences over the largest c."""
        columns = self.shares[:-1] - self.shares[-1]
        q = 1 + self.top * points @ self.shares
        outer = columns.T[:, :, None] * columns.T[:, None, :]
        return outer[None] / q[:, :, None, None]

    def response(self) -> Array:
        """Return the weights of randomised response at the highest level."""
        high, k = self.shares > 0.99, len(self.shares)
        single = (high.sum(axis=0) == 1) & ((self.shares == 0).sum(axis=0) == k - 1)
        return single / (k + self.top)


class _Rays(_Atoms):
    """Columns 1 + c 1_S; labels (0, set)."""

    def __init__(self, question: DesignStatement) -> None:
        k = len(question.alpha)
        which = range(2**k - 1)
        super().__init__(question, subsets(k)[which].T, ((0, m) for m in which))


class _Classes(_Atoms):
    """Classes of columns 1 + c 1_S; labels (0, size of S). ``shares`` has one of each class."""

    def __init__(self, question: DesignStatement) -> None:
        k = len(question.alpha)
        super().__init__(question, np.tri(k, k, -1).T, ((0, m) for m in range(k)))

    def blocks(self, points: Array) -> Array:
        """Compute [point, atom, a, b], averaged over the class."""
        return set_information(points, self.top)[:, :-1]

    def response(self) -> Array:
        """Return the weight of the class of single high entries."""
        return super().response() * len(self.shares)


class _Columns(_Atoms):
    """Any columns, which are their own labels; with equal α those of two values, for their renamings."""

    def __init__(self, question: DesignStatement, columns: Sequence[Column]) -> None:
        self.equal = question.equal
        super().__init__(question, np.empty(0), columns)
        self.shares = np.minimum((np.array(columns).T - 1) / self.top, 1.0)

    def blocks(self, points: Array) -> Array:
        """Compute [point, atom, a, b], averaged over the renamings."""
        if not self.equal:
            return super().blocks(points)
        found, known = [], {}
        for column in self.shares.T:
            c, m = float(column.max()), int((column > 0).sum())
            if c not in known:
                known[c] = set_information(points, self.top * c)
            found.append(c**2 * known[c][:, m])
        return np.stack(found, axis=1)

    def response(self) -> Array:
        """Return the weights of randomised response at the highest level, in one class with equal α."""
        return super().response() * (len(self.shares) if self.equal else 1)


def _start(atoms: _Atoms, costs: Array, budget: float) -> Array:
    """Mix randomised response with saying nothing until the budget has room."""
    response = atoms.response()
    silence = np.zeros_like(response)
    silence[0] = 1.0
    leaked = float(costs @ response)
    share = 0.5 if leaked == 0 or math.isinf(budget) else min(0.5, 0.5 * budget / leaked)
    return share * response + (1 - share) * silence


@dataclass(frozen=True, eq=False)
class AsymptoticUtility(DesignProblem):
    """Maximise U^as = −½ log 2πe + E log det(Qᵀ D_P Q)/(2k − 2) over ε-LDP mechanisms on k values.

    Lopuhaä-Zwakenberg et al. 2019, Definition 6.5; the "future work" of its Section 11. This is a
    D-optimal design problem: see :class:`ldpopt.problems.asymptotic_utility.DesignProblem`.

    Args:
        epsilon: the level, in nats.
        dirichlet: the parameters of the Dirichlet prior; 1/2 everywhere is Jeffreys' prior.
        min_average_privacy: a floor on S_μ of (4.1), at least 0 and less than 1; by default none.

    >>> AsymptoticUtility(epsilon=1, dirichlet=[0.5, 0.5, 0.5]).prior.size
    3
    """

    kind: ClassVar[str] = "asymptotic-utility"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (3, 4, 5, 6)
    epsilon: float
    dirichlet: Any
    min_average_privacy: float | None = None

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw Jeffreys' prior on ``size`` values at two levels."""
        for level in (1.0, 2.0):
            yield f"k={size} epsilon={level:g}", cls(level, [0.5] * size)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give randomised response where it is optimal (its utility has a closed form)."""
        yield Example(cls(2.0, [0.5, 0.5, 0.5]), RESPONSE_3_2, 1e-8)
        yield Example(cls(1.0, [1.0, 1.0]), RESPONSE_2_1, 1e-8)


RESPONSE_3_2 = -0.832840006592843
RESPONSE_2_1 = -1.459590385461081
"""U^as of randomised response, (10.5): Jeffreys, k = 3, ε = 2; uniform, k = 2, ε = 1."""


@dataclass(frozen=True, eq=False)
class PrivacyUtilityFrontier(DesignProblem):
    """Maximise U^as subject to S_μ ≥ ``min_average_privacy``, over all ε-LDP mechanisms.

    Lopuhaä-Zwakenberg et al. 2019, Section 11 asks for it (with S_μ ≤ L printed for S_μ ≥ L); see
    :class:`ldpopt.problems.asymptotic_utility.DesignProblem`.

    Args:
        dirichlet: the parameters of the Dirichlet prior.
        min_average_privacy: the floor on S_μ, at least 0 and less than 1.
        epsilon: the largest LDP level, in nats; by default free (up to 10, where e^−ε = 5e-5).

    >>> PrivacyUtilityFrontier(dirichlet=[0.5, 0.5, 0.5], min_average_privacy=0.8).question.epsilon
    10.0
    """

    kind: ClassVar[str] = "privacy-utility-frontier"
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (3, 4, 5, 6)
    dirichlet: Any
    min_average_privacy: float
    epsilon: float | None = None  # type: ignore[assignment]

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw Jeffreys' prior on ``size`` values under a floor of 0.8, the level fixed."""
        yield f"k={size} floor=0.8 epsilon=2", cls([0.5] * size, 0.8, 2.0)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Show that a floor that does not bind leaves the optimum of ``asymptotic-utility``."""
        yield Example(cls([1.0, 1.0], 0.0, 1.0), RESPONSE_2_1, 1e-8)
