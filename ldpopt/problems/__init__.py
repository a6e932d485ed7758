"""One question per file. To add one: write the file, add its line to the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.core.problem import Problem

PROBLEMS: Registry[type[Problem]] = Registry(
    "problem",
    "ldpopt.problems",
    {
        "program": "ldpopt.problems.program:Program",
        "staircase": "ldpopt.problems.staircase:Staircase",
        "secret-staircase": "ldpopt.problems.secret_staircase:SecretStaircase",
        "circulant-fidelity": "ldpopt.problems.least_phi:CirculantFidelity",
        "square-fidelity": "ldpopt.problems.least_phi:SquareFidelity",
        "broad-fidelity": "ldpopt.problems.least_phi:BroadFidelity",
        "fidelity": "ldpopt.problems.fidelity:Fidelity",
        "minimax-fidelity": "ldpopt.problems.minimax_fidelity:MinimaxFidelity",
        "statistic-leakage": "ldpopt.problems.statistic_leakage:StatisticLeakage",
        "leakage-design": "ldpopt.problems.leakage_design:LeakageDesign",
        "asymptotic-utility": "ldpopt.problems.asymptotic_utility:AsymptoticUtility",
        "privacy-utility-frontier": "ldpopt.problems.asymptotic_utility:PrivacyUtilityFrontier",
        "polyopt": "ldpopt.problems.polyopt:PolyOpt",
        "robust-optimum": "ldpopt.problems.robust_optimum:RobustOptimum",
        "robust-fidelity": "ldpopt.problems.robust_fidelity:RobustFidelity",
        "robust-level": "ldpopt.problems.robust_level:RobustLevel",
        "set-optimum": "ldpopt.problems.set_optimum:SetOptimum",
        "independent-reporting": "ldpopt.problems.independent_reporting:IndependentReporting",
        "grr-conditional": "ldpopt.problems.grr_conditional:GRRConditional",
        "ue-conditional": "ldpopt.problems.ue_conditional:UEConditional",
        "composition-bound": "ldpopt.problems.composition_bound:CompositionBound",
        "feature-release": "ldpopt.problems.feature_release:FeatureRelease",
        "numeric-mean": "ldpopt.problems.numeric_mean:NumericMean",
        "frequency-encoding": "ldpopt.problems.frequency_encoding:FrequencyEncoding",
    },
)


def __getattr__(name: str) -> Any:
    return PROBLEMS.attribute(__name__, name)


def __dir__() -> list[str]:
    return [*globals(), *PROBLEMS.classes()]
