"""Build utilities from the names that the kinds ``staircase`` and ``secret-staircase`` take."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.validate import Array
from ldpopt.models.utilities import (
    Divergence,
    MutualInformation,
    PowerDivergence,
    bayes,
    guessing,
)


def cleaned_utility(kind: str, ndim: int, given: dict[str, Any]) -> dict[str, Any]:
    """Read the distributions of a utility and fill in its defaults; the schema checks the rest.

    Args:
        kind: the kind of the problem, for messages.
        ndim: 1 for a distribution as a list, 2 for a matrix [s][u].
        given: ``prior`` or ``hypotheses``, ``utility``, ``weights``, ``order``; None where not given.
    """
    prior, hypotheses, utility = given["prior"], given["hypotheses"], given["utility"]
    if (prior is None) == (hypotheses is None):
        both = "both" if prior is not None else "neither"
        raise InvalidInputError(f"{kind} needs either 'prior' or 'hypotheses', not {both}")
    if given["weights"] is not None and utility != "bayes":
        raise InvalidInputError(f"weights belong to the utility bayes, not to {utility}")
    if given["order"] is not None and utility != "renyi":
        raise InvalidInputError(f"an order belongs to the utility renyi, not to {utility}")
    if prior is not None:
        named = "mutual-information" if utility is None else utility
        return {"prior": validate.distribution("prior", prior, ndim), "utility": named}
    rows = _hypotheses(hypotheses, ndim)
    if utility != "bayes":
        return {"hypotheses": rows}
    weights = np.full(len(rows), 1 / len(rows)) if given["weights"] is None else given["weights"]
    return {"hypotheses": rows, "weights": validate.distribution("weights", weights)}


def _hypotheses(value: Any, ndim: int) -> Array:
    listed = validate.array("hypotheses", value, 2) if ndim == 1 else value
    if not isinstance(listed, (list, tuple, np.ndarray)) or not len(listed):
        raise InvalidInputError(f"hypotheses must be two or more distributions, not {listed!r:.60}")
    rows = [validate.distribution(f"hypotheses[{i}]", row, ndim) for i, row in enumerate(listed)]
    if len({row.shape for row in rows}) > 1:
        sizes = [row.size for row in rows]
        raise InvalidInputError(
            f"hypotheses must be distributions on the same inputs, not of the sizes {sizes!r:.80}"
        )
    found = np.stack(rows)
    found.setflags(write=False)
    return found


def named_utility(
    name: str, prior: Array | None, hypotheses: Array | None, weights: Array | None, order: float | None
) -> Sublinear:
    """Build the utility of a column from cleaned parameters.

    Args:
        name: the name of the utility.
        prior: for mutual-information and guessing; it and the hypotheses may be matrices [s][u].
        hypotheses: for the other utilities.
        weights: the probabilities of the hypotheses of bayes.
        order: the order of renyi.
    """
    if prior is not None:
        flat = prior.ravel()
        return guessing(flat) if name == "guessing" else MutualInformation(flat)
    assert hypotheses is not None
    rows = hypotheses.reshape(len(hypotheses), -1)
    if name == "bayes":
        assert weights is not None
        return bayes(rows, weights)
    if name == "renyi":
        assert order is not None
        return PowerDivergence(rows[0], rows[1], order)
    return Divergence(rows[0], rows[1], name)
