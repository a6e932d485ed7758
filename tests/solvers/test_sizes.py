"""Lists that no float can count are refused in words: 2^2000 rays, 30,000^70 cells."""

import numpy as np

from ldpopt.core.forms.column_program import ColumnProgram
from ldpopt.core.forms.joint_program import JointProgram
from ldpopt.models.cones import staircase_cone
from ldpopt.solvers.joint_lp import JointLp
from ldpopt.solvers.ray_enumeration import Enumerate


def test_rays():
    form = ColumnProgram(staircase_cone(2000, 1.0), lambda columns: columns.max(axis=0))
    assert "the cone has 1.15e+602 rays, more than" in Enumerate().accepts(form)
    assert "here are 1.15e+602" in Enumerate().suits(form)


def test_cells():
    form = JointProgram((np.full(30_000, 1 / 30_000),) * 70, 1e-4)
    assert "the joint has 2.50e+313 cells" in JointLp().accepts(form)
