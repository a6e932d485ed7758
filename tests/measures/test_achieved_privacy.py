"""The share of its allowance that a mechanism uses, against the definition of each notion."""

import numpy as np
import pytest

from ldpopt import Mechanism, Program, audit, objective, privacy, solve
from ldpopt.core.exact import OPEN
from ldpopt.measures.achieved_privacy import used

PRIOR = np.array([0.4, 0.3, 0.2, 0.1])
LINE = np.abs(np.subtract.outer(range(4), range(4)))
W = np.random.default_rng(3).dirichlet(np.ones(3), size=4)
JOINT = PRIOR.reshape(2, 2)


def logs(over, under):
    """The largest log ratio of all columns."""
    return np.log(over / under).max()


def ratios():
    """log W[x, y] / W[z, y], the largest over y, for every pair of inputs."""
    return np.log(W[:, None, :] / W[None, :, :]).max(axis=2)


MEAN, LEVELS = PRIOR @ W, ratios()
GIVEN = (JOINT / JOINT.sum(axis=1, keepdims=True)).reshape(2, 2, 1) * W.reshape(2, 2, 3)
GIVEN = GIVEN.sum(axis=1)
APART = ~np.eye(4, dtype=bool)
CASES = [
    (privacy.LDP(1), LEVELS.max()),
    (
        privacy.LDP(1, delta=0.05),
        max(np.clip(W[x] - np.e * W[z], 0, None).sum() for x in range(4) for z in range(4)),
    ),
    (privacy.Secret(1, list("aabb")), max(LEVELS[:2, 2:].max(), LEVELS[2:, :2].max())),
    (privacy.Pairs(1 + LINE), (LEVELS / (1 + LINE))[APART].max()),
    (privacy.Metric(0.5, LINE), (LEVELS[APART] / LINE[APART]).max()),
    (privacy.Given(1, (2, 2)), max(LEVELS[[0, 2, 1, 3], [2, 0, 3, 1]])),
    (privacy.PML(0.5, PRIOR), logs(W, MEAN)),
    (privacy.InformationPrivacy(0.5, PRIOR), max(logs(W, MEAN), logs(MEAN, W))),
    (privacy.Sensitive(1, [0, 1]), LEVELS.max()),
    (privacy.Scenarios(1, [JOINT]), max(logs(GIVEN[0], GIVEN[1]), logs(GIVEN[1], GIVEN[0]))),
    (privacy.Cone([[2, -1, 0, 0]]), (W[1] / (2 * W[0])).max()),
    (privacy.MaximalLeakage(0.5), np.log(W.max(axis=0).sum())),
    (
        privacy.StatisticLeakage(0.5, list("aabb")),
        np.log(max(np.maximum(W[x], W[z]).sum() for x in (0, 1) for z in (2, 3))),
    ),
]


@pytest.mark.parametrize(("notion", "expected"), CASES, ids=[notion.name for notion, _ in CASES])
def test_least_parameter(notion, expected):
    """The share times what is promised is the least parameter at which the mechanism is private."""
    (part,) = Program(notion, objective.Guessing(PRIOR)).question.parts
    assert used(Mechanism(W), part) * notion.promised == pytest.approx(expected, rel=1e-12)


def test_reports_of_inputs_that_are_not_sensitive():
    """A report of one input that is not sensitive uses nothing."""
    asked = Program(privacy.Sensitive(1, [0]), objective.Guessing([0.5, 0.5]))
    mangat = np.array([[1, 0], [1 / np.e, 1 - 1 / np.e]])
    (part,) = asked.question.parts
    assert used(mangat, part) == pytest.approx(1)
    assert used(np.eye(2), part) == np.inf


@pytest.mark.parametrize("notion", [notion for notion, _ in CASES], ids=lambda notion: notion.name)
def test_audit_measures_the_promise(notion):
    """An audit compares what it measures with what each notion promises."""
    result = solve(Program(notion, objective.Guessing(PRIOR)))
    found = audit(result, samples=1000, confidence=1 - 1e-9)
    promised = [measure for measure in found.measures if measure.promised is not None]
    assert found.passed is True
    assert [measure.holds for measure in promised] == [True]
    assert promised[0].promised == pytest.approx(notion.promised)
    if not result.problem.level:
        assert promised[0].meaning.endswith(f"keeps the notion {notion.name}")


def test_audit_of_several_promises():
    """Each of several notions is measured; one that a mechanism breaks fails the audit."""
    both = [privacy.LDP(2), privacy.MaximalLeakage(0.5), privacy.PML(1, PRIOR)]
    question = Program(both, objective.MutualInformation(PRIOR))
    found = audit(solve(question), samples=1000, confidence=1 - 1e-9)
    assert len([m for m in found.measures if m.holds]) == 3
    assert found.passed is True
    assert found.passed is not OPEN
    (ldp, *own) = [question.subject(Mechanism(np.eye(4))).promises, *question.subject(Mechanism(W)).own]
    assert ldp == {"ldp": 2}
    assert [one.promised for one in own] == [0.5, 1]
