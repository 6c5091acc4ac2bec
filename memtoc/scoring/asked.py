"""What kind of thing a question asks for, read from its wording."""

import re
from functools import lru_cache

from memtoc.scoring.lexicon import groups, words
from memtoc.scoring.text import fold

_KINDS_OF = dict[str, frozenset[str]]()
for _kind, _listed in groups("asked").items():
    for _word in _listed:
        _KINDS_OF[_word] = _KINDS_OF.get(_word, frozenset()) | {_kind}
_PLACES = frozenset(words("asked_places"))

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[,;?:]")
_NONE = frozenset[str]()
# "How many" and its like ask for a figure, whatever noun follows.
_FIGURES = {
    "many": "number", "much": "number", "old": "number", "tall": "quantity", "high": "quantity",
    "long": "quantity", "far": "quantity", "deep": "quantity", "wide": "quantity",
    "heavy": "quantity", "big": "quantity", "large": "quantity", "fast": "quantity",
}  # fmt: skip
_SKIPPED = frozenset(words("asked_opening"))
_PASSED_ON = frozenset(words("asked_passed_on"))
_ENDS = frozenset((*words("asked_behind"), ",", ";", "?", ":"))
_REACH = 8  # words between the wh-word and the noun; longer noun groups are rare


@lru_cache(maxsize=4096)
def asked_kinds(question: str) -> frozenset[str]:
    """Return the kinds of thing that a question asks for, e.g. ``{"river", "place"}``; else empty.

    "Who" asks for a person, "when" for a date and a year, "where" for a place, "how many" for a
    number. Behind "which" and "what", and in a text without such a word ("the capital of Peru"),
    the first noun that ``lexicon.toml`` lists under ``asked`` decides; of nouns side by side the
    last does: a film director is a person.
    """
    said = _WORD.findall(fold(question))
    opening = _opened(said, 0)
    # "Name the lake where he drowned" asks with its noun, "Emma is by whom?" with its wh-word.
    last = len(said) if "?" in said else opening + 1
    for at, word in enumerate(said[:last]):
        found = _by_wh_word(word, said[at + 1 :])
        if found is not None:
            return found
    return _noun(said)


def _by_wh_word(word: str, rest: list[str]) -> frozenset[str] | None:
    if word in ("who", "who's", "whom"):
        # "Who is the maker of it?" may be answered by a company.
        return frozenset(("person",)) | (_noun(rest) if rest[:1] in (["is"], ["was"]) else _NONE)
    if word == "when":
        return frozenset(("date", "year"))
    if word == "where":
        return frozenset(("place",))
    if word == "how" and rest[:1] and rest[0] in _FIGURES:
        return frozenset((_FIGURES[rest[0]],))
    return _noun(rest) if word in ("which", "what", "what's", "whose") else None


def _noun(said: list[str]) -> frozenset[str]:
    """Return the kinds of the first noun group; empty where no listed noun ends it."""
    at = _opened(said, 0)
    if said[at : at + 2] == ["time", "zone"]:
        return frozenset(("zone",))
    kinds, last = _NONE, at + _REACH
    while at < min(last, len(said)):
        if said[at] in _PASSED_ON and said[at + 1 : at + 2] == ["of"]:
            at = _opened(said, at + 2)
            last = at + _REACH
            continue
        found = _KINDS_OF.get(said[at].removesuffix("'s"))
        # "Ada's father's name" asks for the father.
        if said[at] in _ENDS or (kinds and not found and said[at] not in _PASSED_ON):
            break
        kinds, at = found or kinds, at + 1
    return kinds | {"place"} if kinds & _PLACES else kinds


def _opened(said: list[str], first: int) -> int:
    """Return where a noun group starts, behind articles, copulas and prepositions."""
    return next((at for at in range(first, len(said)) if said[at] not in _SKIPPED), len(said))
