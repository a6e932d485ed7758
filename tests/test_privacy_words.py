"""Every sentence about privacy comes from a claim that holds, or carries its mark; wherever it is said.

Commands, pages and exported programs are run on files whose claims about privacy hold, are undecided or
are refuted, and on a kind of another package whose parameter ``epsilon`` is not a level. Every sentence
that they say about privacy is marked, or says a number of a claim that holds. The templates say nothing
about privacy by themselves, and the modules that do are listed.
"""

import ast
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ldpopt as package
from ldpopt.checker import frame
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.core.number_text import at_most, factor_at_most, in_full
from ldpopt.core.problem import Problem
from ldpopt.engine import plugins
from ldpopt.engine.solving import solve
from ldpopt.engine.verifying import verify
from ldpopt.models import privacy
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.release.designing import design
from ldpopt.report import page as report
from ldpopt.report.wording import documented

ROOT = Path(package.__file__).parent
WORDS = re.compile(
    r"\b(?:hid(?:e|es|den)|hiding|protect\w*|private(?:ly)?|times as likely|odds)\b|\be\^|privacy level"
)
ABOUT_PRIVACY = re.compile(
    WORDS.pattern
    + r"|tells? \w+ secrets apart|differ by at most|ε [=≤≥]|\blevel (?:of )?(?:at (?:most|least) )?\d",
    re.IGNORECASE,
)
MARK = re.compile(
    r"\[(?:not checked|not certified|UNDECIDED|REFUTED)[^\]]*\]|not checked|NOT CHECKED|REFUTED|refuted"
    r"|undecided|UNDECIDED|could not decide|refutes|nobody can check|cannot prove|not proven"
)
METRIC = '''
from dataclasses import dataclass
from typing import Any, ClassVar

from ldpopt.core import validate
from ldpopt.models.cones import staircase_cone
from ldpopt.problems.column_problem import ColumnProblem


@dataclass(frozen=True, eq=False)
class Metric(ColumnProblem):
    """Guess best where inputs at the distance d may differ by a factor e^(rate d), and d is at most 4.

    Args:
        epsilon: the rate, per unit of distance, at which inputs are hidden from each other.
    """

    kind: ClassVar[str] = "metric"
    prior: Any
    epsilon: float

    def cleaned(self):
        return {"prior": validate.distribution("prior", self.prior)}

    @property
    def cone(self):
        return staircase_cone(len(self.prior), 4 * self.epsilon)

    @property
    def sublinear(self):
        return lambda columns: (self.prior[:, None] * columns).max(axis=0)

    @classmethod
    def examples(cls):
        return []
'''
"""A problem of another package: its level is 4, and its parameter ``epsilon`` is a rate of 1."""


# ---------------------------------------------------------------- what is said


class Blocks(HTMLParser):
    """The text of a page, in pieces that no line break of the page divides."""

    INLINE = frozenset(("span", "strong", "em", "a", "b", "code", "br", "sub", "sup"))

    def __init__(self, text):
        super().__init__()
        self.pieces, self.skipped = [""], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.skipped += tag in ("style", "script")
        self._cut(tag)

    def handle_endtag(self, tag):
        self.skipped -= tag in ("style", "script")
        self._cut(tag)

    def _cut(self, tag):
        if tag not in self.INLINE:
            self.pieces.append("")

    def handle_data(self, data):
        if not self.skipped:
            self.pieces[-1] += data


def sentences(pieces):
    """Split pieces of text at full stops; a piece with a mark at its end is one."""
    for piece in pieces:
        words = " ".join(piece.split())
        yield from re.split(r"(?<=\.) (?=[A-Z“])", words)


def allowed(verification):
    """The levels and factors of the claims about privacy that hold, as they may be written."""
    levels = [
        claim.value
        for claim in verification.claims
        if claim.holds and claim.what in ("privacy", "level", "together") and claim.value is not None
    ]
    said = {text for level in levels for text in (in_full(level), repr(level), at_most(level, 6))}
    return said | {factor_at_most(level, digits) for level in levels for digits in (3, 4)}


def stated(sentence):
    """The levels and factors that a sentence states."""
    number = r"(\d[\d.]*(?:e[+-]\d+)?\b)"
    before = r"(?:[=≤×] |e\^|more than |factor of |\blevel (?:of )?(?:at most )?)"
    return set(re.findall(before + number, sentence))


