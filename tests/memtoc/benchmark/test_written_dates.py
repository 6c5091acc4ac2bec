import pytest

from memtoc.benchmark.dates import parse_date


@pytest.mark.parametrize(
    "text",
    ["30 February 2001", "2001-13-01", "May 32, 1990", "Mayday 1990", "5 March", "5 March 12",
     "born 5 March 1990", "1990", ""],
)  # fmt: skip
def test_what_is_no_calendar_date_is_not_read_as_one(text):
    assert parse_date(text) is None


@pytest.mark.parametrize(
    "text",
    ["17th October 2017", "October 3rd, 2017", "Sep. 3, 1999", "may 2001", "May 3, 2001",
     "24 May 849", "29 February 1712", "0987-01-02", "October, 1990", "12 january 1960"],
)  # fmt: skip
def test_a_written_date_is_read_and_written_back_unchanged(text):
    assert str(parse_date(text)) == text
