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

from memtoc.scoring.claims import STEM, clause_end, known_words, value_range
from memtoc.scoring.codes import same_code
from memtoc.scoring.dates import Date, dates_in, same_date
from memtoc.scoring.legal import same_company
from memtoc.scoring.lexicon import COMMON
from memtoc.scoring.lists import same_list
from memtoc.scoring.locales import names_another, same_local_name
from memtoc.scoring.locating import only_locates
from memtoc.scoring.names import (
    Name,
    is_bare_title,
    name_of,
    other_entity,
    other_land,
    plain,
    same_name,
    tails_conflict,
)
from memtoc.scoring.places import is_one, is_side, named_after, place_of, widened
from memtoc.scoring.quantities import is_limit, quantities_in, whole_quantity
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules
from memtoc.scoring.text import Text, Words, occurrences, occurs, read
from memtoc.scoring.timezones import Zone, has_zone, zones_in

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
    special = None
    if not sought.dates:
        special = same_code(said, target, question)
    if special is None and not sought.zones:
        special = same_list(answer, target, question, partial(same_answer, rules=rules))
    matched, rule = special or _same_kind(answer, said, sought, question, rivals)
    if matched and names_another(answer, target, question):
        return False, "other_name"
    if matched or rule not in _OPEN:
        return matched, rule
    # Knowledge of names is asked last, since loading it takes time.
    known = same_local_name(answer, target, question) or same_company(answer, target, question)
    return known or (matched, rule)


# What a comparison of words leaves to the knowledge of names.
_OPEN = frozenset(("different", "part_of_name", "longer_entity", "no_number", "part_of_compound"))


def _same_kind(
    answer: str, said: Text, sought: Target, question: str, rivals: tuple[str, ...]
) -> Decided:
    if sought.amount is not None and not sought.dates:
        return _same_amount(said, sought.amount, question)
    if sought.zones:
        return _same_zone(said, sought.zones, question)
    if sought.dates:
        return _same_date(said, sought.dates, question)
    return _same_entity(answer, said, sought, question, rivals)


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


def _same_entity(
    answer: str, said: Text, sought: Target, question: str, rivals: tuple[str, ...]
) -> Decided:
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
                or (not _is_number(words) and _other_entity(answer, said, *place))
                or named_after(said, *place, question)
                or _echoed(place, words, span, question)
                or (tail and _other_tail(said, place, words, tail))
                or only_locates(said, *place, question, rivals)
                or turned_down(said, *place, question)
            )
            if not reason:
                return True, "whole_words"
            # A short form is not looked for where the full one was refused.
            refused.add(at)
    if reason not in _FINAL:
        place_rule = _same_place(said, sought.name.head, span, question)
        if place_rule:
            return place_rule == "same_place", place_rule
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


def _other_entity(answer: str, said: Text, first: int, last: int) -> str:
    rule = other_entity(said, first, last)
    return "" if rule == "qualified_entity" and is_side(answer, said, first) else rule


def _same_place(said: Text, name: Words, span: tuple[int, int], question: str) -> str:
    """Return ``same_place`` where the name stands with or without its generic noun.

    Where it stands and is turned down, the rule is returned that does so; else nothing.
    """
    wanted, reason = place_of(name), ""
    for at in islice(occurrences(wanted.core, said.words), _MAX_PLACES):
        place = widened(said, at, at + len(wanted.core))
        found = place_of(said.words[slice(*place)])
        if (wanted.kinds or found.kinds) and is_one(wanted, found, question):
            reason = (
                other_entity(said, *place)
                or _echoed((at, at + len(wanted.core)), wanted.core, span, question)
                or turned_down(said, *place, question)
            )
            if not reason:
                return "same_place"
    return reason


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
        "former_belief",
        "only_locates",
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
