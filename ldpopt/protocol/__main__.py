"""Run the protocol on random users: ``python -m ldpopt.protocol --users 1000 --features 10``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from rich.progress import Progress as Bars

from ldpopt.core.errors import LdpoptError
from ldpopt.protocol import Policy, run_protocol


def main() -> None:
    """Run the protocol on random users and say what each party learnt."""
    parser = argparse.ArgumentParser(description="Run the two-round protocol on random users.")
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--features", type=int, default=10)
    chosen = parser.parse_args()
    values = np.random.default_rng(0).integers(0, 4, (chosen.users, chosen.features))
    names = [f"feature {j}" for j in range(chosen.features)]
    with Bars() as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        try:
            outcome = run_protocol(values.tolist(), names, Policy(1e-3, 0.1), progress=show)
        except LdpoptError as error:
            sys.exit(str(error))
    print(f"released: {', '.join(outcome.released) or 'nothing'}")
    for words in filter(None, (outcome.proven, outcome.measured)):
        print(words)
    print(f"incidents: {len(outcome.incidents)}; different rows released: {len(outcome.rows)}")
    for stage, seconds in outcome.seconds.items():
        print(f"{stage}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
