"""Dates, years and time zones as golds write them.

The parser that shifts a gold also decides whether it is a date, so that every gold of kind date can
be shifted.
"""

import re
from dataclasses import dataclass
from datetime import date

from memtoc.scoring.numerals import ordinal

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:{'|'.join(name[:3] for name in MONTHS)})\.?)"
_DAY = r"(?P<day>\d{1,2})(?P<suffix>st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{3,4})"
_FORMATS = {
    "iso": r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})",
    "day_month_year": rf"{_DAY} {_MONTH}(?P<comma>,?) {_YEAR}",
    "month_day_year": rf"{_MONTH} {_DAY}(?P<comma>,?) {_YEAR}",
    "month_year": rf"{_MONTH}(?P<comma>,?) {_YEAR}",
}
_PARSERS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _FORMATS.items()}
_AREAS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific"
TIMEZONE = re.compile(rf"(?P<area>{_AREAS})/(?P<city>[A-Z][A-Za-z]+(?:[ _/-][A-Za-z]+)*)")
YEAR = re.compile(r"1\d{3}|20\d{2}")


@dataclass(frozen=True)
class WrittenDate:
    """A date and how it is written; ``value`` is the 15th if only a month is written."""

    value: date
    form: str
    short: bool = False
    dot: bool = False
    lower: bool = False
    padded: bool = False
    ordinal: bool = False
    comma: bool = False

    def __str__(self) -> str:
        if self.form == "iso":
            return self.value.isoformat()
        month, comma = self._month(), "," if self.comma else ""
        if self.form == "month_year":
            return f"{month}{comma} {self.value.year}"
        if self.form == "day_month_year":
            return f"{self._day()} {month}{comma} {self.value.year}"
        return f"{month} {self._day()}{comma} {self.value.year}"

    def _month(self) -> str:
        name = MONTHS[self.value.month - 1]
        if self.short:
            name = name[:3] + ("." if self.dot and name != "May" else "")
        return name.lower() if self.lower else name

    def _day(self) -> str:
        day, digits = self.value.day, 2 if self.padded else 1
        return ordinal(day).zfill(digits + 2) if self.ordinal else str(day).zfill(digits)


def parse_date(text: str) -> WrittenDate | None:
    """Return a text as one real calendar date or one month of a year; None if it is neither."""
    for form, parser in _PARSERS.items():
        if found := parser.fullmatch(text.strip()):
            return _written(form, found.groupdict())
    return None


def _written(form: str, part: dict[str, str | None]) -> WrittenDate | None:
    month, day = part["month"] or "", part.get("day")
    number = int(month) if form == "iso" else _month_number(month)
    try:
        value = date(int(part["year"] or 0), number, int(day) if day else 15)
    except ValueError:
        return None
    return WrittenDate(
        value,
        form,
        short=form != "iso" and len(month.rstrip(".")) == 3 and month.lower() != "may",
        dot=month.endswith("."),
        lower=month.islower(),
        padded=bool(day) and str(day).startswith("0"),
        ordinal=bool(part.get("suffix")),
        comma=bool(part.get("comma")),
    )


def _month_number(name: str) -> int:
    return next(
        number
        for number, month in enumerate(MONTHS, start=1)
        if month.lower().startswith(name.lower().rstrip("."))
    )
