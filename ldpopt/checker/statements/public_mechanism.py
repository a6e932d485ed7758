"""Public mechanism files: what can be decided without the counts of the table that they were made for.

A public file holds the mechanism, what its rows mean, and what was promised. It holds no counts, and
nothing computed from them but the mechanism itself. Its claims:

* *stochastic*: every row sums to exactly 1 (an encoding that is stated by its parameters instead of a
  matrix has no rows; :mod:`frequency_encoding` says what its probabilities are);
* *inputs*: the labels (s, u) are those of the rows, as in :mod:`labelled_inputs`;
* *privacy*: entries of inputs with different secrets differ by at most a factor e^L. L is ``level``
  where it is a number; a promise for all distributions (``robust`` "all") is decided by the file alone,
  so that L is then ``epsilon`` where ``level`` is larger or null (:func:`_decided_level`);
* *together*, where r reports are promised the level ε': r L ≤ ε'. Of a promise about counts this is
  claimed only where it is true, as such a promise may hold without it;
* *digest*: SHA-256 of all of it, as in :mod:`labelled_inputs`.

Lemma. If W[(s,u),y] ≤ e^L W[(s',u'),y] for all s ≠ s', u, u', then P(y|s) ≤ e^L P(y|s') for every
distribution P of the data: P(y|s) = Σ_u P(u|s) W[(s,u),y] is a mean of entries of s, and a mean is not
above the largest nor below the least. Products of r entries differ by e^(rL) at most, so r reports about
one person have together at most the level r L.

What it cannot show. A promise for the distributions near a table is about the counts of that table. A
public file states ``epsilon``, and the claims do not decide it unless L ≤ ε, nor ``together`` unless r L
≤ ε': :func:`unchecked_public` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..kernel.claims import Claim, decided, quoted
from ..kernel.proofs.encodings import ENCODING, read_encoding
from ..kernel.proofs.encodings import private as private_encoding
from ..kernel.proofs.labelled_inputs import DOMAIN, MOST_TOGETHER, content_digest, inputs_claim
from ..kernel.proofs.private_rows import MATRIX, Rows, private, stochastic
from ..kernel.reading import UnreadableError
from ..kernel.schema import EPSILON, MOST_EPSILON, Nullable, Number, Record, Text, Whole, Word

PUBLIC = Record(
    {
        "method": Text(),
        "epsilon": EPSILON,
        "robust": Word("chi2", "all", "known"),
        "alpha": Number(above=0, below=1),
        "level": Nullable(Number(0, MOST_EPSILON)),
        "domain": DOMAIN,
        "digest": Text(),
    },
    {"together": Record({"reports": Whole(2, MOST_TOGETHER), "epsilon": EPSILON})},
)
MECHANISM = Record({}, {"matrix": MATRIX, "encoding": ENCODING})
DOCUMENT = Record(
    {"format": Whole(1, 1), "public": PUBLIC, "mechanism": MECHANISM},
)
"""A public mechanism file."""


def public_claims(document: Any) -> Iterator[Claim]:
    """Decide every claim of a public mechanism file."""
    fields = DOCUMENT.read(document)
    section, mechanism = fields["public"], fields["mechanism"]
    if len(mechanism) != 1:
        raise UnreadableError("mechanism must have one of the keys matrix and encoding, and no other")
    level = _decided_level(section)
    if "encoding" in mechanism:
        yield from _encoded(section["domain"], mechanism["encoding"], level)
    else:
        yield from _tabled(section["domain"], mechanism["matrix"], level)
    if level is not None and _decides_together(section, level):
        yield _together(section["together"], level)
    stated = section["digest"]
    words = f"labels, bins, promise and mechanism have the SHA-256 {quoted(stated)}"
    yield decided("digest", words, lambda: public_digest(document) == stated)


def _tabled(domain: dict[str, Any], matrix: Rows, level: float | None) -> Iterator[Claim]:
    """Decide what a matrix has to be: stochastic, of the inputs of the domain, private."""
    yield stochastic(matrix)
    yield inputs_claim(domain, len(matrix))
    if level is not None:
        yield private(matrix, _secrets(domain, len(matrix)), level)


def _encoded(domain: dict[str, Any], plain: dict[str, Any], level: float | None) -> Iterator[Claim]:
    """Decide what an encoding has to be; it hides all inputs from each other, so every secret.

    Parameters that no encoding has are unreadable whether or not a level is claimed: there is then no
    mechanism that the labels and the digest could be about.
    """
    found = read_encoding(plain)
    yield inputs_claim(domain, found.inputs)
    if level is not None:
        yield private_encoding(found, level)


def _decided_level(section: dict[str, Any]) -> float | None:
    """Return the level that the file must have whatever the distribution; None if it states none."""
    level: float | None = section["level"]
    promised: float = section["epsilon"]
    if section["robust"] != "all":
        return level
    return promised if level is None else min(level, promised)


def _decides_together(section: dict[str, Any], level: float | None) -> bool:
    """Return whether the level of several reports follows from the file, or must follow from it."""
    if "together" not in section or level is None:
        return False
    return section["robust"] == "all" or _within(section["together"], level)


def _within(promise: dict[str, Any], level: float) -> bool:
    return bool(promise["reports"] * Fraction(level) <= Fraction(promise["epsilon"]))


def _secrets(domain: dict[str, Any], rows: int) -> list[int]:
    """Return the number of the secret of every row: the public value runs fastest."""
    public = domain["public"]
    width = 1 if public is None else len(public["members"])
    return [x // width for x in range(rows)]


def _together(promise: dict[str, Any], level: float) -> Claim:
    reports, epsilon = promise["reports"], promise["epsilon"]
    words = f"{reports} reports about one person have level at most {reports} × {level!r} ≤ {epsilon!r}"
    return decided("together", words, lambda: _within(promise, level), value=epsilon)


def public_digest(document: dict[str, Any]) -> str:
    """Compute the SHA-256 of a public file: mechanism, and the section without its digest."""
    section = {name: part for name, part in document["public"].items() if name != "digest"}
    return content_digest([document["mechanism"], section])


def unchecked_public(document: dict[str, Any]) -> list[str]:
    """List, as sentences, what a public file says but no claim decides."""
    section = document["public"]
    level = _decided_level(section)
    said = [f"public.method = {quoted(section['method'])}"]
    of = (
        f"for the distributions of {quoted(section['robust'])}, alpha = {section['alpha']!r}: the "
        "counts that this promise is about are not in the file; only a file with them can prove it"
    )
    if level is None or level > section["epsilon"]:
        said.append(f"public.epsilon = {section['epsilon']!r} {of}")
    if "together" in section and not _decides_together(section, level):
        promise = section["together"]
        said.append(f"public.together, {promise['reports']} reports at {promise['epsilon']!r}, {of}")
    return said
