"""Whether an answer gives a date: which dates a value names, and how an answer's compare."""

import re
from collections.abc import Iterator
from itertools import islice

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.dates import Date, compare, dates_in
from memtoc.scoring.lexicon import COMMON
from memtoc.scoring.quantities import is_limit
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.rules import ScoringRules
from memtoc.scoring.text import Text, read
from memtoc.scoring.units import unit_at

_MAX_PLACES = 50
_ASKS_DATE = re.compile(r"\b(?:when|(?:what|which) (?:year|date|day)|date of|birthdate|birthday)\b")
_ASKS_YEAR = re.compile(r"\b(?:what|which) (?:exact )?(?:year|decade|century)\b|\byear (?:of|in)\b")
_ASKS_MONTH = re.compile(r"\b(?:what|which) month\b")
_ASKS_NUMBER = re.compile(r"\bhow (?!did|was|were|is|does|do)\w+")
_IN_BC = re.compile(r"\b(?:bce?|b\.c\.(?:e\.)?|before christ)(?!\w)")
_ASIDE = re.compile(r"\([^()]*\)?")
_ABOUT = re.compile(r"\b(?:c|ca|circa)\b\.?")
_BETWEEN = re.compile(r"\bbetween\s(?:[^.;]{1,40}\sand\s)?(?:the year )?$")
# A year before 1000 without its era, where a date is asked for.
_BARE = re.compile(r"(?<![\w/.,$£€-])(?P<year>[1-9]\d{0,2})(?![\w/%°-]|[.,:]\d)")
_BEFORE_BARE = re.compile(
    r"(?:^|\b(?:in|year|circa|ca?\.|about|around|approximately|was|is|of|on|answer|ad|not|than"
    r"|but|says?|returned|gave|or|it's)\s|[:(\"'*])$"
)


def asks_date(question: str) -> bool:
    """Return whether a question asks for a date, a year or a month."""
    return bool(_ASKS_DATE.search(question.lower()))


def dates_of(sought: Text, question: str) -> tuple[Date, ...]:
    """Return the dates that a value is; a year inside a name is part of it unless it is asked for.

    The year 80 is one as well, where a date is asked for.
    """
    dates = tuple(dates_in(sought))
    asked = asks_date(question)
    if dates and not (asked or _is_temporal(sought, dates)):
        return ()
    if not dates and asked:
        bare = tuple(_bare_years(sought, question))
        return bare if _is_temporal(sought, bare) else ()
    return dates


def _is_temporal(sought: Text, dates: tuple[Date, ...]) -> bool:
    """Return whether the value consists of dates, common words and brackets."""
    rest = sought.shown
    for date in reversed(dates):
        rest = rest[: date.start] + " " + rest[date.end :]
    return all(word in COMMON for word in read(_ASIDE.sub(" ", _ABOUT.sub(" ", rest))).words)


def _bare_years(text: Text, question: str) -> Iterator[Date]:
    asked = question.lower()
    if _ASKS_NUMBER.search(asked):
        return
    sign = -1 if _IN_BC.search(asked) else 1
    for match in _BARE.finditer(text.shown):
        unit, _ = unit_at(text.shown, match.end())
        before = text.shown[max(0, match.start() - 20) : match.start()]
        if not unit and _BEFORE_BARE.search(before):
            yield Date(sign * int(match["year"]), frozenset(), match.start(), match.end())


def same_moment(
    said: Text, wanted: tuple[Date, ...], question: str, rules: ScoringRules
) -> tuple[bool, str]:
    """Return whether the answer gives one of the dates, and the rule that decided."""
    reason = "different_date"
    asked = {said_date.year for said_date in dates_in(read(question)) if not said_date.days}
    found = list(islice(dates_in(said), _MAX_PLACES))
    if not found and any(abs(date.year) < 1000 for date in wanted) and asks_date(question):
        found = list(islice(_bare_years(said, question), _MAX_PLACES))
    for date in found:
        rule = _relation(date, wanted, question)
        if rule in ("", "ambiguous_date"):
            reason = rule or reason
            continue
        # "The 1936 Olympics opened in 1937" answers 1937.
        if not date.days and date.year in asked and len(found) > 1:
            reason = "only_in_question"
            continue
        if is_limit(said, date.start, date.end) or _bounds_a_span(said, date):
            reason = "limit"
            continue
        first, last = said.words_at(date.start, date.end)
        down = turned_down(said, first, last, question)
        if not down and (rule != "partial_date" or rules.partial_dates):
            return True, rule
        reason = down or rule
    return False, reason if found else "no_date"


def _bounds_a_span(said: Text, date: Date) -> bool:
    return bool(_BETWEEN.search(said.shown[max(0, date.start - 60) : date.start]))


def _relation(date: Date, wanted: tuple[Date, ...], question: str) -> str:
    """Return the rule by which a date is one of those wanted; empty if it is none of them."""
    asked = question.lower()
    enough = 0 if _ASKS_YEAR.search(asked) or asked_kinds(question) == {"year"} else 2
    enough = 1 if _ASKS_MONTH.search(asked) else enough
    rules = set[str]()
    for other in wanted:
        relation = compare(date, other)
        if relation == "same":
            coarse = date.precision < min(other.precision, enough)
            rules.add("partial_date" if coarse else "same_date")
        elif relation:
            rules.add("ambiguous_date")
    return next((r for r in ("same_date", "partial_date", "ambiguous_date") if r in rules), "")
