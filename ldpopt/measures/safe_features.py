"""Which sets of features the marginals prove to be safe, decided exactly.

Let a set J of features have the marginals P_j, and let *exposed* mean: in a cell of the joint
distribution with probability below t. Two rules bound the exposure of **every** joint with these
marginals.

*Kept values* (theorem-3-tight). Keep any set S_j of values of every feature. Then

    Q(t) ≤ Σ_j P_j(not in S_j) + t Π_j |S_j|.

Proof: an exposed user has a value that is not kept, which has at most the first probability, or lies in
one of Π |S_j| cells of probability below t. For a given number of kept values the most frequent ones are
best, and the printed Theorem 3, t / Π t_j instead of t Π N_j(t_j), never has a smaller bound: N_j values
of at least t_j have N_j t_j ≤ 1.

*Conditional thresholds* (theorem-2). For t_j in (0, 1] with Π t_j ≥ t, and any one feature i of J,

    Q(t) ≤ Σ_j Q_j(t_j) + Σ_{j≠i} t_j |V_j|

(Bravo-Hermsdorff et al. 2022, Theorem 2). For one feature this is its exposure itself.

**Definition.** J is *provably safe* if one of the two rules, with some S_j or some t_j, proves
Q(t) ≤ budget; the empty set is. *Risk* is the least bound that the two rules prove, at most 1. So J is
provably safe if and only if risk(J) ≤ budget, and a *conflict* is a set with risk(J) > budget: one
function decides both.

**Lemma (monotone).** J ⊂ K has risk(J) ≤ risk(K). Leave out the features of K that are not in J: in the
first rule the sum falls, and so does the product (if some S_j is empty, the bound is at least 1
anyway). In the second the product of the t_j rises, since they are at most 1, and the sum falls, also
if the feature i itself is left out and another takes its place. So a set that contains a conflict is a
conflict.

Sets that are not provably safe may be safe in truth: the rules are not tight. The numbers are read as
the decimals that are printed for them, and each marginal is divided by its sum. The search over all
thresholds, in rationals, is the checker's own
(:func:`ldpopt.checker.kernel.proofs.exposure_rules.provable`).
"""

from __future__ import annotations

import math

import numpy as np

from ldpopt.core.exact import SAFETY_RULES, Marginals, printed, provable_exposure
from ldpopt.core.forms.searches import ThresholdSearch
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.measures.exposure_from_marginals import Choice, least_proven


def least_risk(marginals: Marginals, threshold: float, limits: Limits = UNLIMITED) -> tuple[str, Choice]:
    """Return the rule that proves the least, its thresholds, and what they prove, rounded up.

    Args:
        marginals: the exact marginals of the features.
        threshold: t.
        limits: when to give up.

    >>> from fractions import Fraction
    >>> marginals = [[Fraction(n, 10) for n in row] for row in ([6, 3, 1], [9, 1])]
    >>> rule, choice = least_risk(marginals, 0.01)
    >>> rule, round(choice.bound, 12)
    ('theorem-3-tight', 0.06)
    """
    floats = tuple(np.array([float(x) for x in p]) for p in marginals)
    searches = {rule: ThresholdSearch(floats, threshold, rule) for rule in SAFETY_RULES}
    proofs = [(rule, least_proven(s, marginals, limits)) for rule, s in searches.items()]
    return min(proofs, key=lambda proof: proof[1].bound)


def risk_beside(
    marginals: Marginals, threshold: float, budget: float, limits: Limits = UNLIMITED
) -> float:
    """Return the risk as a double that lies on the same side of the budget as the risk itself.

    Args:
        marginals: the exact marginals of the features.
        threshold: t.
        budget: the exposure that is allowed.
        limits: when to give up.

    >>> from fractions import Fraction
    >>> coin = [Fraction(1, 2), Fraction(1, 2)]
    >>> risk_beside([coin, coin, coin], 0.0375, 0.3)  # 8 cells of 0.0375 are 0.3
    0.3
    """
    risk = least_risk(marginals, threshold, limits)[1].bound
    # where rounding errors could decide, a risk is compared with the budget in rationals
    if abs(risk - budget) > 1e-9:
        return risk
    if provably_safe(marginals, threshold, budget):
        return min(risk, budget)
    return max(risk, math.nextafter(budget, 2.0))


def provably_safe(marginals: Marginals, threshold: float, budget: float) -> bool:
    """Decide in rationals whether one of the rules proves an exposure within the budget.

    Args:
        marginals: the exact marginals of the features.
        threshold: t, read as its printed decimal.
        budget: the exposure that is allowed, read as its printed decimal.
    """
    t, most = printed(threshold), printed(budget)
    return any(provable_exposure(marginals, t, rule, most, less=False) for rule in SAFETY_RULES)
