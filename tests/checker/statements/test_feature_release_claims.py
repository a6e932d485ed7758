"""Feature release: what is accepted is true, by brute force; users to come against mpmath."""

import itertools
import json
import math
import random
from collections import Counter
from fractions import Fraction

import mpmath
import pytest

from ldpopt import solve, verify
from ldpopt.checker import frame
from ldpopt.checker.kernel.budget import UndecidedError, limited
from ldpopt.checker.kernel.claims import verdict
from ldpopt.checker.kernel.printed_numbers import printed
from ldpopt.checker.kernel.proofs import exposure_rules, future_users
from ldpopt.checker.kernel.proofs.gamma_function import log_gamma
from ldpopt.checker.kernel.reading import UnreadableError
from ldpopt.checker.statements import feature_release as section
from ldpopt.core.errors import InvalidInputError
from ldpopt.problems import FeatureRelease

UNIT = future_users.UNIT


def exposed(table, subset, t):
    rows = [tuple(row[j] for j in subset) for row in table]
    return Fraction(sum(n for n in Counter(rows).values() if Fraction(n, len(rows)) < t), len(rows))


def document(params, features, value, bound, conflicts):
    gap = abs(Fraction(bound) - Fraction(value)) / max(
        Fraction(value), Fraction(bound), Fraction(1, 10**4)
    )
    return {
        "format": 1,
        "problem": "feature-release",
        "params": params,
        "status": "optimal" if gap == 0 else "gap",
        "value": value,
        "bound": bound,
        "gap": float(gap),
        "mechanism": None,
        "answer": {"features": features},
        "certificate": {"proof": {"conflicts": conflicts}, "gap": 1e-9},
    }


def test_what_is_accepted_about_tables_is_true():
    """Random answers, bounds and conflicts: accepted only if true, and some are."""
    rng, accepted = random.Random(8), 0
    subsets = [list(s) for n in range(4) for s in itertools.combinations(range(3), n)]
    for _ in range(2500):
        table = [[rng.randint(0, 2) for _ in range(3)] for _ in range(rng.choice((10, 20)))]
        t, budget = rng.choice((0.1, 0.15, 0.2, 0.3)), rng.choice((0.0, 0.1, 0.2, 0.5))
        weights = [rng.choice((0.0, 0.1, 0.2, 1.0, 3.0)) for _ in range(3)]
        exact = [printed(w) for w in weights]
        risks = {tuple(s): exposed(table, s, printed(t)) if s else Fraction(0) for s in subsets}
        safe = [s for s in subsets if risks[tuple(s)] <= printed(budget)]
        conflicts = [s for s in subsets if s and (s not in safe or rng.random() < 0.05)]
        features = rng.choice(safe if rng.random() < 0.8 else subsets)
        value = float(sum(exact[j] for j in rng.choice([features, features, rng.choice(subsets)])))
        bound = max(value, float(max(sum(exact[j] for j in s) for s in rng.choice([safe, subsets[:4]]))))
        params = {"table": table, "threshold": t, "budget": budget, "weights": weights}
        claims = frame.check(document(params, features, value, bound, conflicts))
        if verdict(claims):
            accepted += 1
            assert risks[tuple(features)] <= printed(budget)
            assert sum(exact[j] for j in features) >= printed(value)
            assert all(sum(exact[j] for j in s) <= printed(bound) for s in safe)
    assert accepted > 300


def test_what_is_accepted_about_marginals_is_true():
    """The same with marginals: two values each, all sets of kept values, all pivots."""
    rng, accepted = random.Random(9), 0
    subsets = [list(s) for n in range(4) for s in itertools.combinations(range(3), n)]
    for _ in range(300):
        marginals = [[n / 20, 1 - n / 20] for n in (rng.randint(1, 10) for _ in range(3))]
        t, budget = rng.choice((0.01, 0.05, 0.1)), rng.choice((0.1, 0.2, 0.4, 0.5))
        exact = section.question(
            frame.statement(
                "feature-release", {"threshold": t, "budget": budget, "table": [[0]], "weights": [1]}
            )
            | {"marginals": [[Fraction(repr(x)) / sum(map(printed, p)) for x in p] for p in marginals]}
            | {
                "table": None,
                "weights": [Fraction(1)] * 3,
                "threshold": printed(t),
                "budget": printed(budget),
            }
            | {"delta": Fraction(1, 20)}
        ).marginals
        risks = {tuple(s): least_risk([exact[j] for j in s], printed(t)) for s in subsets if s}
        safe = [s for s in subsets if not s or risks[tuple(s)] <= printed(budget)]
        conflicts = [s for s in subsets if s and (s not in safe or rng.random() < 0.05)]
        features = rng.choice(subsets)
        bound = float(max(len(features), rng.choice([max(map(len, safe)), 1])))
        params = {"marginals": marginals, "threshold": t, "budget": budget, "weights": [1.0] * 3}
        if verdict(frame.check(document(params, features, float(len(features)), bound, conflicts))):
            accepted += 1
            assert features in safe
            assert all(len(s) <= bound for s in safe)
    assert accepted > 20


