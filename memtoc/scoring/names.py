"""Whether two names are one entity: titles, initials, middle names, brackets, legal forms."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memtoc.scoring.lexicon import (
    AREA_FORMS,
    AREA_KINDS,
    BUILDINGS,
    CITY_PARTS,
    COMMON,
    FUNCTION_WORDS,
    GIVEN_NAMES_TOO,
    HEADS,
    HONORIFICS,
    KINDS,
    LEGAL_FORMS,
    PARTICLES,
    PERSON_NOUNS,
    PREPOSITIONS,
    QUALIFIERS,
    TITLE_WORDS,
    TITLES,
    VERBS,
    WORK_KINDS,
)
from memtoc.scoring.text import Text, Words, occurrences, occurs, read

_BRACKET = re.compile(r"\(([^()]{1,200})\)?")
# What opens a bracket with another name of the same entity.
_OTHER_NAME = re.compile(r"\s*(ne|nee|born|formerly|aka|a\.\s?k\.\s?a\.?|also known as|or)\b[:\s]*")
_SPLIT = re.compile(r",\s|\s-\s|:\s")
# "Sultan al-Dawla" is a name, "Prince of Wales" a title: nothing is taken from their front.
_JOINED = PARTICLES | {"of", "and"}
# "Green-Wood Cemetery in Brooklyn" is the cemetery with its place; "Death in Venice" is not.
_LOCATED = re.compile(rf"\b(?:{'|'.join(BUILDINGS)})(?P<gap>\s(?:in|at|near)\s)")
_NOT_NAMES = COMMON | HONORIFICS | VERBS
_BEFORE_NAMES = _NOT_NAMES | FUNCTION_WORDS | KINDS | PERSON_NOUNS
# Without capitals an adjective is told from a given name by its ending alone.
_ADJECTIVE = ("ary", "ous", "ish", "ful", "ive", "ical", "ing", "ese")
# Adverbs (clearly, officially, undoubtedly); not the given names Sally, Emily, Beverly.
_ADVERB = re.compile(
    r"\w{2,}(?:[^s]ally|usly|ntly|edly|[ai]bly|early|larly|tely|rely|inly|stly|htly|ctly|mply|ively"
    r"|efly|fully)"
)
_TRADE = re.compile(r"\w{2,}(?:[a-z]{2}ist|[st]ician|maker|wright|ographer|ologer)")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_ORDINAL_WORD = re.compile(r"\b\d+(?:st|nd|rd|th)\b")


@dataclass(frozen=True)
class Name:
    """A name in its parts, each a tuple of words.

    ``head`` stands before the first comma, ``tail`` behind it (a title, a place). ``others`` are
    the names that a bracket gives (née, born, formerly), ``asides`` the other brackets of two words
    or more: another name or an explanation. ``glued`` are the lengths at which the head cannot end,
    because a hyphen follows there (Bourbon-Parma).
    """

    head: Words
    tail: Words
    others: tuple[Words, ...] = ()
    asides: tuple[Words, ...] = ()
    glued: frozenset[int] = frozenset()


@lru_cache(maxsize=16384)
def name_of(text: Text) -> Name:
    """Read a name such as "Robert Cholmondeley, 1st Viscount Cholmondeley (born Smith)"."""
    shown = _BRACKET.sub(" ", text.shown)
    head, _, tail = _cut(shown)
    whole = read(head)
    words = plain(whole.words)
    cut = next(occurrences(words, whole.words), 0)
    glued = frozenset(i - cut + 1 for i in range(len(whole.words) - 1) if whole.after(i) == "-")
    brackets = _BRACKET.findall(text.shown)
    others = tuple(_other_name(bracket, words) for bracket in brackets)
    asides = tuple(_aside(bracket) for bracket in brackets)
    return Name(
        words,
        read(tail).words,
        tuple(other for other in others if other),
        tuple(aside for aside in asides if aside),
        glued,
    )


def _cut(shown: str) -> tuple[str, str, str]:
    located, comma = _LOCATED.search(shown), _SPLIT.search(shown)
    if located and (not comma or located.start("gap") < comma.start()):
        return shown[: located.start("gap")], ",", shown[located.end("gap") :]
    return (shown[: comma.start()], ",", shown[comma.end() :]) if comma else (shown, "", "")


def _other_name(bracket: str, head: Words) -> Words:
    marker = _OTHER_NAME.match(bracket)
    if not marker:
        return ()
    words = plain(read(bracket[marker.end() :]).words)
    # "Mary Shelley (née Godwin)" is Mary Godwin too: one birth name stands for the surname.
    if marker.group(1) in ("ne", "nee", "born") and len(words) == 1 and len(head) > 1:
        return (*head[:-1], *words)
    return words


def _aside(bracket: str) -> Words:
    """Return the words of a bracket that may be another name: two or more, and no kind of work.

    "(2011 film)" and "(Rihanna song)" tell works apart.
    """
    words = plain(read(bracket).words)
    kind = any(word in WORK_KINDS or word[0].isdigit() for word in words)
    return () if _OTHER_NAME.match(bracket) or len(words) < 2 or kind else words


def plain(words: Words) -> Words:
    """Return the words without honorifics before, and legal forms or kinds of area behind."""
    first, last = 0, len(words)
    while first < last - 1 and words[first] in HONORIFICS and words[first + 1] not in _JOINED:
        first += 1
    while last > first + 1 and words[last - 1] in LEGAL_FORMS | AREA_FORMS:
        last -= 1
    if "of" in words[first : last - 1]:
        # The Metropolitan Borough of Knowsley is Knowsley.
        of = words.index("of", first)
        part = words[of - 1] == "city" and words[of + 1] in CITY_PARTS
        if set(words[first:of]) <= AREA_KINDS and not part:
            first = of + 1
    return words[first:last]


def same_name(first: Name, second: Name) -> str:
    """Return the rule by which two names are one entity; empty if they differ. Symmetric."""
    pairs = ((first, second), (second, first))
    # Two titles or two places decide before any shared name is looked at.
    if tails_conflict(first, second):
        return ""
    if any(_inverted(*pair) for pair in pairs):
        return "inverted"
    if any(_unique_title(*pair) for pair in pairs):
        return "unique_title"
    if any(_same_land(*pair) for pair in pairs):
        return "same_title"
    # Bourbon is not Bourbon-Parma, Frederick II of Prussia not Frederick II, Holy Roman Emperor.
    if any(_cut_in_compound(*pair) or other_land(*pair) for pair in pairs):
        return ""
    return _same_in_any_form(first, second)


def _same_in_any_form(first: Name, second: Name) -> str:
    titled = _is_title(first.tail) and _is_title(second.tail)
    # In a family of one name the middle names and the ordinal tell father from son: where only
    # one side gives the ordinal, the other must give all of the name.
    loose = _has_ordinal(first.tail) == _has_ordinal(second.tail)
    for one in (first.head, *first.others):
        for other in (second.head, *second.others):
            rule = _same_words(one, other, titled, loose)
            if rule:
                return rule
    return "aside" if first.head in second.asides or second.head in first.asides else ""


def _unique_title(bare: Name, full: Name) -> bool:
    """Return whether a title with its ordinal, "10th Duke of Beaufort", names the full one."""
    return (
        not bare.tail
        and _has_ordinal(bare.head)
        and _is_title(bare.head)
        and occurs(bare.head, full.tail)
    )


def _inverted(listed: Name, spoken: Name) -> bool:
    """Return whether a listed name is the spoken one: "Smith, John" and "John Smith"."""
    if not 0 < len(listed.tail) <= 3 or spoken.tail or _is_title(listed.tail):
        return False
    return (*listed.tail, *listed.head) == spoken.head


def _same_land(plainly: Name, titled: Name) -> bool:
    """Return whether both names mean one person, one by land, the other by the land's title.

    "Mahaut of Artois" and "Mahaut, Countess of Artois" are one person.
    """
    if "of" not in plainly.head or not _is_title(titled.tail):
        return False
    of = plainly.head.index("of")
    land = plainly.head[of:]
    return plainly.head[:of] == titled.head and titled.tail[-len(land) :] == land


def other_land(plainly: Name, titled: Name) -> bool:
    """Return whether one name has a land that the other's title does not hold.

    "Frederick II of Prussia" and "Frederick II, Holy Roman Emperor" are two persons.
    """
    if "of" not in plainly.head or _is_title(plainly.tail) or not _is_title(titled.tail):
        return False
    of = plainly.head.index("of")
    return plainly.head[:of] == titled.head and not set(plainly.head[of + 1 :]) & set(titled.tail)


def _cut_in_compound(short: Name, long: Name) -> bool:
    """Return whether the shorter head ends inside a hyphenated compound of the longer."""
    size = len(short.head)
    if size in long.glued and long.head[:size] == short.head:
        return True
    surname = 1 < size < len(long.head) and long.head[-size:] == short.head
    return surname and all(at in short.glued for at in range(1, size))


def _same_words(one: Words, other: Words, titled: bool, loose: bool) -> str:
    if one == other:
        return "same_name" if one else ""
    short, long = sorted((one, other), key=len)
    if not short:
        return ""
    if len(short) < 2:
        # Arnold, Duke of Guelders and Arnold of Egmond, Duke of Guelders: the title is shared.
        rest = long[2:] if _has_ordinal(long[1:2]) else long[1:]
        return "same_title" if titled and long[0] == short[0] and continues(rest) else ""
    if long[: len(short)] == short:
        return "short_form" if continues(long[len(short) :]) else ""
    if long[-len(short) :] == short:
        # A given name may be left out, unless what remains is a surname alone (de Gaulle).
        surname = all(word in PARTICLES for word in short[:-1])
        # Good Hope is not the Cape of Good Hope.
        ahead = long[-len(short) - 1]
        return "" if surname or ahead in QUALIFIERS or ahead == "of" else "short_form"
    return "initials_or_middle_names" if loose and _aligned(short, long) else ""


def continues(rest: Words) -> bool:
    """Return whether a name stays the same entity when these words follow it."""
    if not rest:
        return True
    return not (
        rest[0] in HEADS
        or rest[0] in ("and", "junior", "senior")
        or _ORDINAL.fullmatch(rest[0])
        or rest[0].isdigit()
        or (rest[-1] in HEADS and not set(rest) & PREPOSITIONS)
    )


def _aligned(short: Words, long: Words) -> bool:
    """Return whether first and last name agree and the rest are initials or left out.

    An initial stands for a name that starts with it: H. C. Artmann, Hans Carl Artmann.
    """
    # A last name of one letter is an initial; a head noun (Association, Prize) makes another
    # entity.
    if short[-1] != long[-1] or len(short[-1]) < 2 or set(long) & HEADS:
        return False
    at = 0
    for i, word in enumerate(short[:-1]):
        while at < len(long) - 1 and not _initial_of(word, long[at]):
            if i == 0 or not long[at].isalpha():
                return False
            at += 1
        if at == len(long) - 1:
            return False
        at += 1
    return all(word.isalpha() for word in long[at:-1])


def _initial_of(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) == 1 and long.startswith(short)


def tails_conflict(first: Name, second: Name) -> bool:
    """Return whether two tails are of different ordinals, titles or places."""
    one, other = first.tail, second.tail
    if not one or not other:
        return False
    ordinals = [{word for word in tail if _ORDINAL.fullmatch(word)} for tail in (one, other)]
    # The 1st and the 10th Duke are two men, whatever else their titles share.
    if all(ordinals) and not ordinals[0] & ordinals[1]:
        return True
    if all(_is_title(tail) for tail in (one, other)):
        return not (set(one) & set(other)) - TITLE_WORDS
    # A title on one side and a place on the other say nothing against each other.
    if any(_is_title(tail) for tail in (one, other)):
        return False
    return not set(one) & set(other)


def _has_ordinal(words: Words) -> bool:
    return bool(_ORDINAL_WORD.search(" ".join(words)))


def _is_title(tail: Words) -> bool:
    return not TITLES.isdisjoint(tail)


def is_bare_title(words: Words) -> bool:
    """Return whether words are a title that many have held: "Duke of Parma"."""
    # With its ordinal (the 9th Earl of Essex) a title is one person's.
    if not words or words[0] not in TITLES or _has_ordinal(words):
        return False
    return len(words) == 1 or words[1] == "of"


def extended(said: Text, first: int, last: int) -> str:
    """Return the rule by which the words behind a name make another entity of it; else empty.

    "Vassar College" in "Vassar College Student Association", "Ravi Shankar" in "Ravi Shankar
    Prize", "Erbach" in "Erbach-Schönberg".
    """
    behind, following = said.after(last - 1), said.words[last : last + 4]
    if not following:
        return ""
    if behind == "-":
        return "part_of_compound"
    adjacent = not behind.strip(" \"'")
    return "longer_entity" if adjacent and _extends(following, first, last) else ""


def preceded(said: Text, first: int, last: int) -> str:
    """Return the rule by which the word before a name makes another entity of it; else empty.

    "Han dynasty" in "Later Han dynasty", Newton in Robert Newton.
    """
    ahead, previous = said.before(first), said.words[first - 1] if first else ""
    if not previous:
        return ""
    if ahead == "-":
        return "part_of_compound"
    if ahead.strip(" \"'"):
        return ""
    if previous in QUALIFIERS:
        return "qualified_entity"
    # Longer names are taken wherever they stand.
    part = _is_single(said, first, last) and is_name_part(previous)
    return "part_of_name" if part else ""


def is_name_part(previous: str) -> bool:
    """Return whether the word before a single name may be its given name."""
    if previous in GIVEN_NAMES_TOO:
        return True
    described = previous.endswith(_ADJECTIVE) or _ADVERB.fullmatch(previous)
    return previous not in _BEFORE_NAMES and not described and not _TRADE.fullmatch(previous)


def _is_single(said: Text, first: int, last: int) -> bool:
    """Return whether the words are one surname: plain, hyphenated or with its particle.

    Newton, Baillie-Hamilton, de Gaulle.
    """
    return all(said.words[i] in PARTICLES or said.after(i) == "-" for i in range(first, last - 1))


def _extends(following: Words, first: int, last: int) -> bool:
    head = following[0]
    # Junior and senior tell father from son, and an ordinal one holder from the next.
    if head in HEADS - LEGAL_FORMS or head in ("junior", "senior") or _ORDINAL.fullmatch(head):
        return True
    # The sequel: Toy Story 3 is not Toy Story. A year only dates a work.
    if head.isdigit() and len(head) < 4:
        return True
    second = following[1] if len(following) > 1 else ""
    if second in HEADS and head not in COMMON:
        return True
    return last - first == 1 and head not in _NOT_NAMES | FUNCTION_WORDS
