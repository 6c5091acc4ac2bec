"""The paper's matcher (arXiv 2608.26295): either canonical string contains the other.

Its faults stay as they are, since published numbers rest on them: "not Mark Twain" matches Mark
Twain. ``boundary`` mends them.
"""

import re
import unicodedata
from functools import lru_cache

from memtoc.scoring.lexicon import words

# A reply of 128 new tokens is far shorter; a runaway one is read this far.
MAX_CHARS = 10_000

_NOT_WORD = re.compile(r"[^\w\s]")
_ARTICLES = frozenset(("a", "an", "the"))
# The paper expands these two alone.
_EXPANDED = {"st": "saint", "mt": "mount"}
_BRACKET = re.compile(r"\(([^()]{1,200})\)")
# Words before the other name in a bracket: (née Godwin), (a.k.a. Mark Twain).
_ALSO_NAMED = re.compile(
    r"^\s*(?:n[ée]e?|born|formerly|a\.?\s?k\.?\s?a\.?|also known as)\b[:\s]*", re.IGNORECASE
)

# Full names and three letters, as the paper has them: "Sept" is no month here.
_MONTHS = words("months")
_MONTH_NUMBER = {name: i for i, name in enumerate(_MONTHS, start=1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS, start=1)
}
_MONTH = "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True))
_ISO = r"(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})"
_MDY = rf"(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{3,4}})"
_DMY = rf"(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m3>{_MONTH})\.?,?\s+(?P<y3>\d{{3,4}})"
_DATE = re.compile(rf"\b(?:{_ISO}|{_MDY}|{_DMY})\b", re.IGNORECASE)


@lru_cache(maxsize=16384)
def canonical(text: str) -> str:
    """Return lower-case words without articles; a combining mark left by NFKD splits a word."""
    plain = _NOT_WORD.sub(" ", unicodedata.normalize("NFKD", text).lower())
    return " ".join(_EXPANDED.get(word, word) for word in plain.split() if word not in _ARTICLES)


def _contains(first: str, second: str) -> bool:
    return bool(first) and bool(second) and (first in second or second in first)


def _dates(text: str) -> list[tuple[int, int, int]]:
    found = []
    for match in _DATE.finditer(text):
        year, month, day = next(
            (match[f"y{i}"], match[f"m{i}"], match[f"d{i}"]) for i in "123" if match[f"y{i}"]
        )
        number = int(month) if month.isdigit() else _MONTH_NUMBER[month.lower()]
        found.append((int(year), number, int(day)))
    return found


def contains(answer: str, target: str) -> str:
    """Return the rule by which the answer matches the target; empty if none does."""
    answer, target = answer[:MAX_CHARS], target[:MAX_CHARS]
    first, second = canonical(answer), canonical(target)
    # As text, not as words: "art" is met by "Bartlett", and "Paris" by "not Paris".
    if _contains(first, second):
        return "contains"
    if not first or not second:
        return ""
    for bracket in _BRACKET.findall(answer):
        if _contains(canonical(_ALSO_NAMED.sub("", bracket)), second):
            return "bracket"
    head = canonical(target.split(",", 1)[0]) if "," in target else ""
    if len(head.split()) >= 2 and _contains(head, first):
        return "comma_head"
    bare = _DATE.fullmatch(target.strip())
    if bare and _dates(bare.group())[0] in _dates(answer):
        return "date"
    return ""
