"""The pages about the papers: complete, and naming only what exists."""

import re
from dataclasses import fields
from pathlib import Path
from pkgutil import resolve_name

import pytest

from ldpopt.experiments import EXPERIMENTS
from ldpopt.problems import PROBLEMS
from ldpopt.solvers import SOLVERS

ROOT = Path(__file__).resolve().parents[2]
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "papers").glob("*.md")}
SECTIONS = ["What is where", "Figures and tables", "Beyond the paper", "Not implemented"]
STATES = {"proven", "exact", "bracket", "estimate", "tested", "refuted"}
"""How a row is held up: by certificates, by exact values, by two ends, by a value with its error, by a
property on instances, by a counterexample. What is only stated is listed last, with the reason."""
OPTIONS = {field.name for kind in PROBLEMS for field in fields(PROBLEMS[kind])}

# Every numbered item of each paper, by a search through its text.
ITEMS = {
    "000-metrics": {
        "Definition": "3.1 3.3 4.1 4.3 4.6 5.1 6.1 6.3 6.4 6.5 6.10 7.1 7.2 7.5 7.7",
        "Theorem": "5.3 6.7 8.1 C.1",
        "Proposition": "6.2 6.11 7.3 7.6 7.8 9.1 10.1 10.2 10.3 D.10 D.13",
        "Lemma": (
            "4.2 4.7 5.2 6.6 B.1 B.2 C.2 C.3 C.4 C.5 C.6 C.7 C.8 C.9 C.10 D.1 D.2 D.3 D.4 D.5 D.8"
        ),
        "Corollary": "6.8 B.3 D.7 D.9 D.11 D.12 D.14",
        "Remark": "4.4 4.5 5.4 5.5 6.9 7.9 D.6",
        "Example": "3.2 7.4",
        "Figure": "1 2 3",
        "Table": "4.1 10.1 10.2",
    },
    "001-robust-ldp": {
        "Definition": "1 2 5",
        "Theorem": "7 11 12 15 16 17 18 19 20",
        "Proposition": "4 10",
        "Lemma": "3 6 8 9 13 21",
        "Remark": "14",
        "Protocol": "1 2 3",
        "Figure": "1 2 3 4 5 6 7 8 9 10 11",
    },
    "002-distribution-learning": {
        "Theorem": "2 3 4 5 7 9",
        "Lemma": "1 8 10 11 12 13",
        "Corollary": "6",
        "Remark": "1 2 3 4",
        "Figure": "1 2 3 4 5 6 7 8 9",
        "Table": "1",
    },
    "003-statistic-leakage": {
        "Definition": "1",
        "Theorem": "1 2 3 4",
        "Proposition": "1 2 3 4 5 6 7 8",
        "Lemma": "1 2",
        "Property": "1",
        "Algorithm": "1",
        "Figure": "1 2 3 4 5 6 7 8 9",
    },
    "004-anonymity": {
        "Definition": "1 7",
        "Theorem": "2 3 4 5 6 8 12",
        "Proposition": "9 13",
        "Lemma": "10 11",
        "Figure": "1 2 3",
    },
}
NUMBERED = ("Definition", "Theorem", "Proposition", "Lemma", "Corollary", "Remark", "Example")
"""What one counter numbers in the papers, where it is one."""
ONE_COUNTER = {"000-metrics": NUMBERED, "001-robust-ldp": NUMBERED, "004-anonymity": NUMBERED}
ONE_COUNTER["002-distribution-learning"] = tuple(kind for kind in NUMBERED if kind != "Remark")
EQUATIONS = {
    "000-metrics": {
        **dict(zip(range(1, 11), (1, 4, 2, 5, 1, 5, 13, 2, 5, 10), strict=True)),
        **dict(zip("ABCD", (17, 17, 31, 33), strict=True)),
    },
    "001-robust-ldp": {"": 167},
    "002-distribution-learning": {"": 102},
    "003-statistic-leakage": {"": 13},
    "004-anonymity": {"": 9},
}
"""The last number of an equation in every section, or in the whole paper."""
KINDS = "|".join({kind for items in ITEMS.values() for kind in items})
NUMBER = r"(?:[A-D]\.)?\d+(?:\.\d+)?"
ITEM = re.compile(rf"\b({KINDS}|Corollarie|Propertie)s? ({NUMBER}(?:(?:, | and ){NUMBER})*)")


def spans(text: str) -> set[str]:
    """Everything in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, headings left out."""
    lines = [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| paper")
    ]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


