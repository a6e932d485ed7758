"""Structured mutations of genuine result files: what an expert would try, drawn at random."""

import copy
import math

from second_checker.designs import digest

HOSTILE = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e17,
    -1e17,
    1e30,
    -1e30,
    1e308,
    -1e308,
    5e-324,
    1e-12,
    True,
    None,
    "1",
    [],
)
"""Numbers on both sides of what floats absorb, and what is not a number at all."""
STEPS = (1e-16, 1e-13, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3, 0.1, 1.0)
SECTIONS = ("design", "public")
LARGE = (1e3, 1e9, 1e16, 1e17, 1e25, 1e30, 1e300)


def places(value, path=()):
    """The paths of all leaves of a JSON value."""
    if isinstance(value, dict):
        return [found for key, part in value.items() for found in places(part, (*path, key))]
    if isinstance(value, list) and value:
        return [found for i, part in enumerate(value) for found in places(part, (*path, i))]
    return [path]


def lists(value, path=()):
    """The paths of all lists of two or more entries."""
    parts = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    found = [path] if isinstance(value, list) and len(value) > 1 else []
    return found + [deeper for key, part in parts for deeper in lists(part, (*path, key))]


def at(value, path):
    for key in path:
        value = value[key]
    return value


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def root(document, draw):
    """A part of the file that claims rest on; of a design or a public file mostly its section."""
    parts = [part for part in ("params", "mechanism", "answer") if document.get(part) is not None]
    parts += [section for section in SECTIONS if section in document] * 4
    proof = document.get("certificate", {}).get("proof")
    return draw.choice([document[part] for part in parts] + [proof] * (2 if proof else 0))


def leaf(document, draw):
    """Replace one leaf, by a hostile value or by a neighbour."""
    part = root(document, draw)
    found = places(part)
    path = draw.choice(found)
    if not path:
        return
    old = at(part, path)
    new = draw.choice(HOSTILE)
    if number(old) and draw.random() < 0.7:
        sign = draw.choice((-1, 1))
        new = draw.choice((old * (1 + sign * draw.choice(STEPS)), old + sign * draw.choice(STEPS), -old))
        new = draw.choice((math.nextafter(old, sign * math.inf), new))
        if isinstance(old, int):
            new = draw.choice((old + sign, old * 2, old + 12, new))
    at(part, path[:-1])[path[-1]] = new


def opposite(document, draw):
    """Add L to one entry of a list and take it from another: sums of floats lose what is between."""
    part = root(document, draw)
    found = [path for path in lists(part) if all(map(number, at(part, path)))]
    if found:
        entries = at(part, draw.choice(found))
        i, j = draw.sample(range(len(entries)), 2)
        large = draw.choice((*LARGE, *STEPS))
        entries[i], entries[j] = entries[i] + large, entries[j] - large


def scaled(document, draw):
    """Multiply a list of numbers."""
    part = root(document, draw)
    found = [path for path in lists(part) if all(map(number, at(part, path)))]
    if found:
        entries = at(part, draw.choice(found))
        factor = draw.choice((0, -1, 0.5, 2, 1 - 1e-9, 1 + 1e-9, 1e-9, 1e9))
        entries[:] = [entry * factor for entry in entries]


def shuffled(document, draw):
    """Swap, repeat or drop entries of a list: rows, outputs, cells, cuts."""
    part = root(document, draw)
    found = lists(part)
    if found:
        entries = at(part, draw.choice(found))
        i, j = draw.sample(range(len(entries)), 2)
        act = draw.choice(("swap", "drop", "repeat", "copy"))
        if act == "swap":
            entries[i], entries[j] = entries[j], entries[i]
        elif act == "drop":
            del entries[i]
        elif act == "repeat":
            entries.insert(j, copy.deepcopy(entries[i]))
        else:
            entries[i] = copy.deepcopy(entries[j])


def column(document, draw):
    """Merge, split or empty outputs of the mechanism, or move mass within a row; rows keep their sum."""
    if document.get("mechanism") is None:
        return
    matrix = document["mechanism"]["matrix"]
    document["mechanism"].pop("outputs", None)
    width = min(map(len, matrix))
    y, z = draw.randrange(width), draw.randrange(width)
    act = draw.choice(("merge", "split", "empty", "move"))
    if act == "move":
        row, step = draw.choice(matrix), draw.choice((2.0**-52, 2.0**-40, 2.0**-30, 2.0**-10))
        row[y], row[z] = row[y] + step, row[z] - step
    for row in matrix:
        if act == "merge" and y != z:
            row[y], row[z] = row[y] + row[z], 0.0
        elif act == "split":
            row.append(row[y] / 2)
            row[y] /= 2
        elif act == "empty":
            row.append(0.0)


