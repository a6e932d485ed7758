"""One method per file. To add one: write the file, add its line to the table of its form.

``auto`` tries the solvers of a form in the order of its table, and imports no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ldpopt.core.errors import LdpoptError
from ldpopt.core.form import Form
from ldpopt.core.registry import Registry

if TYPE_CHECKING:
    from ldpopt.core.solver import Solver

BY_FORM: dict[str, dict[str, str]] = {
    "column-program": {
        "enumerate": "ldpopt.solvers.ray_enumeration:Enumerate",
        "sort-partition": "ldpopt.solvers.sort_partition:SortPartition",
        "tangents": "ldpopt.solvers.tangents:Tangents",
        "column-generation": "ldpopt.solvers.column_generation:ColumnGeneration",
        "cdd": "ldpopt.solvers.cdd:Cdd",
        "enumerate-default": "ldpopt.solvers.ray_enumeration:EnumerateDefault",
        "randomized-response": "ldpopt.solvers.randomized_response:RandomizedResponse",
        "public-column": "ldpopt.solvers.public_value_baseline:PublicColumn",
    },
    "mechanism-program": {
        "mechanism-highs": "ldpopt.solvers.mechanism_lp:MechanismHighs",
        "mechanism-rays": "ldpopt.solvers.mechanism_rays:MechanismRays",
        "mechanism-pairs": "ldpopt.solvers.two_output_mechanisms:MechanismPairs",
        "mechanism-design": "ldpopt.solvers.mechanism_design:MechanismDesign",
        "mechanism-cvxpy": "ldpopt.solvers.mechanism_lp:MechanismCvxpy",
    },
    "cut-program": {"cutting-planes": "ldpopt.solvers.cutting_planes:CuttingPlanes"},
    "query-program": {
        "query-design": "ldpopt.solvers.query_design:QueryDesign",
        "query-climb": "ldpopt.solvers.query_climb:QueryClimb",
    },
    "numeric-program": {"numeric-columns": "ldpopt.solvers.mean_columns:NumericColumns"},
    "level-search": {"worst-member": "ldpopt.solvers.worst_member:WorstMember"},
    "matrix-program": {
        "designs": "ldpopt.solvers.designs:Designs",
        "restricted-designs": "ldpopt.solvers.truncated_block_designs:RestrictedDesigns",
        "descent": "ldpopt.solvers.descent:Descent",
        "optimal-design": "ldpopt.solvers.optimal_design:OptimalDesign",
        "design-climb": "ldpopt.solvers.design_climb:DesignClimb",
    },
    "selection-program": {
        "matching": "ldpopt.solvers.row_selection_matching:MaximumMatching",
        "brute-force": "ldpopt.solvers.row_selection_brute_force:BruteForce",
        "milp-highs": "ldpopt.solvers.row_selection_milp:MilpHighs",
        "cuts": "ldpopt.solvers.row_selection_cuts:Cuts",
        "greedy": "ldpopt.solvers.row_selection_greedy:Greedy",
        "flow-networkx": "ldpopt.solvers.flow_networkx:FlowNetworkx",
        "flow-ortools": "ldpopt.solvers.flow_ortools:FlowOrtools",
    },
    "leakage-program": {"leakage-cuts": "ldpopt.solvers.leakage_cuts:LeakageCuts"},
    "convex-program": {
        "frank-wolfe": "ldpopt.solvers.frank_wolfe:FrankWolfe",
        "cvxpy": "ldpopt.solvers.cvxpy:Cvxpy",
    },
    "scalar-search": {
        "bracket": "ldpopt.solvers.bracket:Bracket",
        "grid-refine": "ldpopt.solvers.grid_refine:GridRefine",
    },
    "threshold-search": {"thresholds": "ldpopt.solvers.exposure_bound_thresholds:Thresholds"},
    "joint-program": {
        "joint-milp": "ldpopt.solvers.joint_milp:JointMilp",
        "joint-lp": "ldpopt.solvers.joint_lp:JointLp",
    },
    "best-bound": {"best-of-all": "ldpopt.solvers.best_exposure_bound:BestOfAll"},
    "subset-program": {
        "subset-branch": "ldpopt.solvers.feature_set_branch:SubsetBranch",
        "subset-greedy": "ldpopt.solvers.feature_set_greedy:SubsetGreedy",
    },
    "encoding-choice": {"best-encoding": "ldpopt.solvers.best_encoding:BestEncoding"},
}

SOLVERS: Registry[type[Solver[Any]]] = Registry(
    "solver",
    "ldpopt.solvers",
    {name: path for solvers in BY_FORM.values() for name, path in solvers.items()},
)


def solvers_of(form: type[Form]) -> Iterator[str]:
    """List the names of the solvers of a form, in the order that ``auto`` tries them.

    Those of other packages are imported to ask which form they solve; one that cannot be imported is
    listed, so that asking for it gives the reason.
    """
    for name in dict.fromkeys(getattr(cls, "name", "") for cls in form.__mro__):
        yield from BY_FORM.get(name, ())
    yield from (name for name in SOLVERS.added() if _solves(name, form))


def _solves(name: str, form: type[Form]) -> bool:
    try:
        return issubclass(form, SOLVERS[name].form)
    except LdpoptError:
        return True


def __getattr__(name: str) -> Any:
    return SOLVERS.attribute(__name__, name)


def __dir__() -> list[str]:
    return [*globals(), *SOLVERS.classes()]
