"""Import what pyarrow imports on its own, so that Ctrl-C during these imports is not lost."""

from __future__ import annotations

from ldpopt.core.errors import from_ctrl_c


def import_pandas() -> None:
    """Import pandas, if it is there, before pyarrow does.

    pyarrow imports pandas with its first array, and drops all that is raised meanwhile, Ctrl-C too.
    """
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        if from_ctrl_c(error):
            raise KeyboardInterrupt from error
