"""Public mechanism files as anybody can write them: any matrix, any promise, the digest right."""

from ldpopt.checker.statements.public_mechanism import public_digest

TRUTHFUL = 1 - 2.0**-52
"""The largest probability that an encoding may state."""


def side(name, size):
    """A column with so many values, each of them a member."""
    values = [f"{name}{i}" for i in range(size)]
    column = {"name": name, "values": values, "edges": [], "text": True}
    return {"columns": [column], "members": [[i] for i in range(size)]}


def public_file(mechanism, shape, *, epsilon=0.1, robust="chi2", level=None, together=None, method="ir"):
    """A file for secrets × public values (0: no public column); a list of rows is a matrix."""
    stated = {"matrix": mechanism} if isinstance(mechanism, list) else {"encoding": mechanism}
    secrets, publics = shape
    domain = {"secret": side("s", secrets), "public": side("u", publics) if publics else None}
    promise = {"epsilon": epsilon, "robust": robust, "alpha": 0.05, "level": level}
    section = {"method": method, **promise, "domain": domain}
    if together is not None:
        section["together"] = {"reports": together[0], "epsilon": together[1]}
    document = {"format": 1, "public": section, "mechanism": stated}
    section["digest"] = public_digest(document)
    return document


def identity(size):
    """The mechanism that reports what it is given."""
    return [[float(x == y) for y in range(size)] for x in range(size)]


NEAR = [[0.625, 0.375], [0.5, 0.5], [0.375, 0.625], [0.5, 0.5]]
"""Two secrets × two public values: level 0.511 for all distributions, none where all have the second."""
REFUTED = {
    "identity-on-secrets-alone": public_file(identity(3), (3, 0)),
    "identity-with-one-public-value": public_file(identity(3), (3, 1)),
    "identity-on-secret-and-public": public_file(identity(6), (3, 2)),
    "identity-for-a-known-distribution": public_file(identity(6), (2, 3), robust="known"),
    "identity-at-the-largest-level": public_file(identity(6), (3, 2), epsilon=30.0),
    "a-report-that-one-secret-never-gives": public_file(
        [[1.0 - 2.0**-52, 2.0**-52]] * 2 + [[1.0, 0.0]] * 2, (2, 2), epsilon=30.0
    ),
    "a-truthful-unary-encoding": public_file(
        {"kind": "unary", "inputs": 3, "own": TRUTHFUL, "other": 1 - TRUTHFUL}, (3, 0)
    ),
    "a-truthful-choice-of-subsets": public_file(
        {"kind": "subset", "inputs": 4, "own": TRUTHFUL, "size": 1}, (2, 2)
    ),
    "truthful-hashing": public_file(
        {"kind": "hashing", "inputs": 4, "own": TRUTHFUL, "buckets": 1021}, (2, 2)
    ),
    "an-encoding-just-above-its-promise": public_file(
        {"kind": "subset", "inputs": 4, "own": 0.5, "size": 1}, (2, 2), epsilon=1.098, level=1.0987
    ),
    "a-level-above-a-promise-for-all": public_file(NEAR, (2, 2), epsilon=0.5, robust="all", level=0.52),
    "reports-that-add-up": public_file(
        [[0.625, 0.375]] * 2 + [[0.375, 0.625]] * 2, (2, 2), epsilon=0.52, together=(2, 0.8)
    ),
    "a-false-level-beside-an-open-promise": public_file(
        NEAR, (2, 2), epsilon=0.1, level=0.2, together=(2, 0.1)
    ),
}
"""Files whose promise is false whatever the counts are, or whatever their own promise is about."""
OPEN_FILES = {
    "a-level-above-the-promise": public_file(NEAR, (2, 2), epsilon=0.4, level=0.52),
    "no-level": public_file(NEAR, (2, 2), robust="known"),
    "a-public-value-that-says-nothing": public_file(
        [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]], (2, 2)
    ),
    "several-reports": public_file(NEAR, (2, 2), epsilon=0.52, level=0.52, together=(2, 0.5)),
}
"""Files whose promise is true for some counts and false for others."""
PROVEN = {
    "one-row": public_file([[0.5, 0.5]] * 4, (2, 2)),
    "no-level-stated": public_file(NEAR, (2, 2), epsilon=0.52),
    "a-level-stated-too-large": public_file(NEAR, (2, 2), epsilon=0.52, level=30.0),
    "several-reports": public_file(NEAR, (2, 2), epsilon=0.52, level=0.52, together=(2, 1.04)),
    "an-encoding-without-a-level": public_file(
        {"kind": "subset", "inputs": 4, "own": 0.5, "size": 1}, (2, 2), epsilon=1.0987
    ),
}
"""Files whose entries prove the promise."""
