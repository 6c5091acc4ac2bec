"""The fact tables behind the starter's tools: CSV files, one fact set a file."""

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from memtoc.questions import same_value

FACTS = Path(__file__).parent / "facts"

Row = Mapping[str, str]


class LookupFailedError(Exception):
    """A schema-valid call that names no single fact; becomes a return's structured error."""

    def __init__(self, code: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.code, self.kind, self.message = code, kind, message


@cache
def table(name: str) -> tuple[Row, ...]:
    """Return all rows of ``facts/NAME.csv``; an ``aliases`` column holds names split by ``|``."""
    with (FACTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def named(rows: Iterable[Row], column: str, *names: str) -> list[Row]:
    """Return the rows whose column, or an alias, is the first of the names that is known."""
    rows = list(rows)
    for name in names:
        found = [row for row in rows if any(same_value(name, n) for n in _names(row, column))]
        if found:
            return found
    return []


def _names(row: Row, column: str) -> list[str]:
    return [row[column], *filter(None, row.get("aliases", "").split("|"))]


def where(rows: Iterable[Row], **wanted: str | None) -> list[Row]:
    """Return the rows that hold all the wanted values; None constrains nothing."""
    return [
        row
        for row in rows
        if all(value is None or same_value(row[key], value) for key, value in wanted.items())
    ]


def only(rows: Iterable[Row], sought: str) -> Row:
    """Return the one row; raises LookupFailedError for none (404) and for several (409)."""
    rows = list(rows)
    if not rows:
        raise LookupFailedError(404, "not_found", f"No entry for {sought}.")
    if len(rows) > 1:
        raise LookupFailedError(409, "ambiguous", f"More than one entry for {sought}; say more.")
    return rows[0]


def value(row: Row, column: str, sought: str) -> str:
    """Return a cell's text; raises LookupFailedError (404) if the table does not record it."""
    if not row.get(column):
        raise LookupFailedError(404, "not_recorded", f"No {column.replace('_', ' ')} for {sought}.")
    return row[column]
