"""Word groups in which a name is not whole: a class cut before its preposition, a longer thing.

"Nobel Prize" is neither the one in Physics nor the one in Chemistry; "salicylic acid" is not
"acetyl salicylic acid"; "sulfur" is not "sulfur dioxide".
"""

from collections.abc import Sequence

from memtoc.scoring.asked import asked_kinds
from memtoc.scoring.claims import STEM, known_words
from memtoc.scoring.lexicon import COMMON, FUNCTION_WORDS, KINDS, VERBS, words
from memtoc.scoring.names import Name, is_name_part
from memtoc.scoring.text import Text, Words, occurs, read

_OF = frozenset(words("classes_of"))
_IN = frozenset(words("classes_in"))
_FIELDS = frozenset(words("fields"))
MODIFIERS = frozenset(words("modifiers"))
STUFF = frozenset(("gas", "powder", "crystals", "ions", "molecules", "fertilizer"))
_CUTS = frozenset(("of", "in", "for", "on", "at", "to", "from", "with", "against"))
# Names of these keep their short forms, or are told by capitals.
_NAMED = frozenset(words("asked_named"))
_THINGS = frozenset(("substance", "element", "species"))


def class_only(said: Text, first: int, last: int, rivals: Sequence[str]) -> str:
    """Return ``class_only`` where a name is a class that "of" or "in" narrows behind it.

    "In" and "for" narrow a prize before its field, or where a rival is named so: not in "the World
    Cup in 1998".
    """
    noun, following = said.words[last - 1], said.words[last : last + 1]
    if said.after(last - 1).strip():
        return ""
    narrowed = noun in _OF and following == ("of",)
    if noun in _IN and following in (("in",), ("for",)):
        longer = (*said.words[first:last], *following)
        field = not _FIELDS.isdisjoint(said.words[last + 1 : last + 2])
        narrowed = field or any(occurs(longer, read(rival).words) for rival in rivals)
    return "class_only" if narrowed else ""


def is_cut(one: Name, other: Name, question: str) -> bool:
    """Return whether one name is the other, cut before its preposition, and so a class.

    Persons keep their short forms: Alfonso X is Alfonso X of Castile.
    """
    short, long = sorted((one.head, other.head), key=len)
    if long[: len(short)] != short or long[len(short) : len(short) + 1] == ():
        return False
    return long[len(short)] in _CUTS and "person" not in asked_kinds(question)


def is_thing(target: str, question: str) -> bool:
    """Return whether a target is a thing's name of several words, not the name of one entity.

    It is written small behind its first word, or the question asks for a substance or a species.
    """
    asked = asked_kinds(question)
    if len(target.split()) < 2 or asked & _NAMED:
        return False
    return bool(asked & _THINGS) or not any(c.isupper() or c.isdigit() for c in target[1:])


def longer_group(said: Text, first: int, last: int, question: str) -> str:
    """Return ``longer_group`` where the words beside a thing's name make it another thing."""
    ahead, behind = said.before(first), said.after(last - 1)
    if first and not ahead.strip(" \"'"):
        previous = said.words[first - 1]
        verb = previous.endswith("ed") and first > 1 and said.words[first - 2] in COMMON
        # Of what make or sort it is: electric, professional, Scottish.
        kind = previous.endswith(("ic", "al", "ish", "ian", "an"))
        plain = previous in MODIFIERS or verb or kind or _asked(previous, question)
        if is_name_part(previous) and not plain:
            return "longer_group"
    if last < len(said.words) and not behind.strip(" \"'"):
        following = said.words[last]
        further = said.words[last + 1 : last + 2]
        # "Citric acid containing | foods", but "citric acid reacting | with it".
        inflected = following.endswith(("ed", "ly")) or (
            following.endswith("ing") and (not further or further[0] in COMMON)
        )
        plain = inflected or following in COMMON | FUNCTION_WORDS | KINDS | VERBS | STUFF
        if not plain and not _asked(following, question):
            return "longer_group"
    return ""


def _asked(word: str, question: str) -> bool:
    return word[:STEM] in known_words(question)


def same_joined(one: Words, other: Words) -> bool:
    """Return whether two things' names differ by a space alone: acetyl salicylic acid."""
    return one != other and "".join(one) == "".join(other) and len("".join(one)) >= 2 * STEM
