"""Our matcher: the same entity, date, number or time zone, on whole words.

It looks for the target in the answer word by word. Then it compares the value that the answer
asserts with the target's, which finds short forms, initials and middle names. Dates compare as
dates, numbers as numbers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import islice

from memtoc.scoring.claims import STEM, known_words, value_range
from memtoc.scoring.codes import same_code
from memtoc.scoring.dates import Date, dates_in, same_date
from memtoc.scoring.echo import asks_back
from memtoc.scoring.entities import Reply, Wanted, same_entity
from memtoc.scoring.groups import is_thing
from memtoc.scoring.legal import same_company
from memtoc.scoring.lexicon import COMMON
from memtoc.scoring.lists import is_part, same_list
from memtoc.scoring.locales import names_another, same_local_name
from memtoc.scoring.names import (
    Name,
    name_of,
    plain,
)
from memtoc.scoring.quantities import is_limit, quantities_in, whole_quantity
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules
from memtoc.scoring.text import Text, Words, read
from memtoc.scoring.timezones import Zone, has_zone, zones_in
from memtoc.scoring.truth import asks_yes_or_no, verdict

# A runaway reply may name a value hundreds of times; one accepted place is enough.
_MAX_PLACES = 50

Decided = tuple[bool, str]


@dataclass(frozen=True)
class Target:
    """What is looked for: the value of a gold, a return or a memory, read once.

    ``zones``, ``dates`` and ``amount`` are filled if the value is one; ``forms`` are the ways to
    write it, each with the tail (a title, a place) that it leaves out. ``rejected`` is the rule by
    which the text turns its own value down ("I doubt it was X"). ``limit`` marks a value such as
    "before 1934", which only the same words match.
    """

    name: Name
    zones: tuple[Zone, ...]
    dates: tuple[Date, ...]
    amount: Fraction | None
    rejected: str
    limit: bool
    forms: tuple[tuple[Words, Words], ...]


def same_answer(
    answer: str,
    target: str,
    question: str = "",
    rules: ScoringRules = DEFAULT_RULES,
    rivals: tuple[str, ...] = (),
) -> Decided:
    """Return whether the answer gives the target, and the rule that decided.

    ``rivals`` are the other candidates of the row.
    """
    said, wanted = read(answer), read(target)
    if not said.words or not wanted.words:
        # A symbol (¥) is no word.
        return same_local_name(answer, target, question) or (False, "empty")
    sought = _target(target, question)
    # A minus is no word: "-40" and "40" have the same words, so numbers must be written alike.
    if said.words == wanted.words and (sought.amount is None or said.shown == wanted.shown):
        return True, "identical"
    if sought.rejected:
        return False, f"target_{sought.rejected}"
    if asks_yes_or_no(question) and verdict(wanted, question) is not None:
        agrees = verdict(said, question) is verdict(wanted, question)
        return agrees, "same_verdict" if agrees else "other_verdict"
    if asks_back(said):
        return False, "asked_back"
    reply = Reply(said, value_range(answer, question), question, rules, rivals)
    same = partial(same_answer, rules=rules)
    decided = None if sought.dates else same_code(said, target, question)
    if decided is None and not sought.zones:
        decided = same_list(answer, target, question, same)
    decided = decided or _same_kind(reply, sought, is_thing(target, question))
    if decided[0] and is_part(answer, target, question, rivals, same):
        decided = False, "part_of_list"
    return _by_names(answer, target, question, decided)


def _by_names(answer: str, target: str, question: str, decided: Decided) -> Decided:
    """Return the decision of the words, or what is known of names where it says otherwise."""
    matched, rule = decided
    if matched:
        other = names_another(answer, target, question)
        return (False, "other_name") if other else decided
    # Asked last, since loading the names takes time.
    known = rule in _OPEN and (
        same_local_name(answer, target, question) or same_company(answer, target, question)
    )
    return known or decided


# What a comparison of words leaves to the knowledge of names.
_OPEN = frozenset(("different", "part_of_name", "longer_entity", "no_number", "part_of_compound"))


def _same_kind(reply: Reply, sought: Target, thing: bool) -> Decided:
    said, question = reply.said, reply.question
    if sought.amount is not None and not sought.dates:
        return _same_amount(said, sought.amount, question)
    if sought.zones:
        return _same_zone(said, sought.zones, question)
    if sought.dates:
        return _same_date(said, sought.dates, question)
    return same_entity(reply, Wanted(sought.name, sought.forms, sought.limit, thing))


@lru_cache(maxsize=16384)
def _target(target: str, question: str) -> Target:
    whole, span, asked = read(target), value_range(target, question), question.lower()
    sought = whole.part(*span)
    zones: tuple[Zone, ...] = ()
    if has_zone(sought) or _ASKS_ZONE.search(asked):
        zones = tuple(zones_in(sought))
    dates = tuple(dates_in(sought))
    # A year inside a name (the 1936 Olympics) is part of the name unless a date is asked for.
    if dates and not (_ASKS_DATE.search(asked) or _is_temporal(sought, dates)):
        dates = ()
    given = tuple(date for date in dates if not is_limit(sought, date.start, date.end))
    return Target(
        name_of(sought),
        zones,
        given,
        None if given else _amount(whole, span, question),
        _rejected(whole, span, zones, given, question),
        bool(dates) and not given,
        tuple(_forms(sought)),
    )


def _amount(whole: Text, span: tuple[int, int], question: str) -> Fraction | None:
    """Return the value as a number, without the question's noun: 40 for "40 islands"."""
    first, last = span
    known = known_words(question)
    # The value of "about 40 islands" for "How many islands ...?" is 40.
    while last - 1 > first and whole.words[last - 1][:STEM] in known:
        last -= 1
    while first < last - 1 and whole.words[first] in COMMON:
        first += 1
    return whole_quantity(whole, first, last)


