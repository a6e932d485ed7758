"""The command line, one command per file."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
from typing import Any

_pressed: list[bool] = []
"""Not empty once Ctrl-C was pressed."""


class TerminatedError(BaseException):
    """The process was told to end by SIGTERM; no handler catches this, and drafts are removed."""


def _terminate(*_: object) -> None:
    raise TerminatedError


def _interrupt(*_: object) -> None:
    _pressed.append(True)
    raise KeyboardInterrupt


def _press_again(lost: Any) -> None:
    """Interrupt once more where Python could not raise: in a destructor, or a callback of C code."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        from threading import Timer

        Timer(0.01, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)


def _interrupted() -> int:
    """Say that the command was interrupted; a second Ctrl-C is ignored, so it is said once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("ldpopt: interrupted", file=sys.stderr)
    return 130


def main() -> None:
    """Run the command line; an expected error is printed as one sentence, with an exit code.

    Everything is imported inside, so that Ctrl-C during an import is also printed as one sentence.
    Packages whose import is interrupted raise errors of their own.
    """
    _open_closed_streams()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads wait for each other on a busy machine
    try:
        signal.signal(signal.SIGTERM, _terminate)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as behind nohup
            signal.signal(signal.SIGINT, _interrupt)
            sys.unraisablehook = _press_again
        from ldpopt.cli.app import run

        code = run(sys.argv[1:])
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    except KeyboardInterrupt:
        code = _interrupted()
    except TerminatedError:
        code = 143
    except BrokenPipeError:  # nobody reads the output any more: discard the rest
        _drop_output()
        code = 141
    except OSError as error:  # the disk that standard output goes to is full
        print(f"ldpopt: cannot write the output: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        code = 2
    except Exception:
        if not _pressed:
            raise
        code = _interrupted()
    if _pressed:
        _end(code)
    sys.exit(code)


def _end(code: int) -> None:
    """End the process as Python does, but for the last step: it takes its modules apart.

    An import that Ctrl-C stopped leaves C code half ready, which crashes there after all is said.
    """
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # nobody reads it any more
            continue
    os._exit(code)


def _open_closed_streams() -> None:
    """Discard output if the caller closed standard output or error, as services may; exit codes remain.

    Python has None for such a stream, and its first use would be a crash, whose code 1 says "refuted".
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))  # as long as the process runs


def _drop_output() -> None:
    """Discard unwritten output, so that the end of the process does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
