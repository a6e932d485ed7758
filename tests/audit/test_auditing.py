"""Audits: closed forms, promises, tampering, other tables, and the command line."""

import json
import math
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from ldpopt.audit import auditing, measures
from ldpopt.audit.audited import subject
from ldpopt.audit.auditing import audit
from ldpopt.audit.findings import judged
from ldpopt.checker.kernel.budget import SECONDS
from ldpopt.checker.kernel.claims import OPEN, Claim
from ldpopt.core.errors import InvalidInputError, UnreadableFileError
from ldpopt.core.limits import Limits
from ldpopt.core.mechanism import Mechanism
from ldpopt.core.problem import Subject
from ldpopt.engine.solving import problem, solve
from ldpopt.engine.verifying import Verification, verify
from ldpopt.measures.rldp_level import rldp_level
from ldpopt.models.uncertainty_sets import Single
from ldpopt.release.designing import design

TABLE = "adult:sex-race"
SURE = 1 - 1e-9
"""The confidence of tests with fresh randomness: a correct sampler fails them once in 10⁹ runs."""


# ------------------------------------------------------------ known values


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(2),
        np.eye(5),
        np.ones((3, 1)),
        np.full((3, 3), 1 / 3),
        [[0.5, 0.25, 0.25]] * 4,
        [[0.1] * 10] * 7,
    ],
)
def test_no_measure_is_below_zero_and_no_share_above_one(matrix):
    """The mechanisms at the ends, which tell all or nothing: −0 and −2e-16 are no leakages."""
    made = Mechanism(np.asarray(matrix))
    names = tuple(map(str, range(len(made.matrix))))
    for one in measures.measures(Subject(made, np.arange(len(names)), names), None):
        assert math.copysign(1, one.value) == 1, one
        assert one.upper is None or math.copysign(1, one.upper) == 1, one
        assert one.unit != "share" or one.value <= 1, one


def test_randomised_response_has_closed_forms():
    k, e, prior = 4, math.e, [0.4, 0.3, 0.2, 0.1]
    result = solve(problem("staircase", epsilon=1.0, prior=prior), "randomized-response")
    found = audit(result, samples=1000, confidence=SURE)
    own, rest = e / (e + k - 1), 1 / (e + k - 1)
    reports = rest + (own - rest) * np.array(prior)
    noise = -own * math.log(own) - (k - 1) * rest * math.log(rest)
    expected = {
        "ldp": 1,
        "statistic-maximal-leakage": math.log(k * own),
        "infimum-leakage": -math.log(k * rest),
        "pointwise-leakage": math.log(k * own),
        "indistinguishability": 1,
        "maximal-leakage": math.log(k * own),
        "worst-case-privacy": 1 / e,
        "information": float(-(reports * np.log(reports)).sum()) - noise,
        "blind-guess": 0.4,
        "guess": 0.4 * own + sum(max(0.4 * rest, p * own) for p in prior[1:]),
    }
    assert {m.key for m in found.measures} == {*expected, "average-privacy"}
    for key, value in expected.items():
        assert found[key].value == pytest.approx(value, rel=1e-9), key
        assert found[key].upper in (None, pytest.approx(value, rel=1e-9))
    assert found.passed
    assert found["ldp"].promised == 1
    assert found["ldp"].holds
    assert [m.key for m in found.measures if m.holds is not None] == ["ldp"]


def test_average_privacy_of_two_inputs_by_quadrature():
    result = solve(problem("staircase", epsilon=1.0, prior=[0.5, 0.5]), "randomized-response")
    own = math.e / (1 + math.e)

    def entropy(p):
        return -p * math.log(p) - (1 - p) * math.log(1 - p) if 0 < p < 1 else 0.0

    def hidden(p):
        report = p * own + (1 - p) * (1 - own)
        return entropy(p) + entropy(own) - entropy(report)

    jeffreys = beta(0.5, 0.5).pdf
    parts = [quad(lambda p, f=f: f(p) * jeffreys(p), 0, 1)[0] for f in (hidden, entropy)]
    found = audit(result, samples=1000, confidence=SURE)["average-privacy"]
    assert found.value == pytest.approx(parts[0] / parts[1], abs=1e-6)
    assert "Jeffreys" in found.meaning


