"""The clauses of a span: where one statement ends and the next, or its contrast, begins."""

import re
from functools import lru_cache
from itertools import pairwise

# "Anything but X" and "nothing but X" are one statement.
_BUT = "".join(
    rf"(?<!\b{word} but)"
    for word in ("anything", "anyone", "anybody", "anywhere", "nothing", "all")
)
_CONTRAST = (
    rf"but{_BUT}|however|although|though|even though|while|whereas|yet|nevertheless|despite|in fact"
)
_CLAUSE = re.compile(
    rf"[;:\n()]|[.!?](?=\s|$)|\s-\s|\b(?:{_CONTRAST})\b"
    # "Although the tool says X, her father was Y": the main clause starts with a common word.
    r"|,\s(?=(?:the|i|my|it|he|she|her|his|its|their|they|we|this|that|now|no one|nobody|based"
    r"|from|according"
    r"|actually|in fact)\b"
    # "I don't remember, so Utrecht" concludes; "access was denied, so the tool failed" goes on.
    r"|so (?:i(?:'d|'ll| would| will| say| answer| take| go)\b|(?!(?:the|i|it|we|this|that|there|no"
    r"|an?|my|he|she|they|please|you)\b)))"
)
_CONCEDED = re.compile(
    r"\W*(?:although|though|even though|while|whereas|despite) [^,.;:()\n]{1,200},\s"
)
_CONTRAST_OPENS = re.compile(rf"\W*(?:{_CONTRAST}|actually)\b")
_CONTRAST_ALONE = re.compile(rf"\W*(?:{_CONTRAST}|actually)\W*")
# Initials, titles and months that are written with a stop; May, June and July may go without.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(.\"'-])(?:[a-z]|st|mt|dr|mr|mrs|ms|prof|rev|hon|jr|sr|no|vs|gen|col|capt|lt|sgt"
    r"|gov|sen|rep|inc|ltd|co|jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|ca)$"
)


@lru_cache(maxsize=4096)
def clauses_of(shown: str) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each clause; a contrasting conjunction opens its clause."""
    cuts = [0]
    for match in _CLAUSE.finditer(shown):
        if match.group() == "." and is_abbreviation(shown, match.start()):
            continue
        # "However, the father was Y" is one clause.
        if match.group()[0] == "," and _CONTRAST_ALONE.fullmatch(shown, cuts[-1], match.start()):
            continue
        # A conjunction belongs to the clause that it opens, a stop to the one that it closes.
        cuts.append(match.start() if match.group()[0].isalpha() else match.end())
    cuts.append(len(shown) + 1)
    # "Although the tool says X, Y is her father": the main clause may start with any word.
    inner = [comma.end() for start in cuts if (comma := _CONCEDED.match(shown, start))]
    return tuple((a, b) for a, b in pairwise(sorted({*cuts, *inner})) if a < b)


def opens_with_contrast(shown: str, clause: tuple[int, int]) -> bool:
    """Return whether the clause opens with "but", "however" or the like."""
    return bool(_CONTRAST_OPENS.match(shown, *clause))


def is_abbreviation(shown: str, dot: int) -> bool:
    """Return whether the full stop at ``dot`` belongs to a short form ("H. C. Artmann")."""
    return bool(_ABBREVIATION.search(shown[max(0, dot - 6) : dot]))
