"""Leakage programs: the least distortion under a bound on the leakage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import Form
from ldpopt.core.validate import Array


@dataclass(frozen=True, eq=False)
class LeakageProgram(Form):
    """Minimise max_θ Σ_y c[θ,y] W[θ,y] over mechanisms W that leak at most ``leakage`` nats.

    Σ_y max_g W[θ_g, y] ≤ e^leakage for every selection θ_g is a family of linear cuts on W, one per
    selection and assignment of the outputs to groups. With a level ε, W[θ, y] ≤ e^ε W[θ', y] holds, too.

    Attributes:
        counts: c ≥ 0 in whole multiples of 1/scale, so that proofs about it are exact.
        scale: the denominator of the costs.
        groups: the secret of each row: 0, 1, …
        leakage: the largest statistic maximal leakage, in nats.
        epsilon: the level of ε-LDP of the whole data; None for none.
        symmetries: a group of permutations, one per row of the array, that keep costs and secrets
            when they act on rows and columns alike; None if none is known.
    """

    name: ClassVar[str] = "leakage-program"
    counts: NDArray[np.int64]
    scale: int
    groups: NDArray[np.int64]
    leakage: float
    epsilon: float | None = None
    symmetries: NDArray[np.int64] | None = None

    @property
    def costs(self) -> Array:
        """c as floats."""
        return self.counts / self.scale
