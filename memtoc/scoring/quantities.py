"""Numbers with their sign and scale: -5 differs from 5, and 12 million is 12,000,000."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from memtoc.scoring.lexicon import SCALES
from memtoc.scoring.text import Text

# Bounded like every pattern here, so that a runaway reply of digits costs no more.
_NUMBER = re.compile(r"\d{1,40}(?:\.\d{1,40})?")
# A minus stands at the start or behind a space: the hyphen of 3-5 is none.
_MINUS = re.compile(r"(?:^|[^\w.%-])-$|\b(?:minus|negative)\s$")
# "More than 12" and "before 1934" give a limit, not the value; so does a span such as 3-5.
_LIMIT = re.compile(
    r"(?:\b(?:before|after|prior to|until|till|at (?:least|most)|up to|no later"
    r"|(?:earlier|later|more|fewer|less|greater|higher|lower|other) than)\s"
    r"(?:the\s)?(?:year\s)?(?:about\s|around\s|circa\s|c\.\s?)?|\d-)$"
)
_SCALED = re.compile(rf"\s(?:{'|'.join(SCALES)})s?\b|-\d")


@dataclass(frozen=True)
class Quantity:
    """A number of a text: words ``first`` up to ``last``; ``amount`` carries sign and scale."""

    amount: Fraction
    first: int
    last: int


def quantities_in(text: Text) -> Iterator[Quantity]:
    """Yield the numbers of a text with their scales; "2 thousand 5 hundred" is one."""
    at = 0
    while at < len(text.words):
        if not _NUMBER.fullmatch(text.words[at]):
            at += 1
            continue
        amount, last = _amount(text.words, at)
        sign = (
            -1 if _MINUS.search(text.shown[max(0, text.starts[at] - 10) : text.starts[at]]) else 1
        )
        yield Quantity(sign * amount, at, last)
        at = last


def _amount(words: tuple[str, ...], at: int) -> tuple[Fraction, int]:
    total, scale = Fraction(0), Fraction(0)
    while at < len(words) and _NUMBER.fullmatch(words[at]):
        part, at, before = Fraction(words[at]), at + 1, scale
        scale = Fraction(1)
        while at < len(words) and words[at].removesuffix("s") in SCALES:
            scale *= SCALES[words[at].removesuffix("s")]
            at += 1
        total += part * scale
        joined = at + 1 if words[at : at + 1] == ("and",) else at
        # A smaller number behind a scale adds to it (2 thousand 5 hundred); any other starts anew.
        smaller = joined < len(words) and _NUMBER.fullmatch(words[joined])
        if scale == 1 or before == 1 or not smaller or Fraction(words[joined]) >= scale:
            break
        at = joined
    return total, at


def whole_quantity(text: Text, first: int, last: int) -> Fraction | None:
    """Return the amount of words ``first`` up to ``last`` if they are one number, else None."""
    if first < last and _NUMBER.fullmatch(text.words[first]):
        for found in quantities_in(text):
            if found.first >= first:
                return found.amount if (found.first, found.last) == (first, last) else None
    return None


def is_limit(text: Text, start: int, end: int) -> bool:
    """Return whether the number or date there is a limit, an end of a span, or scaled."""
    before = text.shown[max(0, start - 40) : start]
    return bool(_LIMIT.search(before) or _SCALED.match(text.shown, end))
