"""Read what a file says about an uncertainty set, and build the set.

A set is an object of its own with the key ``kind``, so that every question about robust privacy can take
any of them. Every secret must have a positive probability under every member: else P(y|s) is not
defined, and the set is refused (:func:`read_set`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..arithmetic import enclose
from ..budget import reserve
from ..reading import UnreadableError
from ..schema import Joint, List, Matrix, Number, OneOf, Record
from . import divergence_balls, uncertainty_sets
from .confidence_set import ALPHA, COUNTS, SAMPLES, chi_squared_quantile
from .credible_set import MOST_COUNTED, credible_ends
from .uncertainty_sets import UncertaintySet

MOST_RADIUS = 1e6
RADIUS = Number(above=0, most=1)
"""The radius of a ball of total variation. For divergences, floats cannot guess below a least radius."""
TABLE = Joint(2, 2)
JEFFREYS = 0.5
"""The parameter of the prior of a credible set, unless the file says another."""
UNCERTAINTY = OneOf(
    {
        "known": Record({"p": TABLE}),
        "scenarios": Record({"members": List(TABLE, 1)}),
        "total-variation": Record({"p_hat": TABLE, "radius": RADIUS}),
        "hellinger": Record({"p_hat": TABLE, "radius": Number(1e-6, 1)}),
        "kullback-leibler": Record({"p_hat": TABLE, "radius": Number(1e-12, 1)}),
        "likelihood": Record({"p_hat": TABLE, "radius": Number(1e-12, MOST_RADIUS)}),
        "wasserstein": Record(
            {"p_hat": TABLE, "radius": Number(above=0, most=MOST_RADIUS)},
            {"distance": Matrix(Number(0, MOST_RADIUS), 4, 4)},
        ),
        "chi-squared": Record({"p_hat": TABLE, "n": SAMPLES}, {"alpha": ALPHA}),
        "credible": Record({"counts": COUNTS}, {"alpha": ALPHA, "prior": Number(1e-3, 1e3)}),
    }
)
BALLS: dict[str, Callable[[tuple[int, int], list[Fraction], Fraction], UncertaintySet]] = {
    "total-variation": uncertainty_sets.TotalVariation,
    "hellinger": divergence_balls.Hellinger,
    "kullback-leibler": divergence_balls.KullbackLeibler,
    "likelihood": divergence_balls.Likelihood,
}


def read_set(plain: dict[str, Any]) -> UncertaintySet:
    """Build the set that an object read by :data:`UNCERTAINTY` describes.

    Raises:
        UnreadableError: it is not shown that every secret has a positive probability within the set.
    """
    found = _built(plain)
    found.name = _name(plain)
    a1, a2 = found.shape
    for s in range(a1):
        chance = [Fraction(x // a2 == s) for x in range(a1 * a2)]
        if found.least(chance) <= 0:
            raise UnreadableError(
                "the set must leave every secret a positive probability, which is not shown of secret "
                f"{s}: make the set smaller, or leave the secret out; for a tiny set, give its center"
            )
    return found


def _name(plain: dict[str, Any]) -> str:
    """Name the set in claims."""
    kind, alpha = plain["kind"], plain.get("alpha", 0.05)
    if kind == "known":
        return "the set of one known distribution"
    if kind == "scenarios":
        return f"the set of all mixtures of {len(plain['members'])} scenarios"
    if kind == "chi-squared":
        return f"the χ² set of n = {plain['n']!r}, alpha = {alpha!r}"
    if kind == "credible":
        return f"the credible set of alpha = {alpha!r}, prior {plain.get('prior', JEFFREYS)!r}"
    own = " in the distances of the file" if "distance" in plain else ""
    return f"the {kind} ball of radius {plain['radius']!r}{own}"


def _built(plain: dict[str, Any]) -> UncertaintySet:
    kind = plain["kind"]
    if kind in ("known", "scenarios"):
        members = [plain["p"]] if kind == "known" else plain["members"]
        shape = _shape(members[0])
        if any(_shape(member) != shape for member in members):
            raise UnreadableError("the members of a set must be tables of one shape")
        return uncertainty_sets.Scenarios(shape, [_flat(member) for member in members])
    if kind == "credible":
        return _credible(plain)
    shape, center = _shape(plain["p_hat"]), _flat(plain["p_hat"])
    if kind == "chi-squared":
        alpha = Fraction(plain.get("alpha", 0.05))
        quantile = chi_squared_quantile(len(center) - 1, alpha)
        return divergence_balls.ChiSquared(shape, center, quantile / enclose(Fraction(plain["n"])))
    radius = Fraction(plain["radius"])
    if kind == "wasserstein":
        return uncertainty_sets.Wasserstein(shape, center, radius, _distance(plain, shape))
    return BALLS[kind](shape, center, radius)


def _credible(plain: dict[str, Any]) -> UncertaintySet:
    counts = [Fraction(n) for row in plain["counts"] for n in row]
    if any(n.denominator != 1 for n in counts):
        raise UnreadableError("the counts of a credible set must be whole numbers")
    if sum(counts) > MOST_COUNTED:
        raise UnreadableError(
            f"the counts of a credible set must add up to at most {MOST_COUNTED:,}, not {sum(counts)}"
        )
    prior, alpha = Fraction(plain.get("prior", JEFFREYS)), Fraction(plain.get("alpha", 0.05))
    low, high = credible_ends(counts, prior, alpha)
    whole = sum(counts, prior * len(counts))
    return uncertainty_sets.Box(
        _shape(plain["counts"]), [(n + prior) / whole for n in counts], low, high
    )


def _distance(plain: dict[str, Any], shape: tuple[int, int]) -> list[list[float]]:
    """Read the costs of moving mass; unless told, 1 for each step of u and 1 for another secret."""
    a1, a2 = shape
    cells = [(s, u) for s in range(a1) for u in range(a2)]
    reserve(2 * len(cells) ** 2, "the distances of all pairs of cells")
    if "distance" not in plain:
        return [[float(abs(u - v) + (s != z)) for z, v in cells] for s, u in cells]
    distance: list[list[float]] = plain["distance"]
    if len(distance) != len(cells) or len(distance[0]) != len(cells):
        raise UnreadableError(
            f"distance must have one row and one column for each of {len(cells)} cells"
        )
    if any(row[x] for x, row in enumerate(distance)):
        raise UnreadableError("the distance of a cell to itself must be 0")
    return distance


def _shape(table: list[list[Any]]) -> tuple[int, int]:
    return len(table), len(table[0])


def _flat(table: list[list[Fraction]]) -> list[Fraction]:
    return [entry for row in table for entry in row]
