"""The documentation: it builds, needs no network, and every block of its pages runs.

How a page's fenced blocks are executed, in order, in one directory that is empty at first:

* ``python`` runs; the blocks of a page share their names. A decimal number in the comment beside a
  statement is its value, what it prints, or the value of the result that it assigns.
* any language with ``title="NAME"`` is the content of a file NAME; a Python file is imported at once,
  and the entry points of a ``pyproject.toml`` are registered, as ``pip install -e .`` would do.
* ``text title="Output"`` is what the block before it prints, to the letter.
* ``sh`` runs if the page says so in a comment: ``<!-- the tests run the sh blocks of this page -->``.
* ``text`` after such a block is what it prints: every fact of it (see :data:`FACTS`) to the letter;
  seconds and what a time limit may cut short are examples.
"""

import ast
import contextlib
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ldpopt import solve, testing, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel import arithmetic, reading, schema
from ldpopt.checker.kernel.proofs import corners
from ldpopt.problems import PROBLEMS, Staircase
from ldpopt.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUN_SH = "<!-- the tests run the sh blocks of this page -->"
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def name(page):
    return page.relative_to(DOCS).as_posix()


# ---------------------------------------------------------------- the site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy: the builder writes beside what it reads."""
    directory = tmp_path_factory.mktemp("project")
    for source in ("docs", "ldpopt", "tools"):
        shutil.copytree(ROOT / source, directory / source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", directory)
    done = build(directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "site"


ZENSICAL = "import sys; sys.modules['ruff'] = None; from zensical.main import cli; cli()"
"""The builder, without a process for each signature that formats it: no page and no link needs it."""


def build(project):
    """Build the site of a project, warnings being errors."""
    command = [sys.executable, "-c", ZENSICAL, "build", "--strict"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=900)


def small_project(directory, text):
    config = 'site_name: small\nplugins: [{mkdocstrings: {handlers: {python: {paths: ["."]}}}}]\n'
    (directory / "mkdocs.yml").write_text(config)
    (directory / "docs").mkdir()
    (directory / "docs" / "index.md").write_text(f"# Home\n\n{text}\n")
    return directory


def test_a_link_that_leads_somewhere_is_built(tmp_path):
    assert build(small_project(tmp_path, "[the top](index.md#home)")).returncode == 0


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("[a page](nowhere.md)", "page does not exist"),
        ("[a place](index.md#nothing)", "anchor does not exist"),
        ("[a name][ldpopt.nothing]", "unresolved autoref"),
    ],
)
def test_a_broken_link_fails_the_build(text, warning, tmp_path):
    done = build(small_project(tmp_path, text))
    assert done.returncode != 0
    assert warning in done.stdout + done.stderr


