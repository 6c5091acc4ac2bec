"""What every kind of file is turned into: rows of texts with their places, and notes."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_ROWS, MOST_COLUMNS = 1_000_000, 256
MOST_CHARACTERS = 131_072  # of a cell; Python's csv reads no longer one


@dataclass(frozen=True)
class Row:
    """One row. ``number`` counts as the file's users do, ``line`` is the text line it starts in.

    ``line`` is 0 where a file has no lines.
    """

    number: int
    cells: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True)
class Raw:
    """A file's rows, the header first, before anybody asks what its columns mean.

    ``unit`` is what ``number`` counts: rows of a sheet, lines of JSONL, items of an array. A row
    that is shorter than the header is filled up where ``ragged`` is false. ``facts`` are for a
    manifest, ``notes`` for the person who gave the file.
    """

    rows: tuple[Row, ...]
    unit: str = "row"
    ragged: bool = False
    notes: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """The columns that a reader knows: spelling, as ``folded`` gives it -> column.

    ``lists`` are columns that hold several texts, separated by ``|``.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    lists: frozenset[str] = frozenset()

    def column(self, spelled: str) -> str | None:
        """Return the column that a header cell stands for, None if none is known."""
        return self.names.get(folded(spelled))


def folded(name: str) -> str:
    """Return a header cell as it is compared: " Wrong answer" is wrong_answer."""
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(
        c for c in plain if unicodedata.category(c) not in ("Cf", "Cc") or c in "\t\n"
    )
    return re.sub(r"[\s_-]+", "_", visible.strip().strip("\"'“”„«»‘’").strip()).casefold()


def shown(name: str) -> str:
    """Return a header cell as it is written, without blanks and invisible signs around it."""
    return "".join(c for c in name if unicodedata.category(c) != "Cf").strip()
