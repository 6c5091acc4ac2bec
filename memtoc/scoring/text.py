"""Folding and words: what the boundary matcher, the refusals and the dates read.

Nothing here looks further than MAX_CHARS into a text, so that a runaway reply costs no more than
a long one. Nothing here keeps case: an answer in capitals is the same answer.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memtoc.scoring.numerals import numeral

MAX_CHARS = 4000

# Letters that NFKD leaves whole although a reader takes them for a plain letter with a stroke,
# and the many forms of apostrophe, quote and dash.
_UNDECOMPOSED = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
        "ħ": "h", "ŋ": "n", "ŧ": "t", "ß": "ss", "ə": "e",
    }
    | dict.fromkeys("ʻʼ’‘`´ʿʾ′", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("–—‐‑−", "-")
)  # fmt: skip
# Accents of Latin, Greek and Cyrillic, Hebrew points and Arabic vowels may be left out in
# writing. Vowel signs of Indic scripts may not: they stay.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0655\u0670]")
# Scripts written without spaces: each sign is a word, so that a name is a run of words.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(
    r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+\.\d+(?![\d.])"
    rf"|[{_UNSPACED}]"
    rf"|(?:[^\W_{_UNSPACED}]|[\u0900-\u0dff])(?:[^\W_{_UNSPACED}]|'(?=[^\W\d_])|[\u0900-\u0dff])*"
    r"|&"
)
_SPELLED = {"&": "and", "st": "saint", "mt": "mount", "jr": "junior", "sr": "senior"}


@dataclass(frozen=True)
class Text:
    """A text and its words.

    ``shown`` is the text in lower case without accents; ``words`` are without apostrophes and
    articles, with numerals as figures; word i stands at ``shown[starts[i]:ends[i]]``.
    """

    shown: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

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

    def before(self, word: int) -> str:
        """The characters between the word and the one before it."""
        return self.shown[self.ends[word - 1] if word else 0 : self.starts[word]]

    def after(self, word: int) -> str:
        """The characters between the word and the next one."""
        following = self.starts[word + 1] if word + 1 < len(self.starts) else len(self.shown)
        return self.shown[self.ends[word] : following]


EMPTY = Text("", (), (), ())


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Lower case without accents: Gödel and GODEL, Sørensen and Sorensen are one."""
    text = text[:MAX_CHARS]
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).lower().translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


@lru_cache(maxsize=16384)
def read(text: str) -> Text:
    """The words of a text, at most the first MAX_CHARS characters of it."""
    shown = fold(text)
    found = [match for match in _WORD.finditer(shown) if not _is_article(match, shown)]
    found = found or list(_WORD.finditer(shown))
    words, starts, ends = [], [], []
    at = 0
    while at < len(found):
        spelled = _spelled(found, at, shown)
        word, size = numeral(spelled, found[at + 1].group() if at + 1 < len(found) else "")
        words.append(word)
        starts.append(found[at].start())
        ends.append(found[at + size - 1].end())
        at += size
    return Text(shown, tuple(words), tuple(starts), tuple(ends))


def _is_article(match: re.Match[str], shown: str) -> bool:
    """An article is left out, an initial (A. A. Milne) is not."""
    word = match.group()
    return word in ("the", "an") or (word == "a" and not shown.startswith(".", match.end()))


# A stop that more of a name follows, rather than the end of a sentence.
_INITIAL = re.compile(r"\.(?!\s*(?:$|the |he |she |it |this |that |however|i ))")
_ROMAN = {"i": "1st", "v": "5th", "x": "10th"}


def _spelled(found: list[re.Match[str]], at: int, shown: str) -> str:
    word = found[at].group().replace("'", "").replace(",", "")
    # Leopold I and Leopold the First are one; V. Woolf keeps her initial.
    if word in _ROMAN and at and not _INITIAL.match(shown, found[at].end()):
        return _ROMAN[word]
    return _SPELLED.get(word, word)


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
