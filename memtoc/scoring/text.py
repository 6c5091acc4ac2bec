"""Folding and words: what the boundary matcher, the refusals and the dates read.

Nothing here looks further than MAX_CHARS into a text, so that a runaway reply costs no more than
a long one.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_CHARS = 4000

_LETTERS = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h",
    "ŋ": "n", "ŧ": "t", "ß": "ss", "ə": "e",
}  # fmt: skip
# Letters that NFKD leaves whole although a reader takes them for a plain letter with a stroke,
# and the many forms of apostrophe, quote and dash.
_UNDECOMPOSED = str.maketrans(
    _LETTERS
    | {letter.upper(): plain.capitalize() for letter, plain in _LETTERS.items() if letter != "ß"}
    | dict.fromkeys("ʻʼ’‘`´ʿʾ′", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("–—‐‑−", "-")
)
# Accents of Latin, Greek and Cyrillic, Hebrew points and Arabic vowels may be left out in
# writing. Vowel signs of Indic scripts may not: they stay.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0655\u0670]")
# Scripts written without spaces: each sign is a word, so that a name is a run of words.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|\b'\b|[\u0900-\u0dff])*")


@dataclass(frozen=True)
class Text:
    """A text and its words.

    ``shown`` is the text with accents folded and its case kept; ``words`` are lower case, without
    apostrophes; word i stands at ``shown[starts[i]:ends[i]]``.
    """

    shown: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def between(self, left: int, right: int) -> str:
        """What stands between two words: punctuation, white space, and any words inside."""
        return self.shown[self.ends[left] : self.starts[right]]

    def part(self, first: int, last: int) -> "Text":
        """The words from ``first`` to ``last``, the latter left out, as a text of its own."""
        if first >= last:
            return EMPTY
        start = self.starts[first]
        return Text(
            self.shown[start : self.ends[last - 1]],
            self.words[first:last],
            tuple(s - start for s in self.starts[first:last]),
            tuple(e - start for e in self.ends[first:last]),
        )


EMPTY = Text("", (), (), ())


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """The text without accents: Gödel and Godel, Sørensen and Sorensen are one; case is kept."""
    if text.isascii():
        return text[:MAX_CHARS]
    decomposed = unicodedata.normalize("NFKD", text[:MAX_CHARS].translate(_UNDECOMPOSED))
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).translate(_UNDECOMPOSED)


@lru_cache(maxsize=16384)
def read(text: str) -> Text:
    """The words of a text, at most the first MAX_CHARS characters of it."""
    shown = fold(text)
    found = list(_WORD.finditer(shown))
    return Text(
        shown,
        tuple(match.group().lower().replace("'", "") for match in found),
        tuple(match.start() for match in found),
        tuple(match.end() for match in found),
    )


def occurrences(needle: tuple[str, ...], words: tuple[str, ...]) -> Iterator[int]:
    """Where ``needle`` stands in ``words`` as a contiguous run."""
    if not needle:
        return
    size, first = len(needle), needle[0]
    at = -1
    for _ in range(words.count(first)):
        at = words.index(first, at + 1)
        if words[at : at + size] == needle:
            yield at
