"""What another hostile reader broke: files used as they are not, and promises that are not kept."""

import json

import pyarrow as pa
import pytest
from forgeries.contradicting import judged
from programs import node, plain_python
from public_files import public_file, side
from second_checker import opinion

from ldpopt.audit.auditing import REPORTS
from ldpopt.checker.kernel.reading import UNSHOWN
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.checker.statements.table_design import digest as design_digest
from ldpopt.core.errors import LdpoptError
from ldpopt.core.exact import printable
from ldpopt.measures.rldp_level import level_given_public
from ldpopt.release.designing import design
from ldpopt.release.methods import METHODS
from ldpopt.report import audit_summary
from ldpopt.report.loading import read_public
from ldpopt.report.signing import signing
from ldpopt.tables.cells import trimmed

TABLE = {"s": ["a"] * 80 + ["b"] * 70, "u": ["x", "y"] * 75}
NAMES = [name for name in METHODS if not METHODS[name].of_numbers]
FAIR = [[0.5, 0.5], [0.5, 0.5]]


def note(document):
    document["public"]["note"] = "x"


def decimal(document):
    document["format"] = 1.0


def truth(document):
    document["format"] = True


def flag(document):
    document["public"]["domain"]["secret"]["columns"][0]["text"] = 1


def salt(document):
    document["public"]["salt"] = None


@pytest.mark.parametrize("change", [note, decimal, truth, flag, salt])
def test_a_file_that_is_unreadable_is_so_for_every_command(change, ldpopt, tmp_path):
    document = public_file(FAIR, (2, 0), epsilon=1.0, robust="all")
    change(document)
    document["public"]["digest"] = public_digest(document)
    (tmp_path / "m.json").write_text(json.dumps(document))
    (tmp_path / "t.csv").write_text("s\n" + "s0\n" * 9)
    for words in (
        ("verify", "m.json"),
        ("privatize", "t.csv", "-m", "m.json", "-o", "r.csv"),
        ("estimate", "t.csv", "-m", "m.json"),
        ("export", "m.json", "--target", "python", "-o", "s.py"),
        ("audit", "m.json"),
        ("report", "m.json", "-o", "page.html"),
    ):
        assert ldpopt(*words, cwd=tmp_path).code == 2, words
    assert {path.name for path in tmp_path.iterdir()} == {"m.json", "t.csv"}


def not_refuted(method, robust):
    """No claim of a design for two reports is false; the method may also refuse."""
    asked = {"epsilon": 1.0, "method": method, "robust": robust, "reports": 2, "time_limit": 4}
    try:
        made = design(TABLE, "s", "u", **asked)
    except LdpoptError:
        return
    claims = (*made.verification.claims, *made.public.verification.claims)
    assert not [claim.statement for claim in claims if claim.holds is False]


@pytest.mark.parametrize(
    ("method", "robust"), [*((name, "all") for name in NAMES), ("cr", "chi2"), ("ue", "known")]
)
def test_no_design_for_several_reports_is_refuted(method, robust):
    not_refuted(method, robust)


@pytest.mark.slow
@pytest.mark.parametrize("method", NAMES)
def test_no_design_for_several_reports_near_a_table_is_refuted(method):
    not_refuted(method, "chi2")
    not_refuted(method, "known")


def test_levels_add_up_where_the_promise_is_for_all_distributions():
    for method in ("queries", "split"):
        made = design(TABLE, "s", "u", epsilon=1.0, method=method, reports=2)
        assert (made.promise.epsilon, made.promise.together) == (0.5, 1.0)


def test_the_page_says_what_is_learnt_by_whoever_knows_the_public_value(tmp_path):
    told = [[0.7, 0, 0.3, 0], [0, 0.7, 0, 0.3], [0.3, 0, 0.7, 0], [0, 0.3, 0, 0.7]]
    rows = [[round(p * 2**52) / 2**52 for p in row] for row in told]
    document = public_file(rows, (2, 2), epsilon=0.9)
    (tmp_path / "m.json").write_text(json.dumps(document))
    assert level_given_public(read_public(tmp_path / "m.json").content.mechanism.matrix, (2, 2)) < 0.9
    found = signing(read_public(tmp_path / "m.json"))
    (knows,) = (guard for guard in found.guards if "also knows the u" in guard.observer)
    assert not knows.bad
    assert "the odds between two values of s shift by a factor of 2.3" in knows.words


