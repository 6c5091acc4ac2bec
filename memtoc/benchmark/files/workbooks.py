"""Workbooks by openpyxl and parquet files by pyarrow, cell by cell as texts.

pandas, which reads both, makes a float of every whole number in a column with an empty cell:
1937 would be read as 1937.0.
"""

import io
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from harness.errors import UserError
from memtoc.benchmark.files.contents import MOST_BYTES
from memtoc.benchmark.files.objects import text_of
from memtoc.benchmark.files.raw import MOST_COLUMNS, MOST_ROWS, TITLES, Raw, Row, Wanted

_SHEET_ROWS, _SHEET_COLUMNS = 2**20, 64  # empty ones included


def parse_xlsx(data: bytes, path: Path, wanted: Wanted) -> Raw:
    """Return the rows of a workbook's first sheet, or of the first one with a header known here.

    Raises UserError, naming the row, for a formula, a date, a truth value and a percentage: what
    they show is not what they hold.
    """
    from openpyxl import load_workbook

    try:
        book = load_workbook(io.BytesIO(data), read_only=True)
        sheet = _sheet(book.worksheets, wanted)
        rows = _filled(sheet, path)
    except UserError:
        raise
    except Exception as error:
        # openpyxl has no error of its own for a damaged part: those of zlib, zipfile and XML come.
        words = str(error).partition("\n")[0]
        raise UserError(f"{path} is not an xlsx workbook ({words}): save it as one") from error
    count, at = len(book.worksheets), book.worksheets.index(sheet)
    book.close()
    which = "the first of its sheets" if at == 0 else f"sheet {at + 1} of {count}"
    title = f", {which}, '{sheet.title}'" if count > 1 else ""
    return Raw(tuple(rows), notes=(f"read as xlsx{title}",), facts={"format": "xlsx"})


def _filled(sheet: Any, path: Path) -> list[Row]:
    """Return the rows up to the last filled one; a sheet's format may go on for a million more."""
    rows: list[Row] = []
    blank: list[Row] = []
    # Each row is filled up to as many columns as the file claims to have: a sheet of six bytes a
    # row took minutes before both were bounded and blank rows were passed over at once.
    width = min(sheet.max_column or _SHEET_COLUMNS, _SHEET_COLUMNS)
    for number, cells in enumerate(sheet.iter_rows(max_col=width), start=1):
        if number > _SHEET_ROWS or len(rows) > MOST_ROWS:
            raise UserError(f"{path} has more than {MOST_ROWS:,} rows: give a part of it")
        if all(cell.value is None for cell in cells):
            blank.append(Row(number, ()))
            continue
        row = Row(number, _trimmed([_cell(cell, f"{path} row {number}") for cell in cells]))
        if row.cells:
            rows += [*blank, row]
            blank = []
        else:
            blank.append(row)
    return rows


def _sheet(sheets: Sequence[Any], wanted: Wanted) -> Any:
    """Return the first sheet whose first rows name two known columns, else the first of all."""
    for sheet in sheets:
        top = sheet.iter_rows(max_col=MOST_COLUMNS, max_row=TITLES, values_only=True)
        if any(wanted.known(c for c in row if isinstance(c, str)) > 1 for row in top):
            return sheet
    return sheets[0]


def _trimmed(cells: list[str]) -> tuple[str, ...]:
    """Return a row without the empty cells at its end, of which a sheet's format leaves any."""
    filled = max((n for n, cell in enumerate(cells, start=1) if cell.strip()), default=0)
    return tuple(cells[:filled])


def _cell(cell: Any, where: str) -> str:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "f":
        raise UserError(f"{where}: {value!r} is a formula: write it as text")
    if cell.data_type == "e":
        raise UserError(f"{where}: {value} is a formula's error: write a text")
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(
            f"{where}: {value!r} became a date or a truth value: format the cell as text"
        )
    if "%" in (cell.number_format or ""):
        raise UserError(f"{where}: {value!r} is shown as a percentage: format the cell as text")
    return _number(value)


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parse_parquet(data: bytes, path: Path, wanted: Wanted) -> Raw:
    """Return the rows of a parquet file; raises UserError, naming the row, for no text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            about = file.metadata
            if about.num_rows > MOST_ROWS or about.num_columns > MOST_COLUMNS:
                raise UserError(f"{path} has {about.num_rows:,} rows: give a part of it")
            header = tuple(file.schema_arrow.names)
            rows = list(_batched(file, header, path, wanted))
    except (pa.ArrowException, OSError, pa.ArrowInvalid) as error:
        words = str(error).splitlines()[0]
        raise UserError(f"{path} is not a parquet file ({words}): save it as one") from error
    return Raw((Row(0, header), *rows), notes=("read as parquet",), facts={"format": "parquet"})


def _batched(file: Any, header: tuple[str, ...], path: Path, wanted: Wanted) -> Iterator[Row]:
    number, size = 0, 0
    # In small parts: a dictionary of one long text unpacks to as many as there are rows.
    for batch in file.iter_batches(batch_size=1024):
        for values in batch.to_pylist():
            number += 1
            where = f"{path} row {number}"
            cells = tuple(_value(values[name], name, where, wanted) for name in header)
            size += sum(map(len, cells))
            if size > MOST_BYTES:
                raise UserError(f"{path} unpacks to more than {MOST_BYTES >> 20} MB: give a part")
            yield Row(number, cells)


def _value(value: Any, name: str, where: str, wanted: Wanted) -> str:
    if isinstance(value, list) and wanted.column(name) in wanted.lists:
        return "|".join(_value(part, name, where, Wanted()) for part in value)
    if isinstance(value, float) and isnan(value):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value)
    if value is not None and not isinstance(value, str | bool | list | dict):
        raise UserError(f"{where}: '{name}' is a {type(value).__name__}: write it as text")
    return text_of(value, name, where)
