"""``--given`` and ``--sensitive``: promises that are notions of privacy, from table to audit."""

import copy
import json
import math

import numpy as np
import pytest
from forgeries.contradicting import judged
from second_checker import opinion

from ldpopt.audit.auditing import audit
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


def test_no_distribution_is_said_to_attain_the_level_of_a_notion(given, sensitive):
    """Under ``given`` the secret of people of different sex is told apart without limit."""
    assert math.isinf(given.level.level)
    assert given.level.witness.shape == given.domain.shape
    assert witness(given) is None
    assert witness(sensitive) is None
    (factor,) = worst_case(given)
    assert float(factor.text) == pytest.approx(math.exp(EPSILON), rel=1e-3)


@pytest.mark.parametrize("name", ["small", "sensitive"])
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


def forgeries(small, sensitive):
    """Files that promise more than their mechanism keeps, signed anew."""
    for made in (small, sensitive):
        for whole in (made.to_json(), made.public.to_json()):
            yield changed(json.loads(json.dumps(whole)), epsilon=made.promise.epsilon * 0.99)
    shown, hidden = (json.loads(json.dumps(made.public.to_json())) for made in (small, sensitive))
    yield changed(shown, robust="all")
    yield changed(hidden, sensitive=None)
    yield changed(hidden, sensitive=[0, 1, 2])
    told = copy.deepcopy(shown)
    rows = told["mechanism"]["matrix"]
    rows[0], rows[1] = rows[1], rows[0]
    yield signed(told)


def test_a_false_promise_is_refuted_by_both_checkers(small, sensitive):
    forged = list(forgeries(small, sensitive))
    assert len(forged) == 8
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
    ],
)
def test_a_promise_that_means_nothing_is_unreadable(name, values, request):
    whole = json.loads(json.dumps(request.getfixturevalue(name).public.to_json()))
    document = changed(whole, **values)
    assert judged(document) == opinion(json.dumps(document)) == "unreadable"


@pytest.mark.parametrize("name", ["given", "sensitive"])
def test_reports_give_the_frequencies_and_an_audit_passes(name, request, tmp_path):
    made = request.getfixturevalue(name)
    privatize(table(), made, tmp_path / "released.csv", seed=3)
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
        f"two reports about one person have the exact level {2 * made.promise.epsilon:g};"
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


def test_fewer_sensitive_values_are_told_more_precisely(sensitive):
    ours = max(part.margin(sensitive.rows) for part in sensitive.accuracy())
    said = promises.plain_ldp(sensitive)
    plain = design(table(), "vote", epsilon=1.0, robust="all", goal="estimates", method="queries")
    theirs = plain.accuracy()[0]
    assert said.endswith(f"vote {promises.margin(theirs, plain.rows)}")
    assert ours < theirs.margin(plain.rows)


def test_the_commands_of_the_page_ask_the_same(given, sensitive):
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