def least_risk(marginals, t):
    """The least over all kept sets and, roughly from above, over thresholds of theorem-2."""
    best = Fraction(1)
    caps = [sorted({*p, Fraction(1)}) for p in marginals]
    for chosen in itertools.product(*caps):
        best = min(best, exposure_rules.proven(marginals, t, "theorem-3-tight", chosen, None))
    # theorem-2 by bisection on the exact decision
    low, high = Fraction(0), best
    if not exposure_rules.provable(marginals, t, "theorem-2", best, less=True):
        return best
    for _ in range(50):
        middle = (low + high) / 2
        if exposure_rules.provable(marginals, t, "theorem-2", middle, less=False):
            high = middle
        else:
            low = middle
    return high


def test_a_group_of_exactly_t_is_not_exposed():
    """3 of 30 users are not less than 0.1 of them, though the double 0.1 is more than a tenth."""
    table = [[0]] * 3 + [[1]] * 27
    assert FeatureRelease(0.1, 0.0, table=table).exposure((0,)) == 0
    assert FeatureRelease(0.11, 0.0, table=table).exposure((0,)) == 0.1
    assert verify(solve(FeatureRelease(0.1, 0.0, table=table)))


def test_the_words_about_users_speak_of_an_expectation():
    table = [(v % 2, v % 10) for v in range(1000)]
    result = solve(FeatureRelease(0.05, 0.01, table=table, weights=[1, 2], users=1000))
    words = " ".join(str(claim) for claim in frame.check(json.loads(json.dumps(result.to_json()))))
    assert "drawn independently from one distribution and the table has all possible values" in words
    assert "the expected fraction of 1000 future users that the released features expose" in words
    assert "numeric" not in words
    two = " ".join(
        str(c) for c in frame.check(solve(FeatureRelease(0.1, 0.1, marginals=[[1.0]])).to_json())
    )
    assert (
        "none of the sets of features that theorem-3-tight or theorem-2 proves safe weighs more" in two
    )


@pytest.mark.parametrize("given", [{"table": [(v,) for v in range(20)]}, {"marginals": [[0.05] * 20]}])
def test_the_words_about_redacted_features_say_so(given):
    """Every user stands out by its own value, and none by a value that all of them have redacted."""
    result = solve(FeatureRelease(0.1, 0.0, **given, redact=0.1))
    assert result.answer["features"] == [0]
    for claim in verify(result).claims:
        about_features = claim.what in ("privacy", "value", "bound")
        assert (", rare values redacted at 0.1," in claim.statement) == about_features


def test_a_result_is_optimal_among_the_sets_that_its_bound_is_about():
    table = [(v % 2, v % 10) for v in range(1000)]
    cases = [
        ({"marginals": [[0.5, 0.5]]}, "sets of features that theorem-3-tight or theorem-2 proves safe"),
        ({"table": table}, "safe sets of features"),
        (
            {"table": table, "users": 1000},
            "sets of features whose bound on the expected exposure is within the budget",
        ),
    ]
    for given, among in cases:
        assert (
            verify(solve(FeatureRelease(0.05, 0.01, **given))).status("optimal")
            == f"optimal among {among}"
        )


def test_redaction_is_exact():
    """0.1 + 0.2 is 0.3, and so is the weight that is left 0.7."""
    problem = FeatureRelease(0.05, 0.5, marginals=[[0.7, 0.1, 0.2]], redact=0.15)
    assert problem.question.marginals == [[Fraction(7, 10), Fraction(3, 10)]]
    result = solve(problem)
    assert result.value == result.bound == 0.7
    assert verify(result)


def test_sizes_on_both_sides():
    FeatureRelease(0.1, 0.1, table=[[0] * section.MOST_FEATURES])
    with pytest.raises(InvalidInputError, match="64"):
        FeatureRelease(0.1, 0.1, table=[[0] * (section.MOST_FEATURES + 1)])
    FeatureRelease(0.1, 0.1, table=[[0]], users=section.MOST_USERS)
    with pytest.raises(InvalidInputError, match="2,000,000"):
        FeatureRelease(0.1, 0.1, table=[[0]], users=section.MOST_USERS + 1)


def test_a_long_covering_search_is_undecided():
    """Of 31 of 60 features two are a pair, but a search takes very long to see it."""
    weights, pairs = [Fraction(1)] * 60, [[2 * i, 2 * i + 1] for i in range(30)]
    with limited(seconds=0.2), pytest.raises(UndecidedError):
        section.all_heavier_conflict(weights, pairs, Fraction(30))


# ---------------------------------------------------------------- users to come


