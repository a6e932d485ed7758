"""Coarser levels of a column: first characters, groups, their cost, and what the checker says."""

import pytest

from ldpopt.core.errors import InvalidInputError
from ldpopt.engine.verifying import verify, verify_document
from ldpopt.release.designing import design, load_design
from ldpopt.release.exporting import export
from ldpopt.release.releasing import reports
from ldpopt.tables.batches import open_table
from ldpopt.tables.survey import survey

POSTCODES = {
    "ward": ["north", "south"] * 300,
    "code": [f"{10 + i % 5}{i:03}" for i in range(600)],
    "town": [f"town {i % 90}" for i in range(600)],
}
REGIONS = {f"town {i}": ["coast", "hills", "plain"][min(i // 40, 2)] for i in range(90)}


def test_first_characters_count_and_the_cost_is_said():
    said = []
    domain, counts = survey(
        open_table(POSTCODES), ["ward"], ["code"], levels={"code": 2}, warn=said.append
    )
    assert domain.public.labels == ("10", "11", "12", "13", "14")
    assert counts.sum(axis=0).tolist() == [120] * 5
    assert said == [
        "600 values of 'code' count by their first 2 characters, as 5 values; of the 6.4 nats of the "
        "column at most 1.61 can be learnt"
    ]


def test_groups_from_a_file_or_a_mapping(tmp_path):
    lines = ["town,region", *(f"{town},{region}" for town, region in REGIONS.items())]
    (tmp_path / "regions.csv").write_text("\n".join(lines) + "\n")
    table = open_table(POSTCODES)
    found = [
        survey(table, ["ward"], ["town"], levels={"town": levels})
        for levels in (REGIONS, tmp_path / "regions.csv")
    ]
    assert found[0][0] == found[1][0]
    domain, counts = found[0]
    assert domain.public.labels == ("coast", "hills", "plain")
    expected = [
        sum(REGIONS[town] == region for town in POSTCODES["town"]) for region in domain.public.labels
    ]
    assert counts.sum(axis=0).tolist() == expected
    domain, counts = survey(table, ["ward"], ["town"], levels={"town": REGIONS}, top={"town": 2})
    assert domain.public.labels == ("coast", "hills", "(other)")
    assert counts.sum(axis=0).tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": {"town": 0}}, "must be from 1 to 64 characters, not 0"),
        ({"levels": {"town": {}}}, "must have from 1 to 100,000 words, not 0"),
        ({"levels": {"town": {"a": 3}}}, "must map words to words, not 'a' to 3"),
        ({"levels": {"town": {"a": "b"}}}, "have no group for 'town 0'"),
        ({"levels": {"town": 2}, "bins": {"town": 2}}, "is binned: top and levels"),
        ({"levels": {"other": 2}}, "is neither secret nor public"),
    ],
)  # fmt: skip
def test_bad_levels(options, message):
    with pytest.raises(InvalidInputError, match=message):
        survey(open_table(POSTCODES), ["ward"], ["town"], **options)


def test_too_many_values_at_a_level():
    message = "has 600 values at this level, more than 200: take a coarser one"
    with pytest.raises(InvalidInputError, match=message):
        survey(open_table(POSTCODES), ["ward"], ["code"], levels={"code": 5})


def test_a_word_with_two_groups_is_refused(tmp_path):
    (tmp_path / "regions.csv").write_text("town,region\na,x\na,y\n")
    with pytest.raises(InvalidInputError, match="must give each word one group: 'a' has 'x' and 'y'"):
        survey(open_table(POSTCODES), ["ward"], ["town"], levels={"town": tmp_path / "regions.csv"})


@pytest.mark.parametrize(
    ("column", "levels", "top"),
    [("code", 2, None), ("code", 2, 3), ("town", REGIONS, None), ("town", REGIONS, 1)],
)
def test_a_design_at_a_coarser_level_is_certified_released_and_exported(column, levels, top, tmp_path):
    tops = {} if top is None else {column: top}
    how = {"epsilon": 1.0, "method": "srr", "robust": "all", "levels": {column: levels}, "top": tops}
    made = design(POSTCODES, "ward", column, **how)
    made.save(tmp_path / "m.json")
    assert verify(tmp_path / "m.json")
    again = load_design(tmp_path / "m.json")
    assert again.domain == made.domain
    assert sum(map(len, reports(POSTCODES, again))) == 600
    names = {"__name__": "sampler"}
    exec(export(again, "python"), names)
    assert names["self_test"]() > 0
    cells = dict(zip(("ward", column), (POSTCODES["ward"][7], POSTCODES[column][7]), strict=True))
    codes = again.domain.codes(open_table({k: [v] for k, v in cells.items()}).read().to_batches()[0], 1)
    assert names["_input"](cells, None) == codes[0]
    if column == "town":
        with pytest.raises(ValueError, match="has no group for 'nowhere'"):
            names["report"]({"ward": "north", "town": "nowhere"})
        with pytest.raises(InvalidInputError, match="holds 'nowhere', which the mechanism does"):
            list(reports({"ward": ["north"], "town": ["nowhere"]}, again))


GROUPS = [["a", "10"], ["b", "11"], ["c", "12"], ["d", "13"], ["e", "14"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"prefix": 1},
        {"groups": [["town 1", "10"]]},
        {"groups": [*GROUPS[1:], ["b", "10"]], "prefix": None},
        {"groups": [*GROUPS, ["f", "x"]], "prefix": None},
    ],
)
def test_the_checker_ties_levels_to_values(changes):
    made = design(POSTCODES, "ward", "code", epsilon=1.0, method="srr", robust="all", levels={"code": 2})
    document = made.to_json()
    column = document["design"]["domain"]["public"]["columns"][0]
    column.update({key: value for key, value in changes.items() if value is not None})
    for key in [key for key, value in changes.items() if value is None]:
        del column[key]
    inputs = next(claim for claim in verify_document(document).claims if claim.what == "inputs")
    assert inputs.holds is False
