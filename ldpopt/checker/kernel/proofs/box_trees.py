"""A box that a tree of cuts divides: the leaves of the tree, each with its part of the box.

Statement. A tree is a list of nodes in preorder. A *cut* puts two boxes, which together hold all that is
asked about, in the place of the current one. The usual cut names a coordinate i and a number c with
low_i < c < high_i: it divides the box at x_i = c, and the lower part comes first. Every other node is a
*leaf*, and the current box is its part.

Lemma (:meth:`Division.leaves`). If the list ends with its last leaf, the parts of the leaves hold all of
the box. Proof. The boxes that wait and the parts of the leaves so far hold it together: at first the box
itself waits; a cut puts two boxes in the place of one that they hold; a leaf takes one of those that
wait. At the end none waits. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from ..budget import reserve, tick
from ..reading import UnreadableError

N = TypeVar("N", int, Fraction)


@dataclass(frozen=True)
class Division(Generic[N]):
    """How trees of one sort are written.

    Args:
        axis: the key of a cut that names its coordinate; the other one is ``at``.
        leaf: the keys of a leaf.
        place: what an error message calls such a tree.
        number: turns the file's c into a number of the sort that the ends of boxes are.
    """

    axis: str
    leaf: Sequence[str]
    place: str
    number: Callable[[Fraction], N]

    def leaves(
        self, tree: Sequence[dict[str, Any]], low: list[N], high: list[N]
    ) -> Iterator[tuple[dict[str, Any], list[N], list[N]]]:
        """List the leaves of a tree that divides a box, each with the ends of its part.

        Args:
            tree: the nodes.
            low: the lower ends of the box.
            high: the upper ends.

        Raises:
            UnreadableError: the list is not a tree, or a cut is not inside its box.
        """
        waiting = [(low, high)]
        for node in tree:
            tick()
            if not waiting:
                raise UnreadableError(f"{self.place} goes on after its last leaf")
            low, high = waiting.pop()
            if set(node) == set(self.cut):
                reserve(2 * len(low) * (len(waiting) + 2), f"the parts of {self.place} that wait")
                first, second = self.parts(node, low, high)
                waiting += [second, first]
            elif set(node) == set(self.leaf):
                yield node, low, high
            else:
                cut, leaf = " and ".join(self.cut), " and ".join(self.leaf)
                raise UnreadableError(f"a node of {self.place} needs {cut}, or {leaf}")
        if waiting:
            raise UnreadableError(f"{self.place} ends before its last leaf")

    @property
    def cut(self) -> Sequence[str]:
        """The keys of a cut."""
        return self.axis, "at"

    def parts(
        self, node: dict[str, Any], low: list[N], high: list[N]
    ) -> tuple[tuple[list[N], list[N]], tuple[list[N], list[N]]]:
        """Cut a box at a coordinate; return the ends of both parts.

        Args:
            node: the cut.
            low: the lower ends of the box.
            high: the upper ends.
        """
        i, at = node[self.axis], self.number(Fraction(node["at"]))
        if i >= len(low) or not low[i] < at < high[i]:
            raise UnreadableError(f"{self.place} must cut each part inside")
        left, right = list(high), list(low)
        left[i] = right[i] = at
        return (low, left), (right, high)
