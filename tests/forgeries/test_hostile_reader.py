"""What a hostile reader broke: each test states a promise of ldpopt, and fails where it is broken."""

import gzip
import html
import json
import os
import re
import runpy
import sqlite3
import subprocess
import sys
from itertools import product

import pytest

import ldpopt
from ldpopt.checker.kernel.proofs.labelled_inputs import bin_names
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.core.errors import LdpoptError
from ldpopt.release.exporting import export
from ldpopt.release.public_design import load_public

RR = [[0.75, 0.25], [0.25, 0.75]]
UNSEEN = ["F" + c for c in "\u034f\u17b4\u180b\u200d\u2800\ufe0f\ufff8\uffff\U0001bca0 "]
GIGABYTE = 1 << 20
"""In kilobytes, as the system counts the memory of a process."""


def column(name, values, **more):
    return {"name": name, "values": values, "edges": [], "text": True, **more}


def domain(secret, public=None):
    def side(columns):
        members = product(*(range(len(part["values"])) for part in columns))
        return {"columns": columns, "members": [list(member) for member in members]}

    return {"secret": side(secret), "public": None if public is None else side(public)}


def forge(path, mechanism, labels, **fields):
    """Write a public file with the digest of what it says."""
    section = {"method": "grr", "epsilon": 1.2, "robust": "all", "alpha": 0.05, "level": 1.2}
    document = {"format": 1, "public": section | {"domain": labels} | fields, "mechanism": mechanism}
    document["public"]["digest"] = public_digest(document)
    path.write_text(json.dumps(document))
    return document