def of_columns(*columns):
    """A public file whose secret are columns; those named x and z are of numbers."""
    document = public_file(FAIR, (2, 0), epsilon=1.0, robust="all", level=1.0)
    made = [side("s", 2)["columns"][0] if name == "s" else numbers(name) for name in columns]
    sizes = [len(column["values"]) for column in made]
    places = [[i, j] for i in range(sizes[0]) for j in range(sizes[-1])]
    members = places if len(columns) > 1 else [[i] for i in range(sizes[0])]
    document["public"]["domain"]["secret"] = {"columns": made, "members": members}
    document["mechanism"]["matrix"] = [[0.5, 0.25, 0.25]] * len(members)
    document["public"]["digest"] = public_digest(document)
    return document


def numbers(name):
    return {"name": name, "values": ["0", "0.5", "1"], "edges": [], "text": False, "range": [0, 1]}


@pytest.mark.parametrize("columns", [["x"], ["x", "s"], ["s", "x"], ["x", "z"]])
def test_a_program_rounds_numbers_beside_other_columns(columns, ldpopt, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(of_columns(*columns)))
    for target, run in (("python", plain_python), ("js", node)):
        assert (
            ldpopt("export", "m.json", "--target", target, "-o", f"s.{target}", cwd=tmp_path).code == 0
        )
        said = run(tmp_path / f"s.{target}")
        assert (said.returncode, "test vectors pass" in said.stdout) == (0, True), said.stderr


@pytest.mark.parametrize(("columns", "code"), [(["s", "x"], 2), (["x", "s"], 2), (["x", "z"], 0)])
def test_the_mean_of_a_number_beside_words_is_not_estimated(columns, code, ldpopt, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(of_columns(*columns)))
    (tmp_path / "t.csv").write_text("s,x,z\n" + "s0,0.3,0.2\ns1,0.7,0.9\n" * 9)
    assert ldpopt("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", cwd=tmp_path).code == 0
    said = ldpopt("estimate", "r.csv", "-m", "m.json", cwd=tmp_path)
    assert said.code == code
    assert ("not beside 's'" in said.err) == (code == 2)


def test_what_a_file_may_not_say_is_spelt_out():
    """So the name of a file or of people that is recorded in a ledger never makes it unreadable."""
    hidden = [chr(i) for i in range(0x110000) if UNSHOWN.match(chr(i))]
    assert all(printable(c) != c for c in hidden)


@pytest.mark.parametrize("name", ["a\u202eb", "a\nb", "a\U000e0101b"])
def test_a_population_that_does_not_show_what_it_is_is_refused(name, ldpopt, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(public_file(FAIR, (2, 0), epsilon=1.0, robust="all")))
    (tmp_path / "t.csv").write_text("s\n" + "s0\n" * 9)
    words = ("privatize", "t.csv", "-m", "m.json", "-o", "r.csv", "--force")
    assert ldpopt(*words, "--population", name, cwd=tmp_path).code == 2
    assert ldpopt(*words, cwd=tmp_path).code == 0


def changed(column, **fields):
    """A public file whose secret is a column with these fields."""
    document = public_file(FAIR, (2, 0), epsilon=1.0, robust="all")
    document["public"]["domain"]["secret"]["columns"][0] |= column | fields
    document["public"]["digest"] = public_digest(document)
    return document


def both(document):
    """What the two checkers say, which must be the same."""
    first, second = judged(document), opinion(json.dumps(document))
    assert first == second
    return first


UNARY = {"kind": "unary", "inputs": 2, "own": 0.5, "other": 0.25}
SUBSET = {"kind": "subset", "inputs": 2, "own": 0.75, "size": 1}
HASHING = {"kind": "hashing", "inputs": 2, "own": 0.75, "buckets": 2}
FINE = 2.0**-53


