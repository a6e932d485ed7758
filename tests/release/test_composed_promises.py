"""``--given``, ``--sensitive``, ``--levels-of-secrecy``: notions of privacy, from table to audit."""

import copy
import json
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt.audit.auditing import audit
from ldpopt.checker.kernel.proofs.table_promises import pair_level, table_promise
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements.public_mechanism import public_digest
from ldpopt.checker.statements.table_design import digest as design_digest
from ldpopt.core.errors import InvalidInputError
from ldpopt.release import promises
from ldpopt.release.designing import design, load_mechanism
from ldpopt.release.estimating import estimate
from ldpopt.release.exporting import Sampler
from ldpopt.release.release_ledger import repetition
from ldpopt.release.releasing import privatize
from ldpopt.report.audit_summary import witness, worst_case
from ldpopt.report.reproducing import design_commands

EPSILON = 0.5
COUNTS = {"left": (300, 150), "right": (100, 350), "other": (80, 90), "none": (20, 10)}


def table(values=COUNTS):
    rows = [(vote, sex) for vote, (f, m) in values.items() for sex in "f" * f + "m" * m]
    return {"vote": [vote for vote, _ in rows], "sex": [sex for _, sex in rows]}


@pytest.fixture(scope="module")
def given():
    return design(
        table(), "vote", "sex", epsilon=EPSILON, robust="given", goal="estimates", time_limit=30
    )


@pytest.fixture(scope="module")
def small():
    """A design whose rays the second checker lists in a moment."""
    three = {name: COUNTS[name] for name in ("left", "right", "other")}
    return design(table(three), "vote", "sex", epsilon=EPSILON, robust="given", goal="estimates")


@pytest.fixture(scope="module")
def sensitive():
    values = {"vote": ["left", "none"]}
    return design(
        table(), "vote", epsilon=1.0, robust="all", sensitive=values, goal="estimates", time_limit=30
    )


SECRECY = {"one": ["left", "none"], "other": ["right", "left"], "multiple": ["0.5", "inf"]}


@pytest.fixture(scope="module")
def apart():
    """Left and right are half as far apart as others, none and left as far as one likes."""
    three = {name: COUNTS[name] for name in ("left", "right", "none")}
    return design(table(three), "vote", "sex", epsilon=1.0, secrecy=SECRECY)


def errors(W, p):
    """n times the variance of the estimate of each cell, by the definition."""
    J = (W / (p @ W)) @ W.T
    return np.diag(np.linalg.inv(J)) - p**2


def response(answers, epsilon):
    entries = np.ones((answers, answers)) + np.eye(answers) * math.expm1(epsilon)
    return np.kron(entries / entries.sum(axis=1, keepdims=True), np.eye(2))


def test_given_beats_randomised_response_with_raw_public_columns(given):
    p = given.question.p_hat.ravel()
    ours, by_hand = errors(given.mechanism.matrix, p), errors(response(4, EPSILON), p)
    assert math.sqrt(ours.mean()) < 0.985 * math.sqrt(by_hand.mean())


def test_given_is_randomised_response_where_there_are_two_answers():
    two = {"left": (300, 150), "right": (100, 350)}
    made = design(table(two), "vote", "sex", epsilon=1.0, robust="given", goal="estimates")
    p = made.question.p_hat.ravel()
    ours, by_hand = errors(made.mechanism.matrix, p), errors(response(2, 1.0), p)
    assert ours == pytest.approx(by_hand, rel=1e-6)


