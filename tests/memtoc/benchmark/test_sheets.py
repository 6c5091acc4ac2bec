import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from harness.errors import UserError
from memtoc.benchmark.sheets import csv_text, read_csv, read_sheet, write_csv, write_xlsx

COLUMNS = ("id", "value")
ROWS = [
    {"id": "q1-0", "value": "=1+1"},
    {"id": "q2-0", "value": "-5"},
    {"id": "q3-0", "value": "'=quoted"},
    {"id": "q4-0", "value": 'Gödel, "K."\nnew line'},
    {"id": "q5-0", "value": "@SUM(A1)"},
    {"id": "q6-0", "value": "'Adud al-Dawla"},
    {"id": "q7-0", "value": "''twice"},
]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_every_cell_comes_back_as_it_was(tmp_path, ending):
    path = tmp_path / f"sheet.{ending}"
    write(path, ROWS)
    assert [row for _, row in read_sheet(path, COLUMNS)] == ROWS
    assert [number for number, _ in read_sheet(path, COLUMNS)] == list(range(2, 9))


def write(path, rows):
    if path.suffix == ".csv":
        write_csv(path, COLUMNS, rows)
    else:
        write_xlsx(path, COLUMNS, rows, {"value": ("pass", "repair")})


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_sheet_is_written_byte_for_byte_the_same(tmp_path, ending):
    first, second = tmp_path / f"1.{ending}", tmp_path / f"2.{ending}"
    write(first, ROWS)
    write(second, ROWS)
    assert first.read_bytes() == second.read_bytes()


def test_a_spreadsheet_finds_no_formula(tmp_path):
    write(tmp_path / "sheet.xlsx", ROWS)
    cells = [row[1] for row in load_workbook(tmp_path / "sheet.xlsx").active.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == [row["value"] for row in ROWS]
    assert {cell.data_type for cell in cells} == {"s"}
    for line in csv_text(COLUMNS, ROWS[:3]).splitlines()[1:]:
        assert line.split(",")[1].startswith("'")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=12))
def test_any_text_survives_a_csv(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("csv") / "sheet.csv"
    write_csv(path, COLUMNS, [{"id": "q", "value": value}])
    assert [row["value"] for _, row in read_csv(path, COLUMNS)] == [value]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "row 1: column 'id' is missing: give a header row"),
        (b"id,valu\n", "column 'value' is missing: did you mean 'valu'"),
        (b"id,value\na\n", "row 2: 1 cells under 2 columns"),
        (b'id,value\n"a\n', "line 2: the quote that opens here is never closed"),
        ("id,value\né,b\n".encode("latin-1"), "not a UTF-8 csv"),
    ],
)
def test_a_csv_of_another_shape_is_refused(tmp_path, content, message):
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_csv(path, COLUMNS))


def test_a_workbook_that_changed_a_cell_is_refused(tmp_path):
    from datetime import datetime

    for value, message in (
        ("=1+1", "row 2: '=1\\+1' is a formula"),
        (datetime(2017, 10, 3), "row 2: .* became a date"),
        (True, "became a date or a truth value"),
    ):
        book = Workbook()
        book.active.append(COLUMNS)
        book.active.append(["q1-0", value])
        book.save(tmp_path / "sheet.xlsx")
        with pytest.raises(UserError, match=message):
            list(read_sheet(tmp_path / "sheet.xlsx", COLUMNS))


def test_numbers_typed_into_a_workbook_are_texts(tmp_path):
    book = Workbook()
    book.active.append(COLUMNS)
    book.active.append([1950, 3.0])
    book.save(tmp_path / "sheet.xlsx")
    assert [row for _, row in read_sheet(tmp_path / "sheet.xlsx", COLUMNS)] == [
        {"id": "1950", "value": "3"}
    ]


def test_what_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "sheet.xlsx").write_bytes(b"no zip")
    with pytest.raises(UserError, match="not an xlsx workbook"):
        list(read_sheet(tmp_path / "sheet.xlsx", COLUMNS))
    with pytest.raises(UserError, match="No such file"):
        list(read_sheet(tmp_path / "none.xlsx", COLUMNS))
