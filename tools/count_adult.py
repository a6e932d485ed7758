"""Count the contingency tables in ldpopt/tables/data/adult.json from the Adult census data.

    python tools/count_adult.py --data adult.data > ldpopt/tables/data/adult.json
    python tools/count_adult.py --data adult.data --features > ldpopt/tables/data/adult_features.json

PATH is either `adult.data` as the UCI repository distributes it, or a CSV file of the same columns
with a header and a last column `split`, of which the rows marked `train` are counted. A name that
ends in `.gz` is decompressed. Needs the standard library alone.
"""

import argparse
import csv
import gzip
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
    "split",
)
# (secret, public)
PAIRS = (
    ("sex", "race"),
    ("sex", "occupation"),
    ("race", "relationship"),
    ("relationship", "native_country"),
    ("education", "occupation"),
    ("race", "income"),
)
# The four columns of Bravo-Hermsdorff et al. 2022, Figure 2, every other column of few values,
# and the ages.
JOINT = ("sex", "income", "race", "workclass")
FEATURES = (
    *JOINT,
    "marital_status",
    "relationship",
    "occupation",
    "education",
    "native_country",
    "age",
)
TRAINING_ROWS = 32561


def training_rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the training part, column name to value."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as handle:
        for fields in csv.reader(handle, skipinitialspace=True):
            if not fields or fields[0] == COLUMNS[0]:
                continue
            # The original file has no column `split`.
            row = dict(zip(COLUMNS, fields, strict=False))
            if row.setdefault("split", "train") == "train":
                yield row


def contingency(rows: list[dict[str, str]], secret: str, public: str) -> dict[str, Any]:
    """Count the pairs of values of two columns, values in alphabetical order."""
    counter = Counter((row[secret], row[public]) for row in rows)
    secret_values = sorted({s for s, _ in counter})
    public_values = sorted({u for _, u in counter})
    return {
        "secret": secret,
        "public": public,
        "secret_values": secret_values,
        "public_values": public_values,
        "counts": [[counter[s, u] for u in public_values] for s in secret_values],
    }


def document(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Return the tables with their source, citation and licence."""
    return {
        "source": "https://doi.org/10.24432/C5XW20",
        "citation": "Becker, B. & Kohavi, R. (1996). Adult [Dataset]. UCI Machine Learning Repository.",
        "licence": "CC BY 4.0",
        "changes": "The 32,561 rows of the training file were counted into tables of two columns "
        "each, with '?' (missing) as a value of its own; no row was dropped.",
        "rows": len(rows),
        "tables": {f"{s}-{u}": contingency(rows, s, u) for s, u in PAIRS},
    }


def features(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Count every feature by itself, and four of them jointly (in C order of their sorted values)."""
    values = {name: sorted({row[name] for row in rows}) for name in FEATURES}
    single = {name: Counter(row[name] for row in rows) for name in FEATURES}
    joint = Counter(tuple(row[name] for name in JOINT) for row in rows)
    cells = itertools.product(*(values[name] for name in JOINT))
    return {
        "rows": len(rows),
        "features": {
            name: {"values": values[name], "counts": [single[name][v] for v in values[name]]}
            for name in FEATURES
        },
        "joint": {"features": list(JOINT), "counts": [joint[cell] for cell in cells]},
    }


def render(document: dict[str, Any]) -> str:
    """Format as JSON with every innermost list on one line."""
    text = json.dumps(document, indent=1)
    return re.sub(r"\[([^][{}]*)\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def main() -> None:
    """Write the JSON document to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="PATH")
    parser.add_argument("--features", action="store_true", help="count features, not pairs of columns")
    arguments = parser.parse_args()
    path = arguments.data
    rows = list(training_rows(path))
    if len(rows) != TRAINING_ROWS:
        sys.exit(f"{path} holds {len(rows)} training rows instead of {TRAINING_ROWS}.")
    sys.stdout.write(render(features(rows) if arguments.features else document(rows)))


if __name__ == "__main__":
    main()
