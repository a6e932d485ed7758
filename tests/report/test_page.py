"""The page of ``ldpopt report``: what it says, that it is sound HTML, and how a browser shows it."""

import dataclasses
import json
import math
import re
import shlex
import shutil
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from ldpopt.core.status import Status
from ldpopt.engine.result import Certificate, Result
from ldpopt.engine.solving import environment, solve
from ldpopt.problems import PROBLEMS, BroadFidelity, Staircase
from ldpopt.release.designing import design
from ldpopt.release.methods import METHODS
from ldpopt.report import heatmap, tradeoff
from ldpopt.report import page as report
from ldpopt.report.files import read
from ldpopt.report.words import abbreviated

NASTY = '<b>&"'
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a page consists of; a tag that does not close in order is an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.loads, self.words = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given["src"]] if "src" in given else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, tag):
        return [given for name, given in self.tags if name == tag]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A design of the census, one of a table with nasty names, and a plain result."""
    directory = tmp_path_factory.mktemp("results")
    census = design("adult:sex-race", "sex", "race", epsilon=1.0, robust="all", method="srr")
    census.save(directory / "census.json")
    rng = np.random.default_rng(5)
    table = {NASTY: rng.choice(["no", NASTY], 200), "$u$ x": rng.choice(["<i>", "'", "ü"], 200)}
    design(table, NASTY, "$u$ x", epsilon=0.5, method="cr").save(directory / "nasty table.json")
    solve(Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1])).save(directory / "plain.json")
    return {path.stem: path for path in directory.iterdir()}


@pytest.fixture
def patient(monkeypatch):
    """However slow the machine, every point of a curve is solved to its gap."""
    monkeypatch.setattr(tradeoff, "SECONDS", 3600.0)


def written(*paths, seconds=0.0):
    return report.page(report.parts([read(path) for path in paths], seconds))


def sound(text):
    """The page, parsed: balanced, with unique ids and no link into the void or the network."""
    page = Page(text)
    assert len(set(page.ids)) == len(page.ids)
    for link in page.links:
        assert link == "data:," or (link.startswith("#") and link[1:] in page.ids)
    assert all(source.startswith("data:image/png;base64,") for source in page.loads)
    assert not re.search(r"url\((?!#)|@import|<script", text)
    for name in ("aria-labelledby", "aria-describedby"):
        assert {given[name] for _, given in page.tags if name in given} <= set(page.ids)
    assert (
        len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) - text.count("<svg") == 1
    )
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.all("html") == [{"lang": "en"}]
    assert all(given.get("alt") for given in page.all("img"))
    assert all("scope" in given for given in page.all("th"))
    for _, given in page.tags:
        if "scroll" in given.get("class", "").split():
            assert given["role"] == "region"
            assert given["tabindex"] == "0"
            assert given["aria-label"]
    return page


# ------------------------------------------------------------ what the page says


def test_a_design(files):
    made = read(files["census"]).content
    (part,) = report.parts([read(files["census"])], 0)
    page = sound(report.page([part]))
    for words in (
        "sex hidden, race released, ε = 1",
        "no report is more than e^ε = 2.72 times as likely for one value of sex as for another",
        "sex, 2 values: Female; Male",
        "32,561 rows",
        "srr: secret randomised response",
        f"{made.result.value:.6g} nats",
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
    made = design("adult:sex-race", "sex", "race", epsilon=1.0)
    made.save(tmp_path / "robust.json")
    text = report.parts([read(tmp_path / "robust.json")], 0)[0].explanation[-1]
    assert made.level_given_public == math.inf
    assert text.startswith("Beware: whoever knows the race of a person can tell two values of sex apart")


def test_every_probability_is_in_its_labelled_row(files):
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


def test_names_of_the_table_are_escaped(files):
    text = written(files["nasty table"])
    page = sound(text)
    assert NASTY not in text
    assert f"{NASTY} hidden, $u$ x released, ε = 0.5" in page.text
    assert f"{NASTY}: {NASTY}" in page.text
    assert {"b", "i"}.isdisjoint(tag for tag, _ in page.tags)


def test_commands_survive_the_shell(files):
    (part,) = report.parts([read(files["nasty table"])], 0)
    lines = {command.purpose: shlex.split(command.line) for command in part.commands}
    words = lines["Design it"]
    assert words[:3] == ["ldpopt", "design", "TABLE.csv"]
    assert words[words.index("--secret") + 1] == NASTY
    assert words[words.index("--public") + 1] == "$u$ x"
    assert words[words.index("--method") + 1] == "cr"
    assert lines["Check the proof"] == ["ldpopt", "verify", str(files["nasty table"])]


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
    assert read(tmp_path / "second.json").content.fingerprint == made.fingerprint


def test_solving_the_result_file_again_gives_the_same(files, tmp_path, ldpopt):
    (part,) = report.parts([read(files["plain"])], 0)
    words = shlex.split(part.commands[0].line)[1:]
    words[-1] = tmp_path / "again.json"
    assert ldpopt(*words)[0] == 0
    again, first = (read(path).result for path in (tmp_path / "again.json", files["plain"]))
    assert (again.value, again.solver) == (first.value, first.solver)


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_every_kind_of_problem(kind, tmp_path):
    problem = next(iter(PROBLEMS[kind].examples())).problem
    result = solve(problem, gap=1e-2)
    result.save(tmp_path / "r.json")
    page = sound(written(tmp_path / "r.json"))
    assert f"{result.value:.6g}" in page.text
    assert "✓ Verified" in page.text
    assert all(name in page.text for name in problem.to_params())
    if result.mechanism is None:
        assert "The answer is no mechanism but this" in page.text
        assert all(name in page.text for name in result.answer)
        assert "Probability of each report" not in page.text
    else:
        assert page.text.count("Probability of each report") == 1


def test_no_answer_at_all(tmp_path, ldpopt):
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
    assert code == 0
    assert said.endswith(f"; without any claim: {tmp_path / 'r.json'}\n")
    assert "✓" not in page.text


def test_a_large_mechanism_is_drawn_and_its_table_folded(tmp_path):
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


def test_a_huge_mechanism_has_no_table(tmp_path, monkeypatch, files):
    monkeypatch.setattr(heatmap, "LARGE", 3)
    monkeypatch.setattr(heatmap, "MOST_CELLS", 99)
    page = sound(written(files["census"]))
    assert "The table would have 100 cells; all numbers are in" in page.text
    assert not [given for given in page.all("td") if "style" in given]


def test_several_results_begin_with_contents_and_comparison(files):
    page = sound(written(*files.values(), files["plain"]))
    assert page.text.index("Contents") < page.text.index("Comparison") < page.text.index("The question")
    assert {"#comparison", "#r1", "#r2", "#r3", "#r4"} <= set(page.links)
    assert page.text.count("✓ Verified") == 4


def test_a_plain_answer_of_a_mechanism_too_large_for_a_matrix(tmp_path):
    solve(BroadFidelity(k=60, epsilon=0.5)).save(tmp_path / "r.json")
    page = sound(written(tmp_path / "r.json"))
    assert "subset-selection" in page.text


def test_long_arrays_are_cut_short():
    assert abbreviated(list(range(100))) == "[0, 1, 2, 3, 4, 5, … 100 in all]"
    assert abbreviated({"a": [0.1234567890123], "b": None}) == "a: [0.123457], b: –"


# ------------------------------------------------------------ the trade-off


def test_curve_of_a_design(files, patient):
    made = read(files["census"]).content
    steps = []
    curve = tradeoff.of_design(made, seconds=math.inf, progress=lambda *step: steps.append(step))
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
        sentence.startswith("polyopt does not apply: is made for a confidence set")
        for sentence in curve.omitted
    )


def test_curve_knows_the_closed_form(patient):
    result = solve(Staircase(epsilon=1, prior=[0.5, 0.5]))
    (series,) = tradeoff.of_result(result, seconds=math.inf).series
    for epsilon, value, _ in series.points:
        q = math.exp(epsilon) / (1 + math.exp(epsilon))
        truth = math.log(2) + q * math.log(q) + (1 - q) * math.log(1 - q)
        assert value == pytest.approx(truth, rel=2 * tradeoff.GAP)


def test_levels_stay_within_the_range(patient):
    result = solve(Staircase(epsilon=20, prior=[0.5, 0.5]))
    assert tradeoff.of_result(result, seconds=math.inf).levels == [5.0, 10.0, 15.0, 20.0, 30.0]


def test_time_that_is_used_up_is_said(files):
    made = read(files["census"]).content
    curve = tradeoff.of_design(made, seconds=1e-9)
    (own,) = curve.series
    assert own.name == "srr"
    assert any(sentence.startswith("grr at ε = 1: the 1e-09 s") for sentence in curve.omitted)
    assert any("srr at ε = 0.25, 0.5, 0.75, 1.5, 2, 4: one more solve" in s for s in curve.omitted)


def test_calibration_is_not_begun_if_it_would_take_too_long():
    made = design("adult:sex-race", "sex", "race", epsilon=1.0, method="cr")
    task = tradeoff._Task("", None, "auto", lambda result: tradeoff.Worth(result.value, None))
    tasks = {
        name: task._replace(repeats=METHODS[name].repeats) for name in ("cr", "polyopt", "calibrated")
    }
    work = tradeoff._Work(made.result, 1.0, "cr", tasks, 9, None)
    work.took["polyopt"] = [0.5, 1.5]
    assert work._expected("calibrated") == pytest.approx(18.0)
    work._follow("calibrated", [1.0, 2.0])
    (sentence,) = work.omitted
    assert sentence.startswith("calibrated at ε = 1, 2: one more solve, of about 18 s, would exceed")


def test_figure_and_its_numbers(files, patient):
    text = written(files["census"], files["plain"], seconds=math.inf)
    page = sound(text)
    assert len(page.all("svg")) == 2
    assert all(given["role"] == "img" for given in page.all("svg"))
    assert {"r1-curve-curve-srr", "r1-curve-curve-grr", "r2-curve-curve-staircase"} <= set(page.ids)
    curve = tradeoff.of_design(read(files["census"]).content, seconds=math.inf)
    for series in curve.series:
        for point in series.points:
            assert f"{point.value:.4g}" in page.text


# ------------------------------------------------------------ the command


def test_command(files, tmp_path, ldpopt):
    out = tmp_path / "page.html"
    code, said, complaint = ldpopt(
        "report", files["census"], files["plain"], "-o", out, "--curve-seconds", 0
    )
    assert (code, complaint) == (0, "")
    assert said == f"wrote {out}: 2 results, every claim verified\n"
    assert "No curve was computed, as asked" in sound(out.read_text(encoding="utf-8")).text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("name", ["census", "plain"])
def test_a_tampered_result_is_refuted_on_the_page(name, files, tmp_path, ldpopt):
    document = json.loads(files[name].read_text())
    tampered, out = tmp_path / "t.json", tmp_path / "page.html"
    tampered.write_text(json.dumps(document | {"value": document["value"] + 1e-6}))
    code, said, _ = ldpopt("report", files[name], tampered, "-o", out, "--curve-seconds", 0.1)
    assert code == 1
    assert said == f"wrote {out}: 2 results, REFUTED: {tampered}\n"
    page = sound(out.read_text(encoding="utf-8"))
    assert page.text.count("✗ REFUTED") >= 3  # in the comparison, as the verdict, at the claim
    assert page.text.count("✓ Verified") == 1
    assert page.text.count("No curve was computed: the result is refuted.") == 1


@pytest.mark.parametrize("name", ["census", "plain"])
def test_a_broken_mechanism_is_refuted_and_not_shown(name, files, tmp_path, ldpopt):
    document = json.loads(files[name].read_text())
    document["mechanism"]["matrix"][0][0] += 0.01
    (tmp_path / "t.json").write_text(json.dumps(document))
    code, _, _ = ldpopt("report", tmp_path / "t.json", "-o", tmp_path / "page.html")
    assert code == 1
    page = sound((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "REFUTED every row of the mechanism sums to exactly 1" in page.text
    assert "The answer of the file cannot be shown" in page.text
    assert "Probability of each report" not in page.text


def test_a_mechanism_that_breaks_its_promise_is_not_sound(files):
    loaded = read(files["census"])
    made = loaded.content
    worse = dataclasses.replace(made, question=dataclasses.replace(made.question, epsilon=0.5))
    part = report.described(loaded._replace(content=worse), "r1", 0)
    assert not part.audit.passed
    assert not part.sound
    assert "REFUTED" in sound(report.page([part])).text


SPOILT = {
    "garbage": lambda document: "garbage",
    "empty": lambda document: "",
    "half": lambda document: json.dumps(document)[:300],
    "list": lambda document: "[1]",
    "other": lambda document: '{"a": 1}',
    "kind": lambda document: json.dumps(document | {"problem": "no-such-kind"}),
    "params": lambda document: json.dumps(document | {"params": {"epsilon": -1}}),
    "seconds": lambda document: json.dumps(document | {"seconds": "long"}),
    "status": lambda document: json.dumps(document | {"status": "good"}),
    "solver": lambda document: json.dumps(document | {"solver": ["a"]}),
    "environment": lambda document: json.dumps(document | {"environment": []}),
    "certificate": lambda document: json.dumps(document | {"certificate": "good"}),
    "stripped": lambda document: json.dumps(document | {"mechanism": None}),
    "proof": lambda document: json.dumps(
        document | {"certificate": document["certificate"] | {"proof": -1}}
    ),
    "design": lambda document: json.dumps(document | {"design": 5}),
    "labels": lambda document: json.dumps(document).replace('"Female"', "7"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_no_result_is_one_sentence(name, files, tmp_path, ldpopt):
    bad = tmp_path / "bad.json"
    bad.write_text(SPOILT[name](json.loads(files["census"].read_text())))
    code, said, complaint = ldpopt("report", files["plain"], bad, "-o", tmp_path / "page.html")
    assert (code, said) == (2, "")
    assert complaint.startswith("ldpopt: ")
    assert str(bad) in complaint
    assert complaint.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.json", "-o", "page.html"], "absent.json"),
        (["{plain}", "-o", "no/such/place.html"], "there is no directory no/such"),
        (["{plain}", "-o", "."], "it is a directory"),
        (["{plain}", "-o", "{plain}"], "it would replace"),
    ],
)
def test_bad_places(words, message, files, tmp_path, monkeypatch, ldpopt):
    monkeypatch.chdir(tmp_path)
    before = files["plain"].read_bytes()
    code, said, complaint = ldpopt("report", *(word.format(**files) for word in words))
    assert (code, said) == (2, "")
    assert message in complaint
    assert complaint.count("\n") == 1
    assert files["plain"].read_bytes() == before
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------ in a browser

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
REACHABLE = "a[href], summary, [tabindex='0']"
CONTRASTS = """
const parse = text => {
  const n = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number), unit = text.startsWith("color(") ? 1 : 255;
  return [n[0] / unit, n[1] / unit, n[2] / unit, n.length > 3 ? n[3] : 1];
};
const luminance = c => {
  const [r, g, b] = c.map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  if (!element) return [1, 1, 1];
  const [r, g, b, a] = parse(getComputedStyle(element).backgroundColor);
  const under = a < 1 ? behind(element.parentElement) : [0, 0, 0];
  return [r, g, b].map((x, i) => a * x + (1 - a) * under[i]);
};
const found = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join("").trim();
  if (!own || !element.getClientRects().length) continue;
  const style = getComputedStyle(element), svg = element instanceof SVGElement;
  const ink = luminance(parse(svg ? style.fill : style.color).slice(0, 3));
  const paper = luminance(behind(element));
  found.push([(Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05), own]);
}
return found;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver

    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        pytest.skip("no browser here: chromium and chromedriver are needed to open the page")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(files, tmp_path_factory):
    """Designs, a plain result, one without a mechanism, a refuted one, a large one."""
    directory = tmp_path_factory.mktemp("page")
    document = json.loads(files["plain"].read_text())
    (directory / "false.json").write_text(json.dumps(document | {"value": 0.2}))
    problem = next(iter(PROBLEMS["statistic-leakage"].examples())).problem
    solve(problem).save(directory / "leakage.json")
    paths = [files["census"], files["nasty table"], directory / "false.json", directory / "leakage.json"]
    text = report.page(
        [
            *report.parts([read(files["census"])], math.inf),
            *(report.described(read(path), f"r{i}", 0) for i, path in enumerate(paths[1:], start=2)),
        ]
    )
    page = directory / "page.html"
    page.write_text(text, encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def opened(browser, address):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get_log("browser")
    browser.get(address)
    return browser


def unfold(driver):
    driver.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")


def emulate_width(driver, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_everything_is_displayed_and_nothing_is_loaded(opened):
    unfold(opened)
    sizes = opened.execute_script(
        "return [...document.querySelectorAll('table, figure, svg, img')].map(e => "
        "[e.tagName, e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
    )
    assert {tag.lower() for tag, _, _ in sizes} >= {"table", "figure", "svg"}
    assert all(width > 20 and height > 20 for _, width, height in sizes)
    assert opened.get_log("browser") == []
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_tab_key_reaches_everything(opened):
    from selenium.webdriver import ActionChains, Keys

    count = opened.execute_script(f'return document.querySelectorAll("{REACHABLE}").length')
    here = (
        f'const all = [...document.querySelectorAll("{REACHABLE}")], e = document.activeElement;'
        "return [all.indexOf(e), e.tagName, getComputedStyle(e).outlineStyle]"
    )
    visited = []
    for _ in range(count):
        ActionChains(opened).send_keys(Keys.TAB).perform()
        index, tag, outline = opened.execute_script(here)
        visited.append(index)
        assert outline not in ("none", "")
        if tag == "SUMMARY":  # what it unfolds comes next
            ActionChains(opened).send_keys(Keys.ENTER).perform()
    assert visited == list(range(count))


def test_the_skip_link_leads_to_the_content(opened):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(opened).send_keys(Keys.TAB).send_keys(Keys.ENTER).perform()
    assert opened.execute_script("return document.activeElement.id") == "main"


def test_a_scrolling_table_scrolls_by_keyboard(opened):
    from selenium.webdriver import ActionChains, Keys

    emulate_width(opened, 400)
    region = "document.querySelector('#r1 .scroll.tall')"
    opened.execute_script(f"{region}.focus()")
    for _ in range(5):
        ActionChains(opened).send_keys(Keys.ARROW_RIGHT).perform()
    left, corner, edge = opened.execute_script(
        f"const r = {region}; return new Promise(done => setTimeout(() => done([r.scrollLeft, "
        "r.querySelector('tbody tr:not(.group) th').getBoundingClientRect().left, "
        "r.getBoundingClientRect().left]), 500))"
    )
    assert left > 0
    assert corner == pytest.approx(edge, abs=2)  # the names of the rows stay in view


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_never_scrolls_sideways(width, opened):
    emulate_width(opened, width)
    unfold(opened)
    scroll, client, inner = opened.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, innerWidth]"
    )
    assert inner == width
    assert scroll == client


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme, opened):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    unfold(opened)
    found = opened.execute_script(CONTRASTS)
    assert len(found) > 200
    assert [text for contrast, text in found if contrast < 4.5] == []
    dark = opened.execute_script(
        "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert (max(dark) < 60) == (scheme == "dark")


def test_nothing_is_said_by_colour_alone(opened):
    marks = opened.execute_script(
        "return [...document.querySelectorAll('.mark, .verdict')].map("
        "e => [e.innerText, e.classList.contains('holds')])"
    )
    assert {holds for _, holds in marks} == {True, False}
    for text, holds in marks:
        assert ("✓" in text and re.search("holds|Verified", text)) if holds else "✗ REFUTED" in text
    cells = opened.execute_script(
        "return [...document.querySelectorAll('.heat td')].map(e => e.innerText)"
    )
    assert cells
    assert all(re.fullmatch(r"\d(\.\d+)?(e-\d+)?|≈ 0", text) for text in cells)


def test_each_curve_has_its_own_marker_dashes_and_name(opened):
    curves = opened.execute_script(
        "return [...document.querySelectorAll('svg [id*=curve-curve-]')].map(g => [g.id, "
        "document.querySelector(g.querySelector('use').getAttribute('href')).getAttribute('d'), "
        "getComputedStyle(g.querySelector(':scope > path')).strokeDasharray])"
    )
    names = [name.removeprefix("r1-curve-curve-") for name, _, _ in curves]
    assert sorted(names) == ["grr", "ldp", "learn", "srr", "staircase"]
    assert len({marker for _, marker, _ in curves}) == len({dashes for *_, dashes in curves}) == 5
    words = opened.execute_script(
        "return [...document.querySelectorAll('svg text')].map(e => e.textContent)"
    )
    assert {*names, "this result", "H(X) = 1.18: the data as they are"} <= set(words)
