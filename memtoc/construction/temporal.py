"""Wrong dates, years and time zones, drawn in the gold's own format from (seed, key) alone.

The distances are the paper's (arXiv 2608.26295): a near date lies 15 to 1,500 days away, a near
year 1 to 15; a far date 18,000 to 110,000 days, a far year 80 to 400.
"""

import json
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from random import Random

from harness.seeds import generator
from memtoc.benchmark.dates import TIMEZONE, WrittenDate, parse_date

# The check stage holds every value to these distances, people's too.
NEAR_DAYS, FAR_DAYS = (15, 1_500), (18_000, 110_000)
NEAR_YEARS, FAR_YEARS = (1, 15), (80, 400)
# Two dates that are written by their month alone differ once they are this far apart.
MONTH_DAYS = 31
# A gold of kind year has four digits, and so has its wrong value.
FIRST_YEAR = 1000
# A year of one or two digits reads as of another century.
FIRST_DATE = date(100, 1, 1)


@dataclass(frozen=True)
class Pair:
    """A near and a far wrong value; None if no value of the gold's kind lies far enough."""

    near: str | None
    far: str | None


def temporal_pair(gold: str, kind: str, seed: int, key: str, last_year: int) -> Pair:
    """Return wrong values for a gold of kind date, year or timezone.

    ``key`` identifies the question, ``last_year`` is the last year before the future. Near and far
    come from generators of their own, so that one does not shift with the other.
    """
    near, far = (generator(seed, f"distractor {distance}", key) for distance in ("near", "far"))
    if kind == "timezone":
        return Pair(_other_zone(gold, near, True), _other_zone(gold, far, False))
    if kind == "year":
        years = (FIRST_YEAR, last_year)
        return Pair(
            _other_year(gold, near, NEAR_YEARS, years), _other_year(gold, far, FAR_YEARS, years)
        )
    written = parse_date(gold)
    if written is None:
        return Pair(None, None)
    last = date(last_year, 12, 31)
    return Pair(
        _other_date(written, near, NEAR_DAYS, last), _other_date(written, far, FAR_DAYS, last)
    )


def _other_date(gold: WrittenDate, draw: Random, days: tuple[int, int], last: date) -> str | None:
    least = max(days[0], MONTH_DAYS) if gold.form == "month_year" else days[0]
    shift = _shift(draw, (least, days[1]), (FIRST_DATE - gold.value).days, (last - gold.value).days)
    if shift is None:
        return None
    return str(replace(gold, value=gold.value + timedelta(days=shift)))


def _other_year(
    gold: str, draw: Random, distance: tuple[int, int], years: tuple[int, int]
) -> str | None:
    value = int(gold)
    shift = _shift(draw, distance, years[0] - value, years[1] - value)
    return None if shift is None else str(value + shift)


def _shift(draw: Random, distance: tuple[int, int], lowest: int, highest: int) -> int | None:
    """Draw a shift of either sign by a distance, uniform over those in [lowest, highest]."""
    back = range(max(-distance[1], lowest), min(-distance[0], highest) + 1)
    forth = range(max(distance[0], lowest), min(distance[1], highest) + 1)
    if not (back or forth):
        return None
    # One draw over both sides: a side with fewer days left is chosen less often.
    place = draw.randrange(len(back) + len(forth))
    return back[place] if place < len(back) else forth[place - len(back)]


@cache
def _zones() -> dict[str, dict[str, float]]:
    """Return area -> city -> hours from UTC in standard time."""
    path = Path(__file__).with_name("timezones.json")
    loaded: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def _other_zone(gold: str, draw: Random, same_area: bool) -> str | None:
    """Draw another zone; one known to show the gold's time is never drawn."""
    found = TIMEZONE.fullmatch(gold)
    if found is None:
        return None
    area, city = found["area"], found["city"].replace(" ", "_")
    offset = _zones().get(area, {}).get(city)
    zones = sorted(
        f"{other}/{name}"
        for other, cities in _zones().items()
        if (other == area) is same_area
        for name, hours in cities.items()
        # Another zone must show another time: Europe/Berlin is no wrong value for Europe/Paris.
        if hours != offset and name != city
    )
    if not zones:
        return None
    chosen = draw.choice(zones)
    return chosen.replace("_", " ") if " " in gold else chosen
