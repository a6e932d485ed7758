"""The mechanism, private for a secret, from whose reports linear queries are answered best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from ldpopt.core import certify, validate
from ldpopt.core.certify import Privacy
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import clear_query_error, query_bound_below, query_error_above
from ldpopt.core.form import Form, FormSolution, Stage
from ldpopt.core.forms.query_program import ClimbedCone, QueryProgram
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Example, Measure, Problem, Stages, Subject
from ldpopt.core.validate import Array
from ldpopt.models.block_cone import BlockCone
from ldpopt.models.cones import SecretCone, joint_secrets
from ldpopt.models.uncertainty_sets import AllDistributions, Chi2Set
from ldpopt.problems.table_problem import ConePrivacy, audited, confidence_set, robust_subject


@dataclass(frozen=True, eq=False)
class RobustFidelity(Problem):
    """Minimise the squared error of linear queries, over mechanisms that hide s in data x = (s, u).

    With Σ the covariance, times n, of an efficient estimate of P from n reports, at the P that is
    given, the error is Σ_i c_iᵀΣc_i. With ``prior`` the secret is hidden whatever the distribution of
    (s, u): W[(s,u), y] ≤ e^ε W[(s',u'), y] for s ≠ s'; a table of one column is plain ε-LDP. With
    ``p_hat`` and ``n``, or ``counts``, it is hidden against every distribution of the χ² confidence
    set, by columns in the cone of PolyOpt (Lopuhaä-Zwakenberg and Goseling 2021, Theorem 11). This is an
    optimal design, solved with a proof (:mod:`ldpopt.checker.kernel.proofs.query_bound`). With
    ``queries`` the unit vectors and one column, the error is that of
    :class:`ldpopt.problems.fidelity.Fidelity` with the loss "mse", not divided by 1 − Σ p².

    Args:
        epsilon: the level, in nats.
        prior: the distribution of (s, u) as a matrix [s][u], to hide s against all distributions.
        queries: a row per query, with an entry per input (s, u) in the order of the table; the
            frequencies of all cells if not given. A query that matters more has larger entries.
        p_hat: instead of a prior the observed distribution [s][u], with ``n``; or else ``counts``.
        n: the number of samples.
        alpha: the significance level of the confidence set, 0.05 if not given.
        counts: the contingency table [s][u].

    >>> RobustFidelity(1.0, [[0.3, 0.2], [0.1, 0.4]], [[1, 1, 0, 0]]).cone.dimension
    4
    """

    kind: ClassVar[str] = "robust-fidelity"
    sense: ClassVar = "minimise"
    measure: ClassVar[Measure] = Measure("squared error of the queries, times the number of reports")
    bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4)
    full_bench_sizes: ClassVar[tuple[int, ...]] = (2, 3, 4, 5, 6)
    epsilon: float
    prior: Any = None
    queries: Any = None
    p_hat: Any = None
    n: float | None = None
    alpha: float | None = None
    counts: Any = None

    def cleaned(self) -> dict[str, Any]:
        """Check the parameters."""
        found = super().cleaned()
        if self.prior is not None:
            found["prior"] = validate.distribution("prior", self.prior, 2)
            cells = found["prior"].size
        else:
            F = self._confidence_set()
            found |= {"p_hat": F.p_hat, "n": F.n} if self.counts is None else {}
            cells = F.p_hat.size
        rows = np.eye(cells) if self.queries is None else self.queries
        return {**found, "queries": validate.array("queries", rows, 2)}

    def _confidence_set(self) -> Chi2Set:
        alpha = 0.05 if self.alpha is None else self.alpha
        return confidence_set(self.kind, self.p_hat, self.n, self.counts, alpha, ", or 'prior'")

    @cached_property
    def uncertainty(self) -> Chi2Set | AllDistributions:
        """The distributions against all of which s is hidden."""
        return self._confidence_set() if self.prior is None else AllDistributions(*self.prior.shape)

    @property
    def table(self) -> Array:
        """The distribution [s][u] at which the error is taken."""
        F = self.uncertainty
        return F.p_hat if isinstance(F, Chi2Set) else self.prior

    @property
    def cone(self) -> ClimbedCone:
        """Where the columns lie."""
        F = self.uncertainty
        if isinstance(F, Chi2Set):
            return BlockCone(F.lower_conditionals(), self.epsilon, "distinct")
        return SecretCone(joint_secrets(self.prior.shape), self.epsilon)

    def forms(self) -> Iterable[Form]:
        """Give one form: the query program over the cone."""
        least = certify.value_below(clear_query_error(self.question.p, self.question.queries))
        return [QueryProgram(self.cone, self.table.ravel(), self.queries, least)]

    def stages(self, form: Form) -> Stages:
        """Solve; the bound is what the proof proves exactly."""
        yield Stage(form, self._proven)

    def _proven(self, solution: FormSolution) -> FormSolution:
        if solution.proof is None:
            return solution
        found = query_bound_below(self.question, solution.proof)
        if found is None:
            least = certify.value_below(clear_query_error(self.question.p, self.question.queries))
            return replace(solution, bound=least, proof=None)
        return replace(solution, bound=certify.value_below(found))

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Build the mechanism, private in exact arithmetic."""
        robust = self.question.robust
        kept: Privacy = self.cone if robust is None else ConePrivacy(robust, "distinct")
        rows = certify.repair_mixed(solution.point, kept)
        a1, a2 = self.table.shape
        inputs = product(range(a1), range(a2)) if a2 > 1 else range(a1)
        return Mechanism(rows, inputs=inputs)

    def value(self, answer: Mechanism) -> float:
        """Compute Σ_i c_iᵀΣc_i."""
        return query_error(answer.matrix, self.table.ravel(), self.queries)

    def claim(self, answer: Mechanism) -> float:
        """Compute the error by the checker's exact arithmetic, rounded up."""
        found = query_error_above(answer.matrix.tolist(), self.question)
        if found is None:
            raise SolverError("the solver's mechanism does not tell all distributions apart")
        return certify.value_above(found)

    def subject(self, mechanism: Mechanism) -> Subject:
        """Describe that s is hidden against the distributions that were asked for."""
        F = self.uncertainty
        if isinstance(F, Chi2Set):
            return robust_subject(mechanism, F, self.epsilon)
        if self.prior.shape[1] == 1:
            return Subject.of_values(mechanism, self.prior.ravel(), {"ldp": self.epsilon})
        return Subject.of_pairs(mechanism, self.prior, F, {"robust-all": self.epsilon})

    def audit(self, answer: Mechanism) -> dict[str, Any]:
        """Measure the exact level at which the secret is hidden."""
        F = self.uncertainty
        return (
            audited(answer, F) if isinstance(F, Chi2Set) else {"level": self.cone.level(answer.matrix)}
        )

    @classmethod
    def random(cls, size: int, rng: np.random.Generator) -> Iterable[tuple[str, Self]]:
        """Draw a Dirichlet(2) table of ``size`` secrets with two values each, for both kinds of sets."""
        prior = rng.dirichlet(np.full(size * 2, 2.0)).reshape(size, 2)
        rows = np.vstack([np.repeat(np.eye(size), 2, axis=1), np.tile(np.eye(2), size)])
        yield f"{size}x2 epsilon=1 all", cls(1.0, prior, rows)
        if size <= 4:
            yield f"{size}x2 epsilon=1 n=1000", cls(1.0, queries=rows, p_hat=prior, n=1000)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Give (φ* − 1)/K at the uniform distribution, and proven optima of small tables."""
        yield Example(cls(1.0, [[0.25]] * 4), (34.224891557110 - 1) / 4, 1e-7)
        table, margins = [[0.3, 0.2], [0.1, 0.4]], [[1, 1, 0, 0], [1, 0, 1, 0]]
        yield Example(cls(1.0, table), 5.8291165353, 1e-7)
        yield Example(cls(1.0, table, margins), 4.0988856661, 1e-7)
        yield Example(cls(1.0, queries=margins, p_hat=table, n=1000), 2.0097270536, 1e-7)


def query_error(W: Array, p: Array, queries: Array) -> float:
    """Compute Σ_i c_iᵀΣc_i of a mechanism: Σ_i Σ_y q_y a_iy² − (c_i·p)² with W a_i = c_i.

    Args:
        W: the mechanism W[x, y].
        p: the distribution of the inputs.
        queries: c, one per row.
    """
    used = W[:, W.any(axis=0)]
    law = p @ used
    centred = queries - queries.mean(axis=1, keepdims=True)
    J = (used / law) @ used.T
    solved = np.linalg.solve(J, centred.T)
    return float((centred.T * solved).sum() - ((centred @ p) ** 2).sum())
