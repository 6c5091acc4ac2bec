"""Tables that people open in a spreadsheet: csv and xlsx, written byte for byte the same."""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from harness.errors import UserError, one_of
from harness.files import write_atomic

# A spreadsheet runs what starts like this; in front of it a csv gets an apostrophe, which is
# taken off again on reading.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
# A returned workbook is outside data, and a zip file: bounded before and after it is opened.
_MOST_BYTES = 64 * 2**20
_MOST_ROWS, _MOST_COLUMNS = 100_000, 64
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
    return f"'{value}" if _FORMULA.match(value) or _GUARDED.match(value) else value


def _unguarded(value: str) -> str:
    return value[1:] if _GUARDED.match(value) else value


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write ``csv_text`` as a whole file."""
    write_atomic(path, csv_text(columns, rows))


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield row number (the header is row 1) and cells of a csv that has at least ``columns``.

    Raises UserError, naming file and row, for a missing column, another encoding or a ragged row.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in _table(list(csv.reader(file, strict=True)), columns, path):
                yield number, {name: _unguarded(cell) for name, cell in row.items()}
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not a UTF-8 csv ({error}): save it as one") from error
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: run the stage that writes it first") from error


def _table(
    lines: Sequence[Sequence[str]], columns: Sequence[str], path: Path
) -> Iterator[tuple[int, dict[str, str]]]:
    header = [name.strip() for name in lines[0]] if lines else []
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise UserError(f"{path} row 1: column '{twice[0]}' stands twice: rename or remove one")
    for name in columns:
        if name not in header:
            hint = one_of(header, name) if header else "give a header row"
            raise UserError(f"{path} row 1: column '{name}' is missing: {hint}")
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise UserError(
                f"{path} row {number}: {len(cells)} cells under {len(header)} columns: mend the row"
            )
        yield number, dict(zip(header, cells, strict=True))


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


def read_xlsx(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield row number and cells, as texts, of a workbook's first sheet; raises as ``read_csv``."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path} is larger than {_MOST_BYTES >> 20} MB: give the packet alone")
        book = load_workbook(path, read_only=True)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}: check the path") from error
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError) as error:
        # UserError is a ValueError: let our own messages through.
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path} is not an xlsx workbook ({error}): save it as one") from error
    rows = list(islice(book.worksheets[0].iter_rows(max_col=_MOST_COLUMNS), _MOST_ROWS + 1))
    if len(rows) > _MOST_ROWS:
        raise UserError(f"{path} has more than {_MOST_ROWS} rows: give the packet alone")
    lines = [
        [_cell_text(cell, f"{path} row {number}") for cell in row]
        for number, row in enumerate(rows, start=1)
    ]
    book.close()
    width = len([name for name in (lines[0] if lines else []) if name.strip()])
    yield from _table([_trimmed(line, width) for line in lines], columns, path)


def _trimmed(line: Sequence[str], width: int) -> list[str]:
    """Return a line as wide as the header; text to the right of it makes a ragged row."""
    filled = max((n for n, cell in enumerate(line, start=1) if cell.strip()), default=0)
    return [*line, *[""] * width][: max(width, filled)]


def _cell_text(cell: Any, where: str) -> str:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "f":
        raise UserError(f"{where}: {value!r} is a formula: write it as text")
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise UserError(f"{where}: {value!r} became a date or a truth value: format the cell as text")


def read_sheet(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of an xlsx or a csv, by the file's ending."""
    return (read_xlsx if path.suffix.lower() == ".xlsx" else read_csv)(path, columns)
