"""Figures without the work of arranging their panels, which the tests of the gallery do."""

import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine


@pytest.fixture(autouse=True)
def unarranged(monkeypatch):
    """Leave panels where they are: half of the work of drawing."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda engine, figure: None)
