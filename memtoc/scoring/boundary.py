"""Our matcher: the same entity, date, number or time zone, on whole words.

It looks for the target in the answer word by word. Then it compares the value that the answer
asserts with the target's, which finds short forms, initials and middle names. Dates compare as
dates, numbers as numbers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from memtoc.scoring.amounts import EXACT, amounts_of, gives_bounds, is_no_date, same_amount
from memtoc.scoring.claims import value_range
from memtoc.scoring.codes import same_code
from memtoc.scoring.dates import Date
from memtoc.scoring.echo import asks_back
from memtoc.scoring.entities import Reply, Wanted, same_entity
from memtoc.scoring.groups import is_thing
from memtoc.scoring.legal import same_company
from memtoc.scoring.lists import is_part, same_list
from memtoc.scoring.locales import names_another, same_local_name
from memtoc.scoring.moments import asks_date, dates_of, same_moment
from memtoc.scoring.names import (
    Name,
    name_of,
    plain,
)
from memtoc.scoring.quantities import Quantity, is_limit
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
        # A symbol (¥) is no word.
        return same_local_name(answer, target, question) or (False, "empty")
    sought = _target(target, question)
    # A minus is no word: "-40" and "40" have the same words, so numbers must be written alike.
    if said.words == wanted.words and (not sought.amounts or said.shown == wanted.shown):
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
_OPEN = frozenset(
    ("different", "part_of_name", "longer_entity", "longer_name", "no_number", "part_of_compound")
)


def _same_amount(reply: Reply, sought: Target) -> Decided:
    """Compare quantities; what rounds to the target may be exactly a rival that differs from it.

    0.18 tonnes is 180 kg, and not 400 lb, of which it is a rounding.
    """
    said, question = reply.said, reply.question
    decided = same_amount(said, sought.amounts, question)
    if decided[1] == "rounded_quantity" and any(
        same_amount(said, _target(rival, question).amounts, question)[1] in EXACT
        and not same_amount(read(rival), sought.amounts, question)[0]
        for rival in reply.rivals
    ):
        return False, "different_number"
    return decided


def _same_kind(reply: Reply, sought: Target, thing: bool) -> Decided:
    said, question = reply.said, reply.question
    if sought.amounts and not sought.dates:
        return _same_amount(reply, sought)
    if sought.zones:
        return _same_zone(said, sought.zones, question)
    if sought.dates:
        decided = same_moment(said, sought.dates, question, reply.rules)
        # 1500 without a question may be a year or a number: "1,500" is no year.
        unsettled = decided[1] == "no_date" and sought.amounts
        return _same_amount(reply, sought) if unsettled else decided
    return same_entity(reply, Wanted(sought.name, sought.forms, sought.limit, thing))


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
        not given and (bool(dates) or (not amounts and gives_bounds(whole, question))),
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
