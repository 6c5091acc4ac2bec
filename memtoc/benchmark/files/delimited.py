"""Text of rows and separated cells, as spreadsheets write it, by Python's csv module."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import UserError
from memtoc.benchmark.files import quotes
from memtoc.benchmark.files.raw import MOST_ROWS, TITLES, Raw, Reading, Row, Wanted, header_at

# The words are what benchmark.delimiter takes beside the signs, and what notes call them.
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
# Found only where the header shows two known columns with them.
_RARE = ("^", "~", ":", "\x1f", "\x01", "，", "；", "、")
_SEP_LINE = re.compile(r"\"?sep=(.)\"?[ \t]*(?:\r\n|\r|\n|$)", re.IGNORECASE)
# In front of what a spreadsheet would run, sheets.py writes an apostrophe.
GUARDED = re.compile(r"'+[=+\-@\t\r]")


class _Separator(NamedTuple):
    sign: str
    said: str  # where it was found, for the note; empty where the user set it


def parse(text: str, path: Path, wanted: Wanted, reading: Reading) -> Raw:
    """Return the rows of a text.

    Raises UserError for a quote that is left open, closes within a cell or swallows a row, with the
    line where it opens, and for a cell that is too long.
    """
    separator, start = _separator(text, wanted, reading.delimiter)
    # DOS ends a text with the sign of Ctrl-Z.
    body = text[start:].removesuffix("\x1a")
    straight = None if reading.ours else quotes.straightened(body, separator.sign)
    lines = list(io.StringIO(straight or body, newline=""))
    rows, width, notes = _even_rows(lines, separator.sign, path, wanted, 1 if start else 0)
    if not reading.ours:
        quotes.check_swallowed(rows, width, separator.sign, path)
    notes = [_note(separator, reading.setting("delimiter")), *notes, *quotes.odd_cells(rows)]
    if straight is not None:
        notes.append("typographic or single quotes round the cells are taken off")
    return Raw(
        # A header is no cell that a spreadsheet could run.
        (*rows[:1], *map(_unguarded, rows[1:])),
        ragged=True,
        notes=tuple(note for note in notes if note),
        facts={"format": "csv", "delimiter": separator.sign},
    )


def _even_rows(
    lines: Sequence[str], sign: str, path: Path, wanted: Wanted, skipped: int
) -> tuple[list[Row], int, list[str]]:
    """Return the rows, the header's width and notes; ``skipped`` lines stand before the first.

    Where rows are too wide and quotes have a space in front, as in ``Who?, "Lind, Otto"``, they are
    read without those spaces if that makes all rows even.
    """
    rows = _rows(lines, sign, path, skipped)
    if not rows:
        return rows, 0, []
    width = len(rows[header_at([row.cells for row in rows[:TITLES]], wanted)].cells)
    if any(len(row.cells) > width for row in rows) and any(f'{sign} "' in line for line in lines):
        spaced = _rows(lines, sign, path, skipped, spaces=True)
        if all(len(row.cells) == width for row in spaced):
            return spaced, width, ["spaces in front of quotes are passed over"]
    return rows, width, []


def _note(separator: _Separator, key: str) -> str:
    if separator.sign == "," or not separator.said:
        return ""
    words = {sign: f"{word}s" for word, sign in SEPARATORS.items()}
    other = f"; {key} sets another" if key else ""
    return (
        f"separated by {words.get(separator.sign, repr(separator.sign))} ({separator.said}{other})"
    )


def _separator(text: str, wanted: Wanted, given: str | None) -> tuple[_Separator, int]:
    """Return the separator, and where the table starts in the text."""
    first = _SEP_LINE.match(text)
    start = first.end() if first else 0
    if given is not None:
        return _Separator(SEPARATORS.get(given, given), ""), start
    found = _found(text[start:], wanted)
    if first and found != first[1] and wanted.known(_header(text[start:], found, wanted)) > 1:
        return _Separator(found, f"found in the header; the first line says {first[1]!r}"), start
    if first:
        return _Separator(first[1], "the first line says so"), start
    return _Separator(found, "found in the header"), start


def _found(text: str, wanted: Wanted) -> str:
    """Return the separator that shows the most known columns in the header, else the most."""
    # By the header and not by csv.Sniffer, which takes the most even letter of a file: of
    # questions it took the space.
    best, most = ",", (0, 0)
    for sign in (*SEPARATORS.values(), *_RARE):
        header = _header(text, sign, wanted)
        known = wanted.known(header)
        if sign in _RARE and known < 2:
            continue
        if (known, len(header)) > most and (known > most[0] or most[0] == 0):
            best, most = sign, (known, len(header))
    return best


def _header(text: str, sign: str, wanted: Wanted) -> list[str]:
    lines = list(io.StringIO(text[:100_000], newline=""))[:TITLES]
    try:
        rows = list(csv.reader(lines, delimiter=sign))
    except csv.Error:
        return []
    return rows[header_at(rows, wanted)] if rows else []


def _rows(
    lines: Sequence[str], sign: str, path: Path, skipped: int, spaces: bool = False
) -> list[Row]:
    """Return all rows that have a cell; ``skipped`` lines stand before the first of ``lines``."""
    rows: list[Row] = []
    reader = csv.reader(lines, delimiter=sign, strict=True, skipinitialspace=spaces)
    number, line = skipped, 0
    try:
        for cells in reader:
            number += 1
            if cells:
                rows.append(Row(number, tuple(cells), skipped + line + 1))
            line = reader.line_num
            if len(rows) > MOST_ROWS:
                raise UserError(f"{path} has more than {MOST_ROWS:,} rows: give a part of it")
    except csv.Error as error:
        fault = quotes.fault(lines[line : reader.line_num], sign, str(error), skipped + line + 1)
        raise UserError(f"{path} {fault}") from error
    return rows


def _unguarded(row: Row) -> Row:
    if not any(GUARDED.match(cell) for cell in row.cells):
        return row
    return Row(row.number, tuple(unguarded(cell) for cell in row.cells), row.line)


def unguarded(value: str) -> str:
    """Return a cell without the apostrophe that keeps a spreadsheet from running it."""
    return value[1:] if GUARDED.match(value) else value
