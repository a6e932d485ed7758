"""Read a file: what the page says a file may be. Anything else is :class:`UnreadableError`."""

import itertools
import json
import math
import unicodedata
from decimal import Decimal
from fractions import Fraction

REQUIRED = {"format", "problem", "params", "status", "value", "bound", "mechanism", "certificate"}
OPTIONAL = {
    "gap",
    "answer",
    "solver",
    "seconds",
    "stats",
    "attempts",
    "environment",
    "design",
    "statement",
}


class UnreadableError(Exception):
    """No claim can be read from the file."""


def demand(condition, sentence):
    if not condition:
        raise UnreadableError(sentence)


def plain(content):
    """The object in a file; no key of it occurs twice."""

    def once(pairs):
        demand(len({key for key, _ in pairs}) == len(pairs), "a key occurs twice")
        return dict(pairs)

    def short(text):
        digits = Decimal(text).normalize().as_tuple().digits
        demand(len(digits) <= 17 and bool(float(text)) == any(digits), f"{text} is no double")
        return float(text)

    try:
        found = json.loads(content, object_pairs_hook=once, parse_float=short)
    except ValueError as error:
        raise UnreadableError(str(error)) from None
    demand(isinstance(found, dict), "an object is missing")
    demand(all(map(shows_itself, texts(found))), "a string with characters that do not show themselves")
    return found


def texts(value):
    """Every string of the document, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in itertools.chain(value, value.values()):
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def shows_itself(text):
    """No control or half character, no end of a line, no mark of direction, none that shows nothing."""
    kinds = {unicodedata.category(c) for c in text}
    marks = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    marks |= set("\u00ad\u115f\u1160\u180e\u200b\u3164\ufeff\uffa0\ufff9\ufffa\ufffb")
    marks |= {chr(code) for code in (*range(0x2060, 0x2065), *range(0x206A, 0x2070))}
    tags = any(0xE0000 <= ord(c) <= 0xE0FFF for c in text)
    return not kinds & {"Cc", "Cs", "Zl", "Zp"} and not marks & set(text) and not tags


def document(found):
    """Read the fields of a result file."""
    keys(found, REQUIRED, OPTIONAL)
    demand(found["format"] in (1, 2) and type(found["format"]) is int, "the format is another")
    if found["format"] == 1:
        found["params"] = renamed(found["problem"], found["params"])
    demand(found["status"] in ("optimal", "gap", "feasible"), "the status makes no claim")
    number(found["value"])
    demand((found["bound"] is None) == (found["status"] == "feasible"), "a bound too many, or none")
    for key, least in (("bound", -math.inf), ("gap", 0)):
        if found.get(key) is not None:
            number(found[key], least)
    demand(
        ("gap" not in found) or (found["gap"] is None) == (found["bound"] is None), "gap without bound"
    )
    keys(found["certificate"], {"proof", "gap"}, {"repair_loss", "audit"})
    demand(0 <= number(found["certificate"]["gap"]) < 1, "certificate.gap is out of range")
    objects = [found.get(key, {}) for key in ("stats", "attempts", "environment", "design", "statement")]
    demand(
        all(isinstance(part, dict) for part in [*objects, found["certificate"].get("audit", {})]),
        "objects",
    )
    demand(isinstance(found.get("solver", ""), str), "the solver is a name")
    number(found.get("seconds", 0), 0)
    number(found["certificate"].get("repair_loss", 0))
    demand(found["mechanism"] is None or found.get("answer") is None, "two answers")


def renamed(kind, params):
    """The parameters of a file of version 1, with the names of version 2."""
    if not isinstance(kind, str) or not isinstance(params, dict):
        return params
    former = {"fidelity": {"p": "prior"}, "asymptotic-utility": {"alpha": "dirichlet"}}
    former["privacy-utility-frontier"] = former["asymptotic-utility"]
    former["leakage-design"] = {"budget": "leakage"}
    names = former.get(kind, {"k": "inputs"} if "-fidelity" in kind else {})
    demand(not any({old, new} <= params.keys() for old, new in names.items()), "a name and its former")
    return {names.get(name, name): value for name, value in params.items()}


def keys(value, required, optional=()):
    demand(isinstance(value, dict), "an object is missing")
    demand(set(required) <= set(value) <= set(required) | set(optional), f"other keys than {required}")


def number(value, least=-math.inf, most=math.inf):
    demand(isinstance(value, (int, float)) and not isinstance(value, bool), "a number is missing")
    demand(math.isfinite(value) and least <= value <= most, f"{value} is out of range")
    demand(float(value) == value, f"{value} is no double")
    return Fraction(value)


def numbers(value, count=None, least=-math.inf):
    demand(isinstance(value, list) and value, "a list is missing")
    demand(count is None or len(value) == count, "a list has another length")
    return [number(entry, least) for entry in value]


def whole(value, least, most):
    demand(
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= most, "out of range"
    )
    return value


def word(value, allowed):
    demand(isinstance(value, str) and value in allowed, f"not one of {allowed}")
    return value


def distribution(value):
    """The list divided by its exact sum."""
    entries = numbers(value, least=0)
    demand(len(entries) > 1 and abs(sum(entries) - 1) <= Fraction(1, 10**9), "not a distribution")
    return [entry / sum(entries) for entry in entries]


def epsilon(params):
    return number(params["epsilon"], 1e-6, 30)


def matrix(found, rows):
    """The mechanism as rational numbers."""
    keys(found["mechanism"], {"matrix"}, {"inputs", "outputs"})
    entries = found["mechanism"]["matrix"]
    demand(isinstance(entries, list) and len(entries) == rows, "another number of rows")
    W = [numbers(row, least=0) for row in entries]
    demand(len({len(row) for row in W}) == 1, "not rectangular")
    for name, size in (("inputs", rows), ("outputs", len(W[0]))):
        labels = found["mechanism"].get(name)
        if labels is not None:
            equal = any(a == b for a, b in itertools.combinations(labels, 2))  # 1 and 1.0 and true are
            demand(len(labels) == size and not equal, "labels that are not different")
    if found["mechanism"].get("inputs") is not None:
        demand(in_order(found["mechanism"]["inputs"], found["params"]), "inputs numbered otherwise")
    return W


def in_order(inputs, params):
    """Whether names that are 0, 1, … or all pairs [s, u] of a table are those of the question."""
    if all(x in inputs for x in range(len(inputs))):
        return inputs == list(range(len(inputs)))
    known = {**params, **params.get("uncertainty", {})}
    given = [known[name] for name in ("prior", "p_hat", "counts", "p") if name in known]
    table = next(iter([*given, *known.get("hypotheses", []), *known.get("members", [])]), None)
    if not table or not isinstance(table[0], list):
        return True
    shapes = [(a, len(inputs) // a) for a in range(1, len(inputs) + 1) if len(inputs) % a == 0]
    for a, b in shapes:
        pairs = [[s, u] for s in range(a) for u in range(b)]
        if all(pair in inputs for pair in pairs):
            return inputs == pairs and (a, b) == (len(table), len(table[0]))
    return True