def test_the_price_of_told_columns_is_measured(given):
    W, p = given.mechanism.matrix.reshape(4, 2, -1), given.question.p_hat
    law = [sum(p[s, u] * W[s, u] for u in range(2)) / p[s].sum() for s in range(4)]
    ratios = [np.log(a / b).max() for a in law for b in law]
    level, blind, seen = given.unaware
    assert level == pytest.approx(max(ratios))
    assert level > 2 * EPSILON
    assert blind == p.sum(axis=1).max()
    rng = np.random.default_rng(0)
    people = rng.choice(p.size, size=100_000, p=p.ravel())
    reports = given.mechanism.sample(people, rng)
    guess = np.argmax([p[s].sum() * law[s] for s in range(4)], axis=0)
    assert seen == pytest.approx((guess[reports] == people // 2).mean(), abs=0.01)
    assert promises.holds_for(given).endswith(" data, against whoever knows sex")
    said = promises.caveat(given)
    assert f"the level is {level:.3g}, not {EPSILON}" in said
    assert f"in {round(100 * seen)} of 100 cases, without a report in {round(100 * blind)}" in said


def test_no_distribution_is_said_to_attain_the_level_of_a_notion(given, sensitive, apart):
    """Under ``given`` the secret of people of different sex is told apart without limit."""
    assert math.isinf(given.level.level)
    assert given.level.witness.shape == given.domain.shape
    assert witness(given) is None
    assert witness(sensitive) is None
    assert witness(apart) is None
    (factor,) = worst_case(given)
    assert float(factor.text) == pytest.approx(math.exp(EPSILON), rel=1e-3)
    (level,) = worst_case(apart)
    assert (level.name, level.text) == ("Level", "1")


@pytest.mark.parametrize("name", ["small", "sensitive", "apart"])
def test_both_files_are_verified_by_both_checkers(name, request, tmp_path):
    made = request.getfixturevalue(name)
    assert made.verification.verdict is True
    assert made.public.universal
    for part, file in ((made, "m.json"), (made.public, "m.public.json")):
        part.save(tmp_path / file)
        assert load_mechanism(tmp_path / file).fingerprint == made.fingerprint
        assert opinion((tmp_path / file).read_text()) == "verified"


def signed(document):
    if "public" in document:
        document["public"]["digest"] = public_digest(document)
    else:
        document["design"]["digest"] = design_digest(document)
    return document


def changed(document, **values):
    found = copy.deepcopy(document)
    section = found["public" if "public" in found else "design"]
    for key, value in values.items():
        if value is None:
            del section[key]
        else:
            section[key] = value
    return signed(found)


def forgeries(small, sensitive, apart):
    """Files that promise more than their mechanism keeps, signed anew."""
    for made in (small, sensitive, apart):
        for whole in (made.to_json(), made.public.to_json()):
            yield changed(json.loads(json.dumps(whole)), epsilon=made.promise.epsilon * 0.99)
    shown, hidden = (json.loads(json.dumps(made.public.to_json())) for made in (small, sensitive))
    yield changed(shown, robust="all")
    yield changed(hidden, sensitive=None)
    yield changed(hidden, sensitive=[0, 1, 2])
    levels = json.loads(json.dumps(apart.public.to_json()))
    multiples = levels["public"]["secrecy"]
    yield changed(levels, secrecy=None)
    for s, t, m in ((0, 1, 1), (0, 2, 0.499), (1, 2, 0.999)):  # of left, none and right
        nearer = copy.deepcopy(multiples)
        nearer[s][t] = nearer[t][s] = m
        yield changed(levels, secrecy=nearer)
    yield changed(json.loads(json.dumps(apart.to_json())), secrecy=nearer)
    told = copy.deepcopy(shown)
    rows = told["mechanism"]["matrix"]
    rows[0], rows[1] = rows[1], rows[0]
    yield signed(told)


def test_a_false_promise_is_refuted_by_both_checkers(small, sensitive, apart):
    forged = list(forgeries(small, sensitive, apart))
    assert len(forged) == 15
    for document in forged:
        assert judged(document) == opinion(json.dumps(document)) == "refuted"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sensitive", {"sensitive": [1, 0]}),
        ("sensitive", {"sensitive": [9]}),
        ("sensitive", {"sensitive": []}),
        ("sensitive", {"robust": "chi2"}),
        ("sensitive", {"robust": "given"}),
        ("sensitive", {"together": {"reports": 2, "epsilon": 2.0}}),
        ("small", {"together": {"reports": 2, "epsilon": 2.0}}),
        ("apart", {"together": {"reports": 2, "epsilon": 2.0}}),
        ("apart", {"robust": "chi2"}),
        ("apart", {"robust": "given"}),
        ("apart", {"sensitive": [0]}),
        ("apart", {"secrecy": [[None, 1], [1, None]]}),
        ("apart", {"secrecy": [[None, 1, 1], [1, None, 1], [1, 1]]}),
        ("apart", {"secrecy": [[None, 1, 1], [1, None, 1], [1, 2, None]]}),
        ("apart", {"secrecy": [[1, 1, 1], [1, None, 1], [1, 1, None]]}),
        ("apart", {"secrecy": [[None, 0, 1], [0, None, 1], [1, 1, None]]}),
        ("apart", {"secrecy": [[None, 29, 1], [29, None, 1], [1, 1, None]], "epsilon": 2.0}),
        ("apart", {"secrecy": [[None, 1e-7, 1], [1e-7, None, 1], [1, 1, None]]}),
        ("apart", {"secrecy": [[None] * 3] * 3}),
        ("apart", {"secrecy": "inf"}),
        ("apart", {"secrecy": []}),
    ],
)
def test_a_promise_that_means_nothing_is_unreadable(name, values, request):
    whole = json.loads(json.dumps(request.getfixturevalue(name).public.to_json()))
    document = changed(whole, **values)
    assert judged(document) == opinion(json.dumps(document)) == "unreadable"