def test_levels_of_a_design(census):
    found = audit(census, samples=1000, confidence=SURE)
    assert found.passed
    assert found["robust"].value == census.level.level
    assert found["robust"].holds
    assert found["robust-all"].value > 30  # the repair lifts zeros to the last bits of a float
    assert found["robust-all"].holds is None
    p = Single(census.question.p_hat)
    assert found["observed"].value == pytest.approx(rldp_level(census.mechanism, p).level, abs=1e-12)
    assert found["statistic-maximal-leakage"].value <= found["maximal-leakage"].value
    assert found["information"].value == pytest.approx(census.result.value, rel=1e-12)
    assert found["secret-information"].value < found["information"].value
    assert found["guess"].value <= found["blind-guess"].value * math.exp(found["observed"].value)
    json.dumps(found.to_json(), allow_nan=False)


def test_witness_in_words(census):
    """The report, the two secrets, and the cell where the witness is farthest from what was observed."""
    level, observed = census.level, census.question.p_hat
    detail = audit(census, samples=1000, confidence=SURE)["robust"].detail
    names = [census.domain.secret.labels[s] for s in (level.s, level.other)]
    assert detail.startswith(f"report {level.y}, {names[0]} against {names[1]}; worst where ")
    rows = [level.s, level.other]
    given, before = (p[rows] / p[rows].sum(axis=1, keepdims=True) for p in (level.witness, observed))
    i, u = np.unravel_index(np.abs(given - before).argmax(), given.shape)
    public = census.domain.public.labels[u]
    assert f"{public} given {names[i]} has {given[i, u]:.4g} instead of {before[i, u]:.4g}" in detail


def test_a_witness_that_is_the_observed_distribution_is_not_told(census):
    of = subject(census)
    seen = replace(census.level, witness=census.question.p_hat * (1 + 1e-9))
    words = measures.witness_in_words
    assert words(of, seen) == words(of, census.level).split("; worst")[0]


def test_what_each_method_promises(response):
    keys = {
        ("srr", "chi2"): {"robust", "robust-all"},
        ("srr", "all"): {"robust-all"},
        ("grr", "known"): {"robust", "ldp"},
    }
    for (method, robust), expected in keys.items():
        made = design(TABLE, "sex", "race", epsilon=1.0, method=method, robust=robust)
        found = audit(made, samples=100, confidence=SURE)
        assert {m.key for m in found.measures if m.holds} == expected
    alone = design(TABLE, ["sex", "race"], epsilon=1.0, method="grr")
    found = audit(alone, TABLE, samples=100, confidence=SURE)
    assert {m.key for m in found.measures if m.holds} == {"ldp"}


def test_plain_results():
    joint = solve(problem("secret-staircase", epsilon=1, prior=[[0.2, 0.1], [0.3, 0.4]]))
    assert {m.key for m in audit(joint, samples=100, confidence=SURE).measures if m.holds} == {
        "robust-all"
    }
    leak = solve(problem("leakage-design", tau=2, d=2, leakage=0.5))
    found = audit(leak, samples=100, confidence=SURE)
    assert found["statistic-maximal-leakage"].value == pytest.approx(0.5, abs=1e-9)
    assert found["statistic-maximal-leakage"].promised == 0.5
    assert found.epsilon is None
    no_mechanism = solve(problem("statistic-leakage", matrix=[[1.0, 0.0], [0.0, 1.0]], secrets=[0, 1]))
    with pytest.raises(InvalidInputError, match="no mechanism"):
        audit(no_mechanism)
    with pytest.raises(InvalidInputError, match="names the columns"):
        audit(joint, TABLE)


def test_hard_leakage_is_an_interval(monkeypatch):
    """Without time to branch: what a selection attains, and what prices prove."""
    rng = np.random.default_rng(0)
    mechanism = Mechanism(rng.dirichlet(np.full(64, 0.3), size=64))
    secrets = np.repeat(np.arange(8), 8)
    of = Subject(mechanism, secrets, tuple("abcdefgh"), (), None, None, {"ldp": 1.0})
    monkeypatch.setattr(measures, "LEAKAGE_SECONDS", 1e-9)
    found = {m.key: m for m in measures.measures(of, None)}
    sml = found["statistic-maximal-leakage"]
    assert sml.value < sml.upper <= found["maximal-leakage"].value + 1e-12
    undecided = replace(sml, promised=(sml.value + sml.upper) / 2)
    assert undecided.holds is None
    assert replace(sml, promised=sml.value / 2).holds is False
    assert replace(sml, promised=sml.upper).holds is True


