"""Mistakes that a user can mend, and the words that help to mend them."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user gave: one line that says what is wrong, where, and what to do.

    Entry points print it without a traceback and exit with code 2. Internal invariants are
    asserts, never this.
    """


class RunFailedError(Exception):
    """A run that could not be finished, for want of memory or since too many of its rows failed.

    What was generated is kept. Entry points print it without a traceback and exit with code 1.
    """


NEAR = 0.5  # how like a name must be to be meant (difflib's ratio)
LISTED = 16  # names that fit into one line


def one_of(valid: Iterable[str], given: str, prefix: str = "") -> str:
    """A hint for a wrong name: the nearest valid one, or the valid ones where none is near.

    All names are shown behind ``prefix``, which the comparison leaves out.
    """
    names = sorted(valid)
    near = get_close_matches(given, names, n=1, cutoff=NEAR)
    if near:
        return f"did you mean '{prefix}{near[0]}'?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"choose one of: {', '.join(f'{prefix}{name}' for name in names[:LISTED])}{more}"
