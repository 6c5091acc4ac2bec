"""Processes that end themselves with kill -9 at one line of this project's code."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any


class DiesAt:
    """A trace function that counts the lines of some files and ends the process at one."""

    def __init__(self, line: int, traced: frozenset[str]) -> None:
        self.line, self.traced, self.seen = line, traced, 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> "DiesAt | None":
        if frame.f_code.co_filename not in self.traced:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def run_and_die(
    work: Callable[[Any], object], given: Any, line: int, traced: frozenset[str], seen: Any
) -> None:
    """Does the work until the line; its threads count too."""
    tracer = DiesAt(line, traced)
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        work(given)
    finally:
        sys.settrace(None)
        seen.value = tracer.seen


def processes(modules: Sequence[str]) -> Any:
    """A context whose processes fork from a clean one that has imported the modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def child(
    context: Any, work: Callable[[Any], object], given: Any, line: int, traced: frozenset[str]
) -> tuple[int, int]:
    """Exit code of ``work(given)``, and how many lines were run where it came to its end.

    With a ``line`` below 1 it lives.
    """
    seen = context.Value("q", 0)
    process = context.Process(target=run_and_die, args=(work, given, line, traced, seen))
    process.start()
    process.join(120)
    assert process.exitcode is not None
    return process.exitcode, seen.value
