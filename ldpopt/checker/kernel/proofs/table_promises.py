"""Promises about a table that hide something else than every secret from every other.

Row x of the mechanism is the input (s, u), u running fastest. Two promises are notions of privacy
(:mod:`privacy_parts`) of these inputs, and decided by the entries of the mechanism alone, whatever the
distribution of the data:

* ``robust`` "given": the notion ``given``. An entry is P(y | s, u): what the notion says of entries
  is what the promise says, P(y | s, u) ≤ e^ε P(y | s', u) for whoever knows u.
* ``sensitive``, numbers of secrets: the notion ``sensitive`` for all inputs of these secrets. A report
  that one of them can give is no column of one input alone, so that it is private for all inputs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..reading import UnreadableError
from ..schema import EPSILON, List, Number, Record, Text, Whole, Word
from .differences import Part
from .labelled_inputs import DOMAIN, MOST_TOGETHER
from .named_parts import MOST_LISTED, NOTIONS, read_part

SECTION = {
    "method": Text(),
    "epsilon": EPSILON,
    "robust": Word("chi2", "all", "known", "given"),
    "alpha": Number(above=0, below=1),
    "domain": DOMAIN,
    "digest": Text(),
}
OPTIONS = {
    "together": Record({"reports": Whole(2, MOST_TOGETHER), "epsilon": EPSILON}),
    "sensitive": List(Whole(0, 1_000_000), 1),
    "salt": Text(),
}
"""What a design for a table and a public file both say."""
MOST_NAMED = 20


class TablePromise(NamedTuple):
    """A notion of privacy in the words of a table.

    Attributes:
        notion: the notion as a question states it.
        words: what it promises, as one sentence.
    """

    notion: dict[str, Any]
    words: str

    def part(self, inputs: int) -> Part:
        """Read the notion for so many inputs."""
        if inputs > MOST_LISTED:
            raise UnreadableError(f"such a promise takes at most {MOST_LISTED} inputs, not {inputs}")
        found: Part = read_part(self.notion, "the promise", NOTIONS, inputs)
        return found


def table_promise(section: dict[str, Any]) -> TablePromise | None:
    """Return the notion that a section promises; None where secrets are hidden from each other.

    Args:
        section: the section ``design`` or ``public`` of a file.
    """
    given, sensitive = section["robust"] == "given", section.get("sensitive")
    if not given and sensitive is None:
        return None
    if "together" in section:
        raise UnreadableError("such a promise is about one report, without the key together")
    epsilon, public = section["epsilon"], section["domain"]["public"]
    secrets = len(section["domain"]["secret"]["members"])
    width = 1 if public is None else len(public["members"])
    most = f"no report is more than e^{epsilon!r} times as likely for one"
    if sensitive is None:
        if width < 2:
            raise UnreadableError("robust may be given only with two or more public values")
        words = f"{most} secret as for another of the same public value"
        return TablePromise({"given": {"epsilon": epsilon, "shape": [secrets, width]}}, words)
    if section["robust"] != "all":
        raise UnreadableError("robust must be all where some secrets are sensitive")
    if sorted(set(sensitive)) != sensitive or sensitive[-1] >= secrets:
        raise UnreadableError(f"sensitive must be increasing numbers of secrets, below {secrets}")
    inputs = [s * width + u for s in sensitive for u in range(width)]
    words = (
        f"{most} input as for another, unless it comes from one input alone, whose secret is not among "
        f"the sensitive ones, number {', '.join(map(str, sensitive[:MOST_NAMED]))}"
        f"{f' and {more} more' if (more := len(sensitive) - MOST_NAMED) > 0 else ''}"
    )
    return TablePromise({"sensitive": {"epsilon": epsilon, "inputs": inputs}}, words)