@pytest.mark.parametrize(
    "stated",
    [
        UNARY | {"other": 0.1},
        UNARY | {"own": 0.5 + FINE},
        SUBSET | {"own": 0.75 - FINE},
        HASHING | {"own": 1 - FINE},
        [[0.5, 0.5 - FINE, FINE], [0.5, 0.5, 0.0]],
    ],
)
def test_what_no_program_draws_exactly_is_unreadable_for_every_command(stated, ldpopt, tmp_path):
    document = public_file(stated, (2, 0), epsilon=30.0, robust="all")
    assert both(document) == "unreadable"
    (tmp_path / "m.json").write_text(json.dumps(document))
    for words in (
        ("verify",),
        ("audit",),
        ("report", "-o", "p"),
        ("export", "--target", "js", "-o", "s"),
    ):
        assert ldpopt(words[0], "m.json", *words[1:], cwd=tmp_path).code == 2, words


@pytest.mark.parametrize("stated", [UNARY, SUBSET, HASHING, [[0.5, 0.5 - 2 * FINE, 2 * FINE]] * 2])
def test_what_programs_draw_exactly_is_verified(stated):
    assert both(public_file(stated, (2, 0), epsilon=30.0, robust="all")) == "verified"


def test_a_design_that_no_program_draws_exactly_is_unreadable():
    document = design(TABLE, "s", "u", epsilon=1.0, method="srr", robust="all").to_json()
    row = document["mechanism"]["matrix"][0]
    x, z = sorted(range(len(row)), key=row.__getitem__)[:2]
    row[x], row[z] = row[x] - FINE, row[z] + FINE
    document["design"]["digest"] = design_digest(document)
    assert both(document) == "unreadable"


COMPOSED, APART = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(
    ("groups", "other"),
    [
        ([[COMPOSED, "A"], [APART, "B"]], False),
        ([["a", "A"], ["b", "B"], ["\u200d", "A"]], False),
        ([["a", "A"], ["b ", "B"]], False),
        ([["a", "A"], [APART, COMPOSED], ["c", APART]], True),
    ],
)
def test_words_that_look_the_same_are_of_one_group(groups, other):
    last = {"values": ["A", "(other)"], "other": True} if other else {"values": ["A", "B"]}
    assert both(changed(last, groups=groups)) == "refuted"


def test_words_that_look_the_same_may_be_of_one_group():
    assert both(changed({"values": ["A", "B"]}, groups=[[COMPOSED, "A"], [APART, "A"], ["b", "B"]])) == (
        "verified"
    )
    table = {"s": [COMPOSED, APART, "b", "b"] * 9}
    made = design(table, "s", epsilon=1.0, levels={"s": {COMPOSED: "A", f" {APART} ": "A", "b": "B"}})
    assert both(made.public.to_json()) == "verified"
    for groups in ({COMPOSED: "A", APART: "B", "b": "B"}, {COMPOSED: "A", APART: COMPOSED, "b": APART}):
        with pytest.raises(LdpoptError, match=r"one group|look the same"):
            design(table, "s", epsilon=1.0, levels={"s": groups})


@pytest.mark.parametrize(
    "column",
    [
        {"values": ["a", " b"]},
        {"values": ["a\u3000", "b"]},
        {"values": ["NA", "b"], "text": False},
        {"values": [" a", "b"], "prefix": 2},
        {"values": ["a ", "b"], "prefix": 3},
    ],
)
def test_a_value_that_no_trimmed_cell_can_say_is_refuted(column):
    assert both(changed(column)) == "refuted"


@pytest.mark.parametrize("column", [{"values": ["NA", "b"]}, {"values": ["a ", "NA"], "prefix": 2}])
def test_a_value_that_a_cell_can_say_is_not(column):
    assert both(changed(column, text="prefix" not in column)) == "verified"


def test_what_is_trimmed_of_cells_is_what_the_checker_trims():
    shown = [chr(i) for i in range(0x110000) if not UNSHOWN.match(chr(i))]
    assert trimmed("x", pa.array(shown)).to_pylist() == [c.strip() for c in shown]


def test_a_name_that_no_file_can_have_is_bad_input(ldpopt):
    assert ldpopt("verify", "x" * 300).code == 2


def test_a_page_on_many_secrets_attacks_few_reports(tmp_path, monkeypatch):
    document = public_file([[0.5, 0.5]] * 500, (500, 0), epsilon=1.0, robust="all", level=1.0)
    (tmp_path / "m.json").write_text(json.dumps(document))
    asked = []
    monkeypatch.setattr(audit_summary, "audit", lambda *_, samples, **__: asked.append(samples))
    audit_summary.audited(read_public(tmp_path / "m.json"))
    assert asked == [REPORTS // 500]
