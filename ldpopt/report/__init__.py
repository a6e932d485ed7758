"""The HTML page on a design or a result."""

from ldpopt.core.verb import make_callable

make_callable(__name__, "ldpopt.report.page:report")
