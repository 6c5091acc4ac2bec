"""Time zones: an Area/City form and the common names that it goes by."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memtoc.scoring.text import Text, occurrences, read

# An offset such as UTC-5 is no zone: several zones share it, and it changes with the season.
_AREA = r"(?:africa|america|antarctica|arctic|asia|atlantic|australia|europe|indian|pacific|etc|us)"
_ZONE = re.compile(rf"\b{_AREA}(?:\s?/\s?[a-z][a-z_'-]*)+")


@dataclass(frozen=True)
class Zone:
    """A zone named in words ``first`` up to ``last``; ``forms`` are its Area/City forms."""

    forms: frozenset[str]
    first: int
    last: int


def zones_in(text: Text) -> list[Zone]:
    """Return the time zones of a text: Area/City forms and common names (CET, Eastern Time)."""
    return [*_written(text), *_named(text)]


def has_zone(text: Text) -> bool:
    """Return whether an Area/City form stands in the text."""
    return bool(_ZONE.search(text.shown))


def _written(text: Text) -> list[Zone]:
    found = []
    for match in _ZONE.finditer(text.shown):
        form = re.sub(r"\s", "", match.group())
        found.append(Zone(frozenset((form,)), *text.words_at(*match.span())))
    return found


def _named(text: Text) -> list[Zone]:
    present = set(text.words)
    found = []
    for words, forms in _common_names().items():
        # Most names are absent; the search for a run of words is dearer than this.
        if present.issuperset(words):
            places = occurrences(words, text.words)
            found += [Zone(forms, at, at + len(words)) for at in places]
    # "Central European Time" holds no "European Time" of its own: the longest name counts.
    return [
        zone
        for zone in found
        if not any(
            other is not zone
            and other.first <= zone.first
            and zone.last <= other.last
            and other.last - other.first > zone.last - zone.first
            for other in found
        )
    ]


@cache
def _common_names() -> dict[tuple[str, ...], frozenset[str]]:
    table = tomllib.loads(Path(__file__).with_name("timezones.toml").read_text(encoding="utf-8"))
    names: dict[tuple[str, ...], frozenset[str]] = {}
    for group in table.values():
        forms = frozenset(zone.lower() for zone in group["zones"])
        # A name that several areas use is listed under each of them.
        for name in group["names"]:
            words = read(name).words
            names[words] = names.get(words, frozenset()) | forms
    return names
