"""The page of ``ldpopt report``: what it says, and that it is sound HTML."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from known import NASTY
from web import sound

from ldpopt.cli.options import split_columns
from ldpopt.core.form import Status
from ldpopt.core.number_text import at_least, at_most
from ldpopt.engine.result import Certificate, Result
from ldpopt.engine.solving import environment, solve
from ldpopt.problems import PROBLEMS, BroadFidelity, Staircase
from ldpopt.release.designing import design
from ldpopt.report import heatmap
from ldpopt.report import page as report
from ldpopt.report.loading import read
from ldpopt.report.wording import abbreviated
from ldpopt.tables.domain import in_quotes

PATIENT = 3600.0
"""Seconds for a search that ends by its gap, so that it finds the same again on a busy machine."""


def test_a_design(files):
    made = read(files["census"]).content
    (part,) = report.parts([read(files["census"])], 0)
    page = sound(report.page([part]))
    for words in (
        "Random reports on sex and race that hide sex, ε = 1",
        "no report is more than e^ε ≤ 2.72 times as likely for one value of sex as for another",
        "sex, 2 values: Female; Male",
        "32,561 rows",
        "srr: secret randomised response",
        f"{at_least(made.result.value, 6)} nats",
        f"{made.result.value / made.entropy:.1%} – of H(X)".replace(" – ", " "),
        "feasible; nothing is proven about better ones",
        "every row of the mechanism sums to exactly 1",
        made.fingerprint,
        "Becker, B. & Kohavi, R. (1996)",
        f"numpy {environment()['numpy']}",
    ):
        assert words in page.text
    kept = sum(measure.holds is True for measure in part.audit.measures)
    assert page.text.count("✓ holds") == len(part.claims) + 1 + kept
    assert "REFUTED" not in page.text
    assert "Contents" not in page.text
    assert "Beware" not in page.text  # against all distributions: also who knows the race learns no more


def test_what_the_promise_does_not_cover_is_said(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, robust="chi2", goal="information")
    made.save(tmp_path / "robust.json")
    (text,) = report.parts([read(tmp_path / "robust.json")], 0)[0].signing.beware
    assert made.level_given_public > 30  # the repair lifts zeros to the last bits of a float
    assert text.startswith("whoever knows the race of a person guesses sex right in 67 of 100 cases")
    assert "some odds × over a million" in text


def test_every_probability_is_in_its_labelled_row(files, written):
    made = read(files["census"]).content
    page = written(files["census"])
    heat = page[page.index('<table class="heat">') : page.index("<tfoot>")]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*)</tr>', heat)
    assert [label for label, _ in rows] == [*made.domain.public.labels] * 2
    assert re.findall(r'scope="rowgroup".*?<span>(.*?)</span>', heat) == ["sex: Female", "sex: Male"]
    shown = [[float(p) for p in re.findall(r">([\d.]+)</td>", cells)] for _, cells in rows]
    assert np.array(shown) == pytest.approx(made.mechanism.matrix, abs=5e-4)
    overall = re.findall(r">([\d.]+)</td>", page[page.index("<tfoot>") : page.index("</tfoot>")])
    expected = made.question.p_hat.ravel() @ made.mechanism.matrix
    assert [float(p) for p in overall] == pytest.approx(expected, abs=5e-4)


def test_names_of_the_table_are_escaped(files, written):
    text = written(files["nasty table"])
    page = sound(text)
    assert NASTY not in text
    name = in_quotes(NASTY)
    assert f'Random reports on {name} and "$u$ x" that hide {name}, ε = 0.5' in page.text
    assert f"{name}: {NASTY}" in page.text
    assert {"b", "i"}.isdisjoint(tag for tag, _ in page.tags)


def test_commands_survive_the_shell(files):
    (part,) = report.parts([read(files["nasty table"])], 0)
    lines = {command.purpose: shlex.split(command.line) for command in part.commands}
    words = lines["Design it"]
    assert words[:3] == ["ldpopt", "design", "TABLE.csv"]
    assert split_columns(words[words.index("--secret") + 1]) == [NASTY]
    assert words[words.index("--public") + 1] == "$u$ x"
    assert words[words.index("--method") + 1] == "cr"
    assert lines["Check the proof"] == ["ldpopt", "verify", str(files["nasty table"])]


def test_the_design_command_has_every_option(tmp_path, ldpopt):
    """Empty cells are a value, a name has a comma, and the frequencies of one column are wanted."""
    table = {"a,b": ["x", "y", ""] * 40, "u": ["p", "q", "q", "r"] * 30}
    columns = pd.DataFrame(table)
    columns.to_csv(tmp_path / "TABLE.csv", index=False)
    given = {"epsilon": 1.0000004, "missing": "category", "method": "queries", "queries": ["u"]}
    given |= {"robust": "chi2", "alpha": 0.0544, "time_limit": PATIENT}
    made = design(columns.replace("", None), "a,b", "u", **given)
    made.save(tmp_path / "first.json")
    (part,) = report.parts([read(tmp_path / "first.json")], 0)
    words = shlex.split(part.commands[0].line)[1:]
    words[1], words[-1] = tmp_path / "TABLE.csv", tmp_path / "second.json"
    assert ldpopt(*words, "--time-limit", PATIENT)[0] == 0
    assert read(tmp_path / "second.json").content.identity == made.identity
    text = " ".join(part.explanation)
    assert "a χ² test at 0.0544 does not reject" in text
    assert "as much as possible" not in text
    assert part.title.endswith("ε = 1.0000004")


def test_what_the_file_does_not_hold_is_said_below_the_commands(tmp_path, ldpopt):
    """With the options that the sentence names, the command designs the same."""
    table = {"s": ["x", "y", ""] * 40, "u": ["p", "q", "q", "r"] * 30, "v": ["1", "2"] * 60}
    columns = pd.DataFrame(table)
    columns.to_csv(tmp_path / "TABLE.csv", index=False)
    given = {"epsilon": 1.0, "missing": "drop", "method": "split", "queries": ["u"]}
    made = design(columns.replace("", None), "s", ["u", "v"], time_limit=PATIENT, **given)
    made.save(tmp_path / "first.json")
    (part,) = report.parts([read(tmp_path / "first.json")], 0)
    lacking = next(fact.text for fact in part.provenance if fact.name == "Not in the file")
    assert "for which columns it was made (--queries of design; if not given, all)" in lacking
    assert (
        "whether rows with empty cells were dropped (--missing drop of design and privatize)" in lacking
    )
    words = shlex.split(part.commands[0].line)[1:]
    words[1], words[-1] = tmp_path / "TABLE.csv", tmp_path / "second.json"
    more = ("--queries", "u", "--missing", "drop", "--time-limit", PATIENT)
    assert ldpopt(*words, *more)[0] == 0
    assert read(tmp_path / "second.json").content.identity == made.identity


def test_the_file_of_an_embedded_table_holds_all_but_the_time(files):
    (part,) = report.parts([read(files["census"])], 0)
    lacking = next(fact.text for fact in part.provenance if fact.name == "Not in the file")
    assert lacking == "how long the search might take (--time-limit of design)"


def test_the_design_command_designs_the_same(tmp_path, ldpopt):
    rng = np.random.default_rng(1)
    table = {"age": rng.integers(18, 90, 300), "code": rng.choice(["1", "NA"], 300)}
    table["sex"] = rng.choice(["f", "m"], 300)
    made = design(
        table, ["sex", "code"], "age", epsilon=0.7, method="srr", bins={"age": [40.0]}, text=["code"]
    )
    made.save(tmp_path / "first.json")
    lines = ["age,code,sex", *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    (tmp_path / "TABLE.csv").write_text("\n".join(lines) + "\n")
    (part,) = report.parts([read(tmp_path / "first.json")], 0)
    words = shlex.split(part.commands[0].line)[1:]
    words[1], words[-1] = tmp_path / "TABLE.csv", tmp_path / "second.json"
    assert ldpopt(*words)[0] == 0
    assert read(tmp_path / "second.json").content.identity == made.identity


def test_an_audit_that_checked_no_promise_has_no_mark(tmp_path):
    for method, mark in (("cr", False), ("srr", True)):
        made = design("adult:sex-race", "sex", "race", epsilon=1.0, method=method, robust="chi2")
        made.public.save(tmp_path / "m.public.json")
        report.report(tmp_path / "m.public.json", tmp_path / "page.html")
        said = sound((tmp_path / "page.html").read_text(encoding="utf-8")).text
        assert bool(re.search(r"✓\s+holds\s+(PASSED|NO PROMISE|NOT DECIDED)", said)) == mark
        assert bool(re.search(r"\?\s+not decided\s+NOT DECIDED: the promise", said)) != mark


def test_solving_the_result_file_again_gives_the_same(files, tmp_path, ldpopt):
    (part,) = report.parts([read(files["plain"])], 0)
    words = shlex.split(part.commands[0].line)[1:]
    words[-1] = tmp_path / "again.json"
    assert ldpopt(*words)[0] == 0
    again, first = (read(path).result for path in (tmp_path / "again.json", files["plain"]))
    assert (again.value, again.solver) == (first.value, first.solver)


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_kind_of_problem(kind, tmp_path, written):
    problem = next(iter(PROBLEMS[kind].examples())).problem
    result = solve(problem, gap=1e-2)
    result.save(tmp_path / "r.json")
    page = sound(written(tmp_path / "r.json"))
    side = at_most if result.problem.sense == "minimise" else at_least
    assert side(result.value, 6) in page.text
    assert "✓ Verified" in page.text
    assert all(name in page.text for name in problem.to_params())
    if result.mechanism is None:
        assert "The answer is not a matrix but this" in page.text
        assert all(name in page.text for name in result.answer)
        assert "Probability of each report" not in page.text
    else:
        assert page.text.count("Probability of each report") == 1


def test_no_answer_at_all(tmp_path, ldpopt, written):
    nothing = Certificate(proof=None, gap=1e-9, repair_loss=0.0)
    question = Staircase(epsilon=1, prior=[0.5, 0.5])
    result = Result(question, Status.LIMIT, None, None, None, None, nothing, "cdd", 1.0)
    result.save(tmp_path / "r.json")
    page = sound(written(tmp_path / "r.json", seconds=1))
    assert "There is no answer." in page.text
    assert "stopped by a limit" in page.text
    assert "has no value to compare" in page.text
    assert "nothing is verified" in page.text
    code, said, _ = ldpopt("report", tmp_path / "r.json", "-o", tmp_path / "page.html")
    assert code == ldpopt("verify", tmp_path / "r.json").code == 2
    assert said.endswith(f"1 result, without any claim: {tmp_path / 'r.json'}\n")
    assert "✓" not in page.text


def test_a_large_mechanism_is_drawn_and_its_table_folded(tmp_path, written):
    rng = np.random.default_rng(2)
    table = {"s": rng.choice(["a", "b"], 900), "u": rng.integers(0, 30, 900)}
    made = design(table, "s", "u", epsilon=1, method="grr")
    made.save(tmp_path / "d.json")
    page = sound(written(tmp_path / "d.json"))
    assert len(page.all("img")) == 1
    assert "All probabilities as a table" in page.text
    rows, columns = made.mechanism.shape
    assert max(rows, columns) > heatmap.LARGE
    assert len([given for given in page.all("td") if "style" in given]) == rows * columns


def test_a_huge_mechanism_has_no_table(tmp_path, monkeypatch, files, written):
    monkeypatch.setattr(heatmap, "LARGE", 3)
    monkeypatch.setattr(heatmap, "MOST_CELLS", 99)
    page = sound(written(files["census"]))
    assert "All numbers are in" in page.text
    assert "The table would have 100 cells." in page.text
    assert not [given for given in page.all("td") if "style" in given]


def test_several_results_begin_with_contents_and_comparison(files, written):
    page = sound(written(*files.values(), files["plain"]))
    assert page.text.index("Contents") < page.text.index("Comparison") < page.text.index("The question")
    assert {"#comparison", "#r1", "#r2", "#r3", "#r4"} <= set(page.links)
    assert page.text.count("✓ Verified") == 4


def test_a_plain_answer_of_a_mechanism_too_large_for_a_matrix(tmp_path, written):
    solve(BroadFidelity(inputs=60, epsilon=0.5)).save(tmp_path / "r.json")
    page = sound(written(tmp_path / "r.json"))
    assert "subset-selection" in page.text


def test_long_arrays_are_cut_short():
    assert abbreviated(list(range(100))) == "[0, 1, 2, 3, 4, 5, … 100 in all]"
    assert abbreviated({"a": [0.1234567890123], "b": None}) == "a: [0.123457], b: –"


def test_the_table_of_all_results_says_among_what_each_is_optimal(tmp_path):
    solve(PROBLEMS["polyopt"](1.0, [[0.3, 0.2], [0.15, 0.35]], 1000)).save(tmp_path / "a.json")
    (part,) = report.parts([read(tmp_path / "a.json")], 0)
    assert part.summary.status == "optimal among mechanisms within the PolyOpt cone"