def test_hard_leakages_share_the_time_that_is_left(monkeypatch, clock):
    given = []

    def taking(W, secrets, *, effort, time_limit):
        given.append(time_limit)
        clock.move(time_limit)
        return 0.0, 1.0

    for name in ("statistic_maximal_leakage", "infimum_leakage"):
        monkeypatch.setattr(measures.leakage, name, taking)
    of = Subject.of_values(Mechanism([[0.7, 0.3], [0.3, 0.7]]), None, {})
    measures.measures(of, None, Limits.within(16.0))
    assert given == [4.0, 3.0]
    given.clear()
    measures.measures(of, None)
    assert given == [measures.LEAKAGE_SECONDS] * 2


# ------------------------------------------------------------ tampering


def tampered(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_refuted_claims_are_named(file):
    tampered(file, lambda d: d.update(value=d["value"] + 0.01))
    found = audit(file)
    assert not found.passed
    assert found.verdict.startswith("FAILED: the certificate is refuted: its information")
    assert found.empirical == ()


def test_a_weaker_mechanism_is_caught(file, response):
    """Rows that lean towards their own report break the promise; claims and measures both say so."""
    half = np.floor(response.mechanism.matrix * 2**51) / 2**52
    rows = half + np.diag(1 - half.sum(axis=1))
    tampered(file, lambda d: d["mechanism"].update(matrix=rows.tolist()))
    found = audit(file)
    assert "differ by at most a factor e^1" in found.verdict
    assert "the robust LDP level, all distributions is" in found.verdict
    assert found["robust-all"].holds is False


def test_no_distribution_at_all(file):
    def double(document):
        document["mechanism"]["matrix"][0] = [2 * p for p in document["mechanism"]["matrix"][0]]

    tampered(file, double)
    found = audit(file)
    assert not found.passed
    assert "every row of the mechanism sums to exactly 1" in found.verdict
    assert found.measures == ()


def test_a_level_just_above_the_promise_is_told_from_it():
    high = measures.Measured("ldp", "LDP level", 1.00017, "nats", "", promised=1.0)
    found = judged(1.0, (), (high,), ())
    assert found.verdict == "FAILED: the LDP level is 1.0002, above the promised 1."


@pytest.mark.parametrize(
    ("value", "upper", "promised", "said"),
    [
        (1.9998716, None, 1.99987161, ("1.99987", "1.99987161")),
        (0.99999, None, 1.0, ("1", "1")),
        (1 + 1e-12, None, 1.0, ("1", "1")),
        (1.2, 1.99986, 1.99987, ("1.2 to 1.99986", "1.99987")),
        (math.inf, None, 3.0, ("inf", "3")),
        (1.23456, None, None, ("1.235", "")),
    ],
)
def test_a_rounded_measure_is_on_its_side_of_the_promise(value, upper, promised, said):
    """What holds is not written as if it exceeded the promise, nor the promise as another number."""
    one = measures.Measured("ldp", "LDP level", value, "nats", "", promised, upper)
    assert (one.text, one.limit) == said


def test_another_promise_than_the_certificate(file):
    tampered(file, lambda d: d["design"].update(epsilon=0.5))
    found = audit(file)
    assert not found.passed
    assert "the certificate is refuted: the design promises what the question asks for" in found.verdict
    assert "the robust LDP level, all distributions is 1, above the promised 0.5" in found.verdict


def spoiled(file, place, junk):
    """Put junk into one place of the design section."""

    def spoil(document):
        *way, last = place
        section = document["design"]
        for key in way:
            section = section[key]
        section[last] = junk

    tampered(file, spoil)


@pytest.mark.parametrize(
    ("place", "junk"),
    [
        (("counts", 0, 0), -1),
        (("counts", 0, 0), 1e30),
        (("method",), []),
        (("domain", "secret", "members", 0), []),
        (("domain", "secret", "columns", 0, "values", 0), None),
        (("domain", "public", "columns", 0, "edges"), ["x"]),
        (("domain", "public", "columns"), []),
    ],
)
def test_garbage_is_unreadable(file, place, junk):
    spoiled(file, place, junk)
    with pytest.raises(UnreadableFileError, match=f"design.{place[0]}.* must be "):
        audit(file)


@pytest.mark.parametrize(
    ("place", "other"),
    [(("counts",), [[1], [1, 2]]), (("domain", "secret", "members", 0, 0), 7)],
)
def test_a_readable_section_of_another_table_is_refuted(file, place, other):
    spoiled(file, place, other)
    found = audit(file)
    assert not found.passed
    assert "each of its 2 × 5 labels is the input of one row of the mechanism" in found.verdict


def test_an_infinite_level_is_the_word_inf_in_json(response):
    """A report that one secret never gives, measured for all distributions."""
    of = subject(response)
    sure = np.zeros((10, 2))
    sure[:5, 0] = sure[5:, 1] = 1
    open_book = replace(of, mechanism=Mechanism(sure))
    found = {m.key: m for m in measures.measures(open_book, measures.worst_level(open_book))}
    assert found["robust-all"].value == math.inf
    assert json.loads(json.dumps(found["robust-all"].to_json(), allow_nan=False))["value"] == "inf"


# ------------------------------------------------------------ other tables


def sample(census, n, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(10, n, p=census.question.p_hat.ravel())
    sex, race = census.domain.secret.labels, census.domain.public.labels
    return {"sex": [sex[c // 5] for c in codes], "race": [race[c % 5] for c in codes]}


def test_own_table(census):
    found = audit(census, TABLE, samples=100, confidence=SURE)
    assert found.passed
    assert found["data-robust"].value == found["robust"].value
    assert found["data-alike"].value == 1


def test_fresh_samples_of_the_same_distribution(census):
    """Small ones exceed the level by chance; the verdict knows."""
    exceeded = 0
    for seed in range(4):
        found = audit(census, sample(census, 500, seed), samples=100, confidence=SURE)
        exceeded += found["data-observed"].value > 1
        if found["data-alike"].value >= 0.05:
            assert found.passed
        if found["data-observed"].value > 1:
            assert "which may be chance" in found.verdict
    assert exceeded > 0


def test_table_of_another_distribution(census):
    rng = np.random.default_rng(0)
    sex = rng.choice(["Female", "Male"], 2000)
    race = np.where(sex == "Male", "White", rng.choice(["White", "Black"], 2000))
    found = audit(census, {"sex": sex, "race": race}, samples=100, confidence=SURE)
    assert not found.passed
    assert "outside what the mechanism was designed for" in found.verdict
    assert found["data-observed"].holds is False


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sex": ["Female", "Martian"], "race": ["White", "White"]}, "row 2 .* 'Martian'"),
        ({"sex": ["Female"]}, "no column 'race'"),
        ({"sex": ["Female"], "race": ["White"]}, "no row of the table has sex = 'Male'"),
    ],
)
def test_tables_that_do_not_fit(census, table, message):
    with pytest.raises(InvalidInputError, match=message):
        audit(census, table)


# ------------------------------------------------------------ the command line


def test_a_table_is_read_before_the_checker_begins(file, monkeypatch):
    monkeypatch.setattr(auditing, "verify", lambda *_, **__: pytest.fail("the checker was asked first"))
    with pytest.raises(InvalidInputError, match="empty"):
        audit(file, {"sex": ["Female", None], "race": ["White", "White"]})


def test_as_a_user(file, tmp_path, ldpopt):
    shown = ldpopt("audit", file, "--samples", 10_000, "--confidence", SURE, "--explain")
    assert shown.code == 0, shown.err
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert lines[-1].startswith(
        "PASSED: what was promised holds (robust LDP level, all distributions 1 ≤ 1"
    )
    assert any("statistic maximal leakage" in line and "0.3799" in line for line in lines)
    tampered(file, lambda d: d.update(value=d["value"] + 0.01))
    failed = ldpopt("audit", file, "--json")
    assert failed.code == 1
    answer = json.loads(failed.out)
    assert answer["passed"] is False
    assert next(c["statement"] for c in answer["claims"] if not c["holds"]).startswith("its information")
    (tmp_path / "table.csv").write_text("sex,race\nFemale,Martian\n")
    bad = ldpopt("audit", file, "--data", tmp_path / "table.csv")
    assert bad.code == 2
    assert bad.err.count("\n") == 1
    assert "'Martian'" in bad.err


def test_the_first_screen_of_an_audit_has_ten_lines_and_the_guesses(census, tmp_path, ldpopt):
    """They are those of the first screen of the design, which equal a simulation."""
    census.save(tmp_path / "m.json")
    said = ldpopt("audit", "m.json", "--samples", 1000, "--confidence", SURE, cwd=tmp_path)
    facts = dict(line.split(maxsplit=1) for line in said.out.splitlines())
    assert list(facts) == ["verdict", "levels", "guesses", "more"]
    shown = [line for text in facts.values() for line in textwrap.wrap(text, 100 - len("guesses  "))]
    assert len(shown) <= 10
    blind, seen = (round(100 * chance) for chance in census.guesses_given_public)
    assert f"who knows the public value, too, in {blind} and {seen} [not checked]" in facts["guesses"]


def test_the_table_of_an_audit_fits_a_terminal(file, ldpopt):
    said = ldpopt("audit", file, "--samples", "100", "--explain").out
    framed = [line for line in said.splitlines() if line.startswith(("┏", "│"))]
    assert 0 < max(map(len, framed)) <= 90
    assert "\nLDP level: no report changes the odds of any two inputs" in said


def test_a_promise_about_counts_is_not_called_absent(census):
    """A public file that states no level has one promise, which an audit cannot check."""
    found = audit(replace(census.public, level=None), samples=1000, confidence=SURE)
    said = "NOT DECIDED: the promise ε = 1 for all distributions that a χ² test"
    assert found.verdict.startswith(said)
    assert "and the other 3 claims of the certificate were verified" in found.verdict
    assert found.passed is OPEN
    asked = {"epsilon": 1.0, "method": "srr", "robust": "chi2"}
    made = design(TABLE, secret="sex", public="race", **asked).public
    more = replace(made, promise=replace(made.promise, epsilon=0.5), recoverable=None)
    found = audit(more, samples=1000, confidence=SURE)
    assert found.verdict.startswith("NOT DECIDED: the promise ε = 0.5 for all distributions")
    assert "; the stated level holds (robust LDP level, all" in found.verdict
    assert found.passed is OPEN


def test_what_the_checker_leaves_open_is_undecided_not_failed(monkeypatch):
    result = solve(problem("staircase", epsilon=1.0, prior=[0.5, 0.5]))
    first, *others = verify(result).claims
    claims = [first._replace(holds=None), *others]
    monkeypatch.setattr(auditing, "verify", lambda result, budget: Verification(tuple(claims)))
    found = audit(result, samples=100, confidence=SURE)
    assert found.passed is None
    assert found.verdict.startswith(
        "UNDECIDED: nothing contradicts the promise, but the checker did not"
    )
    assert found.verdict.endswith(
        f"1 of {len(claims)} claims within its time and memory, first: {first.statement}."
    )
    claims[1] = claims[1]._replace(holds=False)
    refuted = audit(result, samples=100, confidence=SURE)
    assert refuted.passed is False
    assert refuted.verdict == f"FAILED: the certificate is refuted: {claims[1].statement}."


def test_an_audit_shares_its_time_limit(file, clock, monkeypatch, ldpopt):
    """The checker has half of it; what it does not decide by then is undecided."""
    given = []

    def impatient(design, budget):
        given.append(budget)
        return Verification((Claim("nobody knows", "exact", None),))

    monkeypatch.setattr(auditing, "verify", impatient)
    assert audit(file, samples=20, time_limit=10.0).passed is None
    assert audit(file, samples=20).passed is None
    said = ldpopt("audit", file, "--samples", 20, "--time-limit", 4)
    assert said.code == 3
    assert f"finish   ldpopt verify {file} --budget 600" in said.out
    assert given == [5.0, SECONDS, 2.0]
