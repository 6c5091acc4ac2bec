"""Ctrl-C, a scheduler's SIGTERM and a closed terminal's SIGHUP, the first time and the second.

The first one unwinds the program, so that trackers and files close; the second ends it at once,
which loses nothing: every write is whole or absent, as after kill -9.
"""

import atexit
import os
import signal
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ADVICE = "interrupted: run the same command again to go on"


class InterruptedBySignalError(KeyboardInterrupt):
    """A signal that ends the program. A KeyboardInterrupt, so that all close as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def end_on_signals() -> None:
    """Make a signal end the process at once: where nothing is open yet, or nothing any more.

    A signal that the parent had ignored stays so: ``nohup`` ignores SIGHUP, and a shell's
    background job SIGINT.
    """
    _handle(end_at_once)


def raise_on_signals() -> None:
    """Make the first of SIGNALS raise InterruptedBySignalError, and a second end the process."""
    _handle(_raise)
    sys.unraisablehook = _raise_again
    # In the last milliseconds of its end the interpreter takes its handlers off, and a signal
    # would kill it, but one that is ignored stays so. Registered early, this runs late.
    atexit.register(_handle, signal.SIG_IGN)


def _handle(handler: Callable[[int, FrameType | None], NoReturn] | signal.Handlers) -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _raise(number: int, _: FrameType | None) -> NoReturn:
    end_on_signals()
    if number == signal.SIGHUP:
        _leave_terminal()
    raise InterruptedBySignalError(number)


def _raise_again(ignored: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt a moment later that came inside a destructor or an import's callback.

    Python prints and drops what is raised there: the program would go on.
    """
    if not isinstance(ignored.exc_value, InterruptedBySignalError):
        sys.__unraisablehook__(ignored)
        return
    number = ignored.exc_value.number
    signal.signal(signal.SIGALRM, lambda _, frame: _raise(number, frame))
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def end_at_once(number: int, _: FrameType | None) -> NoReturn:
    """End the process and its children with the exit code of a signal, after one line."""
    # Reentrant: the signal may have come in the middle of a write to the same stream.
    with suppress(RuntimeError, OSError):
        sys.stdout.flush()
    with suppress(OSError):
        os.write(2, f"{ADVICE}\n".encode())
    if "multiprocessing" in sys.modules:  # importing it takes as long as Python's own start
        import multiprocessing

        for child in multiprocessing.active_children():
            child.kill()
    os._exit(128 + number)


def _leave_terminal() -> None:
    """Let what is still printed go nowhere: a write to a closed terminal is an error (EIO)."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(descriptor).st_mode):
                os.dup2(nowhere, descriptor)
