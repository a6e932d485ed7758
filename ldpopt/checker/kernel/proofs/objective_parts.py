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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from ..arithmetic import Interval
from ..budget import UndecidedError
from ..reading import UnreadableError
from ..schema import Distribution, List, Matrix, Number, Record
from ..units import Vector
from .column_utilities import (
    OF_TWO_HYPOTHESES,
    ORDER,
    Gain,
    divergence,
    information,
    largest,
    squares,
)
from .designs import Design
from .differences import dot
from .piecewise_linear import linear_pieces
from .privacy_parts import named

LARGEST = 1e15
"""The largest size of a loss, of a score, or of an entry of a piece or a query."""


@dataclass(frozen=True)
class Objective:
    """What is maximised: Σ_y g(w_y). A loss is minimised, so its g is negative.

    Attributes:
        name: its name in files; empty if the file does not say what is maximised.
        inputs: the number of inputs.
        words: what it is called in a claim.
        gain: encloses g at a column; of a design there is none.
        pieces: the linear functions of which g is the largest; None if it is not piecewise linear.
        distributions: the prior or the hypotheses of a named utility of :mod:`.corners`.
        weights: of bayes.
        order: of renyi.
        design: what the objective is of all columns together, where it is no sum over them.
    """

    name: str
    inputs: int
    words: str
    gain: Gain
    pieces: Sequence[Vector] | None = None
    distributions: Sequence[Sequence[Fraction]] = ()
    weights: Sequence[Fraction] = ()
    order: float | None = None
    design: Design | None = None


def unstated(inputs: int) -> Objective:
    """Stand for an objective that a statement leaves out, as only a package of another hand knows it."""
    return Objective("", inputs, "", _no_sum)


def _no_sum(column: Sequence[Fraction]) -> Interval:
    raise UndecidedError("the objective is no sum over the columns")


def _of_pieces(name: str, k: int, words: str, pieces: Sequence[Vector], **more: Any) -> Objective:
    return Objective(name, k, words, largest(pieces), pieces, **more)


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
        pieces = linear_pieces(name, [p0, p1], ())
        assert pieces is not None
        return _of_pieces(name, len(p0), words, pieces, distributions=[p0, p1])
    gain = divergence(name, [_entries(p0), _entries(p1)], order)
    if name == "renyi":
        words = f"power divergence (Σ q₀^α q₁^(1−α) − 1)/(α − 1) at α = {order!r}"
    return Objective(name, len(p0), words, gain, None, [p0, p1], order=order)


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
    slope = _entries([p * s for p, s in zip(prior, score, strict=True)])
    gain = squares(slope, _entries(prior))
    return Objective(name, len(prior), "Fisher information of the parameter", gain)


def _guessing(name: str, given: dict[str, Any]) -> Objective:
    prior = given["prior"]
    pieces = linear_pieces(name, [prior], ())
    assert pieces is not None
    words = "probability of guessing the input"
    return _of_pieces(name, len(prior), words, pieces, distributions=[prior])


def _bayes(name: str, given: dict[str, Any]) -> Objective:
    rows = given["hypotheses"]
    weights = given.get("weights") or [Fraction(1, len(rows))] * len(rows)
    if len(weights) != len(rows) or len({len(row) for row in rows}) != 1:
        raise UnreadableError("bayes needs hypotheses of one number of entries, and a weight for each")
    pieces = linear_pieces(name, rows, weights)
    assert pieces is not None
    words = "probability of naming the true hypothesis"
    return _of_pieces(name, len(rows[0]), words, pieces, distributions=rows, weights=weights)


def _largest(name: str, given: dict[str, Any]) -> Objective:
    rows = [[Fraction(a) for a in piece] for piece in given["pieces"]]
    words = f"sum over the reports of the largest of {len(rows)} linear functions"
    return _of_pieces(name, len(rows[0]), words, [_entries(row) for row in rows])


def _loss(name: str, given: dict[str, Any]) -> Objective:
    prior, loss = given["prior"], given["loss"]
    if len(prior) != len(loss):
        raise UnreadableError(f"loss must have {len(prior)} rows, one for each input, not {len(loss)}")
    columns = zip(*loss, strict=True)
    pieces = [
        _entries([-p * Fraction(one) for p, one in zip(prior, column, strict=True)])
        for column in columns
    ]
    words = "expected loss, each report being answered by its best decision,"
    return _of_pieces(name, len(prior), words, pieces)


def _log_det(name: str, given: dict[str, Any]) -> Objective:
    prior = given["prior"]
    if not all(prior):
        raise UnreadableError(f"{name} needs a prior without zeros")
    words = "log det of the information of a report"
    return Objective(name, len(prior), words, _no_sum, design=Design(prior, None))


def _queries(name: str, given: dict[str, Any]) -> Objective:
    found, rows = _log_det(name, given), given["queries"]
    if len(rows[0]) != found.inputs:
        raise UnreadableError(
            f"queries must have {found.inputs} entries, one for each input, not {len(rows[0])}"
        )
    if all(len(set(row)) == 1 for row in rows):
        raise UnreadableError("some query must have two different entries: else every answer is known")
    vectors = [_entries([Fraction(c) for c in row]) for row in rows]
    means = [dot(vector, given["prior"]) for vector in vectors]
    centred = [[Fraction(c) - mean for c in row] for row, mean in zip(rows, means, strict=True)]
    words = (
        "error of the queries (n times the summed variance of efficient estimates from n reports, the "
        "inputs being distributed as the prior)"
    )
    return replace(found, words=words, design=Design(given["prior"], centred))


def _entries(row: Sequence[Fraction]) -> Vector:
    return {x: a for x, a in enumerate(row) if a}


PRIOR = Record({"prior": Distribution(2)})
PAIR = Record({"hypotheses": List(Distribution(2), 2, 2)}, {"order": ORDER})
SIZE = Number(-LARGEST, LARGEST)
Builder = Callable[[str, dict[str, Any]], Objective]
MAXIMISED: dict[str, tuple[Record, Builder]] = {
    "mutual-information": (PRIOR, _information),
    "guessing": (PRIOR, _guessing),
    "bayes": (Record({"hypotheses": List(Distribution(2), 2)}, {"weights": Distribution(2)}), _bayes),
    **dict.fromkeys(OF_TWO_HYPOTHESES, (PAIR, _divergence)),
    "fisher": (Record({"prior": Distribution(2), "score": List(SIZE, 2)}), _fisher),
    "largest": (Record({"pieces": Matrix(SIZE, 1, 2)}), _largest),
    "log-det": (PRIOR, _log_det),
}
MINIMISED: dict[str, tuple[Record, Builder]] = {
    "loss": (Record({"prior": Distribution(2), "loss": Matrix(SIZE, 2, 1)}), _loss),
    "queries": (Record({"queries": Matrix(SIZE, 1, 2), "prior": Distribution(2)}), _queries),
}
"""What each objective may say, and what it means."""


def read_objective(plain: Any, sense: Literal["maximise", "minimise"]) -> Objective:
    """Read the objective of a question."""
    known = MAXIMISED if sense == "maximise" else MINIMISED
    name, given = named(plain, sense, known)
    schema, build = known[name]
    return build(name, schema.read(given, f"{sense}.{name}"))
