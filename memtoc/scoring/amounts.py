"""Whether an answer gives a number or a quantity: 8,849 m, 100 °C, $5 million, 12 islands."""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import STEM, known_words
from memtoc.scoring.lexicon import COMMON, words
from memtoc.scoring.quantities import Quantity, only_limits, quantities_in, quantity_at
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.text import Text, fold
from memtoc.scoring.units import Unit, Units, converted, is_temperature, rounds_to, unit_at

_MAX_PLACES = 50
_MOST_EQUIVALENTS = 4
_MOST_NOUNS = 3
_MEASURES = frozenset(words("measures"))
# 8 Mile and 21 Grams are names where a name is asked for.
_NAMES = frozenset(("person", "work", "company", "organization", "award", "place"))
_UNIT_ASKED = re.compile(r"\b(?:in|how many|number of)(?= )|\((?=[a-z°])")
_COUNTED = re.compile(
    r"\bhow many\b|\b(?:number|population|total|count) of\b|\bpopulation\b(?! density)"
)
_ASKS_HOW = re.compile(r"^\W*(?:\w+ )?(?:how|what)\b(?! (?:year|date|day)\b)")
_MASS = re.compile(r"\b(?:mass|weigh\w*|heavy)\b")
_AGE = re.compile(r"\bhow old\b|\bat what age\b|\bage of\b")
_ASKS_AMOUNT = re.compile(
    r"\bhow (?:many|much|tall|high|long|far|deep|wide|big|large|old|heavy|fast|hot|cold|thick)\b"
    r"|\b(?:population|height|elevation|altitude|length|distance|area|depth|speed|mass|weight"
    r"|temperature|volume|capacity|price|cost|budget|width|diameter|age|size|share|percentage"
    r"|number|duration|revenue|salary|point)\b"
)
# Two ways to write one quantity: "8,849 m (29,032 ft)".
_EQUIVALENT = re.compile(r"\s?(?:[(/=]|or |, or )\s?(?:about |approximately |roughly |ca?\. )?")


def amounts_of(whole: Text, span: tuple[int, int], question: str) -> tuple[Quantity, ...]:
    """Return the quantity that a value is, with its equivalents; empty where it is none.

    The question's noun, a measure ("tall") and a noun that is counted are no part of it. Of a
    sentence that answers a question for an amount the one quantity that it asserts is taken.
    """
    first, last = span
    while first < last - 1 and whole.words[first] in COMMON:
        first += 1
    found = list(_row_of(whole, first, last))
    if not found or not _is_rest(whole.words[found[-1].last : last], question):
        return _asserted(whole, question)
    named = asked_kinds(question) & _NAMES and not _ASKS_AMOUNT.search(question.lower())
    if named and any(one.units for one in found):
        return ()
    return tuple(found)


def _asserted(whole: Text, question: str) -> tuple[Quantity, ...]:
    """Return the one quantity of a sentence, with its equivalents; empty where it has several."""
    if not _asks_amount(question):
        return ()
    standing = [
        one
        for one in islice(quantities_in(whole), _MAX_PLACES)
        if not only_limits(whole, one) and not turned_down(whole, one.first, one.last, question)
    ]
    # "Measured in 2020, it is 8,849 m high": the measure.
    standing = [one for one in standing if one.units] or standing
    row = tuple(_row_of(whole, standing[0].first, len(whole.words))) if standing else ()
    return row if len(row) == len(standing) else ()


def gives_bounds(whole: Text, question: str) -> bool:
    """Return whether a sentence gives limits of an amount that is asked for, and no amount."""
    found = list(islice(quantities_in(whole), _MAX_PLACES)) if _asks_amount(question) else []
    return bool(found) and all(only_limits(whole, one) for one in found)


def _asks_amount(question: str) -> bool:
    asked = question.lower()
    return bool(_ASKS_AMOUNT.search(asked) and _ASKS_HOW.search(asked))


def is_no_date(amounts: tuple[Quantity, ...], question: str) -> bool:
    """Return whether figures that look like a year are a number, by their unit or the question."""
    measured = any(one.units for one in amounts)
    return bool(amounts) and (measured or bool(asked_kinds(question) & {"number", "quantity"}))


def _row_of(whole: Text, first: int, last: int) -> Iterator[Quantity]:
    at, begins = first, first
    # A currency may stand before the number in up to two words (US $).
    found = next(
        (one for i in range(at, min(at + 3, last)) if (one := quantity_at(whole, i))), None
    )
    for _ in range(_MOST_EQUIVALENTS):
        if found is None or found.first > begins or found.last > last:
            return
        yield found
        gap = _EQUIVALENT.match(whole.shown, found.end)
        if not gap or not found.units:
            return
        start = next((i for i in range(found.last, last) if whole.starts[i] >= gap.end()), last)
        begins = start
        found = quantity_at(whole, start) if start < last else None


def _is_rest(rest: tuple[str, ...], question: str) -> bool:
    """Return whether the words behind a number leave it what it is."""
    known = known_words(question)
    own = [word for word in rest if word[:STEM] not in known]
    own = [word for word in own if word not in COMMON and word not in _MEASURES]
    if not own:
        return True
    counted = len(own) <= _MOST_NOUNS and not any(word[0].isdigit() for word in own)
    return counted and bool(_ASKS_AMOUNT.search(question.lower()))