def _rejected(
    whole: Text,
    span: tuple[int, int],
    zones: tuple[Zone, ...],
    dates: tuple[Date, ...],
    question: str,
) -> str:
    """Return the rule by which a text turns down each value it names; empty if one is left."""
    sought = whole.part(*span)
    places = [(zone.first, zone.last) for zone in zones]
    places = places or [sought.words_at(date.start, date.end) for date in dates]
    places = places or [(0, len(sought.words))]
    if places[0] == (0, len(whole.words)):
        # Nothing stands around it.
        return ""
    rule = ""
    # One value that stands is enough: "not 1790, but 1791" gives 1791.
    for first, last in places[:_MAX_PLACES]:
        rule = turned_down(whole, span[0] + first, span[0] + last, question) if last else ""
        if not rule:
            return ""
    return rule


_ASKS_ZONE = re.compile(r"\btime ?zone\b")
_ASKS_DATE = re.compile(r"\b(?:when|(?:what|which) (?:year|date|day)|date of|birthdate|birthday)\b")
_ASIDE = re.compile(r"\([^()]*\)?")


def _is_temporal(sought: Text, dates: tuple[Date, ...]) -> bool:
    """Return whether the value consists of dates, common words and brackets."""
    rest = sought.shown
    for date in reversed(dates):
        rest = rest[: date.start] + " " + rest[date.end :]
    return all(word in COMMON for word in read(_ASIDE.sub(" ", rest)).words)


def _same_zone(said: Text, wanted: tuple[Zone, ...], question: str) -> Decided:
    """Compare time zones; "Central European Time" equals each of its Area/City forms."""
    reason = "no_zone"
    forms = frozenset[str]().union(*(zone.forms for zone in wanted))
    for zone in zones_in(said)[:_MAX_PLACES]:
        reason = turned_down(said, zone.first, zone.last, question) if zone.forms & forms else ""
        if zone.forms & forms and not reason:
            return True, "same_zone"
        reason = reason or "different_zone"
    return False, reason


def _same_date(said: Text, wanted: tuple[Date, ...], question: str) -> Decided:
    reason = "different_date"
    asked = {said_date.year for said_date in dates_in(read(question)) if not said_date.days}
    found = list(islice(dates_in(said), _MAX_PLACES))
    for date in found:
        if not any(same_date(date, other) for other in wanted):
            continue
        # "The 1936 Olympics opened in 1937" answers 1937.
        if not date.days and date.year in asked and len(found) > 1:
            reason = "only_in_question"
            continue
        if is_limit(said, date.start, date.end):
            reason = "limit"
            continue
        first, last = said.words_at(date.start, date.end)
        down = turned_down(said, first, last, question)
        if not down:
            return True, "same_date"
        reason = down
    return False, reason if found else "no_date"


def _same_amount(said: Text, wanted: Fraction, question: str) -> Decided:
    reason = "no_number"
    for found in islice(quantities_in(said), _MAX_PLACES):
        if found.amount != wanted:
            reason = "different_number" if reason == "no_number" else reason
            continue
        start, end = said.starts[found.first], said.ends[found.last - 1]
        if is_limit(said, start, end):
            reason = "limit"
            continue
        down = turned_down(said, found.first, found.last, question)
        if not down:
            return True, "same_number"
        reason = down
    return False, reason


def _forms(sought: Text) -> Iterator[tuple[Words, Words]]:
    """Yield the ways to write the target, each with the tail that it leaves out."""
    name = name_of(sought)
    yield sought.words, ()
    whole = plain(sought.words)
    if whole != sought.words and not name.tail:
        yield whole, ()
    if name.tail and len(name.head) >= 2:
        yield name.head, name.tail
    elif "(" in sought.shown and name.head != sought.words:
        yield name.head, ()
    for other in name.others:
        yield other, ()
