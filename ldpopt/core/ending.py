"""Run a program to its end: an error is printed as one sentence, and has an exit code of its own.

No error ends with 0, and none with 1 but that of a file which the checker refutes. What is expected to
go wrong is a :class:`~ldpopt.core.errors.LdpoptError` or an :class:`OSError`; whatever else is raised,
in ldpopt or in a plug-in, is the failure of a program.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import errno
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ldpopt.core import children
from ldpopt.core.errors import (
    FailedError,
    LdpoptError,
    RefutedFileError,
    UndecidedFileError,
    from_ctrl_c,
    spelling_flags,
)
from ldpopt.core.exact import ExitCode, printable

PLACES = 3
"""So many calls are named with an error that nobody expected, the last ones."""
_pressed: list[bool] = []
"""Not empty once Ctrl-C was pressed."""


class TerminatedError(BaseException):
    """SIGTERM asked the process to end; no handler catches this, and drafts are removed."""


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
    return ExitCode.INTERRUPTED


def run(body: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with its exit code.

    Args:
        body: does the work and returns the exit code. It imports what it needs itself, so that Ctrl-C
            during an import is also printed as one sentence.
    """
    if is_program() and os.name == "posix":
        _answer_for_libraries()
    _open_closed_streams()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads wait for each other on a busy machine
    os.environ.update(children.environment())
    children.ignore_settings_here()
    try:
        signal.signal(signal.SIGTERM, _terminate)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as behind nohup
            signal.signal(signal.SIGINT, _interrupt)
            sys.unraisablehook = _press_again
        with spelling_flags():
            code = _guarded(body)
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
    except KeyboardInterrupt:
        code = _interrupted()
    except TerminatedError:
        code = ExitCode.TERMINATED
    except BrokenPipeError:  # nobody reads the output any more: discard the rest
        _drop_output()
        code = ExitCode.NOT_READ
    except OSError as error:  # the disk that standard output goes to is full
        print(f"ldpopt: cannot write the output: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        code = ExitCode.BAD_INPUT
    if _pressed or is_program():
        _end(code)
    sys.exit(int(code))


def is_program() -> bool:
    """Return whether this process is a program of ldpopt, not one that calls it."""
    begun = getattr(sys.modules["__main__"], "__file__", None) or ""
    return os.path.basename(begun) == "ldpopt" or begun == os.path.join(
        children.ROOT, "ldpopt", "__main__.py"
    )


def _answer_for_libraries() -> None:
    """Have ``exit(1)`` of a library not be read as a verdict: it ends with "undecided".

    OpenBLAS calls it, after a sentence of its own, where memory is short. :func:`_end` passes it by.
    """
    c = ctypes.CDLL(None)
    if hasattr(c, "__cxa_atexit"):
        c.__cxa_atexit(c._exit, ctypes.c_void_p(int(ExitCode.UNDECIDED)), None)


def _guarded(body: Callable[[], int]) -> int:
    """Run a program; print an error as one sentence and return its exit code."""
    try:
        return body()
    except BrokenPipeError:
        raise
    except LdpoptError as error:
        if isinstance(error, FailedError):
            _show_plugin(error.__cause__)
        return fail(str(error), _code(error))
    except (Exception, SystemExit) as error:
        if _lacks_memory(error):
            return fail("there is not enough memory", ExitCode.UNDECIDED)
        if isinstance(error, OSError):  # a full disk, a directory that may not be searched
            return fail(_refused(error), ExitCode.BAD_INPUT)
        if _pressed or from_ctrl_c(error):  # packages whose import is interrupted raise their own
            raise KeyboardInterrupt from error
        return fail(_failure(error), ExitCode.FAILED)  # a mistake of ldpopt, or of a plug-in


def _lacks_memory(error: BaseException) -> bool:
    """Return whether memory is short: for an object, the system, a thread, or a library to be loaded."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    unloaded = isinstance(error, ImportError) and "failed to map segment" in str(error)
    threadless = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    return unloaded or threadless or isinstance(error, MemoryError)


def _code(error: LdpoptError) -> ExitCode:
    if isinstance(error, FailedError):
        return ExitCode.FAILED
    if isinstance(error, RefutedFileError):
        return ExitCode.REFUTED
    return ExitCode.UNDECIDED if isinstance(error, UndecidedFileError) else ExitCode.BAD_INPUT


def fail(sentence: str, code: ExitCode) -> ExitCode:
    """Print a sentence on one line; only a list of reasons is indented on lines below it."""
    print("\n  ".join(map(printable, f"ldpopt: {sentence}".split("\n  "))), file=sys.stderr)
    return code


def _refused(error: OSError) -> str:
    """Say what the operating system refused."""
    where = "" if error.filename is None else f" ({error.filename})"
    return f"{error.strerror or error}{where}"


def _failure(error: BaseException) -> str:
    """Say what failed, and where."""
    import traceback

    calls = traceback.extract_tb(error.__traceback__)
    places = ", ".join(f"{os.path.basename(call.filename)}:{call.lineno}" for call in calls[-PLACES:])
    said = f"{' '.join(f'{type(error).__name__}: {error}'.split())} ({places})"
    file = _show_plugin(error)
    return f"a mistake in ldpopt, no verdict: {said}" if file is None else f"{file} failed: {said}"


def _show_plugin(error: BaseException | None) -> str | None:
    """Print the calls from a plug-in's file on, for its author; return the file, None if there is none.

    It is the first file that lies neither in ldpopt nor where packages of some Python are installed.
    """
    import sysconfig
    import traceback

    calls = [] if error is None else traceback.extract_tb(error.__traceback__)
    known = (os.path.join(children.ROOT, "ldpopt", ""), *sysconfig.get_paths().values())
    for i, call in enumerate(calls):
        installed = call.filename.startswith(known) or "site-packages" in call.filename.split(os.sep)
        if os.path.isabs(call.filename) and not installed:  # not "io.pxi" of C
            lines = "".join(traceback.format_list(calls[i:])).split("\n")
            print("\n".join(map(printable, lines)), end="", file=sys.stderr)
            return call.filename
    return None


def _end(code: int) -> None:
    """End the process as Python does, but for the last step, taking its modules apart, and C's own.

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

    Python has None for such a stream, and its first use would be a crash.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))  # as long as the process runs


def _drop_output() -> None:
    """Discard unwritten output, so that the end of the process does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
