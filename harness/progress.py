"""Progress on standard error: a bar on a terminal, a line every 15 seconds in a log file.

A pass shows ``96/144 done, 48 cached, 0 failed, 212 tokens/s`` and the time left.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

QUIET_EVERY_S = 15.0  # between two lines in a log file, which cannot show a bar


class PassProgress:
    """Counts the rows of one pass and shows them on standard error."""

    def __init__(self, title: str, total: int) -> None:
        """Start the clock for ``total`` rows, cached ones included."""
        self.title, self.total = title, total
        self.done = self.cached = self.failed = self.tokens = 0
        self._started = self._shown = monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[counts]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            disable=not sys.stderr.isatty(),
            transient=False,
        )
        self._task = self._bar.add_task(title, total=total, counts="")

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state on the screen, or as a last line in the log."""
        self._bar.stop()
        if self._bar.disable:
            self._print()

    def cached_rows(self, rows: int) -> None:
        """Count rows that the cache or the folder already held."""
        self.cached += rows
        self._advance(rows)

    def generated(self, rows: int, failed: int, tokens: int) -> None:
        """Count rows that an engine has just given, the failed ones, and the tokens it wrote."""
        self.failed += failed
        self.tokens += tokens
        self._advance(rows)

    def counts(self) -> str:
        """Return the numbers in words; tokens/s counts generated tokens over the whole time."""
        seconds = max(monotonic() - self._started, 1e-9)
        return (
            f"{self.done}/{self.total} done, {self.cached} cached, {self.failed} failed,"
            f" {self.tokens / seconds:.0f} tokens/s"
        )

    def _advance(self, rows: int) -> None:
        self.done += rows
        self._bar.update(self._task, advance=rows, counts=self.counts())
        if self._bar.disable and monotonic() - self._shown > QUIET_EVERY_S:
            self._print()

    def _print(self) -> None:
        self._shown = monotonic()
        print(f"{self.title}: {self.counts()}", file=sys.stderr)  # noqa: T201


@contextmanager
def bar(title: str, of_bytes: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar; yield the function that moves it: ``advance(done, total or None)``.

    A log file gets a line every 15 seconds instead. ``of_bytes`` shows sizes in place of counts.
    """
    watched = sys.stderr.isatty()
    counts = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), counts)
    shown = Progress(
        *columns, TimeRemainingColumn(), console=Console(file=sys.stderr), disable=not watched
    )
    task, printed = shown.add_task(title, total=None), monotonic()

    def advance(done: int, total: int | None) -> None:
        nonlocal printed
        shown.update(task, completed=done, total=total)
        if not watched and monotonic() - printed > QUIET_EVERY_S:
            printed = monotonic()
            of = "" if total is None else f" of {total}"
            print(f"{title}: {done}{of}{' bytes' * of_bytes}", file=sys.stderr)  # noqa: T201

    with shown:
        yield advance
