"""The page of the benchmark: growth, summaries, tables, and that nobody is missing from it."""

import csv
import re
from datetime import UTC, datetime

import pytest
from naughty import (
    Crash,
    Liar,
    Recluse,
    small,
)

from ldpopt.bench import benchmark as bench
from ldpopt.bench import page as benchpage
from ldpopt.solvers import SOLVERS


def row(solver, size, seconds, **others):
    found = {"form": "column-program", "problem": "staircase", "instance": f"staircase k={size}"}
    found |= {"size": size, "seed": 0, "solver": solver, "status": "optimal", "reason": ""}
    found |= {"cpu": seconds, "cpu_low": seconds, "cpu_high": seconds, "runs": 1, "start": None}
    found |= {"speedup": 1.0, "baseline": solver, "solved": True, "child_megabytes": None}
    found |= {
        "value": 0.5,
        "bound": 0.5,
        "gap": 0.0,
        "known_gap": 0.0,
        "iterations": 1,
        "columns": 1,
        "megabytes": 0.02 * size,
    }
    return found | {"verified": True, "agrees": True} | others


def page_of(rows, **others):
    found = bench.Benchmark("all", rows, **others)
    return benchpage.facts(found, "ldpopt bench all", datetime(2020, 1, 2, tzinfo=UTC))


def test_growth_is_fitted_or_said_not_to_be():
    rows = [row("enumerate", size, 1e-3 * size**2) for size in (2, 4, 8)]
    rows += [row("cdd", size, 1e-3 * size, megabytes=float(size**3)) for size in (2, 4, 8)]
    rows += [row("column-generation", size, 60.5, solved=size < 8) for size in (2, 4, 8)]
    rows.append(row("column-generation", 8, 0.1, seed=1))  # the other one of this size ran out of time
    (form,) = page_of(rows)["forms"]
    assert form.problems[0].growth.rows == [
        ("enumerate", "2, 4, 8", "2.00", "too few sizes"),
        ("cdd", "2, 4, 8", "1.00", "3.00"),
        ("column-generation", "2, 4", "too few sizes", "too few sizes"),
    ]
    assert "matching" in form.others
    assert "Maximise" in form.asks


def test_the_summary_of_several_instances():
    rows = [row("cdd", 4, 1.0, gap=1e-3), row("cdd", 4, 3.0, seed=1, status="gap", megabytes=9.0)]
    rows[0] |= {"runs": 3, "cpu_low": 0.5, "cpu_high": 2.0}
    rows[1] |= {"solved": False, "start": 0.25, "child_megabytes": 7.0}
    rows += [row("cdd", 4, 2.0, seed=2, verified=False), row("enumerate", 4, 0.5, agrees=None)]
    (form,) = page_of(rows)["forms"]
    times = form.problems[0].times
    assert [dict(zip(times.head, cells, strict=True)) for cells in times.rows] == [
        {
            **{"solver": "cdd", "size": "4", "instances": "3", "solved": "2", "CPU s": "2"},
            **{"quartiles": "2 – 2", "starts s": "0.25", "× faster": "1", "status": "1 gap, 2 optimal"},
            **{"largest gap": "0.001", "from best bound": "0", "peak MB": "9", "child MB": "7"},
            **{"verified": "NO", "agrees": "yes"},
        },
        {
            **{"solver": "enumerate", "size": "4", "instances": "1", "solved": "1", "CPU s": "0.5"},
            **{"quartiles": "–", "starts s": "–", "× faster": "1", "status": "optimal"},
            **{"largest gap": "0", "from best bound": "0", "peak MB": "0.08", "child MB": "–"},
            **{"verified": "yes", "agrees": "–"},
        },
    ]