@pytest.mark.parametrize("name", ["given", "sensitive", "apart"])
def test_reports_give_the_frequencies_and_an_audit_passes(name, request, tmp_path):
    made = request.getfixturevalue(name)
    rows = table({vote: COUNTS[vote] for vote in made.domain.secret.labels})
    privatize(rows, made, tmp_path / "released.csv", seed=3)
    found = estimate(tmp_path / "released.csv", made.public)
    truth = made.question.p_hat.sum(axis=1)
    rows = [row for row in found.rows if row.group == "secret"]
    assert len(rows) == len(truth)
    for row, share in zip(rows, truth, strict=True):
        assert abs(row.estimate - share) < 4.5 * row.standard_error
    said = audit(made, samples=2000, confidence=1 - 1e-6)
    assert said.passed is True
    assert said["promise-1"].promised == made.promise.epsilon
    assert audit(made.public, samples=2000, confidence=1 - 1e-6).passed is True
    assert repetition(made).startswith(
        f"two reports about one person have the exact level {2 * made.promise.epsilon:g}"
    )
    assert promises.limit(made) in Sampler(made).promise


def test_sensitive_words_say_what_is_hidden_and_what_is_not(sensitive):
    assert promises.promise(sensitive) == (
        "ε = 1: no report that vote left or none can give is more than 2.72 times as likely for one "
        "value of vote as for another; any other report may reveal a value that is not sensitive"
    )
    W = sensitive.mechanism.matrix
    hidden = W[:, W[[0, 1]].any(axis=0)]  # labels are in order: left, none, other, right
    assert (hidden.max(axis=0) <= math.e * hidden.min(axis=0) * (1 + 1e-12)).all()
    alone = W[:, ~W[[0, 1]].any(axis=0)]
    assert ((alone > 0).sum(axis=0) <= 1).all()


