"""Measure what a mechanism promises and what its reports give away."""

from ldpopt.core.verb import make_callable

make_callable(__name__, "ldpopt.audit.auditing:audit")
