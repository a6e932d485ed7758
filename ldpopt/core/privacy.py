"""What the repair to exact arithmetic asks of a privacy constraint."""

from __future__ import annotations

from typing import Protocol

from ldpopt.core.validate import Array


class Privacy(Protocol):
    """A privacy constraint on mechanisms, as far as the repair to exact arithmetic needs it."""

    @property
    def epsilon(self) -> float:
        """The level, in nats."""

    def admits(self, matrix: Array) -> bool:
        """Return whether the mechanism is private, decided in exact arithmetic."""