def same_amount(said: Text, wanted: tuple[Quantity, ...], question: str) -> tuple[bool, str]:
    """Return whether the answer gives one of the quantities, and the rule that decided."""
    reason = "no_number"
    for one in islice(quantities_in(said), _MAX_PLACES):
        rule = _relation(one, wanted, question, said)
        if rule in _MATCHING:
            rule = ("limit" if only_limits(said, one) else "") or turned_down(
                said, one.first, one.last, question
            ) or rule  # fmt: skip
            if rule in _MATCHING:
                return True, rule
            reason = rule
        elif _WEIGHT.get(rule, 0) > _WEIGHT.get(reason, 9):
            reason = rule
    return False, reason


EXACT = ("same_number", "same_quantity")
_MATCHING = (*EXACT, "rounded_quantity")
# Of several numbers that are no match the one that comes nearest is the reason.
_WEIGHT = {"no_number": 0, "different_unit": 1, "different_number": 2, "ambiguous_number": 3}


def _relation(found: Quantity, wanted: tuple[Quantity, ...], question: str, said: Text) -> str:
    rules = [_compare(found, one, question) for one in wanted]
    for rule in (*_MATCHING, "ambiguous_number", "different_number"):
        if rule in rules:
            # 828 floors are no 828 m; 52 points are 52 %.
            measured = wanted[0].units and not _is_share(wanted[0].units)
            stray = measured and not found.units and _has_noun(said, found)
            return "different_unit" if stray else rule
    return "different_unit"


def _has_noun(said: Text, found: Quantity) -> bool:
    gap = said.shown[found.end :][:1] == " " and found.last < len(said.words)
    return gap and said.words[found.last] not in COMMON and said.words[found.last] not in _MEASURES


def _compare(found: Quantity, wanted: Quantity, question: str) -> str:
    asked, counted = asked_units(question), _counts(question)
    if counted and not wanted.units and found.units and not _is_share(found.units):
        # 7 km is no number of seasons.
        return "different_unit"
    # A bare number is in the unit that the question names.
    one, other = found.units or asked, wanted.units or asked
    if not one or not other:
        return _same_bare(found, wanted, counted=counted)
    pairs = [(u, w) for u in one for w in other]
    rules = [_same_in(found, wanted, u, w, vague=len(one) + len(other) > 2) for u, w in pairs]
    order = (*_MATCHING, "ambiguous_number", "different_number")
    return next((rule for rule in order if rule in rules), "different_unit")


def _same_bare(found: Quantity, wanted: Quantity, *, counted: bool) -> str:
    said, sought = _readings(found, counted=counted), _readings(wanted, counted=counted)
    if said[0] == sought[0]:
        return "same_number"
    for whole, part in ((found, wanted), (wanted, found)):
        # .52 of the votes is 52 %.
        if _is_share(whole.units) and not part.units and part.amount * 100 == whole.amount:
            return "same_number"
    return "ambiguous_number" if set(said) & set(sought) else "different_number"


def _readings(one: Quantity, *, counted: bool) -> tuple[Fraction, ...]:
    """Return the readings of a number, the plain one first; things are counted in whole numbers."""
    if one.other is None:
        return (one.amount,)
    return (one.other,) if counted and not one.units else (one.amount, one.other)


def _same_in(found: Quantity, wanted: Quantity, unit: Unit, other: Unit, *, vague: bool) -> str:
    """Compare two quantities in one reading of their units; empty if they are of two kinds.

    A measure is compared as exactly as the less exact side gives it, money and shares as given.
    """
    if unit == other and (unit.kind in ("currency", "share") or found.amount == wanted.amount):
        return _same_bare(found, wanted, counted=False)
    # "100 degrees" of no scale is not converted from one to the other.
    amounts = [] if vague and is_temperature(unit) else _converted(found, unit, other)
    if not amounts:
        return ""
    if amounts[0] == wanted.amount:
        return "same_quantity"
    step = converted(found.amount + found.place, unit, other) or Fraction(0)
    place = max(abs(step - amounts[0]), wanted.place)
    if rounds_to(amounts[0], wanted.amount, place, other, unit):
        return "rounded_quantity"
    if set(amounts) & set(_readings(wanted, counted=False)):
        return "ambiguous_number"
    return "different_unit" if found.amount == wanted.amount else "different_number"


def _converted(found: Quantity, unit: Unit, other: Unit) -> list[Fraction]:
    amounts = (converted(amount, unit, other) for amount in _readings(found, counted=False))
    return [amount for amount in amounts if amount is not None]


def _is_share(units: Units) -> bool:
    return any(unit.kind == "share" for unit in units)


@lru_cache(maxsize=4096)
def asked_units(question: str) -> Units:
    """Return the readings of the unit that a question names: "in feet", "how many miles"."""
    shown = fold(question)
    if _AGE.search(shown):
        return unit_at("years", 0)[0]
    for match in _UNIT_ASKED.finditer(shown):
        units, end = unit_at(shown, match.end())
        # The mass in pounds is in no currency.
        units = tuple(u for u in units if u.kind != "currency" or not _MASS.search(shown))
        # "In C major" and "in a" name none.
        if units and end - match.end() > 2:
            return units
    return ()


@lru_cache(maxsize=4096)
def _counts(question: str) -> bool:
    """Return whether a question asks for a number of things, which is whole."""
    return bool(_COUNTED.search(fold(question))) and not asked_units(question)