class Assets(HTMLParser):
    """What a browser fetches to show a page, and where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.fetched, self.links = [], []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag not in ("a", "base"):
            canonical = given.get("rel") in ("canonical", "next", "prev")
            names = ("src", "srcset", "data", "poster") + (() if canonical else ("href",))
            self.fetched += [given[attribute] for attribute in names if given.get(attribute)]


def outside(address):
    return re.match(r"(\w+:)?//", address) is not None


def test_nothing_is_fetched_from_the_network(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        fetched = Assets(page).fetched
        assert any(address.endswith(".css") for address in fetched), page
        assert not [address for address in fetched if outside(address)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet


def test_every_page_is_in_the_navigation(site):
    links = {link.partition("#")[0].removeprefix("./") for link in Assets(site / "index.html").links}
    for page in PAGES:
        address = name(page).removesuffix(".md") + ".html"
        assert address in links or (address == "index.html" and links & {"", ".", "index.html"}), address


# ---------------------------------------------------------------- the blocks


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A directory of the page's own, from which Python imports; its traces vanish afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]
    _forget_entry_points()


def _forget_entry_points():
    importlib.invalidate_caches()
    for registry in (PROBLEMS, SOLVERS):
        vars(registry).pop("_sources", None)


def _install(directory, pyproject):
    """Register the entry points of a pyproject.toml, as ``pip install -e .`` would."""
    project = tomllib.loads(pyproject)["project"]
    installed = directory / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    installed.mkdir(exist_ok=True)
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    groups = project.get("entry-points", {}).items()
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in table.items()) for group, table in groups
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    _forget_entry_points()


def _write(directory, title, code):
    path = directory / title
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    importlib.invalidate_caches()
    if path.suffix == ".py":
        importlib.import_module(".".join(Path(title).with_suffix("").parts))
    if path.name == "pyproject.toml":
        _install(directory, code)


STATED, NUMBER = r"(?<![\w.=])\d+\.\d\d+", r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def _run_python(code, page, names):
    """Run a block, statement by statement; numbers in the comment beside one are what it gives."""
    lines = code.splitlines()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for statement in ast.parse(code).body:
            before = len(printed.getvalue())
            value = _value_of(statement, page, names)
            found = [*map(float, re.findall(NUMBER, printed.getvalue()[before:] + f" {value}"))]
            for number in re.findall(STATED, lines[statement.end_lineno - 1].partition("  # ")[2]):
                digit = 10.0 ** -len(number.partition(".")[2])
                near = not found or min(abs(x - float(number)) for x in found) <= 0.51 * digit
                assert near, f"{name(page)}: {number} is stated where {found} is found"
    return printed.getvalue()


def _value_of(statement, page, names):
    """Run a statement and return its value; of a result that is assigned, its value."""
    if isinstance(statement, ast.Expr):
        value = eval(compile(ast.Expression(statement.value), name(page), "eval"), names)
        return float(value) if isinstance(value, float) else value
    exec(compile(ast.Module([statement], []), name(page), "exec"), names)
    named = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    value = getattr(names[statement.targets[0].id], "value", None) if named else None
    return value if isinstance(value, float) else None


FACTS = (
    *("outcome", "table", "secret", "public", "merged", "promise", "it holds", "method", "utility"),
    *("proven", "certificate", "share", "audit", "estimates", "holds"),
)
"""The first words of lines that a command prints on every machine, up to the last digits."""


def six_digits(found):
    """Round a number; a gap below 1e-6 is a difference of numbers whose last digits vary."""
    number = float(found[0])
    return f"{number:.6g}" if number == 0 or number >= 1e-6 else "below 1e-6"


def facts(text):
    """List the lines of an output that are the same on every machine, numbers to six digits.

    Which of several reports with the same level is named depends on the last digits, too.
    """
    lines = (re.sub(r"at report \d+", "at report", " ".join(s.split())) for s in text.splitlines())
    told = (line for line in lines if line.startswith(tuple(f"{name} " for name in FACTS)))
    return [re.sub(r"\d+\.\d{6,}(e-?\d+)?", six_digits, line) for line in told]


def run_page(page, directory, follow):
    """Run the blocks of a page; the names that its Python blocks leave behind."""
    text = page.read_text(encoding="utf-8")
    names, printed = {"__name__": "page"}, None
    for language, title, code in BLOCK.findall(text):
        if (language, title) == ("text", "Output"):
            assert printed == code, f"{name(page)}: a block prints\n{printed}"
        elif language == "text" and not title and printed is not None and RUN_SH in text:
            missing = [line for line in facts(code) if line not in facts(printed)]
            assert not missing, f"{name(page)}: {missing} are not what is printed:\n{printed}"
        elif title:
            _write(directory, title, code)
        elif language == "python":
            printed = _run_python(code, page, names)
        elif language == "sh" and RUN_SH in text:
            printed = follow(code, directory)
    return names


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_blocks_of_a_page(page, workshop, follow):
    run_page(page, workshop, follow)


def test_every_block_is_seen():
    """A fence that the pattern above does not match would never run."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^\s*```\w", text, flags=re.MULTILINE)) == len(BLOCK.findall(text)), page


def test_a_wrong_page_is_noticed(workshop, follow, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "DOCS", workshop)
    page = workshop / "page.md"
    for wrong in (
        "```python\nassert 1 == 2\n```\n",
        "```python\nprint(\n    0.123\n)  # 0.124\n```\n",
        "```python\n1 / 3  # 0.334, a third\n```\n",
        '```python\nprint(1)\n```\n\n```text title="Output"\n2\n```\n',
        f"{RUN_SH}\n```sh\nfalse\ntrue\n```\n",
        f"{RUN_SH}\n```sh\nldpopt verify absent.json\ntrue\n```\n",
        f"{RUN_SH}\n```sh\necho 'utility  0.5 nats'\n```\n\n```text\nutility  0.6 nats\n```\n",
        '```python title="broken.py"\n1 +\n```\n',
    ):
        page.write_text(wrong)
        with pytest.raises((AssertionError, SyntaxError)):
            run_page(page, workshop, follow)
    told = "```sh\necho 'utility 0.6543214 nats'\n```\n\n```text\nutility  0.6543213 nats\n```\n"
    for right in ("```sh\nfalse\n```\n", f"{RUN_SH}\n{told}"):
        page.write_text(right)
        run_page(page, workshop, follow)


# ---------------------------------------------------------------- the format of certificates

FORMAT = (DOCS / "certificates.md").read_text(encoding="utf-8")