def test_a_column_that_says_nothing_is_left_out_and_an_unsolved_problem_has_no_times():
    told = page_of([row("cdd", 4, 1.0, solved=False, status="gap")])
    (form,) = told["forms"]
    assert not {"starts s", "quartiles", "child MB"} & set(form.problems[0].times.head)
    assert told["ranking"].rows[0][1:7] == ("–", "cdd", "0 of 1", "–", "–", "–")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A real benchmark of two forms, with a solver of every bad kind."""
    directory = tmp_path_factory.mktemp("page")
    added = [Liar, Crash, Recluse]
    found = small(*added, sizes=(3, 4, 5), solvers=None)
    others = bench.run("joint-program", sizes=[2], plugins=added)
    both = bench.Benchmark("all", found.rows + others.rows)
    benchpage.write(both, directory, "ldpopt bench <all>", datetime(2020, 1, 2, 3, 4, tzinfo=UTC), added)
    return directory, both


def test_the_page_stands_alone(written):
    html = (written[0] / "bench.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|src=|@import|url\((?!#)", html)
    assert set(re.findall(r"https?://[^/\"]+", html)) <= {"http://www.w3.org"}
    assert html.count("<svg") == 4
    for words in ("2020-01-02 03:04 UTC", "usable", "highspy", "ldpopt bench &lt;all&gt;"):
        assert words in html
    assert "never &lt;b&gt;any|thing&lt;/b&gt;" in html
    assert "<b>any" not in html


def test_the_curves_differ_without_colour(written):
    html = (written[0] / "bench.html").read_text(encoding="utf-8")
    plot = html[html.index("<svg") : html.index("</svg>")]
    dashes = re.findall(r"stroke-dasharray: ([^;]+);", plot)
    assert len(set(dashes)) == 5  # six curves, one of them solid
    markers = re.findall(r'<path id="m\w+" d="([^"]+)"', plot)
    assert len(set(markers)) >= 6


def test_no_solver_is_missing_from_the_page(written):
    directory, _ = written
    for name in ("bench.html", "bench.md"):
        text = (directory / name).read_text(encoding="utf-8")
        for solver in [*SOLVERS, "liar", "crash", "recluse"]:
            assert solver in text
        for section in ("column-program", "joint-program"):
            assert section in text
        assert "Contradicted or refuted" in text
        assert "ZeroDivisionError: in two lines" in text


def test_the_tables_of_the_markdown_are_whole(written):
    text = (written[0] / "bench.md").read_text(encoding="utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 2 + 2 + 2 + 1  # machine, overview; times and growth; refusals of the recluse
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
        assert len(table.splitlines()) > 2
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, "bench.md", "exec"), {})


def test_the_rows_of_the_csv_are_all_rows(written):
    directory, found = written
    with (directory / "bench.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.rows)
    assert {row["status"] for row in rows} == {"optimal", "gap", "feasible", "refused", "crashed"}
    assert [float(row["cpu"]) for row in rows if row["cpu"]] == [row["cpu"] for row in found.measured]


def test_an_interrupted_page_says_so(tmp_path):
    found = bench.Benchmark("all", [row("cdd", 3, 1.0)], interrupted=True)
    for path in benchpage.write(found, tmp_path, "ldpopt", datetime(2020, 1, 2, tzinfo=UTC))[:2]:
        assert "Interrupted: only what was finished" in path.read_text(encoding="utf-8")


def test_the_comparison_with_other_packages_is_on_the_page(tmp_path):
    entry = {"task": "task", "instance": "k = 4", "unit": "", "difference": None, "agrees": None}
    peers = [entry | {"method": "ldpopt", "seconds": 0.5, "ratio": 1.0, "reason": ""}]
    other = entry | {"method": "other", "seconds": 1.0, "ratio": 2.0, "difference": 1e-12}
    peers += [other | {"agrees": True, "reason": ""}]
    peers += [entry | {"method": "gone", "seconds": None, "ratio": None, "reason": "absent"}]
    curves = [row("cdd", 3, at, value=0.25, bound=bound) for at, bound in ((0.1, None), (1.0, 0.5))]
    found = bench.Benchmark("all", [row("cdd", 3, 1.0)], curves=curves, peers=peers)
    paths = benchpage.write(found, tmp_path, "ldpopt", datetime(2020, 1, 2, tzinfo=UTC))
    assert [path.name for path in paths[2:]] == ["bench.csv", "curves.csv", "peers.csv"]
    html, markdown = (path.read_text(encoding="utf-8") for path in paths[:2])
    for text in (html, markdown):
        assert "Against what one would pick instead" in text
        assert "absent: gone (pip install" in text
    assert "| task | k = 4 | other | 1 | 2 | 1e-12 | yes |" in markdown
    assert "Proven gap over time and profiles: staircase, column-program" in html
