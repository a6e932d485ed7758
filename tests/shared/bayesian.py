"""The mechanism, the prior and the randomised response whose Bayesian answers are known."""

import math

import numpy as np

from ldpopt.core.mechanism import Mechanism
from ldpopt.models.priors import Dirichlet

# the paper's matrices have inputs as columns
Q_A = Mechanism(np.array([[0.6, 0.2, 0.1], [0.3, 0.5, 0.3], [0.1, 0.3, 0.6]]).T)
ALPHA = Dirichlet([0.5, 1.2, 2.0])


def response(k: int, epsilon: float) -> Mechanism:
    E = math.exp(epsilon)
    return Mechanism((np.ones((k, k)) + (E - 1) * np.eye(k)) / (E + k - 1))
