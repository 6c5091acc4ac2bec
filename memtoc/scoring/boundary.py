"""Our matcher: the same entity, date, number or time zone, on whole words.

It looks for the target in the answer word by word. Then it compares the value that the answer
asserts with the target's, which finds short forms, initials and middle names. Dates compare as
dates, numbers as numbers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

from memtoc.scoring.amounts import EXACT, amounts_of, is_no_date, same_amount
from memtoc.scoring.claims import clause_end, value_range
from memtoc.scoring.codes import same_code
from memtoc.scoring.dates import Date
from memtoc.scoring.lists import same_list
from memtoc.scoring.moments import asks_date, dates_of, same_moment
from memtoc.scoring.names import (
    Name,
    Words,
    is_bare_title,
    name_of,
    other_entity,
    other_land,
    plain,
    same_name,
    tails_conflict,
)
from memtoc.scoring.quantities import Quantity, is_limit
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules
from memtoc.scoring.text import Text, occurrences, occurs, read
from memtoc.scoring.timezones import Zone, has_zone, zones_in

# A runaway reply may name a value hundreds of times; one accepted place is enough.
_MAX_PLACES = 50

Decided = tuple[bool, str]


@dataclass(frozen=True)
class Target:
    """What is looked for: the value of a gold, a return or a memory, read once.

    ``zones``, ``dates`` and ``amounts`` are filled if the value is one; ``forms`` are the ways to
    write it, each with the tail (a title, a place) that it leaves out. ``rejected`` is the rule by
    which the text turns its own value down ("I doubt it was X"). ``limit`` marks a value such as
    "before 1934", which only the same words match.
    """

    name: Name
    zones: tuple[Zone, ...]
    dates: tuple[Date, ...]
    amounts: tuple[Quantity, ...]
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
        return False, "empty"
    sought = _target(target, question)
    # A minus is no word: "-40" and "40" have the same words, so numbers must be written alike.
    if said.words == wanted.words and (not sought.amounts or said.shown == wanted.shown):
        return True, "identical"
    if sought.rejected:
        return False, f"target_{sought.rejected}"
    special = None if sought.dates else same_code(said, target, question)
    if special is None and not sought.zones:
        special = same_list(answer, target, question, partial(same_answer, rules=rules))
    if special:
        return special
    decided = _same_kind(answer, said, sought, question, rules)
    if decided[1] == "rounded_quantity" and _is_another(said, sought, rivals, question):
        return False, "different_number"
    return decided


def _is_another(said: Text, sought: Target, rivals: tuple[str, ...], question: str) -> bool:
    """Return whether an answer that rounds to the target is exactly a rival that differs from it.

    0.18 tonnes is 180 kg, and not 400 lb, of which it is a rounding.
    """
    return any(
        same_amount(said, _target(rival, question).amounts, question)[1] in EXACT
        and not same_amount(read(rival), sought.amounts, question)[0]
        for rival in rivals
    )


def _same_kind(
    answer: str, said: Text, sought: Target, question: str, rules: ScoringRules
) -> Decided:
    if sought.amounts and not sought.dates:
        return same_amount(said, sought.amounts, question)
    if sought.zones:
        return _same_zone(said, sought.zones, question)
    if sought.dates:
        decided = same_moment(said, sought.dates, question, rules)
        # 1500 without a question may be a year or a number: "1,500" is no year.
        unsettled = decided[1] == "no_date" and sought.amounts
        return same_amount(said, sought.amounts, question) if unsettled else decided
    return _same_entity(answer, said, sought, question)


@lru_cache(maxsize=16384)
def _target(target: str, question: str) -> Target:
    whole, span = read(target), value_range(target, question)
    sought, amounts = whole.part(*span), amounts_of(whole, span, question)
    zones: tuple[Zone, ...] = ()
    if has_zone(sought) or _ASKS_ZONE.search(question.lower()):
        zones = tuple(zones_in(sought))
    # 1,850 m is no year; nor is 1500 as a number of things.
    dates = () if is_no_date(amounts, question) else dates_of(sought, question)
    given = tuple(date for date in dates if not is_limit(sought, date.start, date.end))
    return Target(
        name_of(sought),
        zones,
        given,
        amounts if not given or not asks_date(question) else (),
        _rejected(whole, span, zones, given, question),
        bool(dates) and not given,
        tuple(_forms(sought)),
    )


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


def _same_entity(answer: str, said: Text, sought: Target, question: str) -> Decided:
    reason, refused = "different", set[int]()
    span = value_range(answer, question)
    # From the full name to its shorter forms, so that the strictest reading decides first.
    for words, tail in sought.forms:
        for at in islice(occurrences(words, said.words), _MAX_PLACES):
            if at in refused:
                continue
            place = (at, at + len(words))
            reason = (
                ("bare_title" if is_bare_title(words) and words != said.words else "")
                or (not _is_number(words) and other_entity(said, *place))
                or _echoed(place, words, span, question)
                or (tail and _other_tail(said, place, words, tail))
                or turned_down(said, *place, question)
            )
            if not reason:
                return True, "whole_words"
            # A short form is not looked for where the full one was refused.
            refused.add(at)
    given = said.part(*span)
    if sought.limit or not given.words:
        return False, reason
    # The target does not stand there word for word: the asserted name may still be a form of it,
    # with initials, without middle names or inverted.
    if reason not in _FINAL and not is_bare_title(given.words):
        rule = same_name(name_of(given), sought.name)
        if rule:
            down = turned_down(said, *span, question)
            return not down, down or rule
    return False, reason


# Reasons that hold for the span as a whole: the names need not be compared further.
_FINAL = frozenset(
    [
        "negated",
        "called_wrong",
        "relative_of",
        "denied",
        "only_reported",
        "only_mentioned",
        "another_fact",
        "bare_title",
    ]
)


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


def _is_number(words: tuple[str, ...]) -> bool:
    return all(word.replace(".", "").isdigit() for word in words)


def _echoed(
    place: tuple[int, int], words: tuple[str, ...], span: tuple[int, int], question: str
) -> str:
    """Return ``only_in_question`` for a value of the question outside of what is asserted."""
    if not question or (span[0] <= place[0] and place[1] <= span[1]):
        return ""
    return "only_in_question" if occurs(words, read(question).words) else ""


def _other_tail(
    said: Text, place: tuple[int, int], words: tuple[str, ...], tail: tuple[str, ...]
) -> str:
    """Return the rule by which a name carries another title or land than the target's.

    Henry Somerset, 10th Duke of Beaufort, is another man than Henry Somerset, 1st Marquess of
    Worcester.
    """
    last = place[1]
    if said.words[last : last + 1] == ("of",):
        named = Name(said.words[place[0] : clause_end(said, place[0])], ())
        return "other_land" if other_land(named, Name(words, tail)) else ""
    # Without a comma the words behind are no tail of this name.
    if not said.after(last - 1).startswith(","):
        return ""
    end = clause_end(said, place[0])
    found = Name(words, said.words[last:end])
    return "other_title" if tails_conflict(found, Name(words, tail)) else ""