NOTION = r"(?:δ at ε = \d+|metric privacy level)"
QUOTED = re.compile(
    r"^(?:holds|REFUTED|undecided) "  # a claim with its verdict
    rf"|^│ {NOTION} │ [\d.e-]+ │ (?:nats per unit of distance )?│ ≤ [\d.e-]+ │ (?:yes|no) │$"  # measured
    rf"|^{NOTION}$|^{NOTION}: the least number at which the mechanism keeps the notion [a-z]+\.$"
    r"|^wrote |^--|^(?:next:? +)?ldpopt (?:design|privatize|estimate|audit|verify|report|solve) "
    r"|^Attack on [\d,]+ reports |^an attack on "  # a lower bound, with its confidence
)
"""Sentences with numbers that are no promise: the line below measured ones is marked."""
NEUTRAL = re.compile(
    r"^\S+ must|e\^this|e\^\(−LDP level\)|stays hidden"  # what a measure means; its value is marked
    r"|^The measures are computed in floats|^Measured on the mechanism itself"
    r"|^(?:From )?[Ss]omebody who"  # the observer; what is said of them follows
    r"|not protected|more than promised|is about reports, not about"  # warnings
    r"|^Privacy against utility$|privacy level ε"  # the name of the axis
    r"|^secret\b|^public\b|is promised|the promise is made|promises what the question asks for"
)
"""Sentences that are no promise as long as they state no level."""
LEVEL = re.compile(r"e\^\(?\d|ε [=≤] ?\d|\blevel (?:of )?\d")


@pytest.mark.parametrize(
    "false",
    [
        "│ the secret is hidden, level 0.1 │ 0.1 │ │ ≤ 0.1 │ yes │",
        "It hides everything: the least number at which it does so is ε = 0.1",
        "metric privacy level: the least number at which the mechanism keeps the notion ldp is e^0.1.",
        "Random reports that hide sex, ε = 0.1 – ldpopt report",
        "No report changes the odds by more than e^this, and that is e^0.1.",
        "What is promised is the level 0.1: the odds change by a factor e^0.1 at most",
        "secret sex: protected at ε = 0.1",
    ],
)
def test_a_false_sentence_is_found(false, files):
    """None of the sentences that are passed over opens a door to a level that nothing proves."""
    assert list(unfounded([false], verify(files / "plain.json"))) == [false]


def unfounded(pieces, verification, also=()):
    """List the sentences about privacy that no claim decides and no mark follows."""
    known, also = allowed(verification), [*also, *(c.statement for c in verification.claims if c.holds)]
    for sentence in sentences(pieces):
        if not ABOUT_PRIVACY.search(sentence) or MARK.search(sentence) or QUOTED.search(sentence):
            continue
        if NEUTRAL.search(sentence) and not LEVEL.search(sentence):
            continue
        if any(words in sentence for words in also):
            continue
        if not verification or not stated(sentence) <= known:
            yield sentence


# ---------------------------------------------------------------- the files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A result, designs of several kinds, and a result of another package's kind."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "metric.py").write_text(METRIC)
    solve(Staircase(epsilon=1, prior=[0.4, 0.3, 0.2, 0.1])).save(folder / "plain.json")
    asked = {"secret": "sex", "public": "race", "epsilon": 1.25}
    for method, robust in (("cr", "chi2"), ("srr", "all"), ("grr", "all"), ("public", "chi2")):
        design("adult:sex-race", method=method, robust=robust, **asked).save(folder / f"{method}.json")
    design("adult:sex-race", method="unary", robust="all", **asked).save(folder / "unary.json")
    for name, notion in NOTIONS.items():
        asked = package.Program(notion, package.objective.MutualInformation([0.4, 0.3, 0.2, 0.1]))
        solve(asked).save(folder / f"{name}.json")
    return folder


NOTIONS = {
    "metric": privacy.Metric(1, [[abs(x - z) for z in range(4)] for x in range(4)]),
    "delta": privacy.LDP(1, delta=0.05),
    "pml": privacy.PML(1, [0.4, 0.3, 0.2, 0.1]),
    "sensitive": privacy.Sensitive(1, inputs=[0, 1]),
    "maximal-leakage": privacy.MaximalLeakage(1),
    "two": [privacy.LDP(2), privacy.Secret(1, [0, 0, 1, 1])],
}
"""Notions of privacy that no level ε says; of two, none says both."""


