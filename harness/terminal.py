"""Where tables are printed, and how text from outside is shown."""

import sys

from rich.console import Console

LOG_WIDTH = 120  # columns of a table in a file or a pipe, which have no width of their own


def console() -> Console:
    """Return standard output; as wide as the terminal, or else wide enough for a table.

    Brackets are brackets: labels, names and replies hold what looks like rich's markup.
    """
    return Console(width=None if sys.stdout.isatty() else LOG_WIDTH, markup=False, emoji=False)


def say(console: Console, line: str) -> None:
    """Print a line as it is: no markup, no colours, never broken at the width of the console."""
    console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def printable(text: str, keep: str = "") -> str:
    """Return the text, escaped where it could steer a terminal; characters of ``keep`` stay."""
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)
