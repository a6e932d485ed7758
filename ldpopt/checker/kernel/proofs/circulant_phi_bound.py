"""A lower bound on φ of circulant mechanisms: a tree of boxes of columns, a vector for each leaf.

Notation. W is a circulant ε-LDP mechanism on K inputs, w its first column: the others are its turns, and
Σ w = 1. φ(W) − 1 is the trace of the inverse of H, H = W Wᵀ on the vectors that sum to 0 (all column
sums are 1). Let w = u/Σu, scaled so that the least entry of u is 1; then u = 1 + (E − 1) t with t in
[0, 1]^K. Turning u, or turning it round (entry i goes to −i mod K), permutes inputs and outputs and
leaves φ as it is. So it is enough to look at t_0 = 0 and t_1 ≤ t_{K−1}.

Lemma. Let z sum to 0 and z_0 ≠ 0, and let Z be the circulant matrix whose columns are the turns of z.
Then Zu ≠ 0 or φ(W) = ∞, and φ(W) − 1 ≥ K z_0² (Σu)²/|Zu|². Proof. Z maps all vectors to such that sum to
0, and 1 to 0; so (tr Z)² = ⟨H^−½, H^½ Z⟩² is at most tr H⁻¹ · tr ZᵀHZ (Cauchy–Schwarz), the traces over
these vectors. tr Z = K z_0, and tr ZᵀHZ = Σ_y |Zᵀw_y|² = K |Zw|²: Z, Zᵀ and turns commute, and Zᵀw has
the length of Zw, as their Fourier transforms have entries of the same sizes. ∎

So φ ≥ Φ in a box of t if z_0 ≠ 0 and (Φ − 1) |Zu|² ≤ K z_0² (Σu)² there. √(Φ − 1) |Zu| − √K |z_0| Σu is
convex, so the corners of the box suffice; ``quadratic_forms.py`` decides them with β = K z_0²/(Φ − 1)
and p = 1.
The leaves of a tree of cuts are the whole box (``box_trees.py``). A leaf without a vector must have t_1
≥ t_{K−1} everywhere: turned round it lies in t_1 ≤ t_{K−1}, and as φ is continuous, what the other
leaves prove where t_1 < t_{K−1} holds there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..fixed_point import units_down
from ..reading import UnreadableError
from ..schema import List, Number, Record, Whole
from .box_trees import Division
from .quadratic_forms import QuadraticForm, centred, count_vectors, raised

BOXES = Division("input", ("vector",), "certificate.proof.tree", Fraction)
TREE = List(
    Record({}, {"input": Whole(0, 1000), "at": Number(0, 1), "vector": List(Number(-1e30, 1e30))}), 1
)
"""The nodes of a tree: a cut of t_i at a number, or a leaf with z, empty where t_1 ≥ t_{K−1}."""


def circulant_phi_reaches(k: int, E: Fraction, target: Fraction, tree: Sequence[dict[str, Any]]) -> bool:
    """Return whether the tree proves φ(W) ≥ ``target`` for all circulant mechanisms.

    Args:
        k: the number K of inputs and outputs.
        E: a rational just above e^ε.
        target: Φ, above 1.
        tree: the nodes.

    Raises:
        UnreadableError: the list is not a tree, or a vector has not K entries.
        UndecidedError: the leaves have too many corners.
    """
    excess, visited = raised(E) - 1, 0
    low, high = [Fraction(0)] * k, [Fraction(0), *[Fraction(1)] * (k - 1)]
    holds = True
    for leaf, below, above in BOXES.leaves(tree, low, high):
        z = leaf["vector"]
        if not z:
            holds = holds and below[1] >= above[k - 1]
            continue
        if len(z) != k:
            raise UnreadableError(f"a vector of certificate.proof.tree must have {k} entries or none")
        visited += 2 ** sum(a < b for a, b in zip(below, above, strict=True))
        count_vectors(visited)
        if holds:
            ends = [
                sorted({units_down(1 + excess * t) for t in pair})
                for pair in zip(below, above, strict=True)
            ]
            holds = _clear(z, target, [[(end,) for end in pair] for pair in ends])
    return holds


def _clear(z: Sequence[float], target: Fraction, corners: list[list[tuple[int, ...]]]) -> bool:
    """Return whether z_0 ≠ 0 and (Φ − 1) |Zu|² ≤ K z_0² (Σu)² at all corners u."""
    k, row = len(z), centred([z])[0]
    turns = [[row[(x - y) % k] for y in range(k)] for x in range(k)]
    price = k * row[0] ** 2 / (target - 1)
    return price > 0 and QuadraticForm([Fraction(1)] * k, turns, [price] * k).on_product(corners)
