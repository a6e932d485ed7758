"""What commands do with public files: a false promise is refused, one that is not decided is marked."""

import html
import json
import re

import pytest
from public_files import NEAR, OPEN_FILES, PROVEN, REFUTED, identity, public_file

from ldpopt.engine.verifying import NOT_DECIDED, verify

MARK = f"[{NOT_DECIDED}]"


def written(directory, document):
    """Write the file, and a table with every combination of its values."""
    (directory / "m.public.json").write_text(json.dumps(document))
    domain = document["public"]["domain"]
    s = domain["secret"]["columns"][0]["values"]
    u = [] if domain["public"] is None else domain["public"]["columns"][0]["values"]
    rows = [f"{a},{b}" for a in s for b in u] if u else s
    (directory / "t.csv").write_text("\n".join(["s,u" if u else "s", *rows * 50]) + "\n")


@pytest.fixture
def run(tmp_path, ldpopt):
    return lambda *words: ldpopt(*words, cwd=tmp_path)


COMMANDS = {
    "verify": ("verify", "m.public.json"),
    "privatize": ("privatize", "t.csv", "-m", "m.public.json", "-o", "r.csv"),
    "js": ("export", "m.public.json", "--target", "js", "-o", "s.js"),
    "python": ("export", "m.public.json", "--target", "python", "-o", "s.py"),
    "audit": ("audit", "m.public.json", "--samples", "1000", "--confidence", "0.999999"),
    "report": ("report", "m.public.json", "-o", "page.html"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_a_false_promise_is_refused_by_every_command(name, tmp_path, run):
    written(tmp_path, REFUTED[name])
    for words in COMMANDS.values():
        assert run(*words).code == 1, words
    assert not {"r.csv", "s.js", "s.py"} & {path.name for path in tmp_path.iterdir()}
    page = (tmp_path / "page.html").read_text()
    assert "REFUTED" in page
    assert "✓</span> protected" not in page


@pytest.mark.parametrize("name", OPEN_FILES)
def test_an_open_promise_is_marked_by_every_command(name, tmp_path, run):
    written(tmp_path, OPEN_FILES[name])
    said = {key: run(*words) for key, words in COMMANDS.items()}
    assert {key: answer.code for key, answer in said.items()} == dict.fromkeys(COMMANDS, 4)
    assert run("estimate", "r.csv", "-m", "m.public.json").code == 4
    assert said["verify"].out.splitlines()[-1] == "holds, but the promise is not decided"
    for key in ("privatize", "python", "js"):
        assert "verify the file that has them, or design with --robust all" in said[key].err
    assert "PASSED" not in said["audit"].out
    assert "NOT DECIDED: the promise" in said["audit"].out
    for target in ("s.js", "s.py"):
        program = (tmp_path / target).read_text()
        [promise] = [line for line in program.splitlines() if line.startswith('"promise": ')]
        assert MARK in promise
    page = (tmp_path / "page.html").read_text()
    assert "Verified" not in page
    assert "The promise is not decided" in page
    assert page.count("Promised is") == page.count(f"{MARK}.")


@pytest.mark.parametrize("name", PROVEN)
def test_a_proven_promise_has_no_mark(name, tmp_path, run):
    written(tmp_path, PROVEN[name])
    said = {key: run(*words) for key, words in COMMANDS.items()}
    assert {key: answer.code for key, answer in said.items()} == dict.fromkeys(COMMANDS, 0)
    assert run("estimate", "r.csv", "-m", "m.public.json").code == 0
    for target in ("s.js", "s.py", "page.html"):
        assert NOT_DECIDED not in (tmp_path / target).read_text()


@pytest.mark.parametrize("method", ["x", "", "<b>", "srr: proven optimal among all"])
def test_a_method_may_have_any_name(method, tmp_path, run):
    """No claim decides it: every command takes it, and a page shows it with its mark."""
    written(tmp_path, public_file(NEAR, (2, 2), epsilon=0.52, method=method))
    for words in COMMANDS.values():
        assert run(*words).code == 0, words
    assert run("estimate", "r.csv", "-m", "m.public.json").code == 0
    assert f"{html.escape(method)} [not checked]" in (tmp_path / "page.html").read_text()


def test_a_page_says_what_the_level_of_a_file_is_or_that_it_states_none(tmp_path, run):
    """That a file states no level does not mean that none holds."""
    known = [[0.75, 0.25], [0.25, 0.75]]
    files = {
        "proven": public_file(known, (2, 0), epsilon=1.2, robust="all"),
        "too large": public_file(known, (2, 0), epsilon=1.2, robust="all", level=30.0),
        "open": OPEN_FILES["no-level"],
        "none holds": OPEN_FILES["a-public-value-that-says-nothing"],
    }
    said = {}
    for name, document in files.items():
        written(tmp_path, document)
        assert run(*COMMANDS["report"], "--force").code in (0, 4)
        page = re.sub("<[^>]*>", " ", (tmp_path / "page.html").read_text())
        said[name] = " ".join(html.unescape(page).split())
        assert "no level up to" not in said[name]
    for name in ("proven", "too large"):
        assert "Level 1.2 in nats, whatever the distribution of the data" in said[name]
        assert "factor of 3.33 at most, whatever the distribution of the data" in said[name]
    for name in ("open", "none holds"):
        assert "Level none the file states no level that holds whatever" in said[name]
    known = "somebody who also knows the u of the person: "
    assert (
        f"{known}the odds between two values of s shift by a factor of 1.67 at most [not" in said["open"]
    )
    assert f"{known}some reports exclude values of s" in said["none holds"]


def test_json_says_which(tmp_path, run):
    words = {
        "no-level": (OPEN_FILES, False, "holds, but the promise is not decided"),
        "identity-on-secrets-alone": (REFUTED, False, "refuted"),
        "one-row": (PROVEN, True, "verified"),
    }
    for name, (files, verified, verdict) in words.items():
        written(tmp_path, files[name])
        found = json.loads(run("verify", "m.public.json", "--json").out)
        assert (found["verified"], found["verdict"]) == (verified, verdict)
        assert any(claim["open"] for claim in found["claims"]) == (files is OPEN_FILES)
        assert bool(verify(tmp_path / "m.public.json")) is verified
        found = json.loads(run(*COMMANDS["audit"], "--json").out)
        assert found["passed"] is {"refuted": False, "verified": True}.get(verdict)
        assert found["promise_decided"] is (files is not OPEN_FILES)


def test_an_attack_on_a_released_table_is_held_against_the_promise(tmp_path, run):
    """The table has the first public value alone, where the reports tell the secrets apart."""
    rows = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]
    written(tmp_path, public_file(rows, (2, 2), epsilon=0.5))
    (tmp_path / "t.csv").write_text("s,u\n" + "s0,u0\ns1,u0\n" * 2000)
    assert run(*COMMANDS["privatize"]).code == 4
    answer = run("audit", "m.public.json", "--data", "t.csv", "--released", "r.csv", "--samples", "1000")
    assert answer.code == 1
    assert "FAILED: the released table gives away at least ε" in answer.out


def test_a_file_that_was_changed_is_refused_with_1(tmp_path, run):
    """Its digest tells, before anything else is looked at."""
    document = public_file(NEAR, (2, 2), epsilon=0.52)
    document["mechanism"]["matrix"] = identity(4)
    written(tmp_path, document)
    for words in COMMANDS.values():
        assert run(*words).code == 1, words
