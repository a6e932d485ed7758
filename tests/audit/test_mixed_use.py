"""One report of each of several mechanisms about one person."""

import json

import pytest

from ldpopt.audit.audited import used_beside
from ldpopt.core.errors import InvalidInputError
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.release.designing import design

TABLE = {"s": ["a"] * 60 + ["b"] * 40, "u": ["x"] * 45 + ["y"] * 15 + ["x"] * 10 + ["y"] * 30}


@pytest.fixture(scope="module")
def made():
    asked = {"epsilon": 1.0, "robust": "chi2"}
    return {name: design(TABLE, "s", "u", **asked, method=name) for name in ("cr", "ir", "srr")}


def test_the_level_is_that_of_the_product(made):
    found = used_beside(made["cr"], [made["ir"], made["srr"]])
    product = made["cr"].mechanism.product(made["ir"].mechanism).product(made["srr"].mechanism)
    level = rldp_level(product, made["cr"].question.uncertainty).level
    assert found.found.level == pytest.approx(level, abs=1e-9)
    assert f"the 3 mechanisms about one person: together the exact level {level:.4g}" in found.in_words()
    assert used_beside(made["cr"], []) is None


def test_other_values_are_refused(made):
    other = design({**TABLE, "u": ["v", "w"] * 50}, "s", "u", epsilon=1.0, method="srr")
    with pytest.raises(InvalidInputError, match=r"must be for the same values: .*'x', 'y'.* not .*'v'"):
        used_beside(made["cr"], [other])
    renamed = {"t": TABLE["s"], "u": TABLE["u"]}  # whether somebody smokes is not whether they are ill
    other = design(renamed, "t", "u", epsilon=1.0, method="srr")
    for kind in (other, other.public):
        with pytest.raises(InvalidInputError, match=r"for the same values: s \(.*, not t \("):
            used_beside(made["cr"], [kind])
    with pytest.raises(InvalidInputError, match="beside needs a file that was made for a table"):
        used_beside(design(TABLE, "s", epsilon=1.0), [made["cr"]])


def test_the_command_says_it(made, ldpopt, tmp_path):
    for name in ("cr", "ir"):
        made[name].save(tmp_path / f"{name}.json")
    arguments = ["audit", f"{tmp_path}/cr.json", "--beside", f"{tmp_path}/ir.json", "--samples", "100"]
    level = used_beside(made["cr"], [made["ir"]]).found.level
    assert f"together the exact level {level:.4g}" in " ".join(ldpopt(*arguments).out.split())
    found = json.loads(ldpopt(*arguments, "--json").out)
    assert found["beside"]["level"] == pytest.approx(level)
