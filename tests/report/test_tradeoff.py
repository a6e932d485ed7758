"""The trade-off curves: closed forms, levels, time that is used up, the figure."""

import math
from dataclasses import replace

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from web import sound

from ldpopt.core.form import Status
from ldpopt.engine.solving import solve
from ldpopt.problems import Staircase
from ldpopt.release.designing import design
from ldpopt.release.methods import METHODS
from ldpopt.report import tradeoff
from ldpopt.report.loading import read


def test_curve_of_a_design(files, patient):
    made = read(files["census"]).content
    steps = []
    curve = tradeoff.of_design(made, seconds=3600.0, progress=lambda *step: steps.append(step))
    assert steps == [(done, 35) for done in range(2, 36)]
    names = {"staircase", "srr", "ldp", "learn", "grr"}
    assert {series.name for series in curve.series} == names
    assert curve.levels == [factor * 1.0 for factor in tradeoff.FACTORS]
    for series in curve.series:
        values = [point.value for point in series.points]
        assert values == sorted(values)
        assert len(values) == len(tradeoff.FACTORS)
    assert tradeoff.Point(1.0, made.result.value, None) in next(
        series.points for series in curve.series if series.name == "srr"
    )
    assert any(
        sentence.startswith("polyopt does not apply: it is made for a confidence set")
        for sentence in curve.omitted
    )


@pytest.mark.parametrize("method", ["learn", "subset", "sampled"])
def test_the_curve_of_a_design_for_estimates_compares_how_precise_they_are(method):
    """The value is the ± of the share that is known least, of a design made at that level."""
    table = ("adult:sex-race", "sex", "race")
    made, again = (design(*table, epsilon=epsilon, method=method) for epsilon in (1.0, 2.0))
    own, twice = (max(100 * part.margin(made.rows) for part in of.accuracy()) for of in (made, again))
    curve = tradeoff.of_design(made, seconds=1e-9)
    assert curve.own == tradeoff.Point(1.0, own, None)
    found = tradeoff._at_level(made.question, method, 2.0, 60.0)
    columns = tradeoff.precise(made)
    assert columns == ["sex", "race"]
    assert tradeoff._worth(made, method, columns, found).value == pytest.approx(twice)


def test_curve_knows_the_closed_form(patient):
    result = solve(Staircase(epsilon=1, prior=[0.5, 0.5]))
    (series,) = tradeoff.of_result(result, seconds=3600.0).series
    for epsilon, value, _ in series.points:
        q = math.exp(epsilon) / (1 + math.exp(epsilon))
        truth = math.log(2) + q * math.log(q) + (1 - q) * math.log(1 - q)
        assert value == pytest.approx(truth, rel=2 * tradeoff.GAP)


def test_levels_stay_within_the_range(patient):
    result = solve(Staircase(epsilon=20, prior=[0.5, 0.5]))
    assert tradeoff.of_result(result, seconds=3600.0).levels == [5.0, 10.0, 15.0, 20.0, 30.0]


def test_time_that_is_used_up_is_said(files):
    made = read(files["census"]).content
    curve = tradeoff.of_design(made, seconds=1e-9)
    (own,) = curve.series
    assert own.name == "srr"
    assert any(sentence.startswith("grr at ε = 1: the 1e-09 s") for sentence in curve.omitted)
    assert any("srr at ε = 0.25, 0.5, 0.75, 1.5, 2, 4: one more solve" in s for s in curve.omitted)


def test_calibration_is_not_begun_if_it_would_take_too_long():
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="cr", robust="chi2")
    task = tradeoff._Task("", None, lambda result: tradeoff.Worth(result.value, None))
    tasks = {
        name: task._replace(repeats=METHODS[name].repeats) for name in ("cr", "polyopt", "calibrated")
    }
    work = tradeoff._Work(made.result, 1.0, "cr", tasks, 9, None)
    work.took["polyopt"] = [0.5, 1.5]
    assert work._expected("calibrated") == pytest.approx(24.0)
    work._follow("calibrated", [1.0, 2.0])
    (sentence,) = work.omitted
    assert sentence.startswith("calibrated at ε = 1, 2: one more solve, of about 24 s, would exceed")


@pytest.mark.parametrize(
    ("status", "took", "left"),
    [
        (
            Status.GAP,
            1.9,
            "srr at ε = 2: the 2 s that this curve may take may have cut its solve short.",
        ),
        (Status.FEASIBLE, 0.01, None),  # nothing was cut
        (Status.OPTIMAL, 1.9, None),  # it has its gap
    ],
)
def test_a_point_that_the_whole_time_cut_short_is_left_out(files, clock, status, took, left):
    made = read(files["census"]).content

    def slow(epsilon, seconds):
        assert (epsilon, seconds) == (2.0, 2.0)
        clock.move(took)
        return replace(made.result, status=status)

    task = tradeoff._Task("", slow, lambda found: tradeoff.Worth(found.value, found.bound))
    work = tradeoff._Work(made.result, 1.0, "srr", {"srr": task}, 2.0, None)
    work._follow("srr", [2.0])
    assert [point.epsilon for point in work.points["srr"]] == ([] if left else [2.0])
    assert work.omitted == ([left] if left else [])


def test_frequencies_that_the_file_does_not_name(files):
    """Made for estimates or not, the file of srr does not say for which: so it is worded."""
    omitted = tradeoff.of_design(read(files["census"]).content, seconds=1e-9).omitted
    (words,) = (sentence for sentence in omitted if sentence.startswith("queries does not apply: "))
    assert words.endswith(": it is made for the frequencies that are wanted, and the file names none.")


def test_one_level_has_no_slider(files, written):
    assert "<label hidden>Level" in written(files["census"], seconds=1e-9)


def test_figure_and_its_numbers(files, patient, written, monkeypatch):
    curves, of_design = [], tradeoff.of_design

    def kept(*given):
        curves.append(of_design(*given))
        return curves[-1]

    monkeypatch.setattr(tradeoff, "of_design", kept)
    text = written(files["census"], files["plain"], seconds=3600.0)
    page = sound(text)
    assert len(page.all("svg")) == 2
    assert "<label>Level" in text
    assert all(given["role"] == "img" for given in page.all("svg"))
    assert {"r1-curve-curve-srr", "r1-curve-curve-staircase", "r2-curve-curve-staircase"} <= set(
        page.ids
    )
    assert "r1-curve-curve-grr" not in page.ids  # it hides more, and is in the table alone
    assert (
        "sex and race are hidden, whatever the distribution of the data [not checked] (not in the"
        in page.text
    )
    (curve,) = curves
    for series in curve.series:
        for point in series.points:
            assert f"{point.value:.4g}" in page.text


def test_a_curve_is_drawn_on_axes(patient):
    curve = tradeoff.of_result(solve(Staircase(epsilon=1, prior=[0.5, 0.5])), seconds=3600.0)
    axes = Figure().subplots()
    assert curve.plot(axes) is axes
    line, own = axes.lines
    assert [line.get_label(), own.get_label()] == ["staircase", "this result"]
    assert list(line.get_xdata()) == curve.levels
    assert curve.plot() is not axes
    pyplot.close("all")
