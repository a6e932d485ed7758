"""Secrets that are correlated with the data without being a part of it.

Lopuhaä-Zwakenberg and Goseling 2021, Section IX. A person has data x, and a secret s that x tells
something about: P(s, x) = P(x) K(s|x). The mechanism sees x alone. That is the case x = (s, u) with u =
x and a mechanism whose rows do not depend on s, so that every set of joint distributions [s][x] and
every audit applies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpopt.core import validate
from ldpopt.core.errors import InvalidInputError
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Uncertainty
from ldpopt.core.validate import Array
from ldpopt.measures.channel import matrix_of
from ldpopt.measures.levels import Level, rldp_level


def joint_distribution(prior: Any, channel: Any) -> Array:
    """Compute P(s, x) = P(x) K(s|x) as a matrix [s][x].

    Args:
        prior: P(x).
        channel: K, one row per x, the distribution of the secret given x.
    """
    p = validate.distribution("prior", prior)
    K = Mechanism(channel).matrix
    if len(K) != len(p):
        raise InvalidInputError(f"the channel must have {len(p)} rows, one per x, not {len(K)}")
    return np.asarray((p[:, None] * K).T)


def on_pairs(mechanism: Mechanism | Any, secrets: int) -> Mechanism:
    """Return the same mechanism on the pairs (s, x): it sees x alone.

    >>> on_pairs([[0.8, 0.2], [0.3, 0.7]], 2).matrix.tolist()
    [[0.8, 0.2], [0.3, 0.7], [0.8, 0.2], [0.3, 0.7]]
    """
    rows = matrix_of(mechanism)
    return Mechanism(np.tile(rows, (secrets, 1)))


def correlated_level(mechanism: Mechanism | Any, uncertainty: Uncertainty) -> Level:
    """Compute the level at which a mechanism on x hides a secret that is correlated with x.

    That is the largest log P(y|s)/P(y|z) over the joint distributions [s][x] of a set.

    Args:
        mechanism: on the inputs x.
        uncertainty: joint distributions of s and x.

    >>> from ldpopt.models.uncertainty_sets import Single
    >>> joint = joint_distribution([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])
    >>> round(correlated_level([[0.8, 0.2], [0.3, 0.7]], Single(joint)).level, 6)
    0.795378
    """
    return rldp_level(on_pairs(mechanism, uncertainty.shape[0]), uncertainty)
