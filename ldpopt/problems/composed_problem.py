"""Problems that are composed of notions of privacy and an objective."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, Literal

import numpy as np

from ldpopt.core import certify
from ldpopt.core.errors import InvalidInputError, SolverError
from ldpopt.core.exact import (
    Difference,
    ExactDesign,
    ProgramProof,
    ProgramQuestion,
    SelectionsNotion,
    UndecidedError,
    UnreadableError,
    apart,
    dominates_program,
    frame,
    gains_of_two,
    keeps_condition,
    outer_program,
    program_bound,
    program_left_sides,
    read_program_proof,
)
from ldpopt.core.form import Form, FormSolution, Stage, relative_gap
from ldpopt.core.forms.column_program import ColumnProgram, Columns, Sublinear
from ldpopt.core.forms.mechanism_program import (
    Assigned,
    Design,
    MechanismProgram,
    SideCondition,
    Spending,
)
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Measure, Problem, Stages, Subject
from ldpopt.core.validate import Array
from ldpopt.measures.achieved_privacy import promised
from ldpopt.measures.row_selection_lp import kept_by, selections_outside
from ldpopt.models.cones import SecretCone
from ldpopt.models.privacy import Outside, Privacy
from ldpopt.models.utilities import Fisher, Largest, named_utility
from ldpopt.problems._composition import dense, listed_pairs, listed_rays, matrix

MOST_LISTED = 16
"""Inputs up to which the rows of a cone are listed although a column program asks the same."""
MOST_ROUNDS = 40
"""The most rounds of cuts."""
MOST_CUT_RAYS = 1000
"""Rays of all cones beyond which no more cuts are sought: a round multiplies them."""
CLOSED = 1e-9
"""The relative gap at which no more cuts are sought."""
SPARE = 2e-11
"""The share of noise beyond what floats say is needed: room for the proof of privacy."""
Cuts = list[list[Any] | None]
"""The cuts of each notion; None for one that is a list of inequalities."""


class ComposedProblem(Problem):
    """A problem that is a composition; subclasses say which privacy and which objective.

    Maximise Σ_y g(W[:, y]) over mechanisms W whose columns lie in the cones of every notion and keep its
    budgets; weak duality gives the bound (``ldpopt/checker/kernel/proofs/weak_duality.py``).
    """

    privacy: Any
    """A notion of :mod:`ldpopt.privacy`, or several that all hold: a field, or a property."""
    objective: Any
    """One of :mod:`ldpopt.objective`: a field, or a property."""
    at_most: Any = ()
    """Side conditions, pairs of a matrix of costs and a limit."""
    at_least: Any = ()
    max_outputs: int | None = None
    """2 where at most two reports are allowed."""

    @property
    def notions(self) -> tuple[Privacy, ...]:
        """The notions of privacy, also where there is one."""
        return tuple(self.privacy) if isinstance(self.privacy, list | tuple) else (self.privacy,)

    def composition(self) -> dict[str, Any]:
        """Write notions, objective and side conditions as plain data."""
        found: dict[str, Any] = {"privacy": [part.to_json() for part in self.notions]}
        found[self.sense] = self.objective.to_json()
        for name, end in (("at_most", "most"), ("at_least", "least")):
            if given := getattr(self, name):
                found[name] = [
                    {"costs": np.asarray(costs).tolist(), end: limit} for costs, limit in given
                ]
        return found if self.max_outputs is None else {**found, "max_outputs": self.max_outputs}

    def statement(self) -> dict[str, Any]:
        """State the composition: the checker decides it, whatever the kind is called."""
        return {"form": "program", **self.composition()}

    def check_params(self) -> None:
        """Refuse a composition that the checker refuses."""
        try:
            _ = self.question
        except UnreadableError as error:
            raise InvalidInputError(f"{self.kind}: {error}") from None

    @cached_property
    def question(self) -> ProgramQuestion:
        """The question in exact terms, as the checker reads it."""
        return frame.question(self.statement())

    @property
    def sense(self) -> Literal["maximise", "minimise"]:
        """Whether more of the value is better, or less."""
        return self.objective.sense

    @property
    def measure(self) -> Measure:
        """What the objective measures."""
        return self.objective.measure

    @property
    def level(self) -> float | None:
        """The level at which one notion alone hides a secret; None for other notions, or several."""
        (part, *more) = self.question.parts
        return None if more or not part.secrets else part.epsilon

    def subject(self, mechanism: Mechanism) -> Subject:
        """Say what each notion promises, and what is measured of the mechanism.

        Where one notion hides a secret at one level, it is a promise that every audit knows.
        """
        prior = getattr(self.objective, "prior", None)
        p = None if prior is None else np.asarray(prior, dtype=float)
        exact, levels = self.question.parts, [part for part in self.question.parts if part.secrets]
        hidden = levels[0] if len(levels) == 1 else None
        own = [
            promised(mechanism, notion, part)
            for notion, part in zip(self.notions, exact, strict=True)
            if part is not hidden
        ]
        if hidden is None:
            found = Subject.of_values(mechanism, p, {})
        elif len(set(hidden.secrets)) == len(hidden.secrets):
            found = Subject.of_values(mechanism, p, {"ldp": hidden.epsilon})
        else:
            promises = {"indistinguishability": hidden.epsilon}
            found = Subject.of_groups(mechanism, hidden.secrets, p, promises)
        return replace(found, own=own)

    # ------------------------------------------------------------ forms

    @property
    def sublinear(self) -> Sublinear:
        """The utility of a column, in floats."""
        asked = self.question.objective
        assert not asked.vectors
        if asked.pieces is not None:
            return Largest(dense(asked.pieces, asked.inputs))
        if asked.name == "fisher":
            return Fisher(np.array(self.objective.prior), np.array(self.objective.score))
        given = {key: getattr(self.objective, key, None) for key in ("prior", "hypotheses", "order")}
        arrays = {
            key: None if v is None or key == "order" else np.asarray(v) for key, v in given.items()
        }
        return named_utility(asked.name, arrays["prior"], arrays["hypotheses"], None, given["order"])

    @cached_property
    def _cuts(self) -> Cuts:
        """The cuts to begin with, of each notion."""
        return [notion.first_cuts(self.question.objective.inputs) for notion in self.notions]

    def forms(self) -> Iterable[Form]:
        """Give a column program where one secret is hidden at one level; else a mechanism program."""
        asked = self.question
        if asked.corners is not None:
            cone = SecretCone(asked.corners.secrets, asked.corners.epsilon)
            yield ColumnProgram(cone, self.sublinear)
        if asked.corners is None or asked.objective.inputs <= MOST_LISTED:
            yield self._program(self._cuts)

    def _program(self, cuts: Cuts) -> MechanismProgram:
        """Build the mechanism program in which cuts stand for the notions that have them."""
        asked = outer_program({"cuts": cuts}, self.question)
        k, pieces = asked.objective.inputs, asked.objective.pieces
        return MechanismProgram(
            k,
            tuple(matrix(cone, k) for cone in asked.cones()),
            tuple(Spending(matrix(b.pieces, k), float(b.limit())) for b in asked.budgets),
            self._design() or self.sublinear,
            None if pieces is None else dense(pieces, k),
            tuple(
                SideCondition(np.array(one.costs, dtype=float).T, float(one.most))
                for one in asked.conditions
            ),
            partial(listed_rays, asked, cuts != self._cuts),
            partial(listed_pairs, asked) if asked.two_reports else None,
        )

    def _design(self) -> Design | None:
        """Return the design in floats, where the objective is one."""
        design = self.question.objective
        if not isinstance(design, ExactDesign):
            return None
        queries = None if design.queries is None else np.array(design.queries, dtype=float)
        return Design(np.array(design.prior, dtype=float), queries)

    def stages(self, form: Form) -> Stages:
        """Declare the form itself, whose multipliers are made exact; then forms with more cuts.

        With cuts, the form has mechanisms that are not private: a bound, and cuts that they violate.
        """
        cuts = self._cuts
        for _ in range(MOST_ROUNDS):
            outside: list[Outside] = []
            given = yield Stage(form, partial(self._contribution, cuts, outside))
            rays = (given.stats or {}).get("rays", 0)
            if given.bound is None or rays > MOST_CUT_RAYS or not any(one.cuts for one in outside):
                return
            left = None if given.value is None else relative_gap(given.value, given.bound)
            if left is not None and left <= CLOSED:
                return
            cuts = [
                None if own is None else own + [cut for cut in more.cuts if cut not in own]
                for own, more in zip(cuts, outside, strict=True)
            ]
            form = self._program(cuts)

    def _contribution(self, cuts: Cuts, outside: list[Outside], solution: FormSolution) -> FormSolution:
        """Make the bound exact, and mix the mechanism with a constant release until it is private."""
        proven = self._proven(cuts, solution)
        if solution.point is None or not any(own is not None for own in cuts):
            return proven
        rows = solution.point.matrix / solution.point.matrix.sum(axis=1, keepdims=True)
        outside += [
            selections_outside(rows, part)
            if isinstance(part, SelectionsNotion)
            else notion.outside(rows)
            for notion, part in zip(self.notions, self.question.parts, strict=True)
        ]
        share = min(max(found.share for found in outside) * (1 + SPARE) + SPARE, 1.0)
        mixed = (1 - share) * rows + share * rows.mean(axis=0)
        try:
            gain = self.question.gain(certify.rounded(mixed).tolist())
        except UndecidedError:  # a design that is singular with so much noise
            return replace(proven, point=None, value=None)
        value = self._signed(float(gain.low))
        return replace(proven, point=solution.point._replace(matrix=mixed), value=value)

    def _proven(self, cuts: Cuts, solution: FormSolution) -> FormSolution:
        """Raise β and λ until they prove the bound exactly: weak duality leaves no other choice."""
        if solution.value is not None:
            solution = replace(solution, value=self._signed(solution.value))
        if solution.proof is None:
            return solution
        if any(own is not None for own in cuts):
            solution = replace(solution, proof={**solution.proof, "cuts": cuts})
        assert solution.proof is not None
        asked = outer_program(solution.proof, self.question)
        if asked.two_reports:
            most = certify.value_above(max(Fraction(gain.high) for gain in gains_of_two(asked)))
            return replace(solution, bound=self._signed(most))
        proof = read_program_proof(solution.proof, asked)
        if proof.multipliers is not None:
            sides, spent = zip(*program_left_sides(proof, asked), strict=True)
            dual = [certify.value_above(max(entries)) for entries in zip(*sides, strict=True)]
            prices = [certify.value_above(max(entries)) for entries in zip(*spent, strict=True)]
        else:
            raised, prices = _raised(proof, asked), [float(price) for price in proof.prices]
            if raised is None:
                return replace(solution, bound=None, proof=None)
            dual = raised
        plain = {**solution.proof, "dual": dual, "prices": prices}
        proven = certify.value_above(program_bound(read_program_proof(plain, asked), asked))
        return replace(
            solution,
            bound=self._signed(proven),
            proof={k: part for k, part in plain.items() if part != []},
        )

    def _signed(self, gain: float) -> float:
        """Return a gain as the value of the objective: a loss is a negative gain."""
        return gain if self.sense == "maximise" else -gain

    # ------------------------------------------------------------ the answer

    def lift(self, form: Form, solution: FormSolution) -> Mechanism:
        """Repair the mechanism to exact arithmetic: mix it with one inside of all cones and budgets."""
        point = solution.point
        if isinstance(point, Columns):
            point = Assigned(point.matrix, np.zeros(len(point.weights), dtype=int))
        own, equal = self._constants(point) if point.inner is None else (point.inner, point.inner)
        free = self._free()[:, point.cones] if point.inner is None else point.inner > 0
        rows = (freed := point.matrix * free) / freed.sum(axis=1, keepdims=True)
        tries = [(touch, own) for touch in (0.0, *certify.GRID * 4.0 ** np.arange(11))]
        tries += [(touch, equal) for touch in certify.GRID * 2.0 ** np.arange(43)]  # up to 1e-3
        for touch, inner in tries:
            if self._admits(candidate := certify.rounded((1 - touch) * rows + touch * inner)):
                return Mechanism(candidate)
        also = ", or the side conditions leave rounding no room" * bool(self.question.conditions)
        raise SolverError(f"the solver's mechanism is too far from private to be repaired{also}")

    @cached_property
    def _cones(self) -> list[tuple[Difference, ...]]:
        """The rows of each cone but those that hide secrets: these allow constants, and ask for no 0."""
        parts = [((),) if part.secrets else part.cones() for part in self.question.parts]
        return [tuple(chain.from_iterable(chosen)) for chosen in product(*parts)]

    def _free(self) -> Array:
        """Return 0 for each input and cone with w_x ≤ 0, else 1: what a solver has there is rounding."""
        found = np.ones((self.question.objective.inputs, len(self._cones)))
        for c, cone in enumerate(self._cones):
            found[[x for left, right, _ in cone if not right for x in left], c] = 0
        return found

    def _constants(self, point: Assigned) -> tuple[Array, Array]:
        """Return two constant releases over the columns whose cone holds constant columns.

        The first has the columns' own masses, and takes little from what small columns tell; the second
        has equal ones, and hides what rounding left in columns that are hardly ever used. Where no
        inequality and no column joins two parts of the inputs, they are constant on each part alone: a
        report that tells the part goes on telling it.
        """
        asked, ones = self.question, [Fraction(1)] * (k := self.question.objective.inputs)
        constant = np.array([all(row.at_most(ones) <= 0 for row in cone) for cone in self._cones])
        whole = asked.budgets or any(self._cuts) or any(part.secrets for part in asked.parts)
        joins: list[Iterable[int]] = [range(k)] if whole else list(map(np.flatnonzero, point.matrix.T))
        joins += [{*row.left, *row.right} for cone in self._cones for row in cone if row.right]
        own, equal = np.zeros_like(point.matrix), np.zeros_like(point.matrix)
        for part in apart(joins, k):
            usable = constant[point.cones] & point.matrix[part].any(axis=0)
            masses = usable * point.matrix[part].mean(axis=0)
            own[part] = masses / (masses.sum() or 1.0)
            equal[part] = usable / max(usable.sum(), 1)
        return own, equal

    def _admits(self, matrix: Array) -> bool:
        asked, plain = self.question, matrix.tolist()
        return all(
            kept_by(matrix, part) is not None
            if isinstance(part, SelectionsNotion)
            else part.holds(plain) is True
            for part in asked.parts
        ) and all(keeps_condition(condition, asked.by_piece(plain)) for condition in asked.conditions)

    def proof_of(self, answer: Mechanism, solution: FormSolution) -> dict[str, Any] | None:
        """Add a tree of prices for each notion that only such a tree shows to be kept."""
        trees = [
            kept_by(answer.matrix, part) if isinstance(part, SelectionsNotion) else None
            for part in self.question.parts
        ]
        return {**(solution.proof or {}), "privacy": trees} if any(trees) else solution.proof

    def value(self, answer: Mechanism) -> float:
        """Evaluate the objective."""
        return self.claim(answer)

    def claim(self, answer: Mechanism) -> float:
        """Evaluate the objective exactly, and round it to its unfavourable side."""
        try:
            gained = self.question.gain(answer.matrix.tolist())
        except UndecidedError as error:
            raise SolverError(f"the best mechanism found has no value that is proven: {error}") from None
        return self._signed(certify.value_below(gained.low))


def _raised(proof: ProgramProof, asked: ProgramQuestion) -> list[float] | None:
    """Raise β until the checker's test holds; None if it takes more than rounding can explain."""
    dual = np.array([float(b) for b in proof.dual])
    size = max(1.0, float(np.abs(dual).max()))
    found = certify.raised(
        dual,
        lambda plain: dominates_program(proof._replace(dual=list(map(Fraction, plain))), asked),
        certify.GRID * size,
        certify.MOST_RAISED * size,
    )
    return None if found is None else found.tolist()
