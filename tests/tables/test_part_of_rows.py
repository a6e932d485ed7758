"""One question for each person: parts of the rows are disjoint, random, and the same every time."""

import json

import numpy as np
import pyarrow as pa
import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.tables import number_survey
from ldpopt.tables.batches import TableReader, open_table
from ldpopt.tables.part_of_rows import PartOfRows

N = 6000
ROWS = {"n": list(range(N)), "who": [i // 2 for i in range(N)]}


def part(table, of):
    return PartOfRows(open_table(table), of).read()["n"].to_pylist()


def test_each_row_is_in_one_part_whatever_is_read_of_it():
    parts = [part(ROWS, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(n for own in parts for n in own) == ROWS["n"]
    assert part({"n": ROWS["n"]}, "2/3") == parts[1]
    sizes = np.array([len(own) for own in parts])
    assert np.abs(sizes - N / 3).max() < 4 * (N * 2 / 9) ** 0.5
    assert part(ROWS, "1/1") == ROWS["n"]


def test_parts_are_random_samples():
    """Neither neighbours nor rows a few apart are in one part more often than by chance."""
    own = np.isin(ROWS["n"], part(ROWS, "1/2"))
    for step in (1, 2, 3, 7, 12):
        together = (own[step:] == own[:-step]).mean()
        assert abs(together - 0.5) < 4 * 0.5 / N**0.5


class SmallBatches(TableReader):
    """The same rows, seven at a time."""

    name, columns = "t", ["n"]

    def _read(self, columns):
        yield from pa.table({"n": ROWS["n"]}).to_batches(max_chunksize=7)


def test_batches_change_nothing():
    assert PartOfRows(SmallBatches(), "2/5").read()["n"].to_pylist() == part(ROWS, "2/5")


@pytest.mark.parametrize("wrong", ["3/2", "0/2", "1", "half", "1/0", "-1/2", "1/99999"])
def test_other_parts_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="part must look like 1/3, the first of three, not"):
        PartOfRows(open_table(ROWS), wrong)


def test_a_mean_beside_a_secret_each_person_answers_one(tmp_path, ldpopt, monkeypatch):
    """Both are estimated, every person of the table reports once, and commands follow each other."""
    monkeypatch.setattr(number_survey, "POINTS", 5)
    rng = np.random.default_rng(1)
    age, ill = rng.integers(20, 61, N), rng.random(N) < 0.3
    lines = [f"{who},{a},{'ny'[int(s)]}\n" for who, a, s in zip(range(N), age, ill, strict=True)]
    (tmp_path / "t.csv").write_text("who,age,ill\n" + "".join([*lines, *lines]))
    questions = {
        "1/2": ("--mean", "age", "--range", "20,60", "--method", "mean"),
        "2/2": ("--secret", "ill"),
    }
    reports = 0
    for of, asked in questions.items():
        mine, out = ("--id", "who", "--part", of), f"{of[0]}.json"
        made = ldpopt("design", "t.csv", *asked, *mine, "--epsilon", 2, "-o", out, cwd=tmp_path)
        assert made.code == 0, made.err
        assert f"divided among 2 questions at random; these are those of question {of[0]}" in made.err
        assert f"--id who --part {of}" in made.out
        release = ("privatize", "t.csv", *mine, "--mechanism", out, "-o", f"{of[0]}.csv")
        said = ldpopt(*release, cwd=tmp_path)
        assert said.code == 0, said.err
        assert f"of a who of part {of}" in " ".join(said.out.split())
        reports += len((tmp_path / f"{of[0]}.csv").read_text().splitlines()) - 1
    assert reports == N
    mean, sick = (
        json.loads(
            ldpopt("estimate", f"{i}.csv", "--mechanism", f"{i}.json", "--json", cwd=tmp_path).out
        )
        for i in "12"
    )
    (row,) = mean["quantities"]
    assert abs(row["estimate"] - age.mean()) < 5 * row["standard_error"] < 5
    share = sick["frequencies"][1]
    assert abs(share["estimate"] - ill.mean()) < 5 * share["standard_error"] < 0.2