@pytest.fixture(params=[True, None, False], ids=["verified", "undecided", "refuted"])
def verdict(request, monkeypatch):
    """What the checker says of every claim about privacy."""
    check = frame.check

    def decided(document, plain=None):
        return [
            claim if request.param or claim.what != "privacy" else claim._replace(holds=request.param)
            for claim in check(document, plain)
        ]

    monkeypatch.setattr(frame, "check", decided)
    return request.param


SURE = ("--confidence", "0.999999")
"""Of an audit: it fails by chance once in a million runs."""
NAMES = ("plain", "cr", "srr", "grr", "public", "unary")


# ---------------------------------------------------------------- pages, commands and programs


@pytest.mark.parametrize("name", NAMES)
def test_pages(name, verdict, files):
    loaded = report.read(files / f"{name}.json")
    assert loaded.verification.verdict is verdict
    text = report.page(report.parts([loaded], 0))
    question = " ".join(documented(Staircase)[0])  # what was asked
    asked = [] if name != "plain" else list(sentences([question]))
    assert list(unfounded(Blocks(text).pieces, loaded.verification, asked)) == []
    assert "✓ protected" not in text
    assert ("guard" in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)) == (
        verdict is True and name != "plain"
    )


def said_by(answer):
    """What a command printed, line by line."""
    return [*answer.out.split("\n"), *answer.err.split("\n")]


@pytest.mark.parametrize("name", NAMES)
def test_audit_verify_and_report(name, verdict, files, tmp_path, ldpopt):
    path = files / f"{name}.json"
    decided = verify(path)
    code = {True: 0, None: 3, False: 1}[verdict]
    for words in (("verify", path), ("audit", path, "--samples", "1000", *SURE), *REPORTS):
        found = ldpopt(*words, *([path] if words in REPORTS else []), cwd=tmp_path)
        assert found.code == code, found.err
        assert list(unfounded(said_by(found), decided)) == []


REPORTS = [("report", "--curve-seconds", "0", "--out", "page.html")]


@pytest.mark.parametrize("target", ["js", "python", "sql"])
@pytest.mark.parametrize("name", ["cr", "srr", "grr", "public"])
def test_exported_programs_and_releases(name, target, verdict, files, tmp_path, ldpopt):
    """Only a mechanism whose claims hold is used, and a program says no more than they do."""
    path = files / f"{name}.json"
    decided = verify(path)
    found = ldpopt("export", path, "--target", target, "-o", "sampler", cwd=tmp_path)
    assert list(unfounded(said_by(found), decided)) == []
    assert (found.code == 0) == (tmp_path / "sampler").exists() == (verdict is True)
    if verdict is True:
        program = (tmp_path / "sampler").read_text()
        assert list(unfounded(program.split("\n"), decided)) == []
    shutil.copy(path, tmp_path / "mech.json")
    asked = ("privatize", "adult:sex-race", "--mechanism", "mech.json", "-o", "released.csv")
    found = ldpopt(*asked, cwd=tmp_path)
    assert (found.code == 0) == (verdict is True)
    assert list(unfounded(said_by(found), decided)) == []


CONDITIONAL = ("--method", "cr", "--robust", "chi2")


@pytest.mark.parametrize(
    "more",
    [
        ("--method", "srr"),
        CONDITIONAL,
        ("--method", "cr", "--known"),
        (*CONDITIONAL, "--compare", "--time-limit", 4),
    ],
)
def test_design(more, verdict, tmp_path, ldpopt):
    asked = ("--secret", "sex", "--public", "race", "--epsilon", "1.25", *more)
    found = ldpopt("design", "adult:sex-race", *asked, "-o", "m.json", cwd=tmp_path)
    assert found.code == {True: 0, None: 3, False: 1}[verdict], found.err
    decided = verify(tmp_path / "m.json")
    assert list(unfounded(said_by(found), decided)) == []


def test_solve(verdict, tmp_path, ldpopt):
    (tmp_path / "q.json").write_text(
        '{"problem": "staircase", "params": {"epsilon": 1, "prior": [0.5, 0.3, 0.2]}}'
    )
    found = ldpopt("solve", "q.json", "--out", "best.json", cwd=tmp_path)
    assert list(unfounded(said_by(found), verify(tmp_path / "best.json"))) == []


