"""One paper figure or study per file. To add one: write the file, add its line to the table."""

from __future__ import annotations

from ldpopt.registry import Registry
from ldpopt.sweep import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    "ldpopt.experiments",
    {
        "ldp-frontier": "ldpopt.experiments.ldp_frontier:EXPERIMENT",
        "average-privacy": "ldpopt.experiments.average_privacy:EXPERIMENT",
        "privacy-utility-tradeoff": "ldpopt.experiments.privacy_utility_tradeoff:EXPERIMENT",
        "mixture-gain": "ldpopt.experiments.mixture_gain:EXPERIMENT",
        "asymptotic-convergence": "ldpopt.experiments.asymptotic_convergence:EXPERIMENT",
        "optimal-protocols": "ldpopt.experiments.optimal_protocols:EXPERIMENT",
        "optimal-frontier": "ldpopt.experiments.optimal_frontier:EXPERIMENT",
    },
)