def test_each_pair_has_its_level(apart):
    """Inputs of the same secret, and of left and none, may be told apart; labels are in order."""
    levels = {("left", "right"): 0.5, ("none", "right"): 1.0, ("left", "none"): math.inf}
    labels, W = apart.domain.secret.labels, apart.mechanism.matrix.reshape(3, 2, -1)
    assert labels == ("left", "none", "right")
    attained = {}
    for one, other in levels:
        a, b = W[labels.index(one)], W[labels.index(other)]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(a[:, None] / b[None])[(a[:, None] > 0) | (b[None] > 0)]
        attained[one, other] = np.abs(ratios).max()
    assert all(attained[pair] <= level * (1 + 1e-12) for pair, level in levels.items())
    assert max(attained["left", "right"] / 0.5, attained["none", "right"]) == pytest.approx(1)
    assert apart.kept.value == pytest.approx(1)
    assert promises.promise(apart) == (
        "ε = 1: no report is more than e^(ε·m) times as likely for one value of vote as for another, m "
        "being without limit for left and none, 0.5 for left and right, 1 for all other pairs"
    )
    assert ", times the multiple of each pair; r have r times it" in repetition(apart)


def test_two_values_with_a_level_of_their_own_are_plain_ldp_at_that_level():
    two = {"left": (300, 150), "right": (100, 350)}
    pair = {"a": ["right"], "b": ["left"], "c": ["0.5"]}
    ours = design(table(two), "vote", epsilon=2.0, secrecy=pair)
    plain = design(table(two), "vote", epsilon=1.0, method="queries")
    assert ours.result.value == pytest.approx(plain.result.value, rel=1e-6)


def test_many_inputs_are_refused_before_their_pairs_are_listed(apart):
    section = json.loads(json.dumps(apart.public.to_json()["public"]))
    section["domain"]["public"]["members"] = [[u] for u in range(10**6)]
    with pytest.raises(UnreadableError, match="at most 400 inputs, not 3000000"):
        table_promise(section)


def test_the_level_of_a_pair_is_rounded_down():
    rng = np.random.default_rng(2)
    for epsilon, m in rng.uniform(1e-6, 5, (200, 2)).tolist():
        found = pair_level(epsilon, m)
        assert Fraction(found) <= Fraction(epsilon) * Fraction(m) < Fraction(math.nextafter(found, 99))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("left", "right")], "must have three columns"),
        ([("left", "hiv", "1")], "row 1 of the table names 'hiv', and vote has the values left, none,"),
        ([("left", "left", "1")], "two different values"),
        ([("left", "none", "1"), ("none", "left", "1")], "row 2 of the table must name two different"),
        ([("left", "none", "0")], "from 1e-06 to 30, or inf for no limit, not '0'"),
        ([("left", "none", "-1")], "from 1e-06 to 30"),
        ([("left", "none", "nan")], "from 1e-06 to 30"),
        ([("left", "none", "31")], "from 1e-06 to 30"),
        ([("left", "none", "half")], "not 'half'"),
        ([("left", "none", "")], "is empty"),
        ([("left", "none", "20")], "epsilon times a level of secrecy must be at most 30, not 40"),
        ([(a, b, "inf") for a, b in combinations(COUNTS, 2)], "nothing is hidden"),
    ],
)
def test_bad_levels_of_secrecy_are_refused(rows, message):
    columns = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=False))
    with pytest.raises(InvalidInputError, match=message):
        design(table(), "vote", epsilon=2.0, secrecy=columns)


def test_levels_of_secrecy_as_a_user_gives_them(ldpopt, tmp_path):
    (tmp_path / "s.csv").write_text("one,other,multiple\nWhite,Black,0.5\nOther,White,2\n")
    asked = ["design", "adult", "--secret", "race", "--epsilon", "1", "--levels-of-secrecy", "s.csv"]
    found = ldpopt(*asked, "-o", "m.json", cwd=tmp_path)
    assert found.code == 0, found.err
    assert "m being 0.5 for Black and White, 2 for Other and White, 1 for all other pairs" in found.out
    assert len([line for line in found.out.splitlines() if line]) <= 10
    for words in (
        ["verify", "m.json"],
        ["verify", "m.public.json"],
        ["audit", "m.public.json", "--samples", "2000"],
        ["privatize", "adult", "-m", "m.public.json", "-o", "r.csv"],
        ["estimate", "r.csv", "-m", "m.json"],
        ["export", "m.public.json", "--target", "python", "-o", "sampler.py"],
        ["report", "m.public.json", "-o", "m.html"],
    ):
        done = ldpopt(*words, cwd=tmp_path)
        assert done.code == 0, (words, done.err)
    page = (tmp_path / "m.html").read_text()
    assert "a level for each pair of values" in page
    twice = ldpopt(*asked, "--robust", "all", "-o", "n.json", cwd=tmp_path)
    assert twice.code == 2
    assert "--robust and --levels-of-secrecy exclude each other" in twice.err


