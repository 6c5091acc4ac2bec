"""Units behind a number: which one is written, and whether two quantities are one value.

A unit is looked up in ``units.toml``; pint is given a number and a name of that table, never text
of a reply.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pint

_TOKEN = re.compile(
    r"[ -]?(?:(°|%|‰|/|\^|[$€£¥₹₩₽₺₪]|'{1,2}|\"|[a-zμ]{1,20}(?:[23](?!\d))?|(?<=\^)[23])\.?)"
)
_MOST_TOKENS = 5
# A conversion may differ by the rounding of what was written, and by no more than this share:
# "9 km" is not 8,611 m, although both round to 9.
_MOST_SHARE = Fraction(1, 100)
# Two definitions of an acre or a calorie differ by less; 898,300 ha are 2,219,790 acres.
_SAME = Fraction(1, 20_000)
# As a length of its own "in" is a preposition: 5 in 1990.
_NO_PREPOSITION = re.compile(r"\.?(?=\s*(?:$|[.,;)]|(?:tall|long|wide|high|deep|thick)\b))")
# What is never converted, and what pint gives no dimension that would tell it apart.
_FIXED, _OF_ITS_OWN = frozenset(("currency", "share")), frozenset(("data", "angle"))


@dataclass(frozen=True)
class Unit:
    """A unit of pint, squared or cubed by ``power``, per another; ``kind`` is its class."""

    kind: str
    name: str
    power: int = 1
    per: str = ""


Units = tuple[Unit, ...]


@lru_cache(maxsize=1)
def _spellings() -> dict[str, Units]:
    """Return the units by spelling; one spelling may have several readings."""
    table = tomllib.loads(Path(__file__).with_name("units.toml").read_text(encoding="utf-8"))
    found: dict[str, Units] = {}
    for spelling, unit in _pairs(table):
        found[spelling] = (*found.get(spelling, ()), unit)
    return found


def _pairs(table: dict[str, dict[str, str]]) -> Iterator[tuple[str, Unit]]:
    for kind, units in table.items():
        for name, spellings in units.items():
            for spelling in spellings.split(", "):
                yield spelling, Unit(kind, name)
                if kind == "length":
                    yield from _powers(spelling, name)
                    yield from _speeds(spelling, name, table["time"])
    yield "mph", Unit("speed", "mile", 1, "hour")
    yield "m p h", Unit("speed", "mile", 1, "hour")
    yield from ((kph, Unit("speed", "kilometer", 1, "hour")) for kph in ("kph", "kmh", "kmph"))


def _powers(spelling: str, name: str) -> Iterator[tuple[str, Unit]]:
    for power, words in ((2, ("square", "sq", "squared")), (3, ("cubic", "cu", "cubed"))):
        unit = Unit("length", name, power)
        for form in (f"{words[0]} {spelling}", f"{words[1]} {spelling}", f"{spelling} {words[2]}"):
            yield form, unit
        yield from ((f"{spelling}{power}", unit), (f"{spelling} ^ {power}", unit))


def _speeds(spelling: str, name: str, times: dict[str, str]) -> Iterator[tuple[str, Unit]]:
    for time in ("second", "hour", "minute", "day", "year"):
        for short in times[time].split(", "):
            for per in ("/", "per", "an", "a"):
                yield f"{spelling} {per} {short}", Unit("speed", name, 1, time)


def unit_at(shown: str, start: int) -> tuple[Units, int]:
    """Return the readings of the unit that ``shown`` goes on with, and where it ends."""
    tokens: list[str] = []
    ends: list[int] = []
    at = start
    while len(tokens) < _MOST_TOKENS and (match := _TOKEN.match(shown, at)):
        tokens.append(match.group(1))
        at = match.end()
        ends.append(match.end(1))
    for count in range(len(tokens), 0, -1):
        found = _spellings().get(" ".join(tokens[:count]), ())
        end = ends[count - 1]
        if found and not (tokens[count - 1].isalpha() and shown[end : end + 1].isalpha()):
            if tokens[:count] == ["in"] and not _NO_PREPOSITION.match(shown, end):
                continue
            return found, end
    return (), start


def converted(amount: Fraction, unit: Unit, other: Unit) -> Fraction | None:
    """Return an amount in another unit, exactly; None where the two are of different kinds."""
    if unit == other:
        return amount
    kinds = {unit.kind, other.kind}
    if kinds & _FIXED or (kinds & _OF_ITS_OWN and len(kinds) > 1):
        return None
    if _pint_unit(unit).dimensionality != _pint_unit(other).dimensionality:
        return None
    registry = _registry()
    result = registry.Quantity(amount, _pint_unit(unit)).to(_pint_unit(other)).magnitude
    return Fraction(result)


def rounds_to(first: Fraction, second: Fraction, place: Fraction, unit: Unit, given: Unit) -> bool:
    """Return whether two amounts of ``unit`` differ by no more than half the worth of a figure.

    ``given`` is the unit that the first was converted from.
    """
    # A share of degrees means nothing: a degree is about 1/300 of what is measured.
    largest = Fraction(300) if is_temperature(unit) else max(abs(first), abs(second))
    slack = _SAME * largest if given != unit else 0
    return abs(first - second) <= max(min(place / 2, _MOST_SHARE * largest), slack)


def is_temperature(unit: Unit) -> bool:
    """Return whether a unit's nought is a matter of its scale."""
    return unit.name in ("degree_Celsius", "degree_Fahrenheit", "kelvin")


@lru_cache(maxsize=1)
def _registry() -> "pint.UnitRegistry[Any]":
    # 0.2 s and 1,000 units: loaded once, where two units are first compared. Fractions keep a
    # conversion exact, so that 8.611 km is 8,611 m and nothing near it.
    import pint

    return pint.UnitRegistry(non_int_type=Fraction)


@lru_cache(maxsize=1024)
def _pint_unit(unit: Unit) -> Any:
    registry = _registry()
    whole = registry.Unit(unit.name) ** unit.power
    return whole / registry.Unit(unit.per) if unit.per else whole
