"""Dates as Chinese, Japanese and Korean write them: 1976年12月25日, 公元前44年, 昭和51年."""

import re
from collections.abc import Iterator

# A folded text has its Hangul composed, and its full-width figures plain.
_SIGNS = {sign: n for n, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "元": 1, "兩": 2}
_NUMBER = rf"(?:\d{{1,4}}|[十百{''.join(_SIGNS)}]{{1,6}})"
_BC = ("公元前", "西元前", "紀元前", "纪元前", "기원전")
# The year before the first one of each era.
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911,
         "民国": 1911} | dict.fromkeys(("公元", "西元", "西暦", "서기"), 0)  # fmt: skip
_DATE = re.compile(
    rf"(?<!\d)(?:(?:(?P<era>{'|'.join((*_BC, *_ERAS))})\s?)?(?P<year>{_NUMBER})\s?(?:年|년))"
    rf"(?:\s?(?P<month>{_NUMBER})\s?(?:月|월)(?:\s?(?P<day>{_NUMBER})\s?(?:日|号|號|일))?)?"
    rf"|(?<!\d)(?P<month_alone>{_NUMBER})\s?(?:月|월)\s?(?P<day_alone>{_NUMBER})\s?(?:日|号|號|일)"
)
_MARKS = re.compile("[年년月월]")

Found = tuple[int, frozenset[tuple[int, int]], int, int]


def dates_in(shown: str) -> Iterator[Found]:
    """Yield year, (month, day) pairs, start and end, as ``dates.Date`` holds them."""
    if not _MARKS.search(shown):
        return
    for match in _DATE.finditer(shown):
        month, day = match["month"] or match["month_alone"], match["day"] or match["day_alone"]
        numbers = [_value(text) if text else 0 for text in (match["year"], month, day)]
        if numbers[1] > 12 or numbers[2] > 31 or (month and not numbers[1]):
            continue
        year = numbers[0] + _ERAS.get(match["era"] or "", 0)
        if match["era"] in _BC:
            year = -year
        days = frozenset([(numbers[1], numbers[2])]) if month else frozenset[tuple[int, int]]()
        yield year, days, match.start(), match.end()


def _value(text: str) -> int:
    """Return a number in figures or in signs: 一九七六 and 二十五."""
    if text.isdigit() and text.isascii():
        return int(text)
    total, figure = 0, 0
    for sign in text:
        if sign in "十百":
            total, figure = total + (figure or 1) * (10 if sign == "十" else 100), 0
        else:
            figure = figure * 10 + _SIGNS[sign]
    return total + figure