def test_every_kind_and_form_of_the_checker_is_described():
    headings = "\n".join(re.findall(r"^(?:#+ |Kinds? ).*$", FORMAT, flags=re.MULTILINE))
    for kind in frame.KINDS:
        assert f"`{kind}`" in headings, kind
    for form in frame.FORMS:
        assert f"orm `{form}`" in FORMAT, form


@pytest.mark.parametrize("kind", sorted(frame.KINDS))
def test_the_keys_of_every_statement_are_described(kind):
    params = next(iter(PROBLEMS[kind].examples())).problem.to_params()
    statement = frame.statement(kind, params)
    table = FORMAT[FORMAT.index("## Statements of other packages") :]
    row = re.search(rf"^\| `{statement.pop('form')}` \| (.*) \|$", table, flags=re.MULTILINE)[1]
    assert set(statement) <= set(re.findall(r"`([\w-]+)`", row))


def test_mathematics_is_not_taken_for_markup():
    """A "<" before a letter opens a tag, and a line that starts with "+" a list."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", FORMAT, flags=re.DOTALL)
    assert not re.search(r"<[A-Za-z/]|^\s*[+-] ", prose, flags=re.MULTILINE)


def test_the_limits_are_those_of_the_checker():
    assert f"after {corners.MOST_NODES:,} nodes" in FORMAT
    assert f"{arithmetic.DIGITS} decimal digits" in FORMAT
    assert f"ε ≤ {schema.MOST_EPSILON:g}" in FORMAT


def test_every_field_of_a_result_file_is_described():
    document = solve(Staircase(1, prior=[0.6, 0.4])).to_json()
    fields = [*document, *(f"certificate.{field}" for field in document["certificate"])]
    for field in set(fields) - {"certificate"}:
        assert f"`{field}`" in FORMAT, field


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The second checker, as the page prints it."""
    (code,) = [code for _, title, code in BLOCK.findall(FORMAT) if title == "tiny_checker.py"]
    assert "ldpopt" not in code
    path = tmp_path_factory.mktemp("tiny") / "tiny_checker.py"
    path.write_text(code, encoding="utf-8")
    return path


def verdict_of(command, document, path):
    path.write_text(json.dumps(document))
    return subprocess.run([*command, str(path)], capture_output=True, check=False).returncode


def forgeries(document):
    yield from (forged for _, forged in testing.tampered(document))
    certificate = document["certificate"]
    for factor in (1 - 1e-6, 1 - 1e-9, 0.5):
        dual = [b * factor for b in certificate["proof"]["dual"]]
        yield document | {"certificate": certificate | {"proof": {"dual": dual}}}
    yield document | {"certificate": certificate | {"gap": 1e-16}}
    yield document | {
        "params": document["params"] | {"epsilon": document["params"]["epsilon"] * (1 - 1e-9)}
    }
    yield document | {"params": document["params"] | {"prior": document["params"]["prior"][::-1]}}


def damages(document):
    yield document | {"params": {}}
    yield document | {"certificate": None}
    yield document | {"status": "limit"}
    yield document | {"value": None}
    yield document | {"mechanism": {"matrix": [[1.0]]}}
    yield {key: part for key, part in document.items() if key != "bound"}


def test_two_checkers_agree(tiny):
    """Ours and the page's, on true results, forged ones, and garbage."""
    source = importlib.util.spec_from_file_location("tiny_checker", tiny)
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    verdict = module.verdict

    def ours(document):
        try:
            return 0 if all(claim.holds for claim in frame.check(document)) else 1
        except reading.UnreadableError:
            return 2

    for prior, epsilon in (
        ([0.4, 0.3, 0.2, 0.1], 1.0),
        ([0.7, 0.3], 0.1),
        ([0.5, 0.2, 0.2, 0.1, 0.0], 3.0),
    ):
        for solver in ("enumerate", "column-generation"):
            result = solve(Staircase(epsilon, prior=prior), solver)
            assert verify(result)
            document = json.loads(json.dumps(result.to_json()))
            assert verdict(document) == ours(document) == 0
            assert verdict(document | {"status": "feasible", "certificate": None}) == 0
            for forged in forgeries(document):
                assert verdict(forged) == ours(forged) == 1
            for damaged in damages(document):
                assert verdict(damaged) == ours(damaged) == 2


def test_the_second_checker_on_the_command_line(tiny, tmp_path):
    document = solve(Staircase(1, prior=[0.6, 0.4])).to_json()
    command = [sys.executable, "-I", "-S", str(tiny)]
    assert verdict_of(command, document, tmp_path / "good.json") == 0
    assert verdict_of(command, document | {"value": 1.0}, tmp_path / "bad.json") == 1
    assert verdict_of(command, {"problem": "polyopt", "params": {}}, tmp_path / "other.json") == 2
