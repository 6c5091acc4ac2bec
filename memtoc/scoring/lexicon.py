"""Word classes that the boundary matcher tells apart, from ``lexicon.toml``."""

import tomllib
from pathlib import Path
from typing import Any

_CLASSES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8")
)


def words(name: str) -> tuple[str, ...]:
    """Return the words of a class, in the order of the file."""
    return tuple(_CLASSES[name].split())


def groups(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each group of a class that is written as ``name.group = "..."``."""
    return {group: tuple(listed.split()) for group, listed in _CLASSES[name].items()}


COPULAS = frozenset(words("copulas"))
PREPOSITIONS = frozenset(words("prepositions"))
COMMON = COPULAS | PREPOSITIONS | frozenset(words("common"))
HONORIFICS = frozenset(words("honorifics"))
TITLES = frozenset(words("titles"))
TITLE_WORDS = TITLES | frozenset(words("title_words"))
BUILDINGS = words("buildings")
HEADS = frozenset(words("heads"))
LEGAL_FORMS = frozenset(words("legal_forms"))
QUALIFIERS = frozenset(words("qualifiers"))
AREA_KINDS = frozenset(words("area_kinds"))
AREA_FORMS = frozenset(words("area_forms"))
CITY_PARTS = frozenset(words("city_parts"))
NO_PARTICIPLES = frozenset(words("no_participles"))
GIVEN_NAMES_TOO = frozenset(words("given_names_too"))
VERBS = frozenset(words("verbs"))
PARTICLES = frozenset(words("particles"))
WORK_KINDS = frozenset(words("work_kinds"))
FUNCTION_WORDS = frozenset(words("function_words"))
KINDS = frozenset(words("kinds"))
# "The cosmonaut Gagarin": what a question may ask for stands before a name as well.
PERSON_NOUNS = frozenset(groups("asked")["person"])
KIN = words("kin")
# hundred, thousand, million, billion, trillion, dozen, lakh, crore
_WORTH = (100, 1000, 10**6, 10**9, 10**12, 12, 10**5, 10**7)
SCALES = dict(zip(words("scales"), _WORTH, strict=True))
