"""The section ``design``: labels and counts are tied to the question, and changes of them refuted."""

import contextlib
import json
from itertools import islice
from pathlib import Path

import pytest

from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.proofs.labelled_inputs import bin_names
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements import table_design
from ldpopt.checker.statements.table_design import digest

FORGERIES = Path(__file__).parents[2] / "forgeries" / "design"
GENUINE = json.loads((FORGERIES / "genuine-chi2.json").read_text(encoding="utf-8"))["file"]


@pytest.mark.parametrize("path", sorted(FORGERIES.glob("*.json")), ids=lambda path: path.stem)
def test_forgeries(path):
    forged = json.loads(path.read_text(encoding="utf-8"))
    assert forged["reason"].endswith(".")
    if forged["refuted"] == "unreadable":
        with pytest.raises(UnreadableError):
            frame.check(forged["file"])
    else:
        claims = frame.check(forged["file"])
        refuted = [claim.what for claim in claims if claim.holds is False]
        assert forged["refuted"] in refuted if forged["refuted"] else all(c.holds for c in claims)


def test_claims_of_a_design():
    claims = {claim.what: claim for claim in frame.check(GENUINE)}
    assert claims["inputs"].statement == (
        "each of its 2 × 3 labels is the input of one row of the mechanism, in order"
    )
    assert claims["counts"].value == 100
    assert claims["level"].value == 1.0
    assert GENUINE["design"]["digest"] in claims["digest"].statement
    assert frame.unchecked(GENUINE) == ["design.method = 'polyopt'"]


def test_a_file_without_the_section_has_no_such_claims():
    plain = {name: part for name, part in GENUINE.items() if name != "design"}
    claims = frame.check(plain)
    assert all(claim.holds for claim in claims)
    assert {"inputs", "counts", "level", "digest"}.isdisjoint(claim.what for claim in claims)


def _leaves(value, path=()):
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _leaves(part, (*path, i))
    else:
        yield path, value


def test_every_change_of_the_section_is_refuted_or_unreadable():
    """Each leaf in turn becomes another value of its type, the digest stays: no file is accepted."""
    others = {
        str: lambda x: f"{x}x",
        bool: lambda x: not x,
        int: lambda x: x + 1,
        float: lambda x: x / 2,
    }
    changed = 0
    for path, value in _leaves(GENUINE["design"]):
        if value is None:
            continue
        forged = json.loads(json.dumps(GENUINE))
        *way, last = path
        place = forged["design"]
        for step in way:
            place = place[step]
        place[last] = others[type(value)](value)
        with contextlib.suppress(UnreadableError):
            assert not all(claim.holds for claim in frame.check(forged)), path
        changed += 1
    assert changed > 25


def test_the_digest_reads_numbers_not_their_spelling():
    spelt = json.loads(json.dumps(GENUINE))
    spelt["params"]["epsilon"] = 1
    assert digest(spelt) == digest(GENUINE) == GENUINE["design"]["digest"]
    spelt["params"]["epsilon"] = True  # a truth value is not a number
    assert digest(spelt) != digest(GENUINE)


def test_names_of_bins_differ_where_edges_do():
    assert bin_names([0.1]) == ["< 0.1", "≥ 0.1"]
    assert bin_names([0.1, 0.1 + 2**-52])[1] == "[0.1, 0.10000000000000023)"


def test_labels_that_are_truth_values():
    """[false, true, …] is not [0, 1, …]."""
    forged = json.loads((FORGERIES / "genuine-all.json").read_text(encoding="utf-8"))["file"]
    rows = len(forged["mechanism"]["matrix"])
    for labels, holds in ((list(range(rows)), True), ([False, True, *range(2, rows)], False)):
        forged["mechanism"]["inputs"] = labels
        forged["design"]["digest"] = digest(forged)
        assert {claim.what: claim.holds for claim in frame.check(forged)}["inputs"] is holds


def test_products_of_columns_are_not_kept(monkeypatch):
    """A hundred reports have a hundred million products here: they come one by one."""
    seen = []
    monkeypatch.setattr(
        table_design,
        "are_robustly_private",
        lambda columns, asked: seen.extend(islice(columns, 5)) or True,
    )
    assert table_design.private_together(GENUINE["mechanism"]["matrix"], GENUINE["params"], 100)
    assert len(seen) == 5


def test_reports_that_never_come_together_are_left_to_the_budget():
    """All products of different columns are 0 here, and of fifty columns there are 10^40."""
    disjoint = [[float(x == y) for y in range(50)] for x in range(50)]
    params = {"p_hat": [[0.02] * 25] * 2, "n": 100, "epsilon": 1.0}
    with limited(seconds=0), pytest.raises(UndecidedError):
        table_design.private_together(disjoint, params, 100)


def test_a_level_that_is_not_stated_is_that_of_the_question():
    """A frontier without an epsilon has the level 10; a leakage budget alone promises none."""
    plain = frame.statement(
        "privacy-utility-frontier", {"dirichlet": [1.0, 1.0], "min_average_privacy": 0.5}
    )
    section = GENUINE["design"] | {
        "epsilon": 10.0,
        "domain": {"secret": {"members": [[0], [1]]}, "public": None},
    }
    assert table_design._level(section, {"dirichlet": [1.0, 1.0]}, plain).holds
    promise = {"reports": 2, "epsilon": 20.0}
    assert table_design._together(promise, [[1.0]], {"dirichlet": [1.0, 1.0]}, plain).holds
    assert (
        table_design._together(promise, [[1.0]], {"tau": 1}, {"form": "leakage-program"}).holds is False
    )


def test_a_kind_of_another_package_has_no_section():
    """What its parameters mean, only its package knows: the section would not be tied to anything."""
    plain = frame.statement(GENUINE["problem"], GENUINE["params"])
    with pytest.raises(UnreadableError, match="a kind that the checker knows"):
        frame.check(GENUINE | {"problem": "another"}, plain)


def test_one_secret_hides_nothing():
    forged = json.loads((FORGERIES / "genuine-all.json").read_text(encoding="utf-8"))["file"]
    members = forged["design"]["domain"]["secret"]["members"]
    forged["design"]["domain"]["secret"]["members"] = members[:1]
    forged["design"]["digest"] = digest(forged)
    with pytest.raises(UnreadableError, match="at least two values"):
        frame.check(forged)
