"""``ldpopt bench`` as a user runs it: everything on one page, and the exit codes."""

import json

import naughty
import pytest

from ldpopt.bench import benchmark as bench
from ldpopt.problems import CompositionBound, Staircase


@pytest.fixture
def command(tmp_path, monkeypatch, ldpopt):
    """``ldpopt bench all`` on two problems with few sizes."""
    monkeypatch.setattr(bench, "targets", lambda name, forms=None: [Staircase, CompositionBound])
    monkeypatch.setattr(Staircase, "bench_sizes", (3, 5))
    monkeypatch.setattr(Staircase, "full_bench_sizes", (4,))
    monkeypatch.setattr(CompositionBound, "bench_sizes", (2,))
    monkeypatch.setattr(CompositionBound, "full_bench_sizes", ())
    return lambda *words: ldpopt("bench", *words, cwd=tmp_path)


def test_everything_on_one_page(command, tmp_path):
    code, out, err = command("all", "--solvers", "enumerate,cdd,joint-milp")
    assert code == 0
    assert "composition-bound" in out
    files = sorted((tmp_path / "results" / "bench").iterdir())
    assert [file.name for file in files] == [
        *("bench.csv", "bench.html", "bench.journal.jsonl", "bench.md", "curves.csv")
    ]
    assert "wrote results/bench/bench.html" in err
    assert "ldpopt bench all --solvers enumerate,cdd,joint-milp\n" in files[3].read_text(
        encoding="utf-8"
    )


def test_full_sizes_and_json(command, tmp_path):
    code, out, _ = command("all", "--full", "--json", "--solvers", "enumerate", "--out", "there")
    assert code == 0
    assert {row["size"] for row in json.loads(out)["rows"]} == {4}
    text = (tmp_path / "there" / "bench.md").read_text(encoding="utf-8")
    assert "\nldpopt bench all --full --solvers enumerate\n" in text


@pytest.mark.parametrize(
    ("plugin", "code", "words"),
    [
        ("Liar", 1, "contradicted: liar on staircase k=3"),
        ("Crash", 70, "crashed: crash on staircase k=3"),
        ("Impatient", 130, "kept the 20 rows that were done"),
        ("Missing", 2, "has no 'Missing'"),
    ],
)
def test_exit_codes_with_plugins(command, tmp_path, plugin, code, words):
    reference = f"{naughty.__file__}:{plugin}"
    found, _, err = command("all", "--solvers", "enumerate,cdd", "--plugin", reference)
    assert found == code
    assert words in err
    page = tmp_path / "results" / "bench" / "bench.html"
    assert page.exists() == (code != 2)
    if code != 2:
        assert plugin.lower() in page.read_text(encoding="utf-8")
