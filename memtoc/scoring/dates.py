"""Calendar dates and years in a text, in the formats that models and golds use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memtoc.scoring.lexicon import words
from memtoc.scoring.text import Text

_MONTHS = words("months")
MONTH_NUMBER = {name: n for n, name in enumerate(_MONTHS, start=1)}
MONTH_NUMBER |= {name[:3]: n for n, name in enumerate(_MONTHS, start=1)} | {"sept": 9}

_MONTH = rf"(?:{'|'.join(sorted(MONTH_NUMBER, key=len, reverse=True))})"
_UNITHS = "|".join(words("ordinals")[1:10])
_TEENTHS = "|".join(words("ordinals")[10:])
_DAY_WORD = rf"(?:(?:twenty|thirty)[- ])?(?:{_UNITHS})|{_TEENTHS}|twentieth|thirtieth"
_DAY = rf"(?:\d{{1,2}}(?:\s?(?:st|nd|rd|th))?\b|{_DAY_WORD})"
_GAP = r"[\s,./-]{1,3}"
_YEAR = r"\d{3,4}"
# The first form that fits wins: a whole date stands before the month or the year in it. A year by
# itself has four digits and lies between 1000 and 2099; other figures are numbers.
_FORMS = (
    r"(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?:t[\d:.]+z?)?",
    rf"(?P<d2>{_DAY})(?:\s+day)?{_GAP}(?:of\s+)?(?P<m2>{_MONTH})\b\.?{_GAP}"
    rf"(?:in\s+|ad\s+|of\s+)?(?P<y2>{_YEAR})",
    rf"(?P<m3>{_MONTH})\b\.?{_GAP}(?:the\s+)?(?P<d3>{_DAY}){_GAP}(?:in\s+|of\s+)?(?P<y3>{_YEAR})",
    rf"(?P<y4>{_YEAR}){_GAP}(?P<m4>{_MONTH})\b\.?{_GAP}(?P<d4>{_DAY})",
    # 04/05/1790 may be April or May: it is read both ways.
    r"(?P<a5>\d{1,2})[-/.](?P<b5>\d{1,2})[-/.](?P<y5>\d{4})",
    # 2009-07 is a month; 1939-45 is a span of years and no date.
    r"(?P<y10>\d{4})-(?P<m10>0[1-9]|1[0-2])(?![-/\d])",
    rf"(?P<m6>{_MONTH})\b\.?{_GAP}(?:of\s+)?(?P<y6>{_YEAR})",
    rf"(?P<d7>{_DAY})\s+(?:of\s+)?(?P<m7>{_MONTH})",
    rf"(?P<m8>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d8>{_DAY})",
    r"(?P<y9>1\d{3}|20\d{2})",
)
_WITH_YEAR = ("1", "2", "3", "4", "5", "6", "9", "10")
_WITH_MONTH = ("1", "2", "3", "4", "6", "7", "8", "10")
# Not inside a longer number, a path or a range.
_DATE = re.compile(
    rf"(?<![\w/-])(?:{'|'.join(_FORMS)})(?:\s?(?P<bc>b\.?\s?c\.?(?:e\b)?))?(?!\w|[-/]\d)"
)
_DAY_NAMES = {word: n for n, word in enumerate(words("ordinals"))} | {
    "twentieth": 20,
    "thirtieth": 30,
}


@dataclass(frozen=True)
class Date:
    """A date or a part of one; ``start`` and ``end`` are characters of the text's ``shown``.

    ``days`` are (month, day) pairs: two if the text can be read both ways (04/05/1920), none if it
    gives a year alone. A day of 0 stands for a month alone, a year of 0 for a day without its year.
    Years BC are negative.
    """

    year: int
    days: frozenset[tuple[int, int]]
    start: int
    end: int


def dates_in(text: Text) -> Iterator[Date]:
    """Yield the dates of a text in their order; a decade (1890s) is no date."""
    for match in _DATE.finditer(text.shown):
        days = frozenset(_days(match))
        if days or match.lastgroup:
            year = next((match[f"y{i}"] for i in _WITH_YEAR if match[f"y{i}"]), None)
            signed = int(year or 0) * (-1 if match["bc"] else 1)
            yield Date(signed, days, match.start(), match.end())


def _days(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    if match["a5"]:
        first, second = int(match["a5"]), int(match["b5"])
        yield from ((m, d) for m, d in ((first, second), (second, first)) if m <= 12 and d <= 31)
        return
    for i in _WITH_MONTH:
        month = match[f"m{i}"]
        if month:
            number = int(month) if month.isdigit() else MONTH_NUMBER[month]
            day = match[f"d{i}"] if i not in ("6", "10") else ""
            yield number, _day(day) if day else 0


def _day(text: str) -> int:
    figures = re.match(r"\d+", text)
    if figures:
        return int(figures.group())
    *tens, last = re.split(r"[- ]", text)
    return _DAY_NAMES[last] + (20 if tens == ["twenty"] else 30 if tens else 0)


def same_date(first: Date, second: Date) -> bool:
    """Compare two dates at the precision of the coarser one: 1969 equals 1969-07-20."""
    if first.year != second.year:
        return False
    if not first.days or not second.days:
        return True
    return any(
        month == other and (day == another or 0 in (day, another))
        for month, day in first.days
        for other, another in second.days
    )
