"""Public mechanism files: what can be decided without the counts of the table that they were made for.

A public file holds the mechanism, what its rows mean, and what was promised. It holds no counts, and
nothing computed from them but the mechanism itself. Its claims:

* *stochastic*: every row sums to exactly 1, of multiples of 2^−52, which programs draw exactly (an
  encoding that is stated by its parameters instead of a matrix has no rows;
  :mod:`frequency_encoding` says what its probabilities are);
* *inputs*: the labels (s, u) are those of the rows, as in :mod:`table_design`;
* *privacy*, where ``level`` is a number L: entries of inputs with different secrets differ by at most a
  factor e^L;
* *promise*: no report is more than e^ε times as likely for one secret as for another, for the
  distributions that ``robust`` names, ε being ``epsilon``;
* *together*, where r reports about one person are promised the level ε': they have it;
* *recoverable*, where it says that counts can be computed back from the mechanism "not at all": the
  matrix tells no value of the table from another (:mod:`alike_rows`), as no encoding does;
* *digest*: SHA-256 of all of it, as in :mod:`table_design`. Released files are named by it, and the
  section may have a ``salt``, so that nobody who sees them alone can try counts until one fits.

Lemma. If W[(s,u),y] ≤ e^L W[(s',u'),y] for all s ≠ s', u, u', then P(y|s) ≤ e^L P(y|s') for every
distribution P of the data: P(y|s) = Σ_u P(u|s) W[(s,u),y] is a mean of entries of s, and a mean is not
above the largest nor below the least. Products of r entries differ by e^(rL) at most, so r reports about
one person have together at most the level r L. The distributions that give s and s' one public value
each attain both.

So the entries prove a promise if they differ by at most e^ε (e^(ε'/r)). They also decide it

* for all distributions (``robust`` "all"), as some distribution attains their level;
* with one public value, or none, as P(y|s) is then an entry;
* of an encoding, which hides all inputs from each other: this is what its promise is about;
* for those who know the public value (``robust`` "given"), and of sensitive secrets: they are notions of
  privacy, which say what entries may be (:mod:`table_promises`).

A promise for the distributions near a table is about counts that are not in the file. It is proven by
the entries, or refuted for all counts by :mod:`telling_apart`, or else *open*: the file does not decide
it. That counts can be computed back "approximately" or "exactly" is a warning of the writer, and listed
by :func:`unchecked_public`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from ..kernel.arithmetic import exp_below
from ..kernel.claims import Claim, decided, quoted
from ..kernel.proofs.alike_rows import MOST_VALUES, SLACK, treats_alike
from ..kernel.proofs.encodings import ENCODING, read_encoding
from ..kernel.proofs.encodings import private as private_encoding
from ..kernel.proofs.labelled_inputs import content_digest, inputs_claim
from ..kernel.proofs.private_rows import DRAWN, Rows, is_private, private, stochastic
from ..kernel.proofs.table_promises import OPTIONS, SECTION, table_promise
from ..kernel.proofs.telling_apart import tells_apart
from ..kernel.reading import UnreadableError
from ..kernel.schema import MOST_EPSILON, Nullable, Number, Record, Whole, Word

RECOVERABLE = ("not at all", "approximately", "exactly")
"""How well the counts of the table can be computed back from the mechanism."""
PUBLIC = Record(
    {**SECTION, "level": Nullable(Number(0, MOST_EPSILON))},
    {**OPTIONS, "recoverable": Word(*RECOVERABLE)},
)
MECHANISM = Record({}, {"matrix": DRAWN, "encoding": ENCODING})
DOCUMENT = Record(
    {"format": Whole(1, 1), "public": PUBLIC, "mechanism": MECHANISM},
)
"""A public mechanism file."""


NOT_IN_FILE = (
    "not decided by this file: the counts that the promise is about are not in it; verify the file that "
    "has them, or design with --robust all"
)
"""Why a promise is open, and what to do about it."""
PROMISES = ("promise", "together")
"""The claims that decide what is promised."""


class Entries(NamedTuple):
    """What the entries of a mechanism say about a level.

    Attributes:
        prove: whether they differ by at most e^level.
        refute: whether no distribution of the data has the level.
        decide: whether what they do not prove is false.
        alike: decides the claim that they tell no value of the table from another.
    """

    prove: Callable[[Fraction], bool]
    refute: Callable[[Fraction], bool]
    decide: bool
    alike: Callable[[], Claim]
    words: str = ""
    """What is promised, where it is not that every secret is hidden from every other."""


def public_claims(document: Any) -> Iterator[Claim]:
    """Decide every claim of a public mechanism file."""
    fields = DOCUMENT.read(document)
    section, mechanism = fields["public"], fields["mechanism"]
    if len(mechanism) != 1:
        raise UnreadableError("mechanism must have one of the keys matrix and encoding, and no other")
    ((form, stated),) = mechanism.items()
    entries = yield from FORMS[form](section, stated)
    yield from _promises(section, entries)
    if section.get("recoverable") == RECOVERABLE[0]:
        yield entries.alike()
    digest = section["digest"]
    words = f"labels, bins, promise and mechanism have the SHA-256 {quoted(digest)}"
    yield decided("digest", words, lambda: public_digest(document) == digest)


def _tabled(section: dict[str, Any], matrix: Rows) -> Generator[Claim, None, Entries]:
    """Decide what a matrix has to be: stochastic, of the inputs of the domain, private at its level."""
    yield stochastic(matrix)
    yield inputs_claim(section["domain"], len(matrix))
    public = section["domain"]["public"]
    width = 1 if public is None else len(public["members"])
    secrets = [x // width for x in range(len(matrix))]
    if section["level"] is not None:
        yield private(matrix, secrets, section["level"])
    alike = partial(_alike_rows, matrix, width, section["epsilon"])
    if (promised := table_promise(section)) is not None:
        part = promised.part(len(matrix))
        return Entries(
            lambda _: part.holds(matrix) is True, lambda _: False, True, alike, promised.words
        )
    return Entries(
        partial(is_private, matrix, secrets),
        partial(tells_apart, matrix, width),
        decide=section["robust"] == "all" or width == 1,
        alike=alike,
    )


def _alike_rows(matrix: Rows, width: int, epsilon: float) -> Claim:
    words = (
        "the matrix tells no value of the table from another: its entries are at most "
        f"{MOST_VALUES} numbers, e^{epsilon!r} apart or 0, and any two rows meet them alike, whichever "
        f"values they belong to (up to {SLACK!r})"
    )
    return decided("recoverable", words, lambda: treats_alike(matrix, width, epsilon))


def _encoded(section: dict[str, Any], plain: dict[str, Any]) -> Generator[Claim, None, Entries]:
    """Decide what an encoding has to be; parameters that no encoding has are unreadable."""
    found = read_encoding(plain)
    if table_promise(section) is not None:
        raise UnreadableError("an encoding promises that all inputs are hidden, and nothing else")
    yield inputs_claim(section["domain"], found.inputs)
    if section["level"] is not None:
        yield private_encoding(found, section["level"])
    words = "its parameters are the same for all inputs"
    return Entries(
        lambda level: found.ratio <= exp_below(level),
        lambda _: False,
        decide=True,
        alike=lambda: decided("recoverable", words, lambda: True),
    )


FORMS: dict[str, Callable[[dict[str, Any], Any], Generator[Claim, None, Entries]]] = {
    "matrix": _tabled,
    "encoding": _encoded,
}
"""How a mechanism is stated: by a matrix or by the parameters of an encoding."""


def _promises(section: dict[str, Any], entries: Entries) -> Iterator[Claim]:
    """Decide what is promised of one report, and of several together."""
    whom = "whatever the distribution of the data"
    if not entries.decide:
        whom = f"for the distributions of {quoted(section['robust'])}, alpha = {section['alpha']!r}"
    epsilon: float = section["epsilon"]
    hidden = f"no report is more than e^{epsilon!r} times as likely for one secret as for another"
    words = f"{entries.words or hidden}, {whom}"
    yield _promise("promise", words, epsilon, 1, entries)
    if "together" in section:
        reports, epsilon = section["together"]["reports"], section["together"]["epsilon"]
        words = f"{reports} reports about one person have together the level {epsilon!r}, {whom}"
        yield _promise("together", words, epsilon, reports, entries)


def _promise(what: str, words: str, epsilon: float, reports: int, entries: Entries) -> Claim:
    """Decide one promise by the entries, or leave it open.

    Args:
        what: which claim it is.
        words: the claim as one sentence.
        epsilon: the level of all reports together.
        reports: how many there are.
        entries: what the mechanism says about a level.
    """
    level = Fraction(epsilon) / reports

    def holds() -> bool | None:
        if entries.prove(level):
            return True
        return False if entries.decide or entries.refute(level) else None

    return decided(what, words, holds, value=epsilon, otherwise=NOT_IN_FILE)


def public_digest(document: dict[str, Any]) -> str:
    """Compute the SHA-256 of a public file: mechanism, and the section without its digest."""
    section = {name: part for name, part in document["public"].items() if name != "digest"}
    return content_digest([document["mechanism"], section])


def unchecked_public(document: dict[str, Any]) -> list[str]:
    """List, as sentences, what a public file says but no claim decides."""
    section = document["public"]
    said = [f"public.method = {quoted(section['method'])}"]
    if (warned := section.get("recoverable", RECOVERABLE[0])) != RECOVERABLE[0]:
        said.append(f"the counts of the table can be computed back from the mechanism: {warned}")
    return said
