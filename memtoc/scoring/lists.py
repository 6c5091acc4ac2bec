"""Lists as sets: "red, white and blue", "blue; red; white" and "red / white / blue" are one.

A part of a list is not the list, and a list with one member more is another. Names with commas
("Smith, John", "Washington, D.C.", "James, Duke of Ormonde") and pairs that are one name (Simon and
Garfunkel) are lists only as far as the same members in another order are the same value.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memtoc.scoring.claims import STEM, known_words, value_range
from memtoc.scoring.clauses import clauses_of
from memtoc.scoring.lexicon import COMMON, TITLES
from memtoc.scoring.rejection import turned_down
from memtoc.scoring.text import Text, fold, occurrences, read

# Longer lists are no answer; each member may be compared with each.
_MOST = 20
_HARD = re.compile(r"\s*[;|•·‣、\n]\s*|\s+/\s+|(?<=[^\W\d_])/(?=[^\W\d_]+/)|(?<=/)([^\W\d_]+)/")
_AND = re.compile(
    r",?\s+(?:and then|and also|and|&|\+|as well as|along with|plus|und|et|y|og|och|и)\s+"
)
_COMMA = re.compile(r"\s*,\s+|(?<!\d)\s*,\s*(?=\D)|，")
_ASIDE = re.compile(r"\s?\([^()]{0,100}\)")
_NUMBERING = re.compile(r"^\W*(?:\(?\d{1,2}[.)]\s+|(?:then|both|first|finally)\s+(?=\S))")
_NUMBERED = re.compile(r"\W{0,3}1[.)]\s.{1,200}?\s\(?2[.)]\s")
_NUMBER = re.compile(r"(?:^|\s)\W?\(?\d{1,2}[.)]\s")
# Belong to the member before them: Sammy Davis, Jr.
_BELONGS = re.compile(r"(?:jr|sr|inc|ltd|llc|d\.\s?c|ph\.?\s?d|m\.\s?d|esq)\b\.?", re.IGNORECASE)
_ORDERED = re.compile(
    r"\b(?:order|ranked|ranking|sequence|respectively|chronolog\w+|from (?:the )?\w+est to)\b"
)
_TWO_OR_MORE = "two|three|four|five|six|seven|eight|nine|ten|both|several|[2-9]|pair|trio"
_NOUNS = r"\w{2,}(?:[^suia\W]s|ies|people|children|men|women)"
_ASKS_SEVERAL = re.compile(
    rf"\b(?:who|what|which) (?:are|were)\b|\b(?:{_TWO_OR_MORE}) (?:\w+ ){{0,3}}?{_NOUNS}\b"
    rf"|\b(?:which|what) {_NOUNS}\b(?! (?:a|an|the|his|her|its)\b)"
    rf"|\b(?:which|what) (?:\w+ ){{1,3}}?{_NOUNS} (?:are|were|have|make|do|did)\b"
    r"|\b(?:list|name|give) (?:all|the \w+s)\b"
)

Same = Callable[[str, str, str], tuple[bool, str]]


@dataclass(frozen=True)
class _Listed:
    """The members of a list; ``sure`` if it cannot be a name with a comma or an "and" in it."""

    members: tuple[str, ...]
    sure: bool


def same_list(answer: str, target: str, question: str, same: Same) -> tuple[bool, str] | None:
    """Return whether the answer gives the list that the target is, by which rule.

    None for a target that is no list, and where its words alone must decide. ``same`` compares two
    members.
    """
    wanted = _target_list(target, question)
    if wanted is None:
        return None
    said = read(_plainly(answer))
    ordered = bool(_ORDERED.search(question.lower()))
    reason = ""
    for first, last in _ranges(said.shown, question):
        value = said.part(first, last).shown
        given = _members(value, question) or _hyphened(value, len(wanted.members))
        if given is None:
            continue
        reason = reason or _difference(given.members, wanted.members, question, same, ordered)
        if _difference(given.members, wanted.members, question, same, ordered):
            continue
        reason = turned_down(said, first, last, question)
        if not reason:
            return True, "same_list"
    if not wanted.sure or _stands_alone(read(answer), read(target)):
        return None
    return False, reason or "part_of_list"


def is_part(answer: str, target: str, question: str, rivals: Sequence[str], same: Same) -> bool:
    """Return whether an answer gives a list of the row in which the target is one member.

    "McCartney and Lennon" follows a tool that returned both, and does not keep "Lennon".
    """
    words = read(target).words
    for rival in rivals:
        listed = _target_list(rival, question)
        if listed and any(read(member).words == words for member in listed.members):
            given = same_list(answer, rival, question, same)
            if given and given[0]:
                return True
    return False


@lru_cache(maxsize=16384)
def _target_list(target: str, question: str) -> _Listed | None:
    text = read(_plainly(target))
    found = _members(text.part(*value_range(text.shown, question)).shown, question)
    if found is None:
        return None
    several = bool(_ASKS_SEVERAL.search(question.lower()))
    # "Smith, John" and "Paris, Texas" have one comma; "red, blue" has it as well.
    if len(found.members) == 2 and "," in target and not found.sure and not several:
        return found if target == target.lower() and target.upper() != target else None
    return _Listed(found.members, found.sure or (several and target.count(", ") != 1))


def _plainly(text: str) -> str:
    """Return a folded text with one sign between members: " / ", or a comma, or "and"."""
    shown = fold(text)
    if _NUMBERED.match(shown):
        shown = _NUMBER.sub(" / ", shown)
    shown = _HARD.sub(lambda found: f" / {found[1]} / " if found[1] else " / ", shown)
    return _AND.sub(" and ", _ASIDE.sub("", shown)).replace(" / / ", " / ")


def _ranges(shown: str, question: str) -> Iterator[tuple[int, int]]:
    """Yield where a list may stand, in words: the value of the text, then that of each clause."""
    yield value_range(shown, question)
    clauses, starts = clauses_of(shown), read(shown).starts
    if len(clauses) > 1:
        for start, end in clauses[:_MOST]:
            first, last = value_range(shown[start:end], question)
            before = bisect_left(starts, start)
            yield before + first, before + last


def _members(shown: str, question: str) -> _Listed | None:
    if " / " in shown:
        parts, sure = shown.split(" / "), True
    else:
        *parts, last = _joined(_COMMA.split(shown))
        closing = last.split(" and ")
        sure = bool(parts) and len(closing) == 2
        parts += closing
        if sure and any(_is_title(part) for part in parts[1:]):
            return None
    cleaned = [_NUMBERING.sub("", part).rsplit(": ", 1)[-1].strip(" .,:\"'*") for part in parts]
    members = [member for member in cleaned if member]
    if not 2 <= len(members) <= _MOST:
        return None
    members[-1] = _without_echo(members[-1], question)
    return _Listed(tuple(members), sure)


def _hyphened(shown: str, size: int) -> _Listed | None:
    """Return "red-white-blue" as a list of so many members."""
    parts = shown.strip(" .").split("-")
    fits = len(parts) == size > 2 and all(part.isalpha() for part in parts)
    return _Listed(tuple(parts), False) if fits else None


def _joined(parts: list[str]) -> list[str]:
    joined: list[str] = []
    for part in parts:
        if joined and _BELONGS.fullmatch(part.strip()):
            joined[-1] += f", {part}"
        else:
            joined.append(part)
    return joined


def _is_title(part: str) -> bool:
    """Return whether a part opens with a title: "Duke of X and Earl of Y" belong to one man."""
    words = read(part).words[:2]
    return bool(words) and (words[0] in TITLES or (len(words) > 1 and words[1] in TITLES))


def _without_echo(member: str, question: str) -> str:
    """Return the last member without the question's words behind it: France | signed the treaty."""
    text, known = read(member), known_words(question)
    last = len(text.words)
    while last > 1 and (text.words[last - 1] in COMMON or text.words[last - 1][:STEM] in known):
        last -= 1
    return text.part(0, last).shown if text.words else member