@pytest.mark.parametrize("name", NOTIONS)
def test_other_notions_of_privacy_are_not_called_a_level(name, verdict, files, tmp_path, ldpopt):
    """What the checker decided is promised in its words, and no number ε is made of it."""
    path = files / f"{name}.json"
    decided, code = verify(path), {True: 0, None: 3, False: 1}[verdict]
    for words in (
        ("verify", path),
        ("audit", path, "--samples", "1000", *SURE),
        ("report", path, "--curve-seconds", "0", "--out", "page.html"),
        ("solve", path),
    ):
        found = ldpopt(*words, cwd=tmp_path)
        assert found.code == (code if words[0] != "solve" or code == 1 else 0), found.err
        assert list(unfounded(said_by(found), decided)) == []
    page = (tmp_path / "page.html").read_text("utf-8")
    asked = list(sentences([" ".join(documented(package.Program)[0])]))
    assert list(unfounded(Blocks(page).pieces, decided, asked)) == []
    assert ("Verified: every claim of this result holds" in page) == (verdict is True)


# ---------------------------------------------------------------- another package's notion of privacy


def test_a_parameter_called_epsilon_is_not_a_level(verdict, files, tmp_path, ldpopt, monkeypatch):
    """The checker verifies e^4; "e^ε ≤ 2.72", from a rate of 1 per unit of distance, would be false."""
    monkeypatch.setattr(PROBLEMS, "_given", PROBLEMS._given.copy())
    cls = plugins.problem_class(f"{files / 'metric.py'}:Metric")
    question = cls([0.4, 0.3, 0.2, 0.1], 1.0)
    assert question.level == 4.0
    assert not question.has_free_level
    result = solve(question)
    assert question.subject(result.mechanism).promises == {"ldp": 4.0}
    result.save(tmp_path / "metric.json")
    loaded = report.read(tmp_path / "metric.json")
    text = " ".join(Blocks(report.page(report.parts([loaded], 60))).pieces)
    mark = {True: "", None: " [UNDECIDED]", False: " [REFUTED]"}[verdict]
    assert f"metric, ε = 4{mark}" in " ".join(text.split())
    assert f"differ by at most a factor e^4.0 ≤ 54.6{mark}." in " ".join(text.split())
    assert "2.72" not in text
    assert "ε = 1" not in text
    if verdict is True:
        assert "Verified: every claim of this result holds; none is about the utility" in text
    assert list(unfounded([text], loaded.verification)) == []  # its author's words carry a mark
    for command in ("verify", "audit"):
        extra = ("--samples", "1000", *SURE) if command == "audit" else ()
        found = ldpopt(command, "metric.json", *extra, cwd=tmp_path)
        assert found.code == {True: 0, None: 3, False: 1}[verdict]
        assert list(unfounded(said_by(found), loaded.verification)) == []


GROUPS = [["a", 0], ["a", 0], "b", "b"]


@pytest.mark.parametrize(
    ("stated", "level", "promises"),
    [
        (None, None, {}),
        ({"form": "private-mechanism", "secrets": [0, 1, 2, 3], "epsilon": 2.0}, 2.0, {"ldp": 2.0}),
        (
            {"form": "private-mechanism", "secrets": GROUPS, "epsilon": 2.0},
            2.0,
            {"indistinguishability": 2.0},
        ),
        ({"form": "robust-optimum", "p_hat": [[0.5], [0.5]], "epsilon": 2.0}, 2.0, {}),
    ],
)
def test_a_question_promises_what_it_states(stated, level, promises, files, monkeypatch):
    cls = plugins.load_object(f"{files / 'metric.py'}:Metric")
    monkeypatch.setattr(cls, "statement", lambda self: stated)
    question = cls([0.4, 0.3, 0.2, 0.1], 1.0)
    assert question.level == level
    found = Problem.subject(question, solve(Staircase(1, prior=[0.4, 0.3, 0.2, 0.1])).mechanism)
    assert found.promises == promises
    assert len(found.secret_names) == (2 if "indistinguishability" in promises else 4)


# ---------------------------------------------------------------- names in a file decide nothing


