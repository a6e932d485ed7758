"""Names of inputs, outputs and secrets, as a file may state them.

Lemma (tables). Python finds a label in a table by its hash, and compares it with all labels of the same
hash. The hashes of strings are salted. Those of numbers are not, but a number of a file has the hash of
fewer than 40 others: whole numbers of 18 digits are below 2^61 − 1, by which hashes are reduced, and
floats of one hash differ by powers of 2^61. The hash of a list of numbers can be chosen: 65,536 lists of
one hash in 4 MB kept a table busy for minutes, in one step that no budget interrupts. So no more than
:data:`MOST_ALIKE` different lists may have one hash; they are counted by their text, which is salted. ∎
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .claims import quoted
from .reading import MOST_DIGITS, UnreadableError
from .schema import List, Schema, Text

MOST_ALIKE = 100
"""The most different lists that may have one hash; by chance no two have."""


class Label(Schema):
    """A name of an input, an output or a secret: a string, a number, null, or a list of such."""

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return "a string, a number, true, false or null, or a list of such"

    def read_all(self, values: list[Any], where: str) -> list[Any]:
        """Read many labels; refuse lists that were chosen to have one hash."""
        labels = super().read_all(values, where)
        lists = {repr(label): label for label in labels if isinstance(label, tuple)}
        alike = Counter(map(hash, lists.values()))
        if max(alike.values(), default=0) > MOST_ALIKE:
            raise UnreadableError(f"{where} must not have over {MOST_ALIKE} different lists of one hash")
        return labels

    def read(self, value: Any, where: str) -> Any:
        """Read a label, made hashable: lists become tuples. To Python 1, 1.0 and true are equal."""
        if isinstance(value, list):
            return tuple(self.read(part, where) for part in value)
        if isinstance(value, str):
            return Text().read(value, where)
        if value is not None and not isinstance(value, (int, float)):
            raise self.refuse(value, where)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.refuse(value, where)
        if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            raise UnreadableError(f"{where} must be a number of at most {MOST_DIGITS} digits")
        return value


@dataclass(frozen=True)
class Labels(Schema):
    """Labels that may repeat; labels that Python takes for equal must be written alike.

    true, 1 and 1.0, and 0.0 and -0.0, are different texts in JSON and equal in Python: whether two
    rows share a secret would depend on who reads the file.
    """

    least: int = 1

    def words(self) -> str:
        """See :meth:`Schema.words`."""
        return f"a list of {self.least} or more labels, equal ones written alike"

    def read(self, value: Any, where: str) -> list[Any]:
        """Read the labels."""
        labels = List(Label(), self.least).read(value, where)
        first: dict[Any, Any] = {}
        for label in labels:
            same = first.setdefault(label, label)
            if same is not label and repr(same) != repr(label):
                raise UnreadableError(
                    f"{where} must write equal labels alike, not both {quoted(repr(same))} "
                    f"and {quoted(repr(label))}"
                )
        return labels
