"""Generic nouns round the name of a place, and things that are named after one.

"River Thames" and "Thames", "Mount Everest" and "Everest" are one; "Lake Victoria" and "Victoria"
are where a lake is asked for. "Gulf of Mexico" never becomes Mexico.
"""

from dataclasses import dataclass

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.lexicon import (
    CITY_PARTS,
    COMMON,
    FUNCTION_WORDS,
    QUALIFIERS,
    VERBS,
    groups,
    words,
)
from memtoc.scoring.text import Text, Words

_GENERIC = dict[str, frozenset[str]]()
for _kind, _nouns in groups("generic").items():
    for _noun in _nouns:
        _GENERIC[_noun] = _GENERIC.get(_noun, frozenset()) | {_kind}
_OWN = frozenset(words("generic_own"))
_WATER = frozenset(words("generic_water"))
_WITH_OF = frozenset(words("generic_of"))
_SHARED = frozenset(words("generic_shared"))
_NO_NAMES = QUALIFIERS | frozenset(words("generic_adjectives"))
_NAMED_AFTER = frozenset(words("named_after"))
_NAMED_AND_IN = frozenset(words("named_and_in"))
_SIDE_NAMES = frozenset(words("side_names"))
_SCHOOLS = frozenset(words("schools"))
_NONE = frozenset[str]()


@dataclass(frozen=True)
class Place:
    """A name without its generic nouns, and the kinds of place that they say, as far as they do."""

    core: Words
    kinds: frozenset[str]


def place_of(name: Words) -> Place:
    """Return a name without the generic nouns round it; nothing is taken from one that is all."""
    last, kinds = len(name), _NONE
    if last > 1 and name[-1] in _GENERIC:
        last, kinds = last - 1, _GENERIC[name[-1]]
        # "Altai mountain range" has two of them, "Salt Lake City" one.
        last -= "range" in kinds and last > 1 and name[last - 1] == "mountain"
    first = _front(name[:last])
    kinds = kinds or (_GENERIC[name[0]] if first else _NONE)
    core = name[first:last]
    if not kinds or (len(core) == 1 and core[0] in _NO_NAMES):
        return Place(name, _NONE)
    return Place(core, kinds)


def _front(name: Words) -> int:
    """Return how many words of a generic noun stand in front: 2 for "Isle of", 0 for "Gulf of"."""
    if len(name) < 2 or name[0] not in _GENERIC:
        return 0
    if name[1] != "of":
        return 1
    own = _GENERIC[name[0]] & _WITH_OF and name[2:3] and name[2] not in CITY_PARTS
    return 2 if own else 0


def is_one(wanted: Place, found: Place, question: str) -> bool:
    """Return whether two names of one core are one place, by their nouns and what is asked for."""
    if wanted.core != found.core:
        return False
    if wanted.kinds and found.kinds:
        return bool(wanted.kinds & found.kinds)
    said = wanted.kinds | found.kinds
    asked = asked_kinds(question)
    shared = not _SHARED.isdisjoint(wanted.core)
    if not said:
        return True
    if "city" in said and shared:
        return False
    if said & asked or ("water" in asked and said & _WATER):
        return True
    return bool(said & _OWN) and not asked - {"place"} and not shared


def differ_in_kind(one: Words, other: Words, question: str) -> bool:
    """Return whether two names differ by a generic noun that the question does not let go.

    New York and New York City are two where a state is asked for.
    """
    first, second = place_of(one), place_of(other)
    if first.kinds or second.kinds:
        return first.core == second.core and not is_one(first, second, question)
    return False


def widened(said: Text, first: int, last: int) -> tuple[int, int]:
    """Return the range of words of a name together with the generic nouns next to it."""
    while last < len(said.words) and said.words[last] in _GENERIC and _adjacent(said, last):
        last += 1
    if first and said.words[first - 1] in _GENERIC and _adjacent(said, first):
        return first - 1, last
    if first > 1 and said.words[first - 1] == "of" and said.words[first - 2] in _GENERIC:
        return first - 2, last
    return first, last


def is_side(said: Text, first: int, question: str) -> bool:
    """Return whether the word before a name means a part of the place, as in "northern Laos".

    Northern Ireland and a few more are names.
    """
    side = said.words[first - 1] if first else ""
    named = said.words[first] in _SIDE_NAMES
    return side.endswith("ern") and not named and "place" in asked_kinds(question)


def runs_on(said: Text, last: int) -> bool:
    """Return whether a school's name goes on behind its noun, as in "King's College | London"."""
    if said.words[last - 1] not in _SCHOOLS or said.after(last - 1) != " ":
        return False
    following = said.words[last] if last < len(said.words) else ""
    plain = following in COMMON | FUNCTION_WORDS | VERBS or following.endswith(("ed", "ing", "ly"))
    return bool(following) and not plain


def _adjacent(said: Text, at: int) -> bool:
    """Return whether nothing but a space or an article stands before a word."""
    return said.before(at).strip(" \"'") in ("", "the")


def named_after(said: Text, first: int, last: int, question: str) -> str:
    """Return the rule by which a place's name is part of another thing's; else empty.

    Mexico in the Gulf of Mexico, Oxford in the University of Oxford, Kansas in Kansas City.
    """
    words_ = said.words
    if first > 1 and words_[first - 1] == "of":
        head = words_[first - 2]
        part = head == "city" and words_[first] in CITY_PARTS
        there = head in _NAMED_AND_IN and "place" not in asked_kinds(question)
        if head in _NAMED_AFTER or part or there:
            return "named_after"
    if last < len(words_) and words_[last] == "city" and _adjacent(said, last):
        found = Place(words_[first:last], frozenset(("city",)))
        return "" if is_one(Place(found.core, _NONE), found, question) else "named_after"
    return ""
