import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ldpopt.core.errors import UnknownNameError
from ldpopt.tables import datasets

ROOT = Path(__file__).resolve().parents[2]
COUNT = ROOT / "tools" / "count_adult.py"
ADULT = ROOT.parent / "shared" / "data" / "adult.csv.gz"


def margin(name: str, attribute: str) -> dict[str, int]:
    table = datasets.table(name)
    if attribute == table.secret:
        return dict(zip(table.secret_values, table.counts.sum(axis=1).tolist(), strict=True))
    return dict(zip(table.public_values, table.counts.sum(axis=0).tolist(), strict=True))


def test_names() -> None:
    assert datasets.tables() == [
        "sex-race",
        "sex-occupation",
        "race-relationship",
        "relationship-native_country",
        "education-occupation",
        "race-income",
    ]


@pytest.mark.parametrize("name", datasets.tables())
def test_every_table_counts_everyone(name: str) -> None:
    table = datasets.table(name)
    assert f"{table.secret}-{table.public}" == table.name == name
    assert table.n == 32561
    assert list(table.secret_values) == sorted(set(table.secret_values))
    assert list(table.public_values) == sorted(set(table.public_values))
    assert table.counts.shape == (len(table.secret_values), len(table.public_values))
    assert table.distribution().sum() == pytest.approx(1)
    np.testing.assert_array_equal(np.rint(table.distribution() * table.n), table.counts)


def test_published_margins() -> None:
    race = {
        "Amer-Indian-Eskimo": 311,
        "Asian-Pac-Islander": 1039,
        "Black": 3124,
        "Other": 271,
        "White": 27816,
    }
    assert margin("sex-race", "sex") == {"Female": 10771, "Male": 21790}
    assert margin("sex-race", "race") == race
    assert margin("race-income", "race") == race
    assert margin("race-income", "income") == {"<=50K": 24720, ">50K": 7841}


def test_missing_is_a_value() -> None:
    assert margin("sex-occupation", "occupation")["?"] == 1843
    assert margin("relationship-native_country", "native_country")["?"] == 583


def test_counts_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        datasets.table("sex-race").counts[0, 0] = 0


def test_unknown_name() -> None:
    with pytest.raises(UnknownNameError, match="sex-rase"):
        datasets.table("sex-rase")


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ([[1, 2, 3]], r"must have the shape \(1, 2\), not \(1, 3\)"),
        ([[1, -2]], "must be whole numbers >= 0, not"),
        ([[1, 0.5]], "must be whole numbers >= 0, not"),
    ],
)
def test_bad_counts(counts: list[list[float]], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        datasets.ContingencyTable("t", "s", "u", ("a",), ("b", "c"), np.array(counts))


def test_source_gives_credit() -> None:
    for part in ("Becker", "Kohavi", "10.24432/C5XW20", "CC BY 4.0", "Changes"):
        assert part in datasets.source()


def count(data: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, COUNT, "--data", data], capture_output=True, check=False)


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data do not lie next to the checkout")
def test_counting_reproduces_the_tables() -> None:
    run = count(ADULT)
    assert run.returncode == 0, run.stderr
    assert run.stdout == (ROOT / "ldpopt" / "tables" / "data" / "adult.json").read_bytes()


def test_counting_refuses_another_file(tmp_path: Path) -> None:
    data = tmp_path / "adult.data"
    data.write_text("39, State-gov, 77516\n")
    run = count(data)
    assert run.returncode == 1
    assert b"1 training rows instead of 32561" in run.stderr


# ---------------------------------------------------------------- features


def test_features_agree_with_the_pairs() -> None:
    features = datasets.adult_features()
    assert features.joint.shape == (2, 2, 5, 9)
    for axis, name in enumerate(features.joint_names):
        others = tuple(i for i in range(4) if i != axis)
        np.testing.assert_array_equal(features.joint.sum(axis=others), features.counts[name])
    pair = features.joint.sum(axis=(1, 3))
    np.testing.assert_array_equal(pair, datasets.table("sex-race").counts)
    assert features.joint_distribution(["sex", "race"]) == pytest.approx(pair.ravel() / 32561)


@pytest.mark.parametrize("ask", ["marginal", "joint_distribution"])
def test_unknown_feature(ask: str) -> None:
    features = datasets.adult_features()
    with pytest.raises(UnknownNameError, match="sexx"):
        getattr(features, ask)("sexx" if ask == "marginal" else ["sexx"])


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data do not lie next to the checkout")
def test_counting_reproduces_the_features() -> None:
    run = subprocess.run(
        [sys.executable, COUNT, "--data", ADULT, "--features"], capture_output=True, check=False
    )
    assert run.stdout == (ROOT / "ldpopt" / "tables" / "data" / "adult_features.json").read_bytes()
