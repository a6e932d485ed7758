"""Branch and bound on a box: cut where the upper bound exceeds the best value found."""

from __future__ import annotations

from itertools import product

import numpy as np

from ldpopt.core.forms.searches import ScalarSearch
from ldpopt.core.solver import Array, FormSolution, Limits, Solver, Status


class Bracket(Solver[ScalarSearch]):
    """Search a box with a proven bound: only what cannot be better is left unexplored."""

    def run(self, form: ScalarSearch, limits: Limits) -> FormSolution:
        """Halve the boxes of largest upper bound until the gap is proven or the cost is spent."""
        tree = Tree(form, limits)
        limits.keep(tree.value, tree.bound, tree.solution)
        while tree.bound - tree.value > limits.gap / 2 * abs(tree.value) and tree.spent < form.cost:
            if limits.expired():
                break
            tree.halve()
            limits.keep(tree.value, tree.bound, tree.solution)
        tree.polish()
        return tree.solution()


class Tree:
    """The boxes that may still hold something better, and the best point so far."""

    def __init__(self, form: ScalarSearch, limits: Limits) -> None:
        self.form, self.limits = form, limits
        self.start = limits.elapsed()
        self.lows, self.highs = form.low[None, :], form.high[None, :]
        self.uppers = form.upper(self.lows, self.highs)
        corners = np.array([form.low, form.high, (form.low + form.high) / 2])
        values = form.objective(corners)
        self.point: Array = corners[values.argmax()]
        self.value = float(values.max())
        self.spent = len(corners)

    @property
    def bound(self) -> float:
        """No point of the box is better than this."""
        return max(self.value, float(self.uppers.max(initial=-np.inf)))

    def polish(self) -> None:
        """Search around the best point on ever finer grids."""
        step = (self.form.high - self.form.low) / 64
        moves = np.array(list(product((-1.0, 0.0, 1.0), repeat=len(step))))
        for _ in range(60):
            near = np.clip(self.point + moves * step, self.form.low, self.form.high)
            values = self.form.objective(near)
            self.spent += len(near)
            if values.max() > self.value:
                self.value, self.point = float(values.max()), near[values.argmax()]
            else:
                step = step / 2
            if self.spent > 2 * self.form.cost or self.limits.expired():
                break

    def _affordable(self) -> int:
        """Count the boxes that can be halved in a quarter of the time left, at the pace so far."""
        pace = (self.limits.elapsed() - self.start) / self.spent
        return int(np.clip(self.limits.remaining() / 4 / max(3 * pace, 1e-12), 1, 256))

    def solution(self) -> FormSolution:
        """Return the best point, and the bound that the open boxes leave.

        A bound closer than half the gap asked for is stated as that far: the checker proves it by boxes
        of its own, and a closer one takes many more.
        """
        stated = self.value + self.limits.gap / 2 * abs(self.value)
        return FormSolution(
            status=Status.GAP,
            point=self.point,
            value=self.value,
            bound=max(stated, self.bound * (1 + 1e-12) if self.bound > 0 else self.bound),
            proof={"evaluations": self.spent},
            stats={"nodes": self.spent, "boxes": len(self.uppers)},
        )

    def halve(self) -> None:
        """Halve the most promising boxes at their relatively widest side."""
        order = np.argsort(-self.uppers, kind="stable")
        batch = self._affordable()
        chosen, rest = order[:batch], order[batch:]
        low, high = self.lows[chosen], self.highs[chosen]
        middle = (low + high) / 2
        values = self.form.objective(middle)
        self.spent += 3 * len(chosen)
        if values.max() > self.value:
            self.value, self.point = float(values.max()), middle[values.argmax()]
        span = np.where(self.form.high > self.form.low, self.form.high - self.form.low, 1.0)
        side = ((high - low) / span).argmax(axis=1)
        rows = np.arange(len(chosen))
        left_high, right_low = high.copy(), low.copy()
        left_high[rows, side] = right_low[rows, side] = middle[rows, side]
        lows, highs = np.vstack([low, right_low]), np.vstack([left_high, high])
        uppers = np.minimum(self.form.upper(lows, highs), np.tile(self.uppers[chosen], 2))
        self.lows = np.vstack([self.lows[rest], lows])
        self.highs = np.vstack([self.highs[rest], highs])
        self.uppers = np.append(self.uppers[rest], uppers)
        open_boxes = self.uppers > self.value
        self.lows, self.highs = self.lows[open_boxes], self.highs[open_boxes]
        self.uppers = self.uppers[open_boxes]
