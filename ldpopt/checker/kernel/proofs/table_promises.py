"""Promises about a table that hide something else than every secret from every other.

Row x of the mechanism is the input (s, u), u running fastest. Three promises are notions of privacy
(:mod:`privacy_parts`) of these inputs, and decided by the entries of the mechanism alone, whatever the
distribution of the data:

* ``robust`` "given": the notion ``given``. An entry is P(y | s, u): what the notion says of entries
  is what the promise says, P(y | s, u) ≤ e^ε P(y | s', u) for whoever knows u.
* ``sensitive``, numbers of secrets: the notion ``sensitive`` for all inputs of these secrets. A report
  that one of them can give is no column of one input alone, so that it is private for all inputs.
* ``secrecy``, a matrix of multiples m[s, s'], symmetric: the notion ``pairs``, of the level ε·m[s, s']
  for inputs of s and s', and of none where it is null or s = s'. P(y | s) and P(y | s') are means of
  entries of s and of s' whatever the distribution of the data: P(y | s) ≤ e^(ε·m[s, s']) P(y | s').
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from ..reading import UnreadableError
from ..schema import EPSILON, List, Nullable, Number, Record, Text, Whole, Word
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
    "secrecy": List(List(Nullable(EPSILON), 2), 2),
    "salt": Text(),
}
"""What a design for a table and a public file both say."""
MOST_NAMED = 20


def pair_level(epsilon: float, multiple: float) -> float:
    """Return the largest float that is not above ε·m, the level of a pair of secrets."""
    level = epsilon * multiple
    exact = Fraction(epsilon) * Fraction(multiple)
    return level if Fraction(level) <= exact else math.nextafter(level, 0)


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
        _check_few(inputs)
        return read_part(self.notion, "the promise", NOTIONS, inputs)


def table_promise(section: dict[str, Any]) -> TablePromise | None:
    """Return the notion that a section promises; None where secrets are hidden from each other.

    Args:
        section: the section ``design`` or ``public`` of a file.
    """
    given, sensitive = section["robust"] == "given", section.get("sensitive")
    secrecy = section.get("secrecy")
    if not given and sensitive is None and secrecy is None:
        return None
    if "together" in section:
        raise UnreadableError("such a promise is about one report, without the key together")
    epsilon, public = section["epsilon"], section["domain"]["public"]
    secrets = len(section["domain"]["secret"]["members"])
    width = 1 if public is None else len(public["members"])
    most = f"no report is more than e^{epsilon!r} times as likely for one"
    if sensitive is None and secrecy is None:
        if width < 2:
            raise UnreadableError("robust may be given only with two or more public values")
        words = f"{most} secret as for another of the same public value"
        return TablePromise({"given": {"epsilon": epsilon, "shape": [secrets, width]}}, words)
    if section["robust"] != "all":
        raise UnreadableError("robust must be all where secrets are not hidden alike")
    if sensitive is None:
        return _secrecy(epsilon, secrecy, secrets, width)
    if secrecy is not None:
        raise UnreadableError("a section has one of the keys sensitive and secrecy at most")
    if sorted(set(sensitive)) != sensitive or sensitive[-1] >= secrets:
        raise UnreadableError(f"sensitive must be increasing numbers of secrets, below {secrets}")
    inputs = [s * width + u for s in sensitive for u in range(width)]
    words = (
        f"{most} input as for another, unless it comes from one input alone, whose secret is not among "
        f"the sensitive ones, number {', '.join(map(str, sensitive[:MOST_NAMED]))}"
        f"{f' and {more} more' if (more := len(sensitive) - MOST_NAMED) > 0 else ''}"
    )
    return TablePromise({"sensitive": {"epsilon": epsilon, "inputs": inputs}}, words)


def _check_few(inputs: int) -> None:
    if inputs > MOST_LISTED:
        raise UnreadableError(f"such a promise takes at most {MOST_LISTED} inputs, not {inputs}")


def _secrecy(epsilon: float, multiples: Any, secrets: int, width: int) -> TablePromise:
    """Return the notion of a level for each pair of secrets.

    Args:
        epsilon: the level of a pair whose multiple is 1.
        multiples: the matrix of multiples.
        secrets: how many secrets there are.
        width: how many public values.
    """
    _check_few(inputs := secrets * width)
    if {len(multiples), *map(len, multiples)} != {secrets}:
        raise UnreadableError(f"secrecy must be a matrix of {secrets} × {secrets}, one row for a secret")
    if [list(column) for column in zip(*multiples, strict=True)] != multiples:
        raise UnreadableError("secrecy must be symmetric")
    if any(row[s] is not None for s, row in enumerate(multiples)):
        raise UnreadableError("secrecy must be null for a secret and itself")
    found = [[None if m is None else pair_level(epsilon, m) for m in row] for row in multiples]
    levels = [[found[x // width][z // width] for z in range(inputs)] for x in range(inputs)]
    limited = sum(m is not None for row in multiples for m in row) // 2
    words = (
        f"for {limited} of {secrets * (secrets - 1) // 2} pairs of secrets, those with a multiple m in "
        f"secrecy, no report is more than e^({epsilon!r} · m) times as likely for one as for the other"
    )
    return TablePromise({"pairs": {"levels": levels}}, words)
