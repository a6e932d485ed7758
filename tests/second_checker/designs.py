"""The section ``design``: labels, counts, level, reports together and the digest."""

import hashlib
import itertools
import json
import math
import unicodedata
from fractions import Fraction

import numpy as np

from second_checker.confidence import Robust, is_private
from second_checker.reading import demand, keys, number, whole, word

MOST_PRODUCTS = 300
PLACES = 1_000_000
FLAGS = ("time", "other", "missing")
NOTHING = {"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"}
ONES = (0xAD, 0x34F, 0x61C, 0x2800, 0x3164, 0xFEFF, 0xFFA0, 0x115F, 0x1160, 0x17B4, 0x17B5)
SPANS = ((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F))
FAR = ((0xFDD0, 0xFDEF), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A))
BLANK = (*((one, one) for one in ONES), *SPANS, *FAR, (0xE0000, 0xE0FFF))
"""Characters that show nothing."""
SETS = ("set-optimum", "robust-level")
"""Kinds about a set of distributions that is not the χ² set of a table: no design promises it."""


def claims(found):
    """The claims of the section, each with its answer."""
    section, params = read(found["design"]), found["params"]
    mechanism = found["answer"] if found["problem"] == "frequency-encoding" else found["mechanism"]
    demand(isinstance(mechanism, dict), "a design needs a mechanism")
    demand(found["problem"] not in SETS, "private against some distributions only")
    W, counts = mechanism.get("matrix"), section["counts"]
    rows, width = shape(section["domain"])
    for row in W or []:
        demand(all((number(x) * 2**52).denominator == 1 for x in row), "multiples of 2^-52")
    yield from labelled(section["domain"], mechanism)
    yield "shape", len(counts) == rows and {len(row) for row in counts} == {width}
    if found["problem"] == "secret-staircase" or ("prior" in params and "queries" in params):
        table = params["prior"] if "prior" in params else params["hypotheses"][0]
        own = [s for s, row in enumerate(table) for _ in row]
        yield "secrets", len({(s, x // width) for x, s in enumerate(own)}) == len(set(own))
    if (notion := promised(section)) is not None:
        demand(found["problem"] == "program", "a composition")
        yield "notion", params["privacy"] == [notion]
        (objective,) = (params.get("maximise") or params["minimise"]).values()
        mass, flat = sum(map(sum, counts)), [n for row in counts for n in row]
        cells = len(flat)
        exact = [[float(Fraction(n, max(mass, 1))) for n in flat]]
        exact += [[float(Fraction(2 * n + 1, 2 * mass + cells)) for n in flat]]
        yield "counts", mass > 0 and objective["prior"] in exact
        yield "digest", digest(found) == section["digest"]
        return
    demand(found["problem"] != "program", "a composition promises a notion")
    level = params.get("epsilon", 10 if found["problem"] == "privacy-utility-frontier" else None)
    yield from _question(section, params, counts, level)
    if "together" in section:
        yield "together", together(section["together"], W, params, level)
    yield "digest", digest(found) == section["digest"]


def shape(domain):
    """How many secrets and how many public values there are."""
    return len(domain["secret"]["members"]), len((domain["public"] or {"members": [[0]]})["members"])


def promised(section):
    """The notion of privacy that is promised, in the words of a program; None for another promise."""
    (rows, width), e = shape(section["domain"]), section["epsilon"]
    if section["robust"] == "given":
        demand(width > 1, "public values")
        return {"given": {"epsilon": e, "shape": [rows, width]}}
    if "secrecy" in section:
        by_pair = section["secrecy"]
        demand(len(by_pair) == rows, "a row for each secret")
        own = [by_pair[x // width] for x in range(rows * width)]
        levels = [[own[x][z // width] for z in range(rows * width)] for x in range(rows * width)]
        return {
            "pairs": {"levels": [[m if m is None else below(e, m) for m in line] for line in levels]}
        }
    if "sensitive" not in section:
        return None
    demand(section["sensitive"][-1] < rows, "numbers of secrets")
    inputs = [x for x in range(rows * width) if x // width in section["sensitive"]]
    return {"sensitive": {"epsilon": e, "inputs": inputs}}


def below(e, m):
    """The last float that is at most the product."""
    found = e * m
    while Fraction(found) > Fraction(e) * Fraction(m):
        found = math.nextafter(found, -math.inf)
    return found


def labelled(domain, mechanism):
    """The claims that labels and rows of the mechanism belong together."""
    rows, width = shape(domain)
    demand(rows > 1, "one secret hides nothing")
    sides = [side for side in (domain["secret"], domain["public"]) if side is not None]
    columns = [column for side in sides for column in side["columns"]]
    yield "names", apart(column["name"] for column in columns)
    yield "values", all(map(fits, columns))
    yield "members", all(are_members(side) for side in sides)
    pairs = [[s, u] for s in range(rows) for u in range(width)]
    inputs, numbered = mechanism.get("inputs"), list(range(len(pairs)))
    if "own" in mechanism:
        yield "rows", inputs == rows * width
        return
    yield "rows", len(mechanism["matrix"]) == rows * width
    scaled = inputs == numbers(columns) and domain["secret"]["members"] == [[x] for x in numbered]
    yield "inputs", inputs is None or scaled or json.dumps(inputs) in map(json.dumps, (numbered, pairs))


def read(section):
    """Read the fields of the section."""
    fields = {"method", "epsilon", "robust", "alpha", "width", "counts", "domain", "digest"}
    keys(section, fields, {"together", "salt", "sensitive", "secrecy"})
    demand(isinstance(section.get("salt", ""), str), "salt must be text")
    demand(section["width"] is None or whole(section["width"], 2, PLACES), "width")
    demand(isinstance(section["counts"], list) and section["counts"], "counts")
    for row in section["counts"]:
        demand(isinstance(row, list) and row, "counts")
        for count in row:
            whole(count, 0, 2**53)
    read_promise(section)
    return section


def read_promise(section):
    """Read what the sections of designs and of public files share."""
    for name in ("method", "digest"):
        demand(isinstance(section[name], str), f"{name} must be text")
    number(section["epsilon"], 1e-6, 30)
    word(section["robust"], ("chi2", "all", "known", "given"))
    if "secrecy" in section:
        demand(section["robust"] == "all", "whatever the distribution")
        demand("together" not in section and "sensitive" not in section, "one promise, of one report")
        lines = section["secrecy"]
        demand(isinstance(lines, list) and all(isinstance(line, list) for line in lines), "a matrix")
        demand({len(line) for line in lines} == {len(lines)} and len(lines) > 1, "a square")
        for i, line in enumerate(lines):
            demand(line[i] is None, "nothing between a secret and itself")
            for j, m in enumerate(line):
                demand(lines[j][i] == m and (m is None or number(m, 1e-6, 30)), "both ways alike")
    elif section["robust"] == "given" or "sensitive" in section:
        demand("together" not in section, "one report")
        demand((section["robust"] == "given") != ("sensitive" in section), "one of the two")
        demand(section["robust"] in ("given", "all"), "sensitive secrets, whatever the distribution")
        numbers = section.get("sensitive", [0])
        demand(isinstance(numbers, list) and numbers, "numbers of secrets")
        for s in numbers:
            whole(s, 0, PLACES)
        demand(numbers == sorted(set(numbers)), "in order, each once")
    demand(0 < number(section["alpha"]) < 1, "alpha is out of range")
    keys(section["domain"], {"secret", "public"})
    for name, side in section["domain"].items():
        if side is not None or name == "secret":
            _read_side(side)
    if "together" in section:
        keys(section["together"], {"reports", "epsilon"})
        whole(section["together"]["reports"], 2, 100)
        number(section["together"]["epsilon"], 1e-6, 30)


def _read_side(side):
    keys(side, {"columns", "members"})
    demand(isinstance(side["columns"], list) and side["columns"], "columns")
    for column in side["columns"]:
        keys(column, {"name", "values", "edges", "text"}, (*FLAGS, "prefix", "groups", "range"))
        demand(isinstance(column["name"], str), "a column has a name")
        demand(isinstance(column["text"], bool), "text")
        demand(all(column.get(flag, True) is True for flag in FLAGS), "a flag that is not true")
        demand(isinstance(column["values"], list) and column["values"], "values")
        demand(all(isinstance(value, str) for value in column["values"]), "values are text")
        demand(isinstance(column["edges"], list), "edges")
        for edge in column["edges"]:
            number(edge)
        demand(isinstance(column.get("range", [0, 1]), list), "range")
        demand(len(column.get("range", [0, 1])) == 2, "range")
        for end in column.get("range", []):
            number(end)
        whole(column.get("prefix", 1), 1, 64)
        pairs = column.get("groups", [["", ""]])
        demand(isinstance(pairs, list) and pairs, "groups")
        for pair in pairs:
            demand(isinstance(pair, list) and len(pair) >= 2, "a word and its group")
            demand(all(isinstance(word, str) for word in pair), "words and groups are text")
    demand(isinstance(side["members"], list) and side["members"], "members")
    for member in side["members"]:
        demand(isinstance(member, list) and member, "members")
        for i in member:
            whole(i, 0, PLACES)


def different(things):
    things = list(things)
    return len(set(things)) == len(things)


def apart(names):
    """Whether names differ to the eye, and each shows something."""
    looks = list(map(look, names))
    return different(looks) and all(looks)


def look(name):
    """The letters that show: composed, with one space for several, without what programs may ignore."""
    shown = "".join(c for c in name if not any(low <= ord(c) <= high for low, high in BLANK))
    composed = shown if name.isascii() else unicodedata.normalize("NFC", shown)
    return " ".join(composed.split())


def fits(column):
    """Whether values differ, and those of a binned column are the names of its bins."""
    edges, time = column["edges"], column.get("time", False)
    if "range" in column:
        return ranged(column)
    last = [f"({name})" for name in ("other", "missing") if column.get(name)]
    values = column["values"][: len(column["values"]) - len(last)]
    if not values or values + last != column["values"]:
        return False
    if edges and ("prefix" in column or "groups" in column):
        return False
    if not edges:
        return not time and apart(column["values"]) and leveled(column, values)
    if time and any(edge % 1 or abs(edge) > 6e10 for edge in edges):
        return False
    words = [date(edge) if time else said(edge) for edge in edges]
    names = ["< " + words[0], *(f"[{a}, {b})" for a, b in itertools.pairwise(words)), "≥ " + words[-1]]
    increasing = all(a < b for a, b in itertools.pairwise(edges))
    return increasing and values == names and not column.get("other", False)


def ranged(column):
    """Whether the values are the names of equally spaced points of a range."""
    if len(column) != 5 or column["edges"] or column["text"]:
        return False
    (low, high), steps = column["range"], len(column["values"]) - 1
    if not (steps > 0 and low < high and math.isfinite((high - low) * (steps + 1))):
        return False
    names = [said(low + (high - low) * step / steps) for step in range(steps + 1)]
    return different(names) and names == column["values"]


def numbers(columns):
    """The points of [−1, 1] that those of a range are scaled to, for one column with a range."""
    if len(columns) != 1 or "range" not in columns[0]:
        return None
    steps = len(columns[0]["values"]) - 1
    return [float(Fraction(2 * step - steps, steps)) for step in range(steps + 1)] if steps else None


def leveled(column, values):
    """Whether the values are beginnings of at most so many characters, or the groups of words."""
    if "groups" not in column:
        size = column.get("prefix", math.inf)
        whole = [value for value in values if len(value) < size]
        cut = [value for value in values if len(value) == size]
        known = column["text"] or not NOTHING & set(whole)
        stripped = all(value.strip() == value for value in whole)
        return (
            len(whole + cut) == len(values)
            and known
            and stripped
            and not any(c[0].isspace() for c in cut)
        )
    if "prefix" in column or any(len(pair) != 2 for pair in column["groups"]):
        return False
    words, groups = zip(*column["groups"], strict=True)
    missing = set(groups) - set(values)
    shown = {(look(word), group) for word, group in column["groups"]}
    return (
        different(words)
        and all(word.strip() == word and look(word) for word in words)
        and different(word for word, _ in shown)
        and apart(set(groups))
        and set(values) <= set(groups)
        and (not missing or bool(column.get("other")))
    )


def date(seconds):
    """A whole number of seconds since 1970 as a date, with the time unless it is midnight."""
    moment = np.datetime64(int(seconds), "s")
    return str(moment.astype("datetime64[D]") if seconds % 86400 == 0 else moment).replace("T", " ")


def said(edge):
    """Twelve digits where they are the number, else as many as it takes."""
    return f"{edge:.12g}" if float(f"{edge:.12g}") == edge else repr(float(edge))


def are_members(side):
    sizes = [len(column["values"]) for column in side["columns"]]
    return (
        all(len(member) == len(sizes) for member in side["members"])
        and all(i < n for member in side["members"] for i, n in zip(member, sizes, strict=True))
        and different(map(tuple, side["members"]))
    )


def _question(section, params, counts, level):
    mass, robust = sum(map(sum, counts)), "p_hat" in params or "counts" in params
    if "counts" in params:
        yield "counts", params["counts"] == counts
    elif {"p_hat", "prior", "p"} & params.keys():
        shares = [[float(Fraction(n, mass)) for n in row] for row in counts] if mass else None
        given = params.get("p_hat", params.get("prior", params.get("p")))
        cells = list(itertools.chain(*counts))
        half = [float(Fraction(2 * n + 1, 2 * mass + len(cells))) for n in cells]
        yield "counts", shares is not None and given in (shares, list(itertools.chain(*shares)), half)
    yield "level", level == section["epsilon"]
    if robust:
        sets = {"chi2": "counts" in params, "known": params.get("n") == 1e12, "all": False}
        yield "set", params.get("alpha", 0.05) == section["alpha"] and sets[section["robust"]]


def together(promise, W, params, level):
    """Whether r reports have together the level."""
    reports, e = promise["reports"], number(promise["epsilon"])
    if "p_hat" not in params and "counts" not in params:
        return level is not None and reports * number(level) <= e
    columns = sorted({tuple(map(Fraction, column)) for column in zip(*W, strict=True)})
    if math.comb(len(columns) + reports - 1, reports) > MOST_PRODUCTS:
        return None
    chosen = itertools.combinations_with_replacement(columns, reports)
    products = [[math.prod(entries) for entries in zip(*columns, strict=True)] for columns in chosen]
    names = ("epsilon", "p_hat", "n", "counts", "alpha")
    robust = Robust({name: params[name] for name in names if name in params})
    return is_private(list(zip(*products, strict=True)), robust, e)


def digest(found):
    """SHA-256 of question, mechanism and section; of a public file, of mechanism and section."""
    name, before = ("public", ()) if "public" in found else ("design", ("problem", "params"))
    section = {key: part for key, part in found[name].items() if key != "digest"}
    content = floats([*(found[key] for key in before), found["mechanism"] or found["answer"], section])
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def floats(value):
    if isinstance(value, dict):
        return {name: floats(part) for name, part in value.items()}
    if isinstance(value, list):
        return [floats(part) for part in value]
    return float(value) if type(value) is int and abs(value) <= 2**53 else value