def test_the_name_of_a_method_does_not_decide_what_is_hidden(tmp_path):
    """No claim decides the name: a mechanism for one secret does not hide both by calling itself grr."""
    made = design("adult:sex-race", "sex", "race", epsilon=1.25, method="srr", robust="all")
    made.public.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    document["public"]["method"] = "grr"
    document["public"]["digest"] = public_digest(document)
    (tmp_path / "m.json").write_text(json.dumps(document))
    loaded = report.read_public(tmp_path / "m.json")
    assert loaded.verification
    text = report.page(report.parts([loaded], 0))
    assert "that hide sex, ε = 1.25" in text
    assert "hide both" not in text


def test_a_high_level_gets_no_tick(tmp_path):
    made = design("adult:sex-race", "sex", "race", epsilon=14.5, method="srr", robust="all")
    made.save(tmp_path / "m.json")
    made.public.save(tmp_path / "m.public.json")
    for name, read in (("m.json", report.read), ("m.public.json", report.read_public)):
        text = report.page(report.parts([read(tmp_path / name)], 0))
        guards = re.findall(r'<span class="guard.*?</li>', text, re.DOTALL)
        assert any("odds × 1.99e+06 at most" in guard for guard in guards)
        assert not any("✓" in guard for guard in guards)


# ---------------------------------------------------------------- where it may be said


TEMPLATES = [
    path
    for path in sorted(ROOT.rglob("templates/*"))
    if path.suffix in (".html", ".js", ".sql", ".txt", ".md")
]
SAYS = {
    "audit/measures.py": "what a measure means; its value is marked where it is shown",
    "cli/demo.py": "what the mechanisms are for",
    "cli/demonstration.py": "what the mechanisms are for",
    "cli/design.py": "the meaning of an option",
    "cli/options.py": "the meaning of an option",
    "cli/privatize.py": "the meaning of an option",
    "cli/report.py": "the meaning of an option",
    "experiments/average_privacy.py": "what a paper says",
    "experiments/optimal_squares.py": "a condition on ε",
    "models/block_cone.py": "why a solver refuses a cone",
    "models/cones.py": "why a solver refuses a cone",
    "models/privacy.py": "what is measured of a mechanism",
    "protocol/run.py": "how many users there must be",
    "protocol/session.py": "how many users there must be",
    "release/method_summaries.py": "what a method seeks",
    "release/methods.py": "why a method refuses",
    "release/levels_of_secrecy.py": "why a file of levels is refused",
    "release/promises.py": "what was promised; callers mark it",
    "release/question.py": "why a question is refused",
    "release/safe_columns.py": "what stands out in a table; what is verified is marked",
    "report/answer.py": "a ceiling that a claim states",
    "report/curve.py": "the name of the axis",
    "report/page_figures.py": "the name of the axis",
    "report/subject.py": "what was promised, with its mark",
    "report/signing.py": "of verified designs alone",
    "tables/survey.py": "why a table is refused",
}
"""The modules with words about privacy, and why these are no promise without a claim."""


def test_templates_say_nothing_about_privacy_by_themselves():
    assert {path.suffix for path in TEMPLATES} >= {".html", ".js", ".sql", ".txt"}
    for path in TEMPLATES:
        text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", path.read_text(encoding="utf-8"))
        pieces = Blocks(text).pieces if path.suffix == ".html" else text.split("\n")
        for sentence in sentences(pieces):
            said = WORDS.search(sentence) and not any(words in sentence for words in HARMLESS)
            assert not said or MARK.search(sentence), f"{path.name}: {sentence}"


HARMLESS = (
    "are still not protected",  # a warning
    "fixed costs hide the growth",
    '"hidden"',  # parts of a page that are not shown
    "box.hidden",
)


def test_words_about_privacy_have_their_place():
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.split("/")[0] in BELOW:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        texts = (
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone
        )
        docs = (ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.FunctionDef))
        options = (text.partition("Options:")[2] for text in docs)  # printed as help
        if any(WORDS.search(text) and " " in text.strip() for text in (*texts, *options)):
            found.add(name)
    assert found == SAYS.keys()
    assert all((ROOT / name).exists() for name in BELOW)


BELOW = ("checker", "core", "mechanisms", "problems", "solvers", "testing.py")
"""The floors that print nothing: what they say is quoted by those above, or is the checker's word."""
