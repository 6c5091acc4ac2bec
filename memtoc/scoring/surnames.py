"""A surname alone: it gives the person where no other candidate of the row has it."""

import re
from collections.abc import Sequence
from functools import lru_cache

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import value
from memtoc.scoring.lexicon import (
    COMMON,
    HEADS,
    HONORIFICS,
    LEGAL_FORMS,
    PARTICLES,
    QUALIFIERS,
    TITLES,
    WORK_KINDS,
)
from memtoc.scoring.names import Name, name_of, same_name
from memtoc.scoring.places import place_of
from memtoc.scoring.text import Text, Words

# Not read as a surname at the end of a name, where the name is one of a group or a thing.
_NO_SURNAMES = HEADS | LEGAL_FORMS | QUALIFIERS | WORK_KINDS | frozenset(("junior", "senior"))


_NOT_GIVEN = QUALIFIERS | {"of", "and"}
# A surname that is one of these is read as a name only where it stands alone.
_WORDS = COMMON | TITLES | HONORIFICS
# "Vale, Peter" is a listed name; "Vale, a poet" and "Vale, of course" go on otherwise.
_GIVEN_NAME = re.compile(r",\s(?:[\w'-]+)(?:\s\w\.?)?[\s\"'.)]*$")


@lru_cache(maxsize=16384)
def surname_of(name: Name) -> Words:
    """Return the surname with its particles, e.g. ("van", "dyck"); empty where there is none.

    Louis XIV, Catherine of Aragon and Alexander the Great have none.
    """
    head = name.head
    if head[-1:] in (("junior",), ("senior",)):
        head = head[:-1]
    at = len(head) - 1
    if at < 1 or head[at][0].isdigit() or place_of(head).kinds:
        return ()
    # A group or a thing; South Africa, Catherine of Aragon, Simon and Garfunkel.
    group = head[at] in _NO_SURNAMES and head[at - 1] not in PARTICLES
    if group or not _NOT_GIVEN.isdisjoint(head[:at]):
        return ()
    while at > 1 and at in name.glued:
        at -= 1
    while at > 1 and head[at - 1] in PARTICLES:
        at -= 1
    return head[at:]


@lru_cache(maxsize=16384)
def alone(name: Name) -> tuple[Words, ...]:
    """Return the ways to write a surname alone: "van Beethoven" and "Beethoven".

    A surname that is a common word or a title (King) is not looked for inside a sentence.
    """
    surname = surname_of(name)
    if not surname or surname[-1] in _WORDS:
        return ()
    at = 0
    while at < len(surname) - 1 and surname[at] in PARTICLES:
        at += 1
    return tuple(dict.fromkeys((surname, surname[at:])))


def other_bearer(said: Text, first: int, last: int) -> str:
    """Return ``other_bearer`` where the words beside a surname make it another's.

    The Earl of Essex, H. C. Vale, "Vale, Peter".
    """
    initial = first > 0 and len(said.words[first - 1]) == 1
    titled = first > 1 and said.words[first - 1] == "of" and said.words[first - 2] in TITLES
    behind = said.shown[said.ends[last - 1] :]
    return "other_bearer" if initial or titled or _GIVEN_NAME.match(behind) else ""


def is_written(said: Text, first: int, surname: Words) -> bool:
    """Return whether a surname stands as a name: "King" does, "the king" does not."""
    word = surname[-1] in _WORDS
    return not word or not said.before(first).strip()


def is_among(owner: Name, rivals: Sequence[str], question: str) -> bool:
    """Return whether a name is that of one of the row's candidates."""
    return any(same_name(name_of(value(rival, question)), owner) for rival in rivals)


def is_shared(owner: Name, rivals: Sequence[str], question: str) -> bool:
    """Return whether another candidate than ``owner`` has the owner's surname."""
    surname = surname_of(owner)[-1:]
    for rival in rivals:
        named = name_of(value(rival, question))
        if surname_of(named)[-1:] == surname and not same_name(named, owner):
            return True
    return False


def asks_person(question: str) -> bool:
    """Return whether a question asks for a person, so that a surname can be its answer."""
    return "person" in asked_kinds(question)
