"""What an audit found, and where privacy is least."""

from __future__ import annotations

import math

from ldpopt.audit.auditing import REPORTS, audit
from ldpopt.audit.black_box import LEAST_SAMPLES
from ldpopt.audit.findings import Audit
from ldpopt.core.limits import UNLIMITED, Limits
from ldpopt.core.number_text import factor_at_most
from ldpopt.engine.result import Result
from ldpopt.engine.verifying import NOT_CHECKED
from ldpopt.measures.rldp_level import Level
from ldpopt.release.designed import Design
from ldpopt.release.designing import AnyDesign
from ldpopt.release.promises import worst_report
from ldpopt.report.heatmap import probability
from ldpopt.report.loading import Loaded, Published
from ldpopt.report.sections import Fact, Grid
from ldpopt.report.wording import abbreviated

AUDIT_SAMPLES, AUDIT_CONFIDENCE = 200_000, 1 - 1e-6
"""Most reports per secret that are attacked, and how sure an attack must be to fail a result."""


def audited(loaded: Loaded | Published, limits: Limits = UNLIMITED) -> Audit | None:
    """Compute every measure of a mechanism, and attack its sampler, within the time of the limits."""
    content = loaded.content
    if isinstance(content, Result) and content.mechanism is None:
        return None
    secrets = len(content.mechanism.inputs) if isinstance(content, Result) else content.domain.shape[0]
    return audit(
        content,
        samples=max(LEAST_SAMPLES, min(AUDIT_SAMPLES, REPORTS // secrets)),
        confidence=AUDIT_CONFIDENCE,
        time_limit=limits.left(),
        decided=loaded.verification,
    )


def worst_case(made: AnyDesign) -> list[Fact]:
    """Name the report and the two secrets that are told apart best.

    Of a design it is where its level is attained, of a public one for the worst distribution of all.
    """
    if made.kept is not None and made.promise.secrecy:
        note = f"of {made.promise.epsilon:g} allowed, times the multiple of each pair; {NOT_CHECKED}"
        return [Fact("Level", f"{made.kept.value:.4g}", note)]
    if made.kept is not None:
        note = f"of {factor_at_most(made.promise.epsilon, 4)} allowed; {NOT_CHECKED}"
        return [Fact("Factor", f"{math.exp(made.kept.value):.4g}", note)]
    if isinstance(made, Design):
        level, note = made.level, f"of {factor_at_most(made.promise.epsilon, 4)} allowed"
    else:
        level, note = made.universal_level, "for the worst distribution of all"
    factor = "without limit" if math.isinf(level.level) else f"{math.exp(level.level):.4g}"
    return [*telling(made, level), Fact("Factor", factor, f"{note}; {NOT_CHECKED}")]


def telling(made: AnyDesign, level: Level) -> list[Fact]:
    """Name the report at which a level is attained, and the two secrets, where not any two will do."""
    found = worst_report(made, level)
    secrets = [Fact("Secrets", found.secrets)] * bool(found.secrets)
    return [Fact("Report", found.report, "it tells most"), *secrets]


def witness(made: Design) -> Grid | None:
    """Show the distribution of the set that attains the level, as P(u | s), for the two secrets.

    A notion such as ``given`` is no level over distributions: none is where it is attained.
    """
    if made.kept is not None or made.domain.public is None:
        return None
    if made.level.witness.shape != made.domain.shape:
        return None
    level, secrets = made.level, made.domain.secret.labels
    rows = []
    for s in (level.s, level.other):
        total = level.witness[s].sum()
        given = level.witness[s] / total if total > 0 else level.witness[s]
        rows.append((secrets[s], [probability(p) for p in given]))
    return Grid(made.domain.secret.name, list(made.domain.public.labels), rows)


def certificate_audit(loaded: Loaded) -> list[Fact]:
    """List what the certificate says about the measured level; a mark where no claim says it."""
    claimed = [claim.holds for claim in loaded.verification.claims if claim.what == "audit"]
    mark = "" if claimed and all(claimed) else NOT_CHECKED
    meanings = {
        "level": "the level that was measured on the answer",
        "output": "the report that tells most",
        "secrets": "the two secrets that it tells apart best",
        "witness": "the distribution [s][u] of the set at which the level is attained",
    }
    return [
        Fact(
            name.replace("_", " "),
            abbreviated(value),
            "; ".join(filter(None, (meanings.get(name, ""), mark))),
        )
        for name, value in loaded.result.certificate.audit.items()
    ]
