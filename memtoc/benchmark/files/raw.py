"""What every kind of file is turned into: rows of texts with their places, and notes."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MOST_ROWS, MOST_COLUMNS = 1_000_000, 256
TITLES = 20  # rows in which the header is looked for
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
class Reading:
    """How a file is to be read where it does not say itself; None is to be found.

    ``key`` stands in front of ``delimiter`` and ``encoding`` in hints, as in "benchmark."; empty
    where no setting names them. A file of ``ours`` was written by a stage, for which nobody reads
    notes: it is UTF-8, and its quotes mean what they say.
    """

    delimiter: str | None = None
    encoding: str | None = None
    key: str = ""
    ours: bool = False

    def setting(self, name: str) -> str:
        """Return the setting that gives ``name``, empty where there is none."""
        return f"{self.key}{name}" if self.key else ""


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

    def known(self, cells: Iterable[str]) -> int:
        """Return how many columns the cells of a header name."""
        return len({self.column(cell) for cell in cells} - {None})


def header_at(rows: Sequence[Sequence[str]], wanted: Wanted) -> int:
    """Return the place of the header among the first rows: the first one that is filled.

    Where that names no known column it is a title if one of the next rows names two.
    """
    filled = [at for at, cells in enumerate(rows[:TITLES]) if any(cell.strip() for cell in cells)]
    first = filled[0] if filled else 0
    if not filled or wanted.known(rows[first]):
        return first
    return next((at for at in filled if wanted.known(rows[at]) > 1), first)


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
