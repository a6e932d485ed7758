"""One paper figure or study per file. To add one: write the file, add its line to the table."""

from __future__ import annotations

from ldpopt.registry import Registry
from ldpopt.sweep import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    "ldpopt.experiments",
    {
        "ldp-frontier": "ldpopt.experiments.ldp_frontier:EXPERIMENT",
        "exposure-adult": "ldpopt.experiments.exposure_adult:EXPERIMENT",
        "statistical-exposure": "ldpopt.experiments.statistical_exposure:EXPERIMENT",
        "theorem-8": "ldpopt.experiments.theorem_8:EXPERIMENT",
        "feature-release-adult": "ldpopt.experiments.feature_release_adult:EXPERIMENT",
    },
)
