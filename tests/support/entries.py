"""Entry points run inside the test's process: the real command line, without a new interpreter."""

import atexit
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

import evaluate
from harness import interrupts
from harness.entry import start
from harness.interrupts import SIGNALS
from support.arms import ROOT


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Entry:
    """``python evaluate.py`` in a folder of the test's own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> Ended:
        self.monkeypatch.setattr(sys, "argv", ["evaluate.py", *arguments])
        self.capsys.readouterr()
        with _signals_kept(), pytest.raises(SystemExit) as ended:
            start(evaluate.CONFIGS)
        captured = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, captured.out, captured.err)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """An entry point ends its process; here the process, and who handles its signals, stays."""
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    hook = sys.unraisablehook
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        atexit.unregister(interrupts._handle)


def arm_folders(root: Path) -> list[Path]:
    return sorted(path.parent for path in root.glob("*/DONE"))


__all__ = ["ROOT", "Ended", "Entry", "arm_folders"]