def _difference(
    given: tuple[str, ...], wanted: tuple[str, ...], question: str, same: Same, ordered: bool
) -> str:
    """Return how two lists differ; empty if they hold the same members."""

    def is_one(member: str, other: str) -> bool:
        return read(member).words == read(other).words or same(member, other, question)[0]

    if ordered and len(given) == len(wanted):
        pairs = zip(given, wanted, strict=True)
        return "" if all(is_one(*pair) for pair in pairs) else "other_order"
    left = list(dict.fromkeys(wanted))
    more = 0
    for member in dict.fromkeys(given):
        found = next((other for other in left if is_one(member, other)), None)
        if found is None:
            more += 1
        else:
            left.remove(found)
    if not left:
        return "longer_list" if more else ""
    return "other_list" if more else "part_of_list"


def _stands_alone(said: Text, wanted: Text) -> bool:
    """Return whether the target stands there word for word, and no further member beside it."""
    for at in occurrences(wanted.words, said.words):
        last = at + len(wanted.words)
        before = said.before(at).strip() if at else ""
        behind = said.after(last - 1).strip() if last < len(said.words) else ""
        following = said.words[last : last + 1]
        if before[-1:] not in tuple(",;/|&") and behind[:1] not in tuple(",;/|&"):
            return following != ("and",) and said.words[at - 1 : at] != ("and",)
    return False
