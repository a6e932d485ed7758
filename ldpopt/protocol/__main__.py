"""Run the protocol on random users: ``python -m ldpopt.protocol --users 1000 --features 10``."""


def main() -> int:
    """Run the protocol on random users and say what each party learnt."""
    import argparse
    from typing import Any

    import numpy as np
    from rich.progress import Progress as Bars

    from ldpopt.core.errors import InvalidInputError
    from ldpopt.protocol import Policy, run_protocol

    parser = argparse.ArgumentParser(
        prog="ldpopt.protocol", description="Run the two-round protocol on random users."
    )
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--features", type=int, default=10)
    try:
        chosen = parser.parse_args()
    except SystemExit as end:  # after --help, or a sentence on what is wrong
        return int(end.code or 0)
    if chosen.users < 1 or chosen.features < 1:
        raise InvalidInputError("users and features must be whole numbers from 1 on")
    values = np.random.default_rng(0).integers(0, 4, (chosen.users, chosen.features))
    names = [f"feature {j}" for j in range(chosen.features)]
    with Bars() as bars:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        outcome = run_protocol(values.tolist(), names, Policy(1e-3, 0.1), progress=show)
    print(f"released: {', '.join(outcome.released) or 'nothing'}")
    for words in filter(None, (outcome.proven, outcome.measured)):
        print(words)
    print(f"incidents: {len(outcome.incidents)}; different rows released: {len(outcome.rows)}")
    for stage, seconds in outcome.seconds.items():
        print(f"{stage}: {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    from ldpopt.core.children import leave_working_directory

    leave_working_directory()
    from ldpopt.core.ending import run

    run(main)
