"""Whether a mechanism is a reporting protocol: parameters are read off it, and every entry compared.

Calibrated responses of ``independent-reporting`` and ``grr-conditional`` may be right as often as they
like; all others follow from a split g, which several entries tell.
"""

import itertools
from fractions import Fraction

from mpmath import iv

from second_checker.intervals import bottom, interval, surely
from second_checker.jets import jet
from second_checker.protocols import response

SILENT = -1


def entry_error(W, protocol):
    """The δ of the page: how far an entry may be from that of the protocol."""
    return max(Fraction(1, 10**12), len(W[0]) * Fraction(1, 2**50) / protocol.robust.e)


def is_member(W, protocol):
    """Whether each entry is that of the protocol with some parameters, to the page's error."""
    room = entry_error(W, protocol)
    if protocol.kind == "ue-conditional":
        return any(agrees(W, rows, room) for rows in unary_guesses(W, protocol))
    if len(W[0]) != protocol.a1 * protocol.a2:
        return False
    return any(agrees(W, rows, room) for rows in guesses(W, protocol))


def agrees(W, rows, room):
    return all(
        surely(abs(should - interval(entry)), room)
        for row, entries in zip(W, rows, strict=True)
        for entry, should in zip(row, entries, strict=True)
    )


def odds_of(right, k):
    """The odds of a response that is right so often, between 0 and 1."""
    return min((1 - right) / ((k - 1) * right), Fraction(1)) if right else Fraction(1)


def within(g, protocol):
    return min(max(g, Fraction(1)), bottom(last(protocol)))


def last(protocol):
    """The largest split."""
    halved = protocol.kind == "ue-conditional" and protocol.pairs is None
    return iv.sqrt(protocol.E) if halved else protocol.E


def split_of(odds, block, protocol):
    """Guess the split at which a block has these odds: where the last of its limits meets them."""
    splits = [limit.split(odds) for limit in protocol.limits[block]]
    return bottom(last(protocol)) if None in splits else max(splits)


def guesses(W, protocol):
    """The rows of protocols with parameters that the mechanism shows."""
    a1, a2 = protocol.a1, protocol.a2
    truths = [sum(W[s * a2][s * a2 : (s + 1) * a2]) for s in range(a1)]
    if not all(truths):
        return
    first = odds_of(sum(truths) / a1, a1)
    own = [
        odds_of(sum(W[s * a2 + u][s * a2 + u] for u in range(a2)) / (a2 * truths[s]), a2)
        for s in range(a1)
    ]
    if protocol.pairs is not None:
        independent = protocol.kind == "independent-reporting"
        yield entries(protocol, first, [sum(own) / a1] * a1 if independent else own)
        return
    splits = [
        first * bottom(protocol.E),
        *(split_of(o, b, protocol) for b, o in enumerate(own[: len(protocol.d)])),
    ]
    for g in {within(g, protocol) for g in splits}:
        odds = protocol.odds(g)
        yield entries(protocol, interval(g) / protocol.E, odds if len(odds) > 1 else odds * a1)


def heard(protocol, odds):
    """For every secret how the response to its value fares, and what a drawn value becomes."""
    for o, q in zip(odds, protocol.given, strict=True):
        same, other = (x.value for x in response(protocol.a2, jet(o)))
        yield same, other, [(same - other) * p + other for p in q]


def entries(protocol, first, odds):
    """The rows of a protocol that reports one secret and one value."""
    right, wrong = (x.value for x in response(protocol.a1, jet(first)))
    parts, conditional = list(heard(protocol, odds)), protocol.kind == "grr-conditional"
    for s, u in itertools.product(range(protocol.a1), range(protocol.a2)):
        row = []
        for r, v in itertools.product(range(protocol.a1), range(protocol.a2)):
            same, other, fake = parts[r]
            own = same if v == u else other
            row.append(right * own if r == s else wrong * (fake[v] if conditional else own))
        yield row


def unary_guesses(W, protocol):
    """The rows of unary encodings with κ and splits that the mechanism shows."""
    a1, a2 = protocol.a1, protocol.a2
    sizes = {1: [SILENT], a2**a1: range(a2), (1 + a2) ** a1: range(-1, a2)}
    if len(W[0]) not in sizes:
        return
    labels = list(itertools.product(sizes[len(W[0])], repeat=a1))

    def chance(x, s, said):
        return sum(p for p, label in zip(W[x], labels, strict=True) if label[s] in said)

    kappa = chance(0, 0, range(a2))
    if kappa == 0:
        yield unary_entries(protocol, labels, iv.mpf(0), iv.mpf(0), [1] * a1)
        return
    splits = [split_of(odds_of(chance(s * a2, s, [0]) / kappa, a2), s, protocol) for s in range(a1)]
    lam = chance(0, 1, range(a2))
    if 0 < lam < 1 and kappa < 1:
        splits.append(bottom(protocol.E) * lam * (1 - kappa) / (kappa * (1 - lam)))
    for g in {within(g, protocol) for g in splits}:
        own = interval(kappa)
        other = own / (own + (1 - own) * protocol.E / interval(g))
        yield unary_entries(protocol, labels, own, other, protocol.odds(g))


def unary_entries(protocol, labels, kappa, lam, odds):
    parts = list(heard(protocol, odds))
    for s, u in itertools.product(range(protocol.a1), range(protocol.a2)):
        row = []
        for label in labels:
            found = iv.mpf(1)
            for t, v in enumerate(label):
                same, other, fake = parts[t]
                chance = kappa if t == s else lam
                said = fake[v] if t != s else same if v == u else other
                found *= 1 - chance if v == SILENT else chance * said
            row.append(found)
        yield row
