"""Numbers with sign, scale and unit: -5 differs from 5, 12 million is 12,000,000, 1 h 5 min is one.

How a number in figures is grouped is read in ``figures.py``, its unit in ``units.py``.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from memtoc.scoring.figures import Figure, figure_at
from memtoc.scoring.lexicon import SCALES
from memtoc.scoring.text import Text
from memtoc.scoring.units import Unit, Units, converted, unit_at

_NUMBER = re.compile(r"\d{1,40}(?:\.\d{1,40})?")
# A minus stands at the start or behind a space: the hyphen of 3-5 is none.
_MINUS = re.compile(r"(?:^|[^\w.%-])-$|\b(?:minus|negative)\s$")
_BELOW = re.compile(r"\s(?:below (?:zero|freezing|(?:mean )?sea[ -]level)|under the sea)\b")
# "More than 12" and "before 1934" give a limit, not the value; so does a span such as 3-5.
_LIMIT = re.compile(
    r"(?:\b(?:before|after|prior to|until|till|at (?:least|most)|up to|no later"
    r"|(?:earlier|later|more|fewer|less|greater|higher|lower|other) than)\s"
    r"(?:the\s)?(?:year\s)?(?:about\s|around\s|circa\s|c\.\s?)?|\d-)$"
)
_SCALED = re.compile(rf"\s(?:{'|'.join(SCALES)})s?\b|-\d")
# These limit a quantity; before a date they may be something else ("over 1990").
_BEYOND = re.compile(
    r"(?:\b(?:exceed(?:s|ing|ed)?|above|below|under|beyond|between|from"
    r"|(?<!ran )(?<!aired )(?<!lasted )(?<!spread )(?<!held )over)\s"
    r"|\b(?:between|from)\s[^.;]{1,30}?\s(?:and|to)\s|\d[^\s.;]{0,8}\s(?:[a-z]{1,12}\s)?to\s)$"
)
_UP_TO = re.compile(r"\s?(?:-|to|or (?:more|less|fewer))\s?[$€£]?(?:\d|$|[.,;])|\+")
# In front of an amount of money; "$" stands there, "dollars" behind.
_MONEY_BEFORE = re.compile(
    r"(?:(?<![a-z])(?:usd|us\s?\$|u\.s\.\s?\$|[acs]\$|(?:ca|au|nz|hk)\$|cad|aud|eur|gbp|jpy|cny|rmb|cn¥"
    r"|inr|rs\.?|krw|chf|r\$)|[$€£¥₹₩₽₺₪])\s?$"
)
_MONEY_SCALES = {"m": 10**6, "b": 10**9, "t": 10**12}
_SHORT_SCALES = {"k": 1000, "mn": 10**6, "mln": 10**6, "mio": 10**6, "bn": 10**9, "tn": 10**12,
                 "trn": 10**12}  # fmt: skip
_SHORT = re.compile(r"\s?(k|mn|mln|mio|bn|tn|trn|m|b|t)\b")
_CENTS = re.compile(r"\s?(?:(cents?\b|¢)|pence\b)")
_HALF = re.compile(r"\s(?:and (?:a |one[ -])?(?:(half)|(quarter))\b|(\d)/(\d)(?![\d/]))")
_AND_SO_ON = re.compile(r"[\s-]{0,2}")
_PARTS_GAP = re.compile(r",?\s?(?:and\s)?")
# Each unit may be followed by a smaller one: 3 h 14 min, 6 ft 2 in, 4 lb 5 oz.
_PARTS = {
    "year": ("month", "week", "day"), "month": ("week", "day"), "week": ("day",),
    "day": ("hour", "minute"), "hour": ("minute", "second"), "minute": ("second",),
    "mile": ("yard", "foot"), "yard": ("foot",), "foot": ("inch",), "stone": ("pound",),
    "kilometer": ("meter",), "meter": ("centimeter",), "pound": ("ounce",), "kilogram": ("gram",),
}  # fmt: skip
_MOST_PARTS = 3


@dataclass(frozen=True)
class Quantity:
    """A number of a text: words ``first`` up to ``last``, characters ``start`` up to ``end``.

    ``amount`` carries sign and scale; ``other`` is the second reading of "1.234"; ``place`` is the
    worth of the last figure; ``units`` are the readings of its unit, none for a bare number.
    """

    amount: Fraction
    other: Fraction | None
    place: Fraction
    units: Units
    first: int
    last: int
    start: int
    end: int


def quantities_in(text: Text) -> Iterator[Quantity]:
    """Yield the numbers of a text with scales and units; "2 thousand 5 hundred" is one."""
    at = 0
    while at < len(text.words):
        found = quantity_at(text, at)
        if found:
            yield found
        at = max(at + 1, found.last if found else 0)


def quantity_at(text: Text, at: int) -> Quantity | None:
    """Return the quantity whose number starts with a word; None where no number does."""
    found = _simple(text, at)
    for _ in range(_MOST_PARTS):
        part = _smaller_part(text, found) if found else None
        if found is None or part is None:
            break
        found = _joined(found, part)
    return found


def _simple(text: Text, at: int) -> Quantity | None:
    figure = _number(text, at)
    return _with_unit(text, text.starts[at], figure) if figure else None


def _with_unit(text: Text, start: int, figure: Figure) -> Quantity | None:
    """Return a number with the unit behind it or the currency before it."""
    money = _MONEY_BEFORE.search(text.shown[max(0, start - 6) : start])
    first = start - len(money.group()) if money else start
    units: Units | None = ()
    if money:
        units, _ = unit_at(money.group().strip(), 0)
        figure = _short_scale(text.shown, figure, money=True)
    else:
        units, figure = _unit_behind(text.shown, figure)
    if units is None:
        return None
    value, other = _signed(text.shown, first, figure)
    words = text.words_at(first, figure.end)
    return Quantity(value, other, figure.place, units, *words, first, figure.end)


def _number(text: Text, at: int) -> Figure | None:
    """Return the number that starts with a word, in figures or in words, with its scales."""
    found = _part(text, at)
    if found is None:
        return None
    scale, end = _scales(text, found.end)
    # "1.234 million" is a decimal.
    other = found.other if scale == 1 else None
    whole = Figure(found.value * scale, other, found.place * scale, end)
    while scale != 1 and (found := _addend(text, whole.end, scale)):
        scale, end = _scales(text, found.end)
        whole = Figure(whole.value + found.value * scale, None, found.place * scale, end)
    return _with_fraction(text.shown, whole)


def _addend(text: Text, end: int, scale: Fraction) -> Figure | None:
    """Return the smaller number behind a scale, which adds to it: 2 thousand | 5 hundred."""
    at = bisect_left(text.starts, end)
    at += text.words[at : at + 1] == ("and",)
    if at >= len(text.words) or "." in text.shown[end : text.starts[at]]:
        return None
    found = _part(text, at)
    # Any other number starts anew.
    return found if found and found.value < scale else None


def _part(text: Text, at: int) -> Figure | None:
    start, word = text.starts[at], text.words[at]
    if text.shown[start].isdigit():
        return figure_at(text.shown, start)
    if _NUMBER.fullmatch(word):
        return Figure(Fraction(word), None, Fraction(1), text.ends[at])
    before = text.shown[max(0, start - 2) : start]
    if word in SCALES and before == "a ":
        # A million; the scale follows.
        return Figure(Fraction(1), None, Fraction(1), start)
    if word == "half" and re.match(r" (?:an? )?\w", text.shown[text.ends[at] :]):
        article = re.match(r" an?(?= )", text.shown[text.ends[at] :])
        end = text.ends[at] + (article.end() if article else 0)
        return Figure(Fraction(1, 2), None, Fraction(1, 2), end)
    return None


def _scales(text: Text, end: int) -> tuple[Fraction, int]:
    """Return the product of the scale words behind a number, and where they end."""
    scale, at = Fraction(1), bisect_left(text.starts, end)
    while at < len(text.words) and text.words[at].removesuffix("s") in SCALES:
        if not _AND_SO_ON.fullmatch(text.shown, end, text.starts[at]):
            break
        scale *= SCALES[text.words[at].removesuffix("s")]
        end, at = text.ends[at], at + 1
    return scale, end


def _with_fraction(shown: str, figure: Figure) -> Figure:
    match = _HALF.match(shown, figure.end)
    if match is None or figure.place != 1:
        return figure
    if match[3]:
        part = Fraction(int(match[3]), int(match[4]) or 1)
    else:
        part = Fraction(1, 2) if match[1] else Fraction(1, 4)
    return Figure(figure.value + part, None, part, match.end())


def _short_scale(shown: str, figure: Figure, *, money: bool) -> Figure:
    match = _SHORT.match(shown, figure.end)
    scales = _SHORT_SCALES | _MONEY_SCALES if money else _SHORT_SCALES
    scale = scales.get(match[1]) if match else None
    if match is None or scale is None or match.group() == " k":
        return figure
    return Figure(figure.value * scale, None, figure.place * scale, match.end())


def _unit_behind(shown: str, figure: Figure) -> tuple[Units | None, Figure]:
    """Return the unit behind a number with the number up to its end.

    The units are None where the figures are part of a word (13th, 1790s, B52).
    """
    units, end = unit_at(shown, figure.end)
    cents = _CENTS.match(shown, figure.end)
    if cents:
        units = unit_at("$" if cents[1] else "£", 0)[0]
        hundredth = Figure(figure.value / 100, None, figure.place / 100, cents.end())
        return units, hundredth
    if shown[figure.end : end] == "k" and figure.value.denominator == 1:
        # 210k is a number of thousands, 210 K a temperature.
        units = ()
    # "the 90s" and "the 1790s" are decades.
    decade = shown[figure.end : end] == "s" and figure.value % 10 == 0
    if not units or decade:
        short = _short_scale(shown, figure, money=False)
        if short != figure:
            units, end = unit_at(shown, short.end)
            return units, replace(short, end=end)
        attached = shown[figure.end : figure.end + 1]
        if decade or (attached.isascii() and attached.isalpha()):
            return None, figure
    return units, replace(figure, end=end)


def _signed(shown: str, start: int, figure: Figure) -> tuple[Fraction, Fraction | None]:
    below = _BELOW.match(shown, figure.end) or _MINUS.search(shown[max(0, start - 10) : start])
    sign = -1 if below else 1
    return sign * figure.value, None if figure.other is None else sign * figure.other


def _smaller_part(text: Text, whole: Quantity) -> Quantity | None:
    """Return the part of a quantity that follows in a smaller unit: the 2 in of 6 ft 2 in."""
    simple = [unit.name for unit in whole.units if unit.power == 1]
    smaller = {part for name in simple for part in _PARTS.get(name, ())}
    gap = _PARTS_GAP.match(text.shown, whole.end)
    if not smaller or not gap or whole.amount.denominator != 1:
        return None
    start, at = gap.end(), bisect_left(text.starts, gap.end())
    # In 3h14min no word starts at the 14.
    figure = figure_at(text.shown, start) if text.shown[start : start + 1].isdigit() else None
    if figure is None and at < len(text.words) and text.starts[at] == start:
        figure = _number(text, at)
    part = _with_unit(text, start, figure) if figure else None
    if part is None:
        return None
    small = next((unit for unit in part.units if unit.name in smaller), None)
    # "872 days, 20,928 hours" says one thing twice.
    if small and part.amount >= (converted(Fraction(1), whole.units[0], small) or 0):
        return None
    # Behind hours "m" is minutes: 3h 14m.
    if "minute" in smaller and any(unit.name == "meter" for unit in part.units):
        small = Unit("time", "minute")
    return replace(part, units=(small,)) if small else None


def _joined(whole: Quantity, part: Quantity) -> Quantity:
    large, small = whole.units[0], part.units[0]
    more = converted(whole.amount, large, small)
    assert more is not None
    return replace(
        part,
        amount=more + (part.amount if whole.amount >= 0 else -part.amount),
        units=(small,),
        first=whole.first,
        start=whole.start,
    )


def is_limit(text: Text, start: int, end: int) -> bool:
    """Return whether the number or date there is a limit, an end of a span, or scaled."""
    before = text.shown[max(0, start - 40) : start]
    return bool(_LIMIT.search(before) or _SCALED.match(text.shown, end))


def only_limits(text: Text, found: Quantity) -> bool:
    """Return whether a quantity is a limit or an end of a span: over 8 km, 8 to 10 km."""
    before = text.shown[max(0, found.start - 40) : found.start]
    behind = _UP_TO.match(text.shown, found.end)
    return is_limit(text, found.start, found.end) or bool(_BEYOND.search(before) or behind)