def keys(document, draw):
    """Misspell, add, merge or drop a key."""
    parts = [document, *(document.get(name) for name in ("params", "certificate", *SECTIONS))]
    part = draw.choice([part for part in parts if part])
    key = draw.choice(list(part))
    act = draw.choice(("space", "drop", "twin", "copy"))
    if act == "copy":
        part[key] = copy.deepcopy(part[draw.choice(list(part))])
        return
    value = part[key] if act == "twin" else part.pop(key)
    if act != "drop":
        part[key + " " if act == "space" else key.upper()] = value


def privacy(document, draw):
    """Ask for another privacy, or another size."""
    params = document["public"] if "public" in document else document["params"]
    if "privacy" in params:
        (params,) = draw.choice(params["privacy"]).values()
    if "epsilon" in params:
        factor = draw.choice((1 - 1e-12, 1 - 1e-9, 1 - 1e-6, 0.99, 0.5, 1e-3, 1 + 1e-9, 1.01, 2))
        params["epsilon"] = draw.choice((params["epsilon"] * factor, 1e-6, 20.0, 30.0))


def counted(document, draw):
    """Change, exchange or double counts of a design and of its question alike."""
    if "design" not in document:
        return
    counts = document["design"]["counts"]
    act, cells = draw.choice(("change", "exchange", "double")), [(s, u) for s, u in places(counts)]
    (s, u), (t, v) = draw.choice(cells), draw.choice(cells)
    if act == "change":
        counts[s][u] = max(counts[s][u] + draw.choice((-1, 1, 10)), 0)
    elif act == "exchange":
        counts[s][u], counts[t][v] = counts[t][v], counts[s][u]
    else:
        counts[:] = [[2 * count for count in row] for row in counts]
    if "counts" in document["params"]:
        document["params"]["counts"] = copy.deepcopy(counts)


def promised(document, draw):
    """Promise something else in a public file: another level, to others, for more reports."""
    if "public" not in document:
        return
    section = document["public"]
    epsilon = section["epsilon"]
    if draw.random() < 0.5:
        section["robust"] = draw.choice(("chi2", "all", "known"))
    if draw.random() < 0.5:
        section["level"] = draw.choice((None, 0.0, epsilon, epsilon / 2, epsilon * 2, 30.0))
    if draw.random() < 0.5:
        reports = draw.choice((2, 3, 100))
        together = draw.choice((reports * epsilon, math.nextafter(reports * epsilon, 0), epsilon))
        section["together"] = {"reports": reports, "epsilon": together}


def renamed(document, draw):
    """Give two names of a section the same letters, or letters that look the same."""
    sections = [document[name] for name in SECTIONS if name in document]
    found = [path for part in sections for path in places(part) if isinstance(at(part, path), str)]
    if found:
        part, path, other = sections[0], draw.choice(found), draw.choice(found)
        twins = (str, str.upper, "{} ".format, "{}\u0301".format, "\ufeff{}".format)
        at(part, path[:-1])[path[-1]] = draw.choice(twins)(at(part, other))


MUTATIONS = (
    leaf,
    leaf,
    leaf,
    opposite,
    opposite,
    scaled,
    shuffled,
    column,
    column,
    keys,
    privacy,
    counted,
    promised,
    renamed,
)


def pushed(document, draw):
    """Claim more than is known: a better value, a better bound, or both; and the gap that fits."""
    for key in draw.choice((("value",), ("bound",), ("value", "bound"))):
        old = document.get(key)
        if number(old):
            sign, step = draw.choice((-1, 1)), draw.choice(STEPS)
            document[key] = draw.choice((old + sign * step, old * (1 + sign * step), 0.0, 1.0))
    value, bound = document.get("value"), document.get("bound")
    if number(value) and number(bound):
        document["gap"] = abs(bound - value) / max(abs(value), abs(bound), 1e-4)
        if document["gap"] > 1e-9:
            document["status"] = "gap"


def mutant(document, draw):
    """A mutant of a genuine file: one to three mutations, and mostly a claim that goes further."""
    found = copy.deepcopy(document)
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        try:
            draw.choice(MUTATIONS)(found, draw)
        except (TypeError, KeyError, IndexError, AttributeError, OverflowError, ValueError):
            continue  # an earlier mutation took away what this one needs
    if draw.random() < 0.7:
        pushed(found, draw)
    if any(isinstance(found.get(name), dict) for name in SECTIONS) and draw.random() < 0.8:
        sealed(found)
    return found


def sealed(document):
    """Compute the digest anew, as whoever writes all of the file can."""
    try:
        document["public" if "public" in document else "design"]["digest"] = digest(document)
    except (TypeError, KeyError, ValueError):
        return  # the file lacks what the digest covers
