"""One paper figure or study per file. To add one: write the file, add its line to the table.

The parameters of a file's ``measure`` are the columns of its grid, which its ``points`` lists: they are
described there, and not once more in ``measure``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.engine.sweep import Experiment

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    "ldpopt.experiments",
    {
        "information-split": "ldpopt.experiments.information_split:EXPERIMENT",
        "unary-encodings": "ldpopt.experiments.unary_encodings:EXPERIMENT",
        "metric-costs": "ldpopt.experiments.metric_costs:EXPERIMENT",
        "divergence-derivatives": "ldpopt.experiments.divergence_derivatives:EXPERIMENT",
        "ldp-frontier": "ldpopt.experiments.ldp_frontier:EXPERIMENT",
        "fidelity-convergence": "ldpopt.experiments.fidelity_convergence:EXPERIMENT",
        "fidelity-tradeoff": "ldpopt.experiments.fidelity_tradeoff:EXPERIMENT",
        "fidelity-minimax": "ldpopt.experiments.fidelity_minimax:EXPERIMENT",
        "fidelity-phi": "ldpopt.experiments.fidelity_phi:EXPERIMENT",
        "step-is-not-optimal": "ldpopt.experiments.step_is_not_optimal:EXPERIMENT",
        "optimal-squares": "ldpopt.experiments.optimal_squares:EXPERIMENT",
        "leakage-scale": "ldpopt.experiments.leakage_scale:EXPERIMENT",
        "leakage-optimum": "ldpopt.experiments.leakage_optimum:EXPERIMENT",
        "leakage-tradeoff": "ldpopt.experiments.leakage_tradeoff:EXPERIMENT",
        "leakage-forest": "ldpopt.experiments.leakage_forest:EXPERIMENT",
        "leakage-support": "ldpopt.experiments.leakage_support:EXPERIMENT",
        "leakage-bounds": "ldpopt.experiments.leakage_bounds:EXPERIMENT",
        "average-privacy": "ldpopt.experiments.average_privacy:EXPERIMENT",
        "privacy-utility-tradeoff": "ldpopt.experiments.privacy_utility_tradeoff:EXPERIMENT",
        "mixture-gain": "ldpopt.experiments.mixture_gain:EXPERIMENT",
        "asymptotic-convergence": "ldpopt.experiments.asymptotic_convergence:EXPERIMENT",
        "optimal-protocols": "ldpopt.experiments.optimal_protocols:EXPERIMENT",
        "optimal-frontier": "ldpopt.experiments.optimal_frontier:EXPERIMENT",
        "rldp-polyopt": "ldpopt.experiments.rldp_polyopt:EXPERIMENT",
        "rldp-synthetic": "ldpopt.experiments.rldp_synthetic:EXPERIMENT",
        "rldp-parameters": "ldpopt.experiments.rldp_parameters:EXPERIMENT",
        "rldp-ir-or-cr": "ldpopt.experiments.rldp_ir_or_cr:EXPERIMENT",
        "rldp-samples": "ldpopt.experiments.rldp_samples:EXPERIMENT",
        "rldp-significance": "ldpopt.experiments.rldp_significance:EXPERIMENT",
        "rldp-true-utility": "ldpopt.experiments.rldp_true_utility:EXPERIMENT",
        "rldp-adult": "ldpopt.experiments.rldp_adult:EXPERIMENT",
        "rldp-time": "ldpopt.experiments.rldp_time:EXPERIMENT",
        "exposure-adult": "ldpopt.experiments.exposure_adult:EXPERIMENT",
        "statistical-exposure": "ldpopt.experiments.statistical_exposure:EXPERIMENT",
        "theorem-8": "ldpopt.experiments.theorem_8:EXPERIMENT",
        "feature-release-adult": "ldpopt.experiments.feature_release_adult:EXPERIMENT",
    },
)
