"""Progress bars: for a pass (done, cached, failed, tokens a second, time left) and for steps."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
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

QUIET_EVERY_S = 15.0  # how often a log file, which cannot show a bar, gets a line


class PassProgress:
    """Counts the rows of one pass and shows them on standard error."""

    def __init__(self, title: str, total: int) -> None:
        """``total`` rows, cached ones included."""
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
        """Shows the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves the last state on the screen."""
        self._bar.stop()
        if self._bar.disable:
            self._print()

    def cached_rows(self, rows: int) -> None:
        """Rows that need no generation."""
        self.cached += rows
        self._advance(rows)

    def generated(self, rows: int, failed: int, tokens: int) -> None:
        """Rows that an engine has just given, and the tokens it wrote for them."""
        self.failed += failed
        self.tokens += tokens
        self._advance(rows)

    def counts(self) -> str:
        """The numbers in words."""
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
    """A bar on standard error; the function takes how much is done, and of how much if known.

    A log file, which cannot show a bar, gets a line now and then.
    """
    watched = sys.stderr.isatty()
    counts = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), counts)
    shown = Progress(
        *columns, TimeRemainingColumn(), console=Console(file=sys.stderr), disable=not watched
    )
    task, said = shown.add_task(title, total=None), monotonic()

    def advance(done: int, total: int | None) -> None:
        nonlocal said
        shown.update(task, completed=done, total=total)
        if not watched and monotonic() - said > QUIET_EVERY_S:
            said = monotonic()
            of = "" if total is None else f" of {total}"
            print(f"{title}: {done}{of}{' bytes' * of_bytes}", file=sys.stderr)  # noqa: T201

    with shown:
        yield advance
