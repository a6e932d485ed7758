"""The section ``design`` of a file: which table the mechanism is for, and which row is which value.

A mechanism is a matrix, and this section says what its rows mean. The claims tie the two together:

* *inputs*: every row of a table is one input of the mechanism at most (``labelled_inputs.py``).
* *counts*: the question that was answered is that of the section's counts, in the order of the labels:
  ``params.counts`` are these counts, or ``params.p_hat`` (``params.prior``) are c/n, each rounded to the
  nearest float; so is the prior of the objective of a composition, or it is (c + ½)/(n + half the number
  of cells), as the error of queries needs a distribution without zeros.
* *level*: ε (and, for a confidence set, α and n) of the section are those of the question, and what the
  section calls different secrets the question hides from each other (:func:`_hides`). Where the section
  promises a notion of privacy (:mod:`table_promises`), the question asks for this one alone.
* *together*: where the section promises a level for r reports about one person, they have it; see
  :func:`_together`.
* *digest*: SHA-256 of problem, parameters, mechanism and section, as :func:`digest` writes them.

Lemma. Let a digest be computed when the file is made, and let any other parts of the file change
afterwards. If the digest claim holds, then what it covers is what it was, or a collision of SHA-256 is
known. So whoever swaps two labels, moves the edge of a bin or renames a column is refuted. A section may
have a ``salt``: random digits, so that nobody who sees the digest can try counts until one fits.

What it cannot show: a digest is not a signature. Whoever writes the whole file, digest included, can
call the rows what they like; ``ldpopt privatize`` therefore compares its counts with those of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from ..kernel.budget import tick
from ..kernel.claims import Claim, decided, quoted
from ..kernel.fixed_point import whole
from ..kernel.proofs.confidence_set import confidence, read_robust_question
from ..kernel.proofs.labelled_inputs import (
    MOST_CELLS,
    content_digest,
    inputs_claim,
)
from ..kernel.proofs.private_rows import DRAWN
from ..kernel.proofs.robust_privacy import are_robustly_private
from ..kernel.proofs.table_promises import OPTIONS, SECTION, TablePromise, table_promise
from ..kernel.reading import UnreadableError
from ..kernel.schema import List, Nullable, Record, Whole

KNOWN_SAMPLES = 1e12
"""A known distribution is taken as if it had been observed this often: to a part in a million."""
FOR_ALL = (
    *("column-program", "matrix-program", "moment-program", "minimax-program"),
    *("convex-program", "leakage-program", "query-program", "encoding", "numeric-mean"),
)
"""Forms whose mechanisms are private for every distribution, unless the question is about a χ² set."""
DESIGN = Record(
    {
        **SECTION,
        "width": Nullable(Whole(2, 1_000_000)),
        "counts": List(List(Whole(0, MOST_CELLS), 1), 1),
    },
    OPTIONS,
)
"""What ``ldpopt design`` says of its table."""


def design_claims(document: dict[str, Any], plain: dict[str, Any]) -> Iterator[Claim]:
    """Check the claims of the section.

    Args:
        document: the file, read by its schema.
        plain: the statement of its question, read by the schema of its form.
    """
    section, params, encoded = document["design"], document["params"], plain["form"] == "encoding"
    mechanism = document["answer" if encoded else "mechanism"]
    if not isinstance(mechanism, dict) or not isinstance(params, dict):
        raise UnreadableError("a file with the section design needs a mechanism and parameters")
    promised = table_promise(section)
    if promised is not None and plain["form"] != "program":
        raise UnreadableError("such a promise needs a question that is composed of notions of privacy")
    if promised is None and not _confident(params) and plain["form"] not in FOR_ALL:
        raise UnreadableError(
            "the section design needs a question about all distributions, or about the χ² set of a table"
        )
    rows = mechanism["inputs"] if encoded else len(DRAWN.read(mechanism["matrix"], "mechanism.matrix"))
    labels = None if encoded else mechanism.get("inputs")
    yield inputs_claim(section["domain"], rows, labels, section["counts"])
    if counted(params):
        yield _counts(section["counts"], params)
    yield _level(section, params, plain) if promised is None else _notion(promised, plain)
    if "together" in section:
        yield _together(section["together"], mechanism.get("matrix", []), params, plain)
    stated = section["digest"]
    words = f"labels, bins, counts, parameters and mechanism have the SHA-256 {quoted(stated)}"
    yield decided("digest", words, lambda: digest(document) == stated)


def unchecked_design(document: dict[str, Any]) -> list[str]:
    """List, as sentences, what the section says but no claim decides."""
    section = document["design"]
    named = ("method", *(["width"] if section["width"] is not None else []))
    said = [f"design.{name} = {quoted(section[name])}" for name in named]
    if not counted(document["params"]):
        said.append("design.counts: the question does not depend on them")
    return said


def digest(document: dict[str, Any]) -> str:
    """Compute the SHA-256 of a design: question, mechanism or encoding, section without its digest."""
    section = {name: part for name, part in document["design"].items() if name != "digest"}
    mechanism = document["mechanism"] or document.get("answer")
    return content_digest([document["problem"], document["params"], mechanism, section])


# ---------------------------------------------------------------- the labels


# ---------------------------------------------------------------- the question


def counted(params: dict[str, Any]) -> bool:
    """Return whether the question is about a distribution that was counted."""
    return "counts" in params or bool(_distributions(params))


def _distributions(params: dict[str, Any]) -> list[Any]:
    """List the distributions of a question: its own, and that of the objective of a composition."""
    found = [params[name] for name in ("p_hat", "prior", "p") if name in params]
    named = [params[sense] for sense in ("maximise", "minimise") if isinstance(params.get(sense), dict)]
    objectives = [part for one in named for part in one.values() if isinstance(part, dict)]
    return found + [part["prior"] for part in objectives if "prior" in part]


def _confident(params: dict[str, Any]) -> bool:
    """Return whether the question is about a χ² set; else, by FOR_ALL, about every distribution."""
    return "p_hat" in params or "counts" in params


def _counts(counts: list[list[int]], params: dict[str, Any]) -> Claim:
    total = sum(map(sum, counts))
    words = f"the question is that of a table with its {total} rows, counted in the order of the labels"

    def holds() -> bool:
        if "counts" in params:
            return bool(params["counts"] == counts)
        if total == 0:
            return False
        rows = [[count / total for count in row] for row in counts]
        flat = [entry for row in rows for entry in row]  # Python rounds int/int to the nearest float
        half = [(2 * count + 1) / (2 * total + len(flat)) for row in counts for count in row]
        return _distributions(params)[0] in (rows, flat, half)

    return decided("counts", words, holds, value=float(total))


def _hides(plain: dict[str, Any], shape: tuple[int, int]) -> bool:
    """Return whether inputs of different secrets of the section have different secrets in the question.

    A question hides its own secrets from each other: those that it names, the rows of its table, or else
    every input. Row x of the mechanism has in the section the secret x // (number of public values).

    Args:
        plain: the statement of the question.
        shape: how many secrets and how many public values the section has.
    """
    if "p_hat" in plain:
        return (len(plain["p_hat"]), len(plain["p_hat"][0])) == shape
    if "secrets" not in plain:
        return True
    rows: dict[Any, int] = {}
    return all(
        rows.setdefault(secret, x // shape[1]) == x // shape[1]
        for x, secret in enumerate(plain["secrets"])
    )


def _level(section: dict[str, Any], params: dict[str, Any], plain: dict[str, Any]) -> Claim:
    epsilon, alpha, robust = section["epsilon"], section["alpha"], section["robust"]
    confident = _confident(params)
    public = section["domain"]["public"]
    shape = len(section["domain"]["secret"]["members"]), 1 if public is None else len(public["members"])

    def holds() -> bool:
        if not _hides(plain, shape):
            return False
        if not confident:  # private for every distribution, so for any that is promised
            return bool(plain.get("epsilon") == epsilon)
        sets = {"chi2": "counts" in params, "known": params.get("n") == KNOWN_SAMPLES}
        same = plain["epsilon"] == epsilon and plain["alpha"] == alpha
        return same and sets.get(robust, False)

    known = f" and the set {quoted(robust)} with alpha = {alpha!r}" if confident else ""
    words = f"the design promises what the question asks for: the level {epsilon!r}{known}"
    return decided("level", words, holds, value=epsilon)


def _notion(promised: TablePromise, plain: dict[str, Any]) -> Claim:
    words = f"the design promises what the question asks for: {promised.words}"
    return decided("level", words, lambda: plain["privacy"] == [promised.notion])


def _together(
    promise: dict[str, Any], matrix: list[list[float]], params: dict[str, Any], plain: dict[str, Any]
) -> Claim:
    """Check the level of r independent reports about one person.

    A mechanism that is private for every distribution at the level ε' has W[x,y] ≤ e^ε' W[x',y] for all
    inputs x, x' of different secrets, so products of r entries differ by e^(r ε') at most: r ε' ≤ ε is
    enough. Against a confidence set, see :func:`private_together`.

    Args:
        promise: how many reports, and their level.
        matrix: the mechanism; empty if it is an encoding, which is private for every distribution.
        params: the parameters of the question.
        plain: its statement; if it has no level, a claim about every distribution is refuted.
    """
    reports, epsilon = promise["reports"], promise["epsilon"]
    whom = "for every distribution in the set" if _confident(params) else "whatever the distribution"

    def holds() -> bool:
        if _confident(params):
            return private_together(matrix, {**params, "epsilon": epsilon}, reports)
        return "epsilon" in plain and reports * Fraction(plain["epsilon"]) <= Fraction(epsilon)

    words = f"{reports} reports about one person are together private at the level {epsilon!r}, {whom}"
    return decided("together", words, holds, value=epsilon)


def private_together(matrix: list[list[float]], params: dict[str, Any], reports: int) -> bool:
    """Return whether r reports are proven private against the confidence set of the parameters.

    Together they are one report of the product mechanism, with columns T_{y₁}·…·T_{y_r}, entry by entry;
    the order does not matter, nor does a common factor, so that integers are multiplied. Each column is
    decided as that of a single report, and not kept: there are C(outputs + r − 1, r) of them.

    Args:
        matrix: the mechanism, one row per input (s, u).
        params: the parameters of the confidence set and the level of all reports together.
        reports: r.
    """
    question = read_robust_question(confidence(params))
    distinct = sorted({_integers(column) for column in zip(*matrix, strict=True)})

    def products() -> Iterator[list[int]]:
        for chosen in combinations_with_replacement(distinct, reports):
            tick()  # many products may be all zero, and these are not passed on
            column = [math.prod(entries) for entries in zip(*chosen, strict=True)]
            if any(column):
                yield column

    return are_robustly_private(products(), question)


def _integers(column: Sequence[float]) -> tuple[int, ...]:
    """Find whole numbers in the proportions of the entries, without a common factor."""
    entries, _ = whole(column)
    common = math.gcd(*entries) or 1
    return tuple(entry // common for entry in entries)
