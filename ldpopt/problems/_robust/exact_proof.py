"""Turn the bound that floats found over an outer cone into a proof in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.core.certify import rising
from ldpopt.core.errors import SolverError
from ldpopt.core.exact import OuterCone, RobustStatement, SharedSlack, UncertaintySet
from ldpopt.core.validate import Array
from ldpopt.models import set_climb
from ldpopt.models.uncertainty_sets import Chi2Set
from ldpopt.problems.table_problem import inside

FIRST_RISE, MOST_RISE = 1e-14, 1e-2
"""The first amount by which a dual vector that fails is raised, and the limit of such amounts."""

Members = list[tuple[list[list[Fraction]], int, int]]
"""The members of F that cut out the outer cone, exactly, each with its two secrets."""


def exact_proof(proof: dict[str, Any], F: Chi2Set, question: RobustStatement) -> dict[str, Any]:
    """Move the cuts into F exactly, and raise the dual vector until the checker's test accepts the tree.

    Args:
        proof: the proof of the tree, in floats.
        F: the confidence set.
        question: p̂, F and the level in the checker's terms.
    """
    if "cover" in proof:
        return _exact_cover(proof, F, question)
    cuts = [{**cut, "member": inside(cut["member"], F).tolist()} for cut in proof["cuts"]]
    exact = [(_normalised(cut["member"]), *cut["secrets"]) for cut in cuts]
    return {**accepted(proof, exact, F.p_hat.ravel(), question), "cuts": cuts}


def exact_set_proof(
    proof: dict[str, Any], F: UncertaintySet, question: RobustStatement
) -> dict[str, Any]:
    """Move the cuts into F exactly, and raise the dual vector until the checker accepts the tree.

    Args:
        proof: the proof of the tree, in floats; the member of a cut is its witness.
        F: the set.
        question: its center and the level, in the checker's terms.
    """
    a2 = F.shape[1]
    cuts: list[dict[str, Any]] = []
    exact: Members = []
    for cut in proof["cuts"]:
        witness = set_climb.inside(np.array(cut["member"]), F).tolist()
        P = F.member(witness, "witness")[0]
        cuts.append({"witness": witness, "secrets": cut["secrets"]})
        exact.append(([P[i : i + a2] for i in range(0, len(P), a2)], *cut["secrets"]))
    return {**accepted(proof, exact, np.array(F.floats), question), "cuts": cuts}


def accepted(
    proof: dict[str, Any], members: Members, prior: Array, question: RobustStatement
) -> dict[str, Any]:
    """Raise the dual vector of a tree until the checker's test accepts it; return both as plain data.

    Raising β by δ p and lowering every price by δ lowers the left side of the test by δ.

    Args:
        proof: the dual vector and the tree, in floats.
        members: the cuts.
        prior: p, in floats.
        question: the center p of F and the level, in the checker's terms.
    """
    for rise in (0.0, *rising(FIRST_RISE, MOST_RISE, 4.0)):
        raised = _raised(proof, prior, rise)
        if OuterCone(question, members, raised["dual"]).covers(raised["tree"]):
            return raised
    raise SolverError("the bound over the outer cone is not proven by its multipliers")


def _exact_cover(proof: dict[str, Any], F: Chi2Set, question: RobustStatement) -> dict[str, Any]:
    """Raise the dual vector of a proof over shared slack until the checker's test accepts it.

    Raising β by δ p and lowering every slope by δ leaves the blocks as they are, and lowers e^(κ−1).
    """
    corners = [
        [(_normalised([corner])[0], Fraction(share)) for corner, share in zip(own, shares, strict=True)]
        for own, shares in zip(proof["corners"], proof["shares"], strict=True)
    ]
    for rise in (0.0, *rising(FIRST_RISE, MOST_RISE, 4.0)):
        dual = (np.array(proof["dual"]) + rise * F.p_hat.ravel()).tolist()
        cover = [
            [{**node, "slope": node["slope"] - rise} if "slope" in node else node for node in nodes]
            for nodes in proof["cover"]
        ]
        slack = SharedSlack(question, corners, dual)
        if not slack.holds_corners():
            break
        if slack.covers(cover):
            return {**proof, "dual": dual, "cover": cover}
    raise SolverError("the bound over shared slack is not proven by its trees")


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
