"""Tables that people open in a spreadsheet: csv and xlsx, written byte for byte the same."""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.files import write_atomic
from memtoc.benchmark.files.delimited import GUARDED
from memtoc.benchmark.files.raw import Reading, Wanted, folded
from memtoc.benchmark.files.reading import read_table
from memtoc.benchmark.files.table import Table

# A spreadsheet runs what starts like this; in front of it a csv gets an apostrophe, which is
# taken off again on reading.
_FORMULA = re.compile(r"[=+\-@\t\r]")
# openpyxl writes the time of creation; a build's bytes must not depend on it.
_EPOCH = datetime(2000, 1, 1)
_STAMP = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")

Row = Mapping[str, str]


def csv_text(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Return a csv with a header row; cells that look like formulas are guarded as text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_guarded(row.get(name, "")) for name in columns])
    return text.getvalue()


def _guarded(value: str) -> str:
    return f"'{value}" if _FORMULA.match(value) or GUARDED.match(value) else value


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write ``csv_text`` as a whole file."""
    write_atomic(path, csv_text(columns, rows))


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield row number (the header is row 1) and cells of a csv that has at least ``columns``.

    For files that a stage wrote and a person may have edited. Raises UserError, naming file and
    row, for a missing column, another encoding or a ragged row.
    """
    if not path.is_file():
        raise UserError(f"{path}: No such file or directory: run the stage that writes it first")
    for row, cells in _table(path, columns, Reading(ours=True)).rows:
        yield row.number, cells


def read_sheet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a sheet that came back from people, csv or xlsx; raises as ``read_csv``."""
    for row, cells in _table(path, columns, Reading()).rows:
        yield row.number, cells


def sheet_notes(path: Path, columns: Sequence[str]) -> tuple[str, ...]:
    """Return what a person should know of how ``read_sheet`` reads a sheet, by the file's name."""
    # That a workbook is one is no news of a packet.
    notes = _table(path, columns, Reading()).notes
    return tuple(f"{path.name}: {note}" for note in notes if note != "read as xlsx")


def _table(path: Path, columns: Sequence[str], reading: Reading) -> Table:
    table = read_table(path, Wanted({folded(name): name for name in columns}), reading)
    for name in columns:
        if name not in table.columns:
            if path.suffix.lower() == ".xlsx" and table.raw.facts["format"] != "xlsx":
                raise UserError(f"{path} is not an xlsx workbook (it holds text): save it as one")
            hint = one_of(table.columns, name) if table.columns else "give a header row"
            raise UserError(f"{table.where(None)}: column '{name}' is missing: {hint}")
    return table


def write_xlsx(
    path: Path, columns: Sequence[str], rows: Iterable[Row], choices: Mapping[str, Sequence[str]]
) -> None:
    """Write a workbook of one sheet, all cells text; ``choices`` are drop-downs by column."""
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter

    book = Workbook()
    sheet: Any = book.active
    _append(sheet, columns, Font(bold=True))
    for row in rows:
        _append(sheet, [row.get(name, "") for name in columns], None)
    sheet.freeze_panes = "A2"
    for number, name in enumerate(columns, start=1):
        letter = get_column_letter(number)
        sheet.column_dimensions[letter].width = 50 if name == "question" else 24
        for cell in sheet[letter]:
            cell.number_format = "@"
            cell.alignment = Alignment(wrap_text=True, vertical="top")
        if name in choices:
            _offer(sheet, letter, choices[name])
    book.properties.created = _EPOCH
    write_atomic(path, _timeless(book))


def _append(sheet: Any, values: Sequence[str], font: Any) -> None:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    row = sheet.max_row + 1 if sheet.max_row > 1 or sheet["A1"].value is not None else 1
    for column, value in enumerate(values, start=1):
        cell = sheet.cell(row, column)
        cell.value = ILLEGAL_CHARACTERS_RE.sub(" ", value)
        # openpyxl takes a text that starts with = for a formula.
        cell.data_type = "s"
        cell.quotePrefix = bool(_FORMULA.match(value))
        if font is not None:
            cell.font = font


def _offer(sheet: Any, letter: str, choices: Sequence[str]) -> None:
    from openpyxl.worksheet.datavalidation import DataValidation

    offer = DataValidation(type="list", formula1=f'"{",".join(choices)}"', allow_blank=True)
    sheet.add_data_validation(offer)
    offer.add(f"{letter}2:{letter}{max(sheet.max_row, 2)}")


def _timeless(book: Any) -> bytes:
    """Return the workbook's bytes without the times at which it and its parts were written."""
    written, timeless = io.BytesIO(), io.BytesIO()
    book.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(timeless, "w") as target:
        for name in sorted(source.namelist()):
            content = source.read(name)
            if name == "docProps/core.xml":
                content = _STAMP.sub(rb"\g<1>2000-01-01T00:00:00Z\g<2>", content)
            target.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return timeless.getvalue()
