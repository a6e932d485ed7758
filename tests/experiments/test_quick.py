"""Quick runs draw enough points to compare the shapes of curves."""

import pytest

from ldpopt.experiments import EXPERIMENTS

LISTS = {
    "leakage-optimum": "a row per small space, no curve",
    "divergence-derivatives": "a row per divergence, no curve",
    "leakage-forest": "a downstream task with forests, whose runs take seconds each",
    "rldp-time": "a row per shape of table; larger ones take minutes",
}
"""Studies without curves, or whose points take too long for a quick run."""


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in LISTS])
def test_some_axis_has_four_points(name):
    points = list(EXPERIMENTS[name].points(True))
    values = {}
    for point in points:
        for column, value in point.items():
            if isinstance(value, (int, float)) and column not in ("seed", "draws"):
                values.setdefault(column, set()).add(value)
    assert max(map(len, values.values())) >= 4 or len({point.get("seed") for point in points}) >= 20
