"""The application that ``ldpopt`` runs: every command, under its name.

Exit codes: 0 done (for ``verify``: every claim holds), 1 refuted or contradicted, 2 bad input or an
unreadable file, 3 a solver crashed, 130 interrupted.
"""

from __future__ import annotations

import typer

from ldpopt.cli.audit import audit
from ldpopt.cli.bench import bench
from ldpopt.cli.demo import demo
from ldpopt.cli.design import design
from ldpopt.cli.estimate import estimate
from ldpopt.cli.experiment import experiment
from ldpopt.cli.list import list_entries
from ldpopt.cli.privatize import privatize
from ldpopt.cli.report import report
from ldpopt.cli.solve import solve
from ldpopt.cli.verify import verify

app = typer.Typer(
    help="Design and audit privacy mechanisms by optimisation, with certificates.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(solve)
app.command()(verify)
app.command("list")(list_entries)
for command in (experiment, demo, bench, design, privatize, estimate, audit, report):
    app.command()(command)
