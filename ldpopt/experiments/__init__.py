"""One paper figure or study per file. To add one: write the file, add its name to the list.

The parameters of a file's ``measure`` are the columns of its grid, which its ``points`` lists: they are
described there, and not once more in ``measure``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.engine.sweep import Experiment

NAMES = """
    information-split unary-encodings metric-costs divergence-derivatives ldp-frontier
    fidelity-convergence fidelity-tradeoff fidelity-minimax fidelity-phi step-is-not-optimal
    optimal-squares leakage-scale leakage-optimum leakage-tradeoff leakage-forest leakage-support
    leakage-bounds average-privacy privacy-utility-tradeoff mixture-gain asymptotic-convergence
    optimal-protocols optimal-frontier rldp-polyopt rldp-synthetic rldp-parameters rldp-ir-or-cr
    rldp-samples rldp-significance rldp-true-utility rldp-adult rldp-time exposure-adult
    statistical-exposure theorem-8 feature-release-adult
"""
"""Every study, by the name of its file; ``_`` is written ``-``."""

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    "ldpopt.experiments",
    {name: f"ldpopt.experiments.{name.replace('-', '_')}:EXPERIMENT" for name in NAMES.split()},
)