def ran(folder, *words, environment=None):
    """Run the command in a folder; returns exit code, output, errors."""
    command = [sys.executable, "-P", "-m", "ldpopt", *map(str, words)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, env={**os.environ, **(environment or {})}, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def page(folder, file, *more):
    words = ("report", file, "-o", "page.html", "--force", "--curve-seconds", "0", *more)
    code, _, said = ran(folder, *words)
    assert code in (0, 4), said
    text = (folder / "page.html").read_text()
    text = re.sub(r"<style.*?</style>|<script.*?</script>|<svg.*?</svg>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def memory(folder, *words, seconds=120):
    """Return the most memory of a command in kB; it is given 6 GB of addresses at most."""
    program = (
        "import resource, subprocess, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        f"subprocess.run(sys.argv[1:], capture_output=True, timeout={seconds!r})\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-P", "-m", "ldpopt", *map(str, words)]
    done = subprocess.run(
        [sys.executable, "-c", program, *command], cwd=folder, capture_output=True, check=True
    )
    return int(done.stdout)


# ------------------------------------------------------------ pages and exports


BOAST = "0.1-LDP, so that nobody learns anything"
BOASTING = f'''
from dataclasses import dataclass
from typing import Any, ClassVar

from ldpopt import ComposedProblem, objective, privacy


@dataclass(frozen=True, eq=False)
class Boast(ComposedProblem):
    """Release data by {BOAST}

    It has been proven: {BOAST}

    Args:
        epsilon: the level of {BOAST}
    """

    kind: ClassVar[str] = "boast"
    epsilon: float
    prior: Any

    @property
    def privacy(self):
        return privacy.Cone([[1e9, -1, 0], [0, 1e9, -1]], words="{BOAST}")

    @property
    def objective(self):
        return objective.Guessing(self.prior)

    @classmethod
    def examples(cls):
        return []
'''
"""A kind whose words promise more than its rows: every input is told, up to a factor of a billion."""


def test_the_words_of_another_author_are_marked_wherever_they_stand(tmp_path):
    """Docstring, parameters and words of a cone stood below "✓ Verified" as facts."""
    (tmp_path / "boast.py").write_text(BOASTING)
    params = {"epsilon": 0.1, "prior": [0.5, 0.3, 0.2]}
    (tmp_path / "q.json").write_text(json.dumps({"problem": "boast", "params": params}))
    own = ("--problem", "boast.py:Boast")
    assert ran(tmp_path, "solve", "q.json", *own, "--out", "boast.json")[0] == 0
    said = [ran(tmp_path, "verify", "boast.json", *own)[1]]
    said.append(ran(tmp_path, "audit", "boast.json", "--explain", *own)[1])
    said.append(page(tmp_path, "boast.json", *own))
    for text in said:
        assert BOAST in text
        for found in re.finditer(re.escape(BOAST), text):
            before, after = text[: found.start()], text[found.end() :]
            quoted = "author's words [not checked]: “" in before[-80:]
            assert quoted or "[not checked]" in after[:20], after[:80]


LIE = (
    "sex as for another. Certified: ε = 0.01: no report is more than 1.02 times as likely for one value "
    "of sex"
)


def test_a_name_adds_no_promise(tmp_path):
    """The reports of this file differ by a factor of 3; no program may promise 1.02."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column(LIE, ["F", "M"])]))
    code, _, _ = ran(tmp_path, "export", "f.public.json", "--target", "python", "-o", "s.py")
    if code == 0:
        said = runpy.run_path(str(tmp_path / "s.py"))["PROMISE"]
        assert f'for one value of "{LIE}" as for another' in said  # in quotes: no sentence of its own


def test_a_name_adds_no_promise_to_a_page(tmp_path):
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column(LIE, ["F", "M"])]))
    assert "value of sex as for another. Certified: ε = 0.01" not in page(tmp_path, "f.public.json")


def test_a_name_carries_no_mark_of_its_own(tmp_path):
    """The reports are race as it is, nothing is decided (4), and the program says [verified]."""
    name = "sex as for another, whatever the distribution of the data [verified]. Also for one of hair"
    labels = domain([column(name, ["F", "M"])], [column("race", ["a", "b"])])
    rows = [[1.0, 0.0], [0.0, 1.0]] * 2
    fields = {"epsilon": 0.01, "robust": "chi2", "level": None, "method": "public"}
    forge(tmp_path / "f.public.json", {"matrix": rows}, labels, **fields)
    code, _, _ = ran(tmp_path, "export", "f.public.json", "--target", "python", "-o", "s.py")
    if code == 4:
        said = runpy.run_path(str(tmp_path / "s.py"))["PROMISE"]
        assert (
            "value of sex as for another, whatever the distribution of the data [verified]" not in said
        )


@pytest.mark.parametrize("robust", ["all", "chi2"])
def test_a_level_that_is_not_stated_may_still_hold(tmp_path, robust):
    """The entries differ by a factor of 3 at most: the level 1.1 holds whatever the distribution."""
    rows = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]
    labels = domain([column("sex", ["F", "M"])], [column("race", ["a", "b"])])
    epsilon = 1.2 if robust == "all" else 0.5
    forge(
        tmp_path / "f.public.json", {"matrix": rows}, labels, level=None, robust=robust, epsilon=epsilon
    )
    assert "no level up to 30 holds" not in page(tmp_path, "f.public.json")


def test_a_method_that_nobody_knows_breaks_no_page(tmp_path):
    forge(
        tmp_path / "f.public.json", {"matrix": RR}, domain([column("sex", ["F", "M"])]), method="other"
    )
    assert ran(tmp_path, "verify", "f.public.json")[0] == 0
    assert ran(tmp_path, "report", "f.public.json", "-o", "page.html")[0] != 70


def test_an_encoding_without_noise_is_named(tmp_path):
    """A genuine design: with ε = 17 a report is the own input in 0.9999996 of all cases."""
    words = "design adult:sex-race --secret sex --public race --epsilon 17 --method subset -o m.json"
    assert ran(tmp_path, *words.split())[0] == 0
    stated = json.loads((tmp_path / "m.public.json").read_text())["mechanism"]["encoding"]
    assert stated["size"] == 1
    assert stated["own"] >= 0.999999
    assert "No input gives the same report" not in page(tmp_path, "m.public.json")


def test_parameters_may_tell_a_count(tmp_path):
    """17 is a count of the table, and the file says that no count can be computed back."""
    own = {"kind": "subset", "inputs": 2, "own": 0.75 - 17 * 2.0**-30, "size": 1}
    forge(
        tmp_path / "f.public.json",
        {"encoding": own},
        domain([column("hiv", ["no", "yes"])]),
        method="subset",
        recoverable="not at all",
    )
    verified, _, _ = ran(tmp_path, "verify", "f.public.json")
    code, said, _ = ran(tmp_path, "export", "f.public.json", "--target", "js", "-o", "s.js")
    assert verified != 0 or code != 0 or "it is the same for every table" not in said


def test_the_page_to_hand_out_holds_the_public_file_alone(tmp_path):
    """The tutorial: "it holds nothing but what the public file holds"."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column("sex", ["F", "M"])]))
    (tmp_path / "people.csv").write_text("sex\n" + "F\nM\n" * 20)
    words = "privatize people.csv --mechanism f.public.json -o patients-of-dr-meier.csv --population"
    assert ran(tmp_path, *words.split(), "HIV clinic, 17 people")[0] == 0
    said = page(tmp_path, "f.public.json")
    assert "HIV clinic, 17 people" not in said
    assert "patients-of-dr-meier" not in said


def test_provenance_is_marked(tmp_path):
    words = "design adult:sex-race --secret sex --public race --epsilon 1 --method grr -o m.json"
    assert ran(tmp_path, *words.split())[0] == 0
    document = json.loads((tmp_path / "m.json").read_text())
    document |= {"solver": "NOBODY: proven optimal among all mechanisms", "seconds": 1e300}
    (tmp_path / "internal.json").write_text(json.dumps(document))
    said = page(tmp_path, "internal.json")
    place = said.find("NOBODY: proven optimal")
    assert place < 0 or "not checked" in said[place : place + 90]


def test_different_inputs_have_different_names(tmp_path):
    columns = [column("a", ["x, y", "x"]), column("b", ["z", "y, z"])]
    labels = {"secret": {"columns": columns, "members": [[0, 0], [1, 1]]}, "public": None}
    forge(tmp_path / "f.public.json", {"matrix": RR}, labels)
    _, said, _ = ran(tmp_path, "audit", "f.public.json", "--samples", "1000")
    assert not re.search(r"of those on x, y, z and [0-9.]+ on x, y, z", said)


@pytest.mark.parametrize("where", ["values", "names"])
@pytest.mark.parametrize("twin", [*UNSEEN, " F", "", "\u2800"])
def test_names_that_look_the_same_are_refuted(tmp_path, twin, where, ldpopt):
    """On a page, in a promise and in a program nobody could tell them apart."""
    columns = (
        [column("a", ["F", twin])]
        if where == "values"
        else [column("F", ["x", "y"]), column(twin, ["x"])]
    )
    members = [[0], [1]] if where == "values" else [[0, 0], [1, 0]]
    labels = {"secret": {"columns": columns, "members": members}, "public": None}
    forge(tmp_path / "f.public.json", {"matrix": RR}, labels)
    commands = [["verify"], ["export", "--target", "js", "-o", "e.js"], ["audit"], ["report"]]
    for words in commands if twin == UNSEEN[0] else commands[:1]:
        assert ldpopt(*words, "f.public.json", cwd=tmp_path).code == 1


@pytest.mark.parametrize("twin", ["F\u3164", "F\u115f"])
def test_invisible_letters_are_shown(tmp_path, twin):
    """Hangul fillers are letters that show nothing: they are spelt out, as a zero-width space is."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column("sex", ["F", twin])]))
    _, said, _ = ran(tmp_path, "audit", "f.public.json", "--samples", "1000")
    assert not re.search("[\u3164\u115f]", said)


# ------------------------------------------------------------ fingerprints and ledgers


def test_reports_of_another_mechanism_are_refused(tmp_path):
    """The tutorial: "A file that another mechanism released is refused". 100 s of search found these."""
    one = domain([column("sex", ["F", "M"])])
    other = domain([column("sex", ["M", "F"])])
    forge(tmp_path / "a.public.json", {"matrix": RR}, one, alpha=0.1022545281)
    forge(tmp_path / "b.public.json", {"matrix": RR}, other, alpha=0.1035999501)
    (tmp_path / "people.csv").write_text("sex\n" + "F\n" * 900 + "M\n" * 100)
    words = "privatize people.csv --mechanism a.public.json -o released.csv --seed 1"
    assert ran(tmp_path, *words.split())[0] == 0
    code, said, _ = ran(tmp_path, "estimate", "released.csv", "--mechanism", "b.public.json")
    assert code == 2, said  # F and M are exchanged


def test_the_same_mechanism_has_one_ledger(tmp_path):
    """ "The ledger follows the mechanism": the same matrix and labels, whatever alpha was said."""
    labels = domain([column("sex", ["F", "M"])])
    forge(tmp_path / "a.public.json", {"matrix": RR}, labels)
    forge(tmp_path / "b.public.json", {"matrix": RR}, labels, alpha=0.1)
    (tmp_path / "people.csv").write_text("sex\n" + "F\nM\n" * 20)
    words = "privatize people.csv --max-level 1.2 --mechanism"
    assert ran(tmp_path, *words.split(), "a.public.json", "-o", "1.csv")[0] == 0
    assert ran(tmp_path, *words.split(), "b.public.json", "-o", "2.csv")[0] == 2


def test_a_release_with_a_file_is_not_void(tmp_path):
    forge(tmp_path / "a.public.json", {"matrix": RR}, domain([column("sex", ["F", "M"])]))
    (tmp_path / "people.csv").write_text("sex\n" + "F\nM\n" * 20)
    words = "privatize people.csv --mechanism a.public.json -o 1.csv"
    _, said, _ = ran(tmp_path, *words.split())
    run = re.search(r"run ([0-9a-f]+)", said)[1]
    (tmp_path / "elsewhere").mkdir()
    command = ("privatize", "--mechanism", "../a.public.json", "--void", run)
    assert ran(tmp_path / "elsewhere", *command)[0] == 2  # 1.csv lies beside the mechanism


# ------------------------------------------------------------ the sampler for databases


@pytest.mark.parametrize("cell", ["n/a", "", b"zzz", float("inf")])
def test_sqlite_stops_at_what_is_no_number(tmp_path, cell):
    """The script: "A value that the mechanism does not know stops the script"."""
    edges = [18.0, 65.0]
    age = {"name": "age", "values": bin_names(edges), "edges": edges, "text": False}
    rows = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    forge(tmp_path / "f.public.json", {"matrix": rows}, domain([age]))
    assert ran(tmp_path, "export", "f.public.json", "--target", "sql", "-o", "s.sql")[0] == 0
    database = sqlite3.connect(":memory:")
    database.create_function("ldpopt_random_bits", 0, lambda: 0)
    database.execute("CREATE TABLE ldpopt_people (ldpopt_row INTEGER, age INTEGER)")
    database.execute("INSERT INTO ldpopt_people VALUES (1, ?)", (cell,))
    with pytest.raises(sqlite3.Error):
        database.executescript((tmp_path / "s.sql").read_text())


# ------------------------------------------------------------ whose code runs


def test_a_file_beside_the_table_is_no_code(tmp_path):
    """A matplotlibrc in the working directory is obeyed: its preamble is TeX code, which latex runs."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column("sex", ["F", "M"])]))
    (tmp_path / "people.csv").write_text("sex\n" + "F\nM\n" * 200)
    words = "privatize people.csv --mechanism f.public.json -o released.csv"
    assert ran(tmp_path, *words.split())[0] == 0
    (tmp_path / "bin").mkdir()
    latex = tmp_path / "bin" / "latex"
    latex.write_text(f"#!/bin/sh\ncat file.tex > {tmp_path}/ran.tex\nexit 1\n")
    latex.chmod(0o755)
    (tmp_path / "matplotlibrc").write_text(
        "text.usetex: True\ntext.latex.preamble: \\immediate\\openout9=owned\n"
    )
    path = f"{os.environ['PATH']}:{tmp_path / 'bin'}"
    environment = {"PATH": path, "HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path / "cache")}
    words = "estimate released.csv --mechanism f.public.json --plot e.png"
    code, _, _ = ran(tmp_path, *words.split(), environment=environment)
    assert not (tmp_path / "ran.tex").exists()
    assert code == 0


# ------------------------------------------------------------ memory


@pytest.mark.slow
def test_a_page_on_many_secrets_takes_little_memory(tmp_path):
    """docs/certificates.md: all commands that read such a file stop when they have grown by 1 GB."""
    many = 12_000
    labels = domain([column("s", [str(i) for i in range(many)])])
    forge(tmp_path / "f.public.json", {"matrix": [RR[x % 2] for x in range(many)]}, labels)
    assert (tmp_path / "f.public.json").stat().st_size < 500_000
    words = "report f.public.json --time-limit 20 -o page.html"
    assert memory(tmp_path, *words.split()) < 2 * GIGABYTE


def test_an_audit_of_many_secrets_takes_little_memory(tmp_path):
    """4 MB here; of 15.7 MB (512 secrets, 1024 reports) the audit took 17 GB and did not end."""
    many = 512
    rows = [[2.0**-10 + 0.5 * (x == y) for y in range(many)] for x in range(many)]
    labels = domain([column("s", [str(i) for i in range(many // 2)])], [column("u", ["a", "b"])])
    forge(tmp_path / "f.public.json", {"matrix": rows}, labels, epsilon=30, level=30)
    assert memory(tmp_path, "audit", "f.public.json", "--samples", "1000") < 2 * GIGABYTE


def test_many_columns_take_little_memory(tmp_path):
    names, cells = (",".join(f"{c}{i}" for i in range(500_000)).encode() for c in "cv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(names + b"\n" + cells + b"\n"))
    words = "design t.csv.gz --secret c1 --public c2 --epsilon 1 --method grr -o m.json"
    assert memory(tmp_path, *words.split()) < 2 * GIGABYTE


@pytest.mark.slow
def test_a_parquet_file_that_understates_its_size(tmp_path):
    """29 kB: 14 words of 64 MB, and a footer that says 134 MB."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def varint(number):
        number, out = number << 1, b""
        while number > 127:
            number, out = number >> 7, out + bytes([number & 127 | 128])
        return out + bytes([number])

    words = [chr(97 + i) * (1 << 26) for i in range(14)]
    table = pa.table({"a": words, "b": ["x", "y"] * 7})
    path = tmp_path / "t.parquet"
    options = {"use_dictionary": False, "data_page_size": 1 << 31, "write_statistics": False}
    pq.write_table(table, path, compression="zstd", **options)
    old = varint(pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size)
    head, _, tail = path.read_bytes().rpartition(old)
    path.write_bytes(head + varint((1 << 27) + 5) + tail)
    words = "design t.parquet --secret a --public b --epsilon 1 --method grr -o m.json"
    assert memory(tmp_path, *words.split()) < 2 * GIGABYTE


# ------------------------------------------------------------ what held


@pytest.mark.parametrize(("own", "other"), [(3e-16, 1e-16), (0.5, 5e-324), (1 - 2.0**-53, 0.5)])
def test_probabilities_that_no_sampler_draws_are_refused(tmp_path, own, other):
    """Verified or not, they are not multiples of 2^-52: what is drawn would have another level."""
    stated = {"kind": "unary", "inputs": 2, "own": own, "other": other}
    labels = domain([column("sex", ["F", "M"])])
    forge(tmp_path / "f.public.json", {"encoding": stated}, labels, epsilon=30, level=30)
    code, _, _ = ran(tmp_path, "export", "f.public.json", "--target", "js", "-o", "s.js")
    assert code in (1, 2)
    assert not (tmp_path / "s.js").exists()


def test_cells_end_no_script_and_no_string(tmp_path):
    values = ["</script><script>alert(1)</script>", "'\"`;--*/ ${x}\\"]
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column("__proto__", values)]))
    for target, file in (("js", "s.js"), ("python", "s.py"), ("sql", "s.sql")):
        words = ("export", "f.public.json", "--target", target, "-o", file)
        assert ran(tmp_path, *words)[0] == 0
    assert "<script" not in (tmp_path / "s.js").read_text()
    assert runpy.run_path(str(tmp_path / "s.py"))["report"]({"__proto__": values[1]}) in (0, 1)
    ran(tmp_path, "report", "f.public.json", "-o", "page.html")
    assert "<script>alert(1)" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("key", ["gap", "solver", "seconds", "stats", "attempts", "environment"])
def test_a_result_without_a_key_is_told_which(key, tmp_path):
    """The message was "not a result file: 'gap'", of a file that the checker verifies."""
    result = ldpopt.solve(ldpopt.problem("staircase", epsilon=1, prior=[0.5, 0.5]))
    plain = result.to_json()
    del plain[key]
    (tmp_path / "r.json").write_text(json.dumps(plain))
    assert ldpopt.verify(tmp_path / "r.json")
    with pytest.raises(LdpoptError, match=f"it needs the key '{key}'"):
        ldpopt.load(tmp_path / "r.json")


@pytest.mark.parametrize("name", ["ldpopt_x", "LDPOPT_ROW"])
def test_a_script_has_no_column_twice(name, tmp_path):
    """Such a script stopped in the database."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column(name, ["F", "M"])]))
    made = load_public(tmp_path / "f.public.json")
    with pytest.raises(LdpoptError, match="export it as js or python, or rename the column"):
        export(made, "sql")
    assert name in export(made, "python")


@pytest.mark.parametrize("flag", ["time", "other", "missing"])
def test_what_is_verified_can_be_used(flag, tmp_path):
    """A flag that is false was verified; other commands then missed the digest."""
    labels = domain([column("s", ["F", "M"], **{flag: False})])
    forge(tmp_path / "f.public.json", {"matrix": RR}, labels)
    with pytest.raises(LdpoptError, match=f"{flag} must be true, or left out, not false"):
        ldpopt.verify(tmp_path / "f.public.json")


def test_where_the_entries_come_from_is_not_checked(tmp_path):
    """Without the field ``recoverable`` the page takes the worst case, and stated it as a fact."""
    forge(tmp_path / "f.public.json", {"matrix": RR}, domain([column("s", ["F", "M"])]))
    text = page(tmp_path, "f.public.json")
    assert text.count("were computed from them") == text.count("computed from them [not checked]") > 0