def listed(text: str) -> dict[str, list[str]]:
    """The numbers in the first column of the tables, and before the colon of what is not implemented."""
    heads = [cells[0] for cells in rows(text)]
    heads += re.findall(r"^\* (.*?):", section(text, "Not implemented"), flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for kind, numbers in (match for head in heads for match in ITEM.findall(head)):
        found.setdefault(kind.replace("ie", "y"), []).extend(re.findall(NUMBER, numbers))
    return found


def test_every_paper_has_a_page():
    assert PAGES.keys() == ITEMS.keys()


@pytest.mark.parametrize("page", ITEMS)
def test_sections_and_columns(page):
    assert re.findall(r"^## (.*)", PAGES[page], flags=re.MULTILINE) == SECTIONS
    first = rows(section(PAGES[page], "What is where"))
    assert [cells[0] for cells in first if len(cells) != 6 or not all(c.strip() for c in cells)] == []
    figures = rows(section(PAGES[page], "Figures and tables"))
    assert all(len(cells) == 3 and "ldpopt experiment " in cells[1] for cells in figures)


@pytest.mark.parametrize("page", ITEMS)
def test_every_numbered_item_is_accounted_for(page):
    found = {kind: set(numbers) for kind, numbers in listed(PAGES[page]).items()}
    assert found == {kind: set(numbers.split()) for kind, numbers in ITEMS[page].items()}


@pytest.mark.parametrize("page", ONE_COUNTER)
def test_the_numbers_have_no_holes(page):
    """So that no item of the paper is missing from the list here, too."""
    numbers = [n for kind in ONE_COUNTER[page] for n in ITEMS[page].get(kind, "").split()]
    sections = {}
    for number in numbers:
        section, _, last = number.rpartition(".")
        sections.setdefault(section, []).append(int(last))
    for section, found in sections.items():
        assert sorted(found) == list(range(1, len(found) + 1)), section


@pytest.mark.parametrize("page", ITEMS)
def test_each_kind_of_its_own_counter_has_no_holes(page):
    for kind, numbers in ITEMS[page].items():
        if kind not in ONE_COUNTER.get(page, ()) and "." not in numbers:
            assert numbers.split() == [str(i + 1) for i in range(len(numbers.split()))], kind


def equations(text: str) -> set[str]:
    """The numbers of equations in a page, (2)–(5) being four of them and (5a) being (5)."""
    number = r"\(((?:[A-D]|\d+)\.)?(\d+)[a-d]?\)"
    found = set()
    for section, first, _, last in re.findall(f"{number}(?:–{number})?", text):
        found |= {f"{section}{i}" for i in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.parametrize("page", ITEMS)
def test_every_equation_is_accounted_for(page):
    found = equations(PAGES[page])
    for section, last in EQUATIONS[page].items():
        prefix = f"{section}." if section else ""
        assert [i for i in range(1, last + 1) if f"{prefix}{i}" not in found] == [], section


def test_the_parser_reads_ranges_of_equations():
    assert equations("(2)–(4), (5a) and (D.9)–(D.10)") == {"2", "3", "4", "5", "D.9", "D.10"}


@pytest.mark.parametrize("page", ITEMS)
def test_every_row_has_a_state_and_a_test(page):
    for head, _, _, state, held, _ in rows(section(PAGES[page], "What is where")):
        assert set(re.split(" or | and ", state.strip())) <= STATES, head
        names = [name.strip() for name in held.split(",")]
        assert all(re.fullmatch(r"`tests/[\w/]+\.py::test_\w+`", name) for name in names), head


@pytest.mark.parametrize("page", ITEMS)
def test_what_is_not_implemented_has_a_reason(page):
    """Of every numbered item that is only stated, the words after the colon say why."""
    for line in re.findall(r"^\* (.*)", section(PAGES[page], "Not implemented"), flags=re.MULTILINE):
        if ITEM.match(line):
            assert len(line.partition(": ")[2]) >= 15, line


def exists(name: str) -> bool:
    """Whether a command, dotted name, test file, option, problem or solver is what it says."""
    if command := re.fullmatch(r"ldpopt experiment ([a-z0-9-]+)( --full)?", name):
        return command[1] in EXPERIMENTS
    if name.startswith("ldpopt."):
        try:
            return resolve_name(name) is not None
        except (ImportError, AttributeError):
            return False
    if name.startswith("tests/"):
        path, _, function = name.partition("::")
        file = ROOT / path
        return file.is_file() and (not function or f"\ndef {function}(" in file.read_text("utf-8"))
    if option := re.fullmatch(r"(\w+)=.+", name):
        return option[1] in OPTIONS
    return name in PROBLEMS or name in SOLVERS or name == "--full"


@pytest.mark.parametrize("page", ITEMS)
def test_whatever_is_named_exists(page):
    assert [name for name in sorted(spans(PAGES[page])) if not exists(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "ldpopt.measures.information_metrics.no_such",
        "ldpopt.nowhere",
        "ldpopt experiment no-such",
        "tests/none.py",
        "tests/docs/test_papers.py::test_none",
        "no=1",
    ],
)
def test_what_does_not_exist_is_noticed(name):
    assert not exists(name)


def test_whatever_is_registered_is_named():
    named = set().union(*map(spans, PAGES.values()))
    assert {*PROBLEMS, *SOLVERS} <= named
    assert {f"ldpopt experiment {name}" for name in EXPERIMENTS} <= named


def test_the_parser_reads_lists_of_items():
    text = "| Lemmas 1, C.2 and D.10, Corollary 3 | |\n\n## Not implemented\n\n* Theorems 4 and 5: no.\n"
    assert listed(text) == {"Lemma": ["1", "C.2", "D.10"], "Corollary": ["3"], "Theorem": ["4", "5"]}
    assert listed("| Corollaries 1 and 2 | |\n\n## Not implemented\n") == {"Corollary": ["1", "2"]}
