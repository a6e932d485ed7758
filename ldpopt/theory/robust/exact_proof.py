"""From the floats of a bound over an outer cone to a proof in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.checker.confidence import RobustStatement
from ldpopt.checker.outer_cone import Outer
from ldpopt.core.errors import SolverError
from ldpopt.core.validate import Array
from ldpopt.theory.robust.problem import inside
from ldpopt.theory.robust.uncertainty import Chi2Set

FIRST_RISE, MOST_RISE = 1e-14, 1e-2


def exact_proof(proof: dict[str, Any], F: Chi2Set, question: RobustStatement) -> dict[str, Any]:
    """Move the cuts into F exactly, and raise the dual vector until the checker's test accepts the tree.

    Raising β by δ p and lowering every price by δ lowers the left side of the test by δ.

    Args:
        proof: of the tree, in floats.
        F: the confidence set.
        question: the same in the checker's terms.
    """
    cuts = [{**cut, "member": inside(cut["member"], F).tolist()} for cut in proof["cuts"]]
    exact = [(_normalised(cut["member"]), *cut["secrets"]) for cut in cuts]
    rise = 0.0
    while rise < MOST_RISE:
        raised = _raised(proof, F.p_hat.ravel(), rise)
        if Outer(question, exact, raised["dual"]).covers(raised["tree"]):
            return {**raised, "cuts": cuts}
        rise = 4 * rise or FIRST_RISE
    raise SolverError("the bound over the outer cone is not proven by its multipliers")


def _raised(proof: dict[str, Any], prior: Array, rise: float) -> dict[str, Any]:
    dual = np.array(proof["dual"]) + rise * np.where(prior > 0, prior, 1.0)
    tree = [
        {**node, "price": node["price"] - rise} if "price" in node else node for node in proof["tree"]
    ]
    return {"dual": dual.tolist(), "tree": tree}


def _normalised(table: list[list[float]]) -> list[list[Fraction]]:
    exact = [[Fraction(entry) for entry in row] for row in table]
    mass = sum(map(sum, exact), Fraction(0))
    return [[entry / mass for entry in row] for row in exact]
