"""Run the command line: ``python -m ldpopt``."""

from ldpopt.cli import main

if __name__ == "__main__":
    main()
