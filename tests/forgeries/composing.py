"""The contradiction fuzzer over random compositions: notions of privacy and an objective, drawn.

Each composition is solved, and mutants of its file are judged as those of any kind. Besides, one more
notion never allows more: a verified value under two of them is at most a verified bound under one.

Run it alone: ``python -m forgeries.composing TRIES SEED`` with ``tests`` on the path.
"""

import json
import sys
from collections import Counter

import numpy as np
from forgeries.contradicting import ClashError, judged, run

from ldpopt import Program, objective, privacy, solve
from ldpopt.core.errors import LdpoptError

MUTANTS = 40
"""Mutants of each composition."""


def notion(rng, k):
    """One notion of privacy for k inputs."""
    epsilon = float(rng.choice([0.1, 0.5, 1, 2]))
    p = prior(rng, k)
    levels = np.where(rng.random((k, k)) < 0.2, np.inf, rng.integers(0, 5, (k, k)) / 2)
    places = np.sort(rng.integers(0, 9, k) / 4)
    secrets = [0, 1, *rng.integers(0, 3, k - 2).tolist()]
    draws = (
        lambda: privacy.LDP(epsilon),
        lambda: privacy.LDP(epsilon, float(rng.choice([0.001, 0.05, 0.5]))),
        lambda: privacy.Secret(epsilon, secrets),
        lambda: privacy.Pairs(levels),
        lambda: privacy.Metric(epsilon, np.abs(np.subtract.outer(places, places))),
        lambda: privacy.Given(epsilon, (k, 1)),
        lambda: privacy.PML(epsilon, p),
        lambda: privacy.InformationPrivacy(epsilon, p),
        lambda: privacy.Sensitive(epsilon, sorted({0, int(rng.integers(k))})),
        lambda: privacy.Scenarios(epsilon, [np.reshape(prior(rng, k), (k, 1)) for _ in range(2)]),
        lambda: privacy.Cone(rng.integers(-1, 4, (2, k))),
        lambda: privacy.MaximalLeakage(epsilon / 2),
        lambda: privacy.StatisticLeakage(epsilon / 2, secrets),
        # with a smooth objective, tangents for three inputs take seconds
        lambda: (
            privacy.Renyi(epsilon, float(rng.choice([1.5, 2, 9]))) if k == 2 else privacy.LDP(epsilon)
        ),
        lambda: (
            privacy.Robust(
                epsilon, {"kind": "total-variation", "p_hat": p.reshape(2, 2), "radius": 0.01}
            )
            if k == 4
            else privacy.LDP(epsilon)
        ),
    )
    return draws[rng.integers(len(draws))]()


def goal(rng, k):
    """One objective over k inputs."""
    p, pair = prior(rng, k), [prior(rng, k), prior(rng, k)]
    score = rng.integers(-3, 4, k).astype(float)
    score[0] += score.any() == 0
    draws = (
        lambda: objective.MutualInformation(p),
        lambda: objective.Guessing(p),
        lambda: objective.Bayes(pair, prior(rng, 2)),
        lambda: objective.KL(pair),
        lambda: objective.TotalVariation(pair),
        lambda: objective.ChiSquared(pair),
        lambda: objective.Hellinger(pair),
        lambda: objective.Renyi(pair, float(rng.choice([0.5, 2, 3]))),
        lambda: objective.Fisher(p, score - score @ p),
        lambda: objective.Largest(rng.integers(-2, 4, (2, k))),
        lambda: objective.Loss(p, rng.integers(0, 4, (k, 3)) / 2),
        lambda: objective.Queries(rng.integers(0, 3, (2, k)) + np.eye(2, k), p),
        lambda: objective.LogDet(p),
    )
    return draws[rng.integers(len(draws))]()


def prior(rng, k):
    """A distribution of eighths, in which a zero is seldom."""
    parts = rng.multinomial(8 - k, np.ones(k) / k) + 1
    if rng.random() < 0.1:
        parts[0], parts[1] = 0, parts[0] + parts[1]
    return parts / 8


def answered(notions, asked):
    """The verified file of a composition, or why there is none: refused, without a proof, undecided."""
    try:
        result = solve(Program(notions, asked), time_limit=20)
    except LdpoptError:
        return "refused", None
    if result.mechanism is None or result.bound is None:
        return result.status.value, None
    document = json.loads(json.dumps(result.to_json()))
    said = judged(document, 30.0)
    assert said != "refuted", document
    return said, document


def fuzzed(tries, seed):
    """Count what became of random compositions, of mutants of their files, and of those verified."""
    rng, found, counts, opinions = np.random.default_rng(seed), Counter(), Counter(), Counter()
    while sum(counts.values()) < tries:
        compose(rng, found, counts, opinions)
    return found, counts, opinions


def compose(rng, found, counts, opinions):
    """Draw a composition, solve it, and judge its mutants."""
    k = int(rng.choice([2, 3, 4], p=[0.45, 0.45, 0.1]))
    notions = [notion(rng, k) for _ in range(rng.integers(1, 3))]
    asked, seed = goal(rng, k), int(rng.integers(2**31))
    said, document = answered(notions, asked)
    found[said] += 1
    if said != "verified":
        return
    alone = answered(notions[:1], asked) if len(notions) > 1 else (said, None)
    if alone[0] == "verified" and alone[1]:
        compare(document, alone[1])
    judged_so, inspected_so = run([document], MUTANTS, seed)
    counts.update(judged_so)
    opinions.update(inspected_so)


def compare(stricter, other):
    """Compare two verified files of one objective, the first under more notions of privacy."""
    sign = 1 if "maximise" in stricter["params"] else -1
    if sign * stricter["value"] > sign * other["bound"]:
        raise ClashError(f"one more notion of privacy allows more: {json.dumps([stricter, other])}")


if __name__ == "__main__":
    given, start = map(int, sys.argv[1:])
    questions, judgements, inspections = fuzzed(given, start)
    print(f"compositions {dict(questions)}; mutants {dict(judgements)}, of these {dict(inspections)}")
