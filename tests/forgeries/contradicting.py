"""The contradiction fuzzer: two verified files of one question whose claims clash are a failure.

The ledger needs no truth. A verified file says "the best is at least this" and "no more than that"; the
fuzzer keeps, for every question that it met, the best value and the best bound verified so far. A
smaller ε allows fewer mechanisms, so a value verified for it is one for every larger ε, and a bound for
a larger ε is one for it; likewise the level of a mechanism over a ball grows with the radius. And every
verified mutant is handed to the second checker: one that it refutes is a failure too.

Run it alone: ``python -m forgeries.contradicting TRIES [KIND …]`` with ``tests`` on the path.
"""

import copy
import json
import math
import random
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache

from forgeries.mutating import mutant, number
from forgeries.small import LARGE, SMALL, TABLES
from second_checker import opinion

from ldpopt import design, problem, solve
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import OPEN, verdict
from ldpopt.checker.kernel.reading import UnreadableError, parse
from ldpopt.problems import PROBLEMS

DESIGN, PUBLIC = "design", "public"
"""Stand for the files of ``ldpopt design``, which have sections of these names, among the kinds."""
CORPUS = (*frame.KINDS, DESIGN, PUBLIC)
PATIENCE = 10.0
"""Seconds for the checker to decide one mutant: what it leaves open is no failure."""


def genuine(kind, most=10, large=False):
    """The result files of small questions of a kind, at most so many; or those of large ones too."""
    count = len(_questions(kind))
    if not large:
        count = min(count - len(LARGE.get(kind, [])), most)
    return [json.loads(_genuine(kind, i)) for i in range(count)]


@cache
def _questions(kind):
    if kind == PUBLIC:  # those first that decide their promises
        return sorted(TABLES, key=lambda asked: asked.get("robust") != "all")
    if kind == DESIGN:
        return TABLES
    if kind in SMALL:
        return [problem(kind, **params) for params in SMALL[kind] + LARGE.get(kind, [])]
    return [example.problem for example in PROBLEMS[kind].examples()]


@cache
def _genuine(kind, i):
    """The file of one question, written once for all tests that begin with it."""
    asked = _questions(kind)[i]
    found = design(**asked) if kind in (DESIGN, PUBLIC) else solve(asked)
    return json.dumps((found.public if kind == PUBLIC else found).to_json())


def judged(document, seconds=600.0):
    """What the checker says of a file: verified, open, refuted, undecided or unreadable.

    A busy machine has time to decide a small one; of mutants, few may take long, see PATIENCE.
    """
    try:
        text = json.dumps(document, allow_nan=True).encode()
        with limited(seconds):
            claims = frame.check(parse(text))
    except UnreadableError:
        return "unreadable"
    except UndecidedError:
        return "undecided"
    return {True: "verified", OPEN: "open", False: "refuted", None: "undecided"}[verdict(claims)]


class ClashError(AssertionError):
    """Two verified files clash."""


class FalseError(AssertionError):
    """The second checker refutes a verified file."""


class Ledger:
    """What was verified of every question, but for its ε or radius: that, value, bound, and the file."""

    def __init__(self):
        self.known = defaultdict(list)

    def enter(self, document):
        """Enter a verified file; a clash with another is a :class:`ClashError`.

        A public file answers no question, and clashes with none.
        """
        if "public" in document:
            return
        plain = frame.statement(document["problem"], document["params"])
        form = frame._form(plain)
        maximise = form.sense(frame.question(plain)) == "maximise"
        epsilon, rest = _ordered(document)
        bound = document["bound"]
        low, high = document["value"], bound if number(bound) else None
        if plain["form"] == "reporting":
            low -= _moved(document)
        low, high = (low, high) if maximise else (high, low)
        shelf = self.known[json.dumps([document["problem"], rest], sort_keys=True)]
        for other_epsilon, other_low, other_high, other in shelf:
            self._compare(
                (epsilon, low, high, document), (other_epsilon, other_low, other_high, other), maximise
            )
        shelf.append((epsilon, low, high, document))
        shelf[:] = _best(shelf)

    @staticmethod
    def _compare(one, two, maximise):
        """The optimum grows with ε if it is a maximum, and falls if it is a minimum."""
        for (e, low, _, a), (f, _, high, b) in ((one, two), (two, one)):
            related = e <= f if maximise else e >= f
            if related and low is not None and high is not None and Fraction(low) > Fraction(high):
                raise ClashError(f"at least {low!r} and at most {high!r}: {json.dumps([a, b])}")


def _moved(document):
    """How far the information of a mechanism may be from that of the protocol that it is near to.

    If no entry is off by more than δ ≤ 1/2, then none of the m terms of H(Y), and of H(Y|X), is off by
    more than η(δ), η(x) = −x log x.
    """
    m = len(document["mechanism"]["matrix"][0])
    delta = max(1e-12, m * 2.0**-50 / document["params"]["epsilon"])
    return -2 * m * delta * math.log(delta) if delta < 0.5 else math.inf


def _ordered(document):
    """The parameter in which the optimum is monotone (0 where there is none), and all others."""
    rest = copy.deepcopy(document["params"])
    if document["problem"] in MONOTONE:
        return Fraction(rest.pop("epsilon")), rest
    if document["problem"] == "robust-level" and "radius" in rest["uncertainty"]:
        return Fraction(rest["uncertainty"].pop("radius")), rest
    return Fraction(0), rest


MONOTONE = (
    "staircase",
    "secret-staircase",
    "robust-optimum",
    "set-optimum",
    "robust-fidelity",
    "circulant-fidelity",
    "square-fidelity",
    "broad-fidelity",
    "fidelity",
    "minimax-fidelity",
    "numeric-mean",
)
"""Kinds whose optimum is monotone in ε, all else equal."""


def _best(shelf):
    """For every ε the entry with the largest lower and the one with the least upper end."""
    kept = {}
    for entry in shelf:
        epsilon, low, high, _ = entry
        if low is not None and low > kept.get((epsilon, "low"), (0, -float("inf")))[1]:
            kept[epsilon, "low"] = entry
        if high is not None and high < kept.get((epsilon, "high"), (0, 0, float("inf")))[2]:
            kept[epsilon, "high"] = entry
    return list({id(entry): entry for entry in kept.values()}.values())


def run(documents, tries, seed):
    """Let the checker judge mutants: how many were verified, refuted, undecided and unreadable.

    Of the verified ones the second Counter says how many the second checker verifies, or cannot tell.
    """
    draw, ledger, counts, opinions = random.Random(seed), Ledger(), Counter(), Counter()
    for document in documents:
        assert judged(document, math.inf) in ("verified", "open"), document
        ledger.enter(document)
    for _ in range(tries):
        found = mutant(draw.choice(documents), draw)
        said = judged(found, PATIENCE)
        counts[said] += 1
        if said == "verified":
            ledger.enter(found)
            opinions[inspected(found)] += 1
    return counts, opinions


def inspected(document):
    """What the second checker says of a verified file; not so is a :class:`FalseError`."""
    said = opinion(json.dumps(document))
    if said not in ("verified", None):
        raise FalseError(f"the second checker says {said}: {json.dumps(document)}")
    return said or "not told"


def main(tries, *kinds):
    """Run the fuzzer on some kinds, all if none is named, and print the counts."""
    for kind in kinds or CORPUS:
        counts, opinions = run(genuine(kind, large=True), int(tries), f"{kind} {tries}")
        print(f"{kind:26} {tries:>7} tries  {dict(counts)}, of these {dict(opinions)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
