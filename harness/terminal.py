"""Where tables are printed, and how text from outside is shown."""

import sys

from rich.console import Console

LOG_WIDTH = 120  # columns of a table in a file or a pipe, which have no width of their own


def console() -> Console:
    """Standard output; as wide as the terminal, or wide enough for a table where there is none.

    Brackets are brackets: labels, names and replies hold what looks like rich's markup.
    """
    return Console(width=None if sys.stdout.isatty() else LOG_WIDTH, markup=False, emoji=False)


def say(screen: Console, line: str) -> None:
    """Prints a text as it is: no markup, no colours, broken by the terminal alone."""
    screen.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def printable(text: str, keep: str = "") -> str:
    """The text, escaped where it could steer a terminal; characters of ``keep`` stay."""
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)
