"""Run the command line: ``python -m ldpopt``."""

if __name__ == "__main__":
    from ldpopt.core.children import leave_working_directory

    leave_working_directory()
    from ldpopt.cli import main

    main()
