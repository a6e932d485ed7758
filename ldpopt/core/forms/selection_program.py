"""Selection programs: one row per group with the largest coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpopt.core.form import Form

if TYPE_CHECKING:  # only for the type: its import would slow down every command
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class SelectionProgram(Form):
    """Maximise log Σ_y max_g W[θ_g, y] over selections of one row θ_g from every group g.

    The exponential is a monotone submodular function over a partition matroid. For every v ≥ 0,
    Σ_y v_y + Σ_g max_{θ in g} Σ_y (W[θ, y] − v_y)⁺ bounds it; v are the *prices* of the outputs.

    Attributes:
        matrix: W ≥ 0, sparse, no stored zeros.
        groups: the group of each row: 0, 1, …; every group has a row.
    """

    name: ClassVar[str] = "selection-program"
    matrix: csr_array
    groups: NDArray[np.int64]
