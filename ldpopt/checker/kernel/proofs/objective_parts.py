"""Objectives: sums over the columns w of a mechanism of a convex, positively homogeneous g(w); designs.

| objective | g(w) |
|---|---|
| mutual-information | Σ_x P_x w_x log w_x − q log q, q = P·w |
| kl, chi-squared, hellinger, renyi | q1 f(q0/q1), q_i = p_i·w; see :mod:`two_hypotheses` |
| fisher | (Σ_x P_x score_x w_x)²/(P·w): information about one parameter whose score is given |
| total-variation, bayes, guessing | the largest of linear pieces; see :mod:`piecewise_linear` |
| largest | max_i a_i·w |
| loss, minimised | −max_d Σ_x −P_x loss(x, d) w_x: each report is answered by its best decision d |
| log-det; queries, minimised | of all columns together; see :mod:`designs` |

Lemma (fisher). z²/q is convex in (z, q), q > 0, and positively homogeneous; z and q are linear in w. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from ..arithmetic import Interval
from ..budget import UndecidedError
from ..fixed_point import Rational, Vector, entries
from ..reading import UnreadableError
from ..schema import Distribution, List, Matrix, Number, Record
from .column_utilities import (
    OF_TWO_HYPOTHESES,
    ORDER,
    Gain,
    divergence,
    gained,
    information,
    largest,
    squares,
)
from .two_hypotheses import Divergence

Vectors = Sequence[Sequence[Fraction]]
"""The z_i of the proof of a design, floats of its file."""
LARGEST = 1e15
"""The largest size of a loss, of a score, or of an entry of a piece or a query."""


@dataclass(frozen=True)
class Objective:
    """What is maximised: Σ_y g(w_y). A loss is minimised, so its g is negative.

    Attributes:
        name: its name in files; empty if the file does not say what is maximised.
        inputs: the number of inputs.
        words: what it is called in a claim.
        gain: encloses g at a column; of a design (:mod:`designs`) there is none.
        pieces: the linear functions of which g is the largest; None if it is not piecewise linear.
        distributions: the prior or the hypotheses of a named utility of :mod:`.corners`.
        divergence: which divergence it is, if it is one.
    """

    name: str
    inputs: int
    words: str
    gain: Gain
    pieces: Sequence[Vector] | None = None
    distributions: Sequence[Sequence[Fraction]] = ()
    divergence: Divergence | None = None

    @property
    def vectors(self) -> int:
        """The number of vectors that a proof brings, where the objective is no sum over the columns."""
        return 0

    def worth(self, matrix: Sequence[Sequence[float]]) -> Interval:
        """Enclose what a mechanism gains."""
        return gained(self.gain, matrix)

    def tangent(self, vectors: Vectors) -> Gain:
        """Return a g whose sum over the columns, with the offset, is not below the gain."""
        return self.gain

    def offset(self, vectors: Vectors) -> Fraction:
        """Compute a number that the gain less that sum does not exceed."""
        return Fraction(0)


def unstated(inputs: int) -> Objective:
    """Stand for an objective that a statement leaves out, as only a package of another hand knows it."""
    return Objective("", inputs, "", no_sum)


def no_sum(column: Sequence[Rational]) -> Interval:
    """Stand for g where there is none."""
    raise UndecidedError("the objective is no sum over the columns")


def _of_pieces(
    name: str, k: int, words: str, pieces: Sequence[Vector], rows: Sequence[Sequence[Fraction]] = ()
) -> Objective:
    return Objective(name, k, words, largest(pieces), pieces, rows)


def _information(name: str, given: dict[str, Any]) -> Objective:
    prior = given["prior"]
    return Objective(name, len(prior), "information I(X; Y)", information(prior), None, [prior])


def _divergence(name: str, given: dict[str, Any]) -> Objective:
    p0, p1 = given["hypotheses"]
    order = given.get("order")
    if len(p0) != len(p1):
        raise UnreadableError("hypotheses must have one number of entries")
    _check_order(name, order)
    words = f"divergence of the reports ({name})"
    if name == "total-variation":
        half = [(p - q) / 2 for p, q in zip(p0, p1, strict=True)]  # |q0 − q1|/2
        pieces = [entries(half), entries([-a for a in half])]
        return _of_pieces(name, len(p0), words, pieces, [p0, p1])
    known = Divergence(name, order)
    gain = divergence(known, [entries(p0), entries(p1)])
    if name == "renyi":
        words = f"power divergence (Σ q₀^α q₁^(1−α) − 1)/(α − 1) at α = {order!r}"
    return Objective(name, len(p0), words, gain, None, [p0, p1], known)


def _check_order(name: str, order: float | None) -> None:
    if name != "renyi" and order is not None:
        raise UnreadableError(f"an order belongs to the utility renyi, not to {name}")
    if name == "renyi" and order in (None, 1):
        raise UnreadableError("the utility renyi needs an order other than 1; at 1 it is kl")


def _fisher(name: str, given: dict[str, Any]) -> Objective:
    prior, score = given["prior"], list(map(Fraction, given["score"]))
    if len(prior) != len(score):
        raise UnreadableError(
            f"score must have {len(prior)} entries, one for each input, not {len(score)}"
        )
    mean = sum(p * s for p, s in zip(prior, score, strict=True))
    largest = max(abs(s) for p, s in zip(prior, score, strict=True) if p)
    if abs(mean) > Fraction(1, 10**9) * largest:
        raise UnreadableError("score must have the mean 0 under the prior")
    slope = entries([p * s for p, s in zip(prior, score, strict=True)])
    gain = squares(slope, entries(prior))
    return Objective(name, len(prior), "Fisher information of the parameter", gain)


def _guessing(name: str, given: dict[str, Any]) -> Objective:
    prior = given["prior"]
    pieces = [{x: p} for x, p in enumerate(prior)]
    return _of_pieces(name, len(prior), "probability of guessing the input", pieces, [prior])


def _bayes(name: str, given: dict[str, Any]) -> Objective:
    rows = given["hypotheses"]
    weights = given.get("weights") or [Fraction(1, len(rows))] * len(rows)
    if len(weights) != len(rows) or len({len(row) for row in rows}) != 1:
        raise UnreadableError("bayes needs hypotheses of one number of entries, and a weight for each")
    pieces = [entries([w * p for p in row]) for w, row in zip(weights, rows, strict=True)]
    return _of_pieces(name, len(rows[0]), "probability of naming the true hypothesis", pieces, rows)


def _largest(name: str, given: dict[str, Any]) -> Objective:
    rows = [[Fraction(a) for a in piece] for piece in given["pieces"]]
    words = f"sum over the reports of the largest of {len(rows)} linear functions"
    return _of_pieces(name, len(rows[0]), words, [entries(row) for row in rows])


def _loss(name: str, given: dict[str, Any]) -> Objective:
    prior, loss = given["prior"], given["loss"]
    if len(prior) != len(loss):
        raise UnreadableError(f"loss must have {len(prior)} rows, one for each input, not {len(loss)}")
    columns = zip(*loss, strict=True)
    pieces = [
        entries([-p * Fraction(one) for p, one in zip(prior, column, strict=True)]) for column in columns
    ]
    words = "expected loss, each report being answered by its best decision,"
    return _of_pieces(name, len(prior), words, pieces)


PRIOR = Record({"prior": Distribution(2)})
PAIR = Record({"hypotheses": List(Distribution(2), 2, 2)}, {"order": ORDER})
SIZE = Number(-LARGEST, LARGEST)
BUILDERS: dict[str, tuple[Record, Callable[[str, dict[str, Any]], Objective]]] = {
    "mutual-information": (PRIOR, _information),
    "guessing": (PRIOR, _guessing),
    "bayes": (Record({"hypotheses": List(Distribution(2), 2)}, {"weights": Distribution(2)}), _bayes),
    **dict.fromkeys(OF_TWO_HYPOTHESES, (PAIR, _divergence)),
    "fisher": (Record({"prior": Distribution(2), "score": List(SIZE, 2)}), _fisher),
    "largest": (Record({"pieces": Matrix(SIZE, 1, 2)}), _largest),
    "loss": (Record({"prior": Distribution(2), "loss": Matrix(SIZE, 2, 1)}), _loss),
}
PARTS = {name: (schema, partial(build, name)) for name, (schema, build) in BUILDERS.items()}
"""What each objective may say, and what it means."""
