"""One method per file. To add one: write the file, add its line to the table.

``auto`` tries the solvers in the order of the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.core.solver import Solver

SOLVERS: Registry[type[Solver]] = Registry(
    "solver",
    "ldpopt.solvers",
    {
        "enumerate": "ldpopt.solvers.enumerate:Enumerate",
        "column-generation": "ldpopt.solvers.column_generation:ColumnGeneration",
        "cdd": "ldpopt.solvers.cdd:Cdd",
        "enumerate-default": "ldpopt.solvers.enumerate:EnumerateDefault",
        "randomized-response": "ldpopt.solvers.randomized_response:RandomizedResponse",
        "designs": "ldpopt.solvers.designs:Designs",
        "descent": "ldpopt.solvers.descent:Descent",
        "optimal-design": "ldpopt.solvers.optimal_design:OptimalDesign",
        "matching": "ldpopt.solvers.matching:MaximumMatching",
        "brute-force": "ldpopt.solvers.brute_force:BruteForce",
        "milp-highs": "ldpopt.solvers.milp_highs:MilpHighs",
        "cuts": "ldpopt.solvers.cuts:Cuts",
        "greedy": "ldpopt.solvers.greedy:Greedy",
        "flow-networkx": "ldpopt.solvers.flow_networkx:FlowNetworkx",
        "flow-ortools": "ldpopt.solvers.flow_ortools:FlowOrtools",
        "leakage-cuts": "ldpopt.solvers.leakage_cuts:LeakageCuts",
        "frank-wolfe": "ldpopt.solvers.frank_wolfe:FrankWolfe",
        "cvxpy": "ldpopt.solvers.cvxpy:Cvxpy",
        "bracket": "ldpopt.solvers.bracket:Bracket",
        "grid-refine": "ldpopt.solvers.grid_refine:GridRefine",
        "thresholds": "ldpopt.solvers.thresholds:Thresholds",
        "joint-milp": "ldpopt.solvers.joint_milp:JointMilp",
        "best-of-all": "ldpopt.solvers.best_of_all:BestOfAll",
        "subset-branch": "ldpopt.solvers.subset_branch:SubsetBranch",
        "subset-greedy": "ldpopt.solvers.subset_greedy:SubsetGreedy",
    },
)


def __getattr__(name: str) -> Any:
    return SOLVERS.attribute(__name__, name)


def __dir__() -> list[str]:
    return [*globals(), *SOLVERS.classes()]
