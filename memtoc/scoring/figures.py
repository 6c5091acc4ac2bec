"""One number in figures, at a place of a text: grouping, decimals, powers of ten.

What a reader can take in one way only is read so: "1.234.567" and "12,34,567" are whole numbers.
"1.234" may be a decimal or a whole number: both readings are kept.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

# Bounded like every pattern here, so that a runaway reply of digits costs no more.
_DIGITS = r"\d{1,40}"
_FORMS = re.compile(
    rf"(?P<english>\d{{1,3}}(?:,\d{{3}}){{1,12}}(?:\.{_DIGITS})?)(?![\d,]*\d)"
    rf"|(?P<indian>\d{{1,2}}(?:,\d\d){{1,9}},\d{{3}}(?:\.{_DIGITS})?)(?![\d,]*\d)"
    rf"|(?P<dotted>\d{{1,3}}(?:\.\d{{3}}){{1,12}},{_DIGITS}|\d{{1,3}}(?:\.\d{{3}}){{2,12}})"
    r"(?![\d.,]*\d)"
    # A phone number or a list of figures goes on, or starts with a nought.
    rf"|(?P<spaced>[1-9]\d{{0,2}}(?:(?P<gap>[ '])\d{{3}})(?:(?P=gap)\d{{3}}){{0,11}}"
    rf"(?:[.,]{_DIGITS})?)(?![\w.,'-]*\d| \d)"
    r"|(?P<either>[1-9]\d{0,2}\.\d{3})(?![\d.,]*\d)"
    # 12,5 is a decimal; 3,1415 and 12,1985 are read as two numbers.
    r"|(?P<comma>\d{1,6},\d{1,2})(?![\d.,]*\d)"
    rf"|(?P<plain>{_DIGITS}(?:\.{_DIGITS}(?!\.?\d))?)"
)
_POWER = re.compile(
    r"\s?[x×*·]\s?10\s?(?:\^|\*\*)\s?(?P<times>[+-]?\d{1,2})(?!\d)|e(?P<e>[+-]?\d{1,2})(?!\w)"
)
# Beyond what anything measured needs.
_MOST_EXPONENT = 40


@dataclass(frozen=True)
class Figure:
    """A number that ends before character ``end``.

    ``other`` is the second reading of "1.234" (1234); ``place`` is the worth of the last figure:
    1 for "12", 1/10 for "12.5".
    """

    value: Fraction
    other: Fraction | None
    place: Fraction
    end: int


def figure_at(shown: str, start: int) -> Figure | None:
    """Return the number that starts at a digit of ``shown``; None where no digit stands."""
    match = _FORMS.match(shown, start)
    if match is None:
        return None
    form, text = str(match.lastgroup), match.group()
    if match["spaced"]:
        form = "spaced"
    whole, _, part = _plain(form, text).partition(".")
    value, place = Fraction(f"{whole}.{part or 0}"), Fraction(1, 10 ** len(part))
    other = value * 1000 if form == "either" else None
    return _with_power(shown, Figure(value, other, place, match.end()))


def _plain(form: str, text: str) -> str:
    """Return a number in the notation of programs, without grouping."""
    if form in ("dotted", "comma"):
        return text.replace(".", "").replace(",", ".")
    if form == "spaced":
        return re.sub("[ ']", "", text).replace(",", ".")
    return text.replace(",", "")


def _with_power(shown: str, figure: Figure) -> Figure:
    match = _POWER.match(shown, figure.end)
    exponent = int(match["times"] or match["e"]) if match else 0
    if match is None or abs(exponent) > _MOST_EXPONENT:
        return figure
    scale = Fraction(10) ** exponent
    # In front of a power a dot is a decimal's.
    return Figure(figure.value * scale, None, figure.place * scale, match.end())
