"""The worst joint in exact arithmetic is worth what the search found."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ldpopt import Status, solve, verify
from ldpopt.core.exact import printed
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.measures.exposure_from_marginals import exact_marginals
from ldpopt.models.exact_joint import exact_joint
from ldpopt.problems import CompositionBound


@pytest.mark.parametrize(("seed", "shape", "threshold"), [(1, (5, 5), 0.05), (4, (6, 5, 2), 0.02)])
def test_cells_at_the_threshold_stay_there(seed, shape, threshold):
    """A repair of cell after cell left some of these joints too low by t or 2 t."""
    rng = np.random.default_rng(seed)
    marginals = [rng.dirichlet(np.ones(k)).tolist() for k in shape]
    result = solve(CompositionBound(marginals, threshold, "worst-joint"), "joint-milp")
    assert result.value >= result.stats["milp_bound"] * (1 - 1e-9)
    assert result.status is Status.OPTIMAL
    assert verify(result)


def test_no_threshold_is_lost_in_exact_arithmetic():
    """Vertices of many joints, rounded to floats: the exact joint has their mass to 1e-12."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        marginals = tuple(rng.dirichlet(np.ones(k)) for k in (4, 3, 3))
        form = JointProgram(marginals, 0.02)
        x = _vertex(form, rng)
        exact = exact_marginals(marginals)
        plain = exact_joint(exact, printed(0.02), form.cells, x, 0.02, strict=False)
        masses = [Fraction(int(m), int(plain["denominator"])) for m in plain["masses"]]
        reached = sum(m for m in masses if m <= printed(0.02))
        assert float(reached) == pytest.approx(float(x[x <= 0.02 * (1 + 1e-9)].sum()), abs=1e-12)
        for j, p in enumerate(exact):
            for a, wanted in enumerate(p):
                here = zip(plain["cells"], masses, strict=True)
                assert sum(m for cell, m in here if cell[j] == a) == wanted


def _vertex(form, rng):
    """A vertex of the joints whose small cells are drawn: the others may have any mass."""
    rows = np.zeros((len(form.mass), len(form.cells)))
    rows[form.rows.T, np.arange(len(form.cells))] = 1
    big = rng.random(len(form.cells)) < 0.3
    big[rng.integers(len(form.cells))] = True
    upper = np.where(big, 1.0, form.most_small)
    limits = np.stack([0 * upper, upper], axis=1)
    found = linprog(-rng.random(len(form.cells)), A_eq=rows, b_eq=form.mass, bounds=limits)
    return found.x if found.x is not None else form.mass[form.rows].prod(axis=1)
