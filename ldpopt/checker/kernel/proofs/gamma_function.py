"""The logarithm of Γ and its derivative ψ, enclosed by Stirling's series.

Lemma (DLMF 5.11.ii). For x > 0, each up to the first term that is left out,

    log Γ(x) = (x − ½) log x − x + ½ log 2π + Σ_n B_2n/(2n (2n − 1) x^(2n−1)),
    ψ(x) = log x − 1/(2x) − Σ_n B_2n/(2n x^2n);

log Γ(x) = log Γ(x + 1) − log x and ψ(x) = ψ(x + 1) − 1/x. ∎
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from ..arithmetic import PI, ZERO, Interval, enclose, log, total

BERNOULLI = list(
    map(
        Fraction,
        (1, -1, 1, -1, 5, -691, 7, -3617, 43867, -174611, 854513),
        (6, 30, 42, 30, 66, 2730, 6, 510, 798, 330, 138),
    )
)
"""B_2, B_4, …, B_22; the last bounds the error."""
SHIFTED = 40
"""Arguments are raised to this size."""


@lru_cache(maxsize=4096)
def log_gamma(x: Fraction) -> Interval:
    """Enclose log Γ(x), x > 0."""
    raised, half = ZERO, Fraction(1, 2)
    while x < SHIFTED:
        raised = raised + log(x)
        x += 1
    terms = (B / (2 * n * (2 * n - 1)) / x ** (2 * n - 1) for n, B in enumerate(BERNOULLI, start=1))
    stirling = enclose(x - half) * log(x) - enclose(x) + enclose(half) * (PI + PI).log()
    return stirling + _enveloped(terms) - raised


def digamma(x: Fraction) -> Interval:
    """Enclose ψ(x), x > 0."""
    raised = ZERO
    while x < SHIFTED:
        raised = raised + enclose(1 / x)
        x += 1
    terms = (B / (2 * n) / x ** (2 * n) for n, B in enumerate(BERNOULLI, start=1))
    return log(x) - enclose(1 / (2 * x)) - _enveloped(terms) - raised


def _enveloped(terms: Iterable[Fraction]) -> Interval:
    """Enclose a sum that is off by at most its last term, which is left out."""
    *kept, omitted = terms
    error = enclose(abs(omitted))
    return total(map(enclose, kept)) + Interval((-error).low, error.high)