@pytest.mark.parametrize("n", [0, 1, 5, 999, 1000, 1001, 4321, 1_999_999])
def test_factorials_are_enclosed(n):
    with mpmath.workdps(80):
        found, truth = log_gamma(Fraction(n + 1)), mpmath.loggamma(n + 1)
        assert mpmath.mpf(str(found.low)) <= truth <= mpmath.mpf(str(found.high))
        assert found.high - found.low < Fraction(1, 10**30)


def mp_share(n, k, x):
    """x F(k−2; n−1, x), by the incomplete beta function."""
    return x * (1 - mpmath.betainc(k - 1, n - k + 1, 0, x, regularized=True))


@pytest.mark.parametrize(("n", "k"), [(2, 2), (10, 3), (100, 100), (1000, 50), (4000, 7)])
def test_the_exposed_share_is_enclosed(n, k):
    with mpmath.workdps(60):
        for x in (0, 1, UNIT // 10**6, UNIT // 1000, UNIT // 20, UNIT // 2, UNIT - 1, UNIT):
            found, truth = future_users.exposed_share(n, k, x), mp_share(n, k, mpmath.mpf(x) / UNIT)
            slack = mpmath.mpf(10) ** -50
            assert mpmath.mpf(str(found.low)) <= truth + slack
            assert truth - slack <= mpmath.mpf(str(found.high))
            assert float(found.high - found.low) <= 1e-30


@pytest.mark.parametrize(("n", "k"), [(2, 2), (10, 3), (100, 100), (1000, 50)])
def test_the_peak_is_where_the_share_is_largest(n, k):
    low, high = future_users.peak(n, k)
    assert low < high
    with mpmath.workdps(60):
        top = mp_share(n, k, mpmath.mpf(low) / UNIT)
        for i in range(1, 200):
            assert mp_share(n, k, mpmath.mpf(i) / 200) <= top * (1 + mpmath.mpf(10) ** -20)


def test_the_largest_of_legal_questions():
    """Two million users and every second one alike: an answer, with 30 digits."""
    n = section.MOST_USERS
    low, high = future_users.peak(n, n // 2)
    assert 0 < high - low <= high >> 70
    found = future_users.exposed_share(n, n // 2, low)
    assert 0.49 < float(found.low) <= float(found.high) < 0.5
    assert float(found.high - found.low) < 1e-25


def mp_end(p, reach, limit):
    """The x between p and 0 or 1 with p log(p/x) + (1 − p) log((1 − p)/(1 − x)) = reach."""
    near, far = mpmath.mpf(p), mpmath.mpf(limit)
    for _ in range(140):
        x = (near + far) / 2
        found = sum(a * mpmath.log(a / b) for a, b in ((p, x), (1 - p, 1 - x)) if a > 0)
        near, far = (x, far) if found <= reach else (near, x)
    return near


def test_the_risk_of_users_to_come_is_enclosed():
    rng = random.Random(1)
    for _ in range(10):
        counts = [rng.randint(1, 40) for _ in range(rng.randint(1, 6))]
        m, n = sum(counts), rng.randint(2, 300)
        k = rng.randint(2, n)
        known = future_users.sample(m, [len(counts)], Fraction(1, 20), n, k)
        found = future_users.expected_exposure(known, counts, len(counts) + 1)
        with mpmath.workdps(40):
            reach = mpmath.log(2 * len(counts) * 20) / m
            peak = mpmath.mpf(future_users.peak(n, k)[0]) / UNIT
            terms = []
            for count in [*counts, 0]:
                p = mpmath.mpf(count) / m
                x = min(max(peak, mp_end(p, reach, 0)), mp_end(p, reach, 1))
                terms.append(mp_share(n, k, x))
            truth = min(mpmath.mpf(1), sum(terms))
            slack = mpmath.mpf(10) ** -20
            assert mpmath.mpf(str(found.low)) - slack <= truth <= mpmath.mpf(str(found.high)) + slack
            assert math.isclose(found.low, found.high, rel_tol=1e-15, abs_tol=1e-20)


def test_thresholds_that_an_answer_names_must_prove_its_risk():
    """Others would; the claim is about those of the file. Named they are all three, or none."""
    asked = FeatureRelease(0.01, 0.2, marginals=[[0.7, 0.2, 0.1], [0.9, 0.1]], weights=[1.0, 1.0])
    found = json.loads(json.dumps(solve(asked).to_json()))
    said = next(claim for claim in frame.check(found) if claim.what == "privacy")
    assert said.holds
    assert said.statement.endswith("theorem-3-tight with the thresholds of the answer")
    plain = {name: found["answer"][name] for name in ("features", "exposure")}
    assert verdict(frame.check(found | {"answer": plain})) is True
    useless = found["answer"] | {"thresholds": [1.0, 1.0]}
    assert [c.what for c in frame.check(found | {"answer": useless}) if not c.holds] == ["privacy"] * 2
    with pytest.raises(UnreadableError, match="all of rule, thresholds, pivot, or none"):
        frame.check(found | {"answer": plain | {"thresholds": [1.0, 1.0]}})