def test_fewer_sensitive_values_are_told_more_precisely(sensitive):
    ours = max(part.margin(sensitive.rows) for part in sensitive.accuracy())
    said = promises.plain_ldp(sensitive)
    plain = design(table(), "vote", epsilon=1.0, robust="all", goal="estimates", method="queries")
    theirs = plain.accuracy()[0]
    assert said.endswith(f"vote {promises.margin(theirs, plain.rows)}")
    assert ours < theirs.margin(plain.rows)


def test_the_commands_of_the_page_ask_the_same(given, sensitive, apart):
    assert " --levels-of-secrecy secrecy.csv " in design_commands(apart, "m.json")[0].line
    assert " --given " in design_commands(given, "m.json")[0].line
    assert " --sensitive vote=left,none " in design_commands(sensitive, "m.json")[0].line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robust": "given"}, "needs public columns"),
        ({"robust": "given", "public": "sex", "reports": 2}, "one report"),
        ({"sensitive": {"vote": ["left"]}, "robust": "known"}, "robust must be all, not known"),
        ({"sensitive": {"sex": ["f"]}, "robust": "all"}, "those of a secret column, vote, not of 'sex'"),
        ({"sensitive": {"vote": ["hiv"]}, "robust": "all"}, "left, none, other, right, not 'hiv'"),
        ({"sensitive": {"vote": list(COUNTS)}, "robust": "all"}, "all values are sensitive"),
        ({"robust": "given", "public": "sex", "method": "grr"}, "made for another promise"),
        ({"method": "composed", "robust": "all"}, "made for another promise"),
        ({"secrecy": SECRECY, "robust": "known"}, "robust must be all, not known"),
        ({"secrecy": SECRECY, "sensitive": {"vote": ["left"]}}, "not both"),
        ({"secrecy": SECRECY, "reports": 2}, "for one report"),
        ({"secrecy": SECRECY, "method": "grr"}, "made for another promise"),
    ],
)
def test_what_cannot_be_promised_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        design(table(), "vote", epsilon=1.0, **options)


TABLE = ["design", "adult:sex-race", "--secret", "sex", "--public", "race", "--epsilon", "1"]


def test_one_option_says_from_whom(ldpopt, tmp_path):
    found = ldpopt(*TABLE, "--given", "--sensitive", "sex=Male", "-o", "m.json", cwd=tmp_path)
    assert found.code == 2
    assert "--given and --sensitive exclude each other" in found.err


def test_the_first_screen_has_ten_lines_at_most(ldpopt, tmp_path):
    found = ldpopt(*TABLE, "--for", "estimates", "--given", "-o", "m.json", cwd=tmp_path)
    assert found.code == 0
    assert len([line for line in found.out.splitlines() if line]) <= 10
    assert "race tells about sex: for whoever does not know it the level is" in found.out


def test_too_many_values_are_refused_in_words():
    """Ten cells, all of them hidden: race is so from those who know sex, too."""
    for promised in (
        {"sensitive": {"race": ["Black"]}},
        {"secrecy": {"a": ["Black"], "b": ["White"], "m": ["2"]}},
    ):
        with pytest.raises(InvalidInputError, match="takes at most 9 values that are hidden"):
            design("adult:sex-race", "race", "sex", epsilon=1.0, **promised)
