"""Build utilities from the names that the kinds ``staircase`` and ``secret-staircase`` take."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.exact import MOST_LOG_POWER, OF_A_PRIOR, OF_HYPOTHESES
from ldpopt.core.forms.column_program import Sublinear
from ldpopt.core.validate import Array
from ldpopt.models.utilities import (
    Divergence,
    MutualInformation,
    PowerDivergence,
    bayes,
    guessing,
)


def cleaned_utility(
    kind: str, ndim: int, given: dict[str, Any], epsilon: float
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Check the parameters that say what is maximised; return them cleaned, and the inputs' shape.

    Args:
        kind: the kind of the problem, for messages.
        ndim: 1 for a distribution as a list, 2 for a matrix [s][u].
        given: ``prior`` or ``hypotheses``, ``utility``, ``weights``, ``order``; None where not given.
        epsilon: the level.
    """
    prior, hypotheses, utility = given["prior"], given["hypotheses"], given["utility"]
    if (prior is None) == (hypotheses is None):
        both = "both" if prior is not None else "neither"
        raise InvalidInputError(f"{kind} needs either 'prior' or 'hypotheses', not {both}")
    if prior is not None:
        name = validate.choice(
            "utility", "mutual-information" if utility is None else utility, OF_A_PRIOR
        )
        found = validate.distribution("prior", prior, ndim)
        clean: dict[str, Any] = {"prior": found, "utility": name}
        shape = found.shape
    else:
        name = validate.choice("utility", utility, OF_HYPOTHESES)
        rows = _hypotheses(hypotheses, ndim, "two or more" if name == "bayes" else "two")
        clean = {"hypotheses": rows, "utility": name}
        shape = rows[0].shape
    weights = _weights(name, given["weights"], hypotheses)
    return clean | {"weights": weights, "order": _order(name, given["order"], epsilon)}, shape


def _hypotheses(value: Any, ndim: int, count: str) -> Array:
    listed = validate.array("hypotheses", value, 2) if ndim == 1 else value
    if not isinstance(listed, (list, tuple, np.ndarray)):
        raise InvalidInputError(f"hypotheses must be {count} distributions, not {listed!r:.60}")
    if len(listed) < 2 or (count == "two" and len(listed) > 2):
        raise InvalidInputError(f"hypotheses must be {count} distributions, not {len(listed)}")
    rows = [validate.distribution(f"hypotheses[{i}]", row, ndim) for i, row in enumerate(listed)]
    sizes = [row.size for row in rows]
    if len({row.shape for row in rows}) > 1:
        raise InvalidInputError(
            f"hypotheses must be distributions on the same inputs, not of the sizes {sizes!r:.80}"
        )
    found = np.stack(rows)
    found.setflags(write=False)
    return found


def _weights(name: str, weights: Any, hypotheses: Any) -> Array | None:
    if name != "bayes":
        if weights is not None:
            raise InvalidInputError(f"weights belong to the utility bayes, not to {name}")
        return None
    count = len(hypotheses)
    if weights is None:
        weights = np.full(count, 1 / count)
    found = validate.distribution("weights", weights)
    if len(found) != count:
        raise InvalidInputError(f"there must be {count} weights, one per hypothesis, not {len(found)}")
    return found


def _order(name: str, order: Any, epsilon: float) -> float | None:
    if name != "renyi":
        if order is not None:
            raise InvalidInputError(f"an order belongs to the utility renyi, not to {name}")
        return None
    found = validate.positive_number("order", order)
    if found == 1:
        raise InvalidInputError("order must not be 1: the divergence of order 1 is the utility kl")
    if (found - 1) * epsilon > MOST_LOG_POWER:
        raise InvalidInputError(
            f"(order - 1) * epsilon must be at most {MOST_LOG_POWER}, not {(found - 1) * epsilon:g}"
        )
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
