"""The two errors that entry points print as one line, and the hint for a mistyped name."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user gave: one line that says what is wrong, where, and what to do.

    Entry points print it without a traceback and exit with code 2. Internal invariants are
    asserts instead.
    """


class NothingToDoError(UserError):
    """What was asked for is there already, or is empty: one line, and exit code 0."""


class RunFailedError(Exception):
    """A run that stopped early: memory ran out, or too many of its rows failed.

    Everything generated so far is kept. Entry points print it without a traceback and exit with
    code 1.
    """


NEAR = 0.5  # difflib's ratio from which a name counts as a typo of another
LISTED = 16  # names in one line


def one_of(valid: Iterable[str], given: str, prefix: str = "") -> str:
    """Return a hint for a wrong name: the nearest valid name, else the list of valid names.

    ``one_of(["qwen", "gemma"], "qwem", "model=")`` is "did you mean 'model=qwen'?". ``prefix`` is
    shown before each name and takes no part in the comparison, nor does the case of letters where
    nothing else is near.
    """
    names = sorted(valid)
    lowered = {name.lower(): name for name in names}
    if near := get_close_matches(given, names, n=1, cutoff=NEAR):
        return f"did you mean '{prefix}{near[0]}'?"
    if near := get_close_matches(given.lower(), lowered, n=1, cutoff=NEAR):
        return f"did you mean '{prefix}{lowered[near[0]]}'?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"choose one of: {', '.join(f'{prefix}{name}' for name in names[:LISTED])}{more}"
