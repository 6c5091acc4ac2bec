"""Calendar dates and years in a text, in the formats that models and golds use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge

from memtoc.scoring import eastern
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
_BC = r"(?:b\.?\s?c\.?(?:\s?e\b\.?)?|(?:years? )?before (?:christ|(?:the )?common era))"
_AD = r"(?:a\.?\s?d\.?|c\.?\s?e\.?|anno domini|(?:of the )?common era)"
_ERA = rf"(?:\s?(?:{_BC}|{_AD}))"
_BEFORE = r"(?:(?:a\.?\s?d\.?|c\.?e\.?|b\.?c\.?(?:e\.?)?|anno domini)\s?)"
# With its era a year may have one figure; without, "May 12, 76" is a year of some century.
_YEAR = rf"(?:{_BEFORE}\d{{1,4}}|\d{{3,4}}|\d{{1,2}}(?={_ERA}(?!\w)))"
_SHORT = r"\d\d(?=\s*(?:$|[.,;)]))"
# The first form that fits wins: a whole date stands before the month or the year in it. A year by
# itself has four digits and lies between 1000 and 2099, or has its era; other figures are numbers.
_FORMS = (
    r"(?P<y1>\d{4})(?:[-/]|\.\s?)(?P<m1>\d{1,2})(?:[-/]|\.\s?)(?P<d1>\d{1,2})(?:t[\d:.]+z?)?",
    # "10 or 11 June 323 BC" gives both.
    rf"(?:(?P<e2>{_DAY})\sor\s(?:the\s)?)?(?P<d2>{_DAY})(?:\s+day)?{_GAP}(?:of\s+)?(?P<m2>{_MONTH})\b\.?{_GAP}"
    rf"(?:in\s+|of\s+)?(?:the year\s+)?(?P<y2>{_YEAR}|{_SHORT})",
    rf"(?P<m3>{_MONTH})\b\.?{_GAP}(?:the\s+)?(?P<d3>{_DAY}){_GAP}(?:in\s+|of\s+)?"
    rf"(?P<y3>{_YEAR}|{_SHORT})",
    rf"(?P<y4>{_YEAR}){_GAP}(?P<m4>{_MONTH})\b\.?{_GAP}(?P<d4>{_DAY})",
    r"(?P<a5>\d{1,2})(?P<sep5>[-/]|\.\s?)(?P<b5>\d{1,2})(?P=sep5)(?P<y5>\d{4}|\d\d(?!\d))",
    # 2009-07 is a month; 1939-45 is a span of years and no date.
    r"(?P<y10>\d{4})-(?P<m10>0[1-9]|1[0-2])(?![-/\d])",
    rf"(?P<m6>{_MONTH})\b\.?{_GAP}(?:of\s+)?(?P<y6>{_YEAR})",
    rf"(?P<d7>{_DAY})\s+(?:of\s+)?(?P<m7>{_MONTH})",
    rf"(?P<m8>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d8>{_DAY})",
    rf"(?P<y9>{_BEFORE}\d{{1,4}}|(?:\d{{1,2}},\d{{3}}|\d{{1,5}})(?={_ERA}(?!\w))|1\d{{3}}|20\d{{2}})",
)
_WITH_YEAR = ("1", "2", "3", "4", "5", "6", "9", "10")
_WITH_MONTH = ("1", "2", "3", "4", "6", "7", "8", "10")
# Not inside a longer number, a path or a range.
_DATE = re.compile(
    r"(?:(?<![\w/-])|(?<=\bmid-)|(?<=\blate-)|(?<=\bearly-))(?<!\d[.,])"
    rf"(?:{'|'.join(_FORMS)}){_ERA}?(?!\w|[-/]\d)"
)
_HAS_ERA = re.compile(rf"(?<![a-z]){_BEFORE}|{_ERA}$")
_IS_BC = re.compile(r"(?<![a-z])b\.?\s?c|before")
_DAY_NAMES = {word: n for n, word in enumerate(words("ordinals"))} | {
    "twentieth": 20,
    "thirtieth": 30,
}
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class Date:
    """A date or a part of one; ``start`` and ``end`` are characters of the text's ``shown``.

    ``days`` are (month, day) pairs: none if it gives a year alone, two if it can be read both ways
    (04/05/1920), which ``order`` then tells as written, or gives two (10 or 11 June). A day of 0
    stands for a month alone, a year of 0 for a day without its year. Years BC are negative.
    ``short`` marks a year of two figures.
    """

    year: int
    days: frozenset[tuple[int, int]]
    start: int
    end: int
    order: tuple[int, int] | None = None
    short: bool = False

    @property
    def precision(self) -> int:
        """Return 0 for a year, 1 for a month, 2 for a day."""
        return 0 if not self.days else 2 if all(day for _, day in self.days) else 1


def dates_in(text: Text) -> Iterator[Date]:
    """Yield the dates of a text in their order; a decade (1890s) is no date."""
    signs = (Date(*found) for found in eastern.dates_in(text.shown))
    yield from merge(_western(text.shown), signs, key=lambda date: date.start)


def _western(shown: str) -> Iterator[Date]:
    for match in _DATE.finditer(shown):
        days = frozenset(_days(match))
        # 25/13/1976 is no date, not even a year.
        named = any(match[f"m{i}"] for i in _WITH_MONTH) or match["a5"]
        if not days and named:
            continue
        written = next((match[f"y{i}"] for i in _WITH_YEAR if match[f"y{i}"]), "0")
        figures = re.sub(r"\D", "", written)
        year = int(figures) * (-1 if _IS_BC.search(match.group()) else 1)
        unsure = match["a5"] and len(days) > 1
        order = (int(match["a5"]), int(match["b5"])) if unsure else None
        short = len(figures) == 2 and not _HAS_ERA.search(match.group())
        yield Date(year, days, match.start(), match.end(), order, short)


def _days(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    if match["a5"]:
        first, second = int(match["a5"]), int(match["b5"])
        # With dots the day comes first, in every locale of CLDR; with strokes it may be either.
        readings = [(second, first), (first, second)]
        real = [reading for reading in readings if _is_day(*reading)]
        yield from real[:1] if "." in match["sep5"] else real
        return
    for i in _WITH_MONTH:
        month = match[f"m{i}"]
        if month:
            number = int(month) if month.isdigit() else MONTH_NUMBER[month]
            day = match[f"d{i}"] if i not in ("6", "10") else ""
            others = [match["e2"]] if i == "2" and match["e2"] else []
            for given in [_day(text) for text in (day, *others)] if day else [0]:
                if _is_day(number, given or 1):
                    yield number, given


def _is_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= _LONGEST[month - 1]


def _day(text: str) -> int:
    figures = re.match(r"\d+", text)
    if figures:
        return int(figures.group())
    *tens, last = re.split(r"[- ]", text)
    return _DAY_NAMES[last] + (20 if tens == ["twenty"] else 30 if tens else 0)


def compare(first: Date, second: Date) -> str:
    """Compare two dates at the precision of the coarser one: 1969 equals 1969-07-20.

    Returns ``same``, ``ambiguous`` where one of two readings is the same, or empty.
    """
    unsure = first.year != second.year
    if unsure and not _may_be_one_year(first, second):
        return ""
    if first.days and second.days:
        if not _share_a_day(first, second):
            return ""
        # Written alike they are one, whatever the reading.
        unsure |= (first.order or second.order) is not None and first.order != second.order
    return "ambiguous" if unsure else "same"


def _may_be_one_year(first: Date, second: Date) -> bool:
    """Return whether one year is the other without its century: 76 and 1976."""
    if not (first.short or second.short) or min(first.year, second.year) <= 0:
        return False
    return first.year % 100 == second.year % 100 and max(first.year, second.year) >= 1000


def _share_a_day(first: Date, second: Date) -> bool:
    return any(
        month == other and (day == another or 0 in (day, another))
        for month, day in first.days
        for other, another in second.days
    )
