"""Folding and words: what the boundary matcher, the refusals and the dates read.

Everything here reads at most MAX_CHARS characters, so that a runaway reply costs no more than a
long one, and folds case, since an answer in capitals is the same answer.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memtoc.scoring.numerals import FIGURES, TENS, UNITS, joined

# A reply of 128 new tokens is far shorter. The growth tests hold the cost of longer ones.
MAX_CHARS = 2000

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
    | {"⁄": "/"}
)  # fmt: skip
# NFKD would make 21⁄2 of 2½ and 108 of 10⁸.
_FRACTION = re.compile("(?<=\\d)(?=[¼½¾⅐-⅞])")
_POWER = re.compile("(?<=\\d)([⁻⁺]?[⁰¹²³⁴-⁹]+)")
# Accents of Latin, Greek and Cyrillic, Hebrew points and Arabic vowels may be left out in
# writing. Vowel signs of Indic scripts may not: they stay.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0655\u0670]")
# Scripts written without spaces: each sign is a word, so that a name is a run of words.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
# 1,000,000 and 3.5 are one word each; an apostrophe joins only letters (O'Sullivan).
_WORD = re.compile(
    r"\d{1,3}(?:,\d{3})+(?![\d,])|\d+\.\d+(?![\d.])"
    rf"|[{_UNSPACED}]"
    rf"|(?:[^\W_{_UNSPACED}]|[\u0900-\u0dff])(?:[^\W_{_UNSPACED}]|'(?=[^\W\d_])|[\u0900-\u0dff])*"
    r"|&"
)
_SPELLED = FIGURES | {"&": "and", "st": "saint", "mt": "mount", "jr": "junior", "sr": "senior"}


Words = tuple[str, ...]


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
        """Return the words from ``first`` up to ``last`` as a text of its own."""
        if first >= last:
            return EMPTY
        start = self.starts[first]
        return Text(
            self.shown[start : self.ends[last - 1]],
            self.words[first:last],
            tuple(s - start for s in self.starts[first:last]),
            tuple(e - start for e in self.ends[first:last]),
        )

    def words_at(self, start: int, end: int) -> tuple[int, int]:
        """Return the first word inside ``shown[start:end]`` and the one behind the last."""
        return bisect_right(self.ends, start), bisect_left(self.starts, end)

    def before(self, word: int) -> str:
        """Return the characters between a word and the one before it."""
        return self.shown[self.ends[word - 1] if word else 0 : self.starts[word]]

    def after(self, word: int) -> str:
        """Return the characters between a word and the next one."""
        following = self.starts[word + 1] if word + 1 < len(self.starts) else len(self.shown)
        return self.shown[self.ends[word] : following]


EMPTY = Text("", (), (), ())


@lru_cache(maxsize=16384)
def fold(text: str) -> str:
    """Return a text in lower case without accents: Gödel and GODEL, Sørensen and Sorensen are one.

    Each run of white space becomes one space, so that a line end decides nothing.
    """
    text = " ".join(text[:MAX_CHARS].split())
    if text.isascii():
        return text.lower()
    apart = _POWER.sub(r"^\1", _FRACTION.sub(" ", text))
    decomposed = unicodedata.normalize("NFKD", apart).lower().translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed))


@lru_cache(maxsize=16384)
def read(text: str) -> Text:
    """Return a text with its words, read from its first MAX_CHARS characters."""
    shown = fold(text)
    # A text of articles alone ("The The", "A") keeps them.
    return _words(shown, with_articles=False) or _words(shown, with_articles=True) or EMPTY


def _words(shown: str, *, with_articles: bool) -> Text | None:
    words: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _WORD.finditer(shown):
        word, (start, end) = match.group(), match.span()
        # Most words are none of these: one look-up keeps the loop short.
        if word in _ALTERED:
            if not with_articles and _is_article(word, shown, start, end):
                continue
            if words and word in UNITS and words[-1] in TENS and ends[-1] + 1 == start:
                # Twenty-first is one word.
                words[-1], ends[-1] = joined(words[-1], word), end
                continue
            # Leopold I and Leopold the First are one; V. Woolf keeps her initial.
            if word in _ROMAN and words and not _INITIAL.match(shown, end):
                word = _ROMAN[word]
            word = _SPELLED.get(word, word)
        elif "'" in word or "," in word:
            word = word.replace("'", "").replace(",", "")
        words.append(word)
        starts.append(start)
        ends.append(end)
    return Text(shown, tuple(words), tuple(starts), tuple(ends)) if words else None


def _is_article(word: str, shown: str, start: int, end: int) -> bool:
    """Return whether a word is an article; the A of A. A. Milne is an initial, 802.11a a code."""
    if word != "a":
        return word in ("the", "an")
    return not (shown.startswith(".", end) or shown[start - 1 : start].isdigit())


# A stop that more of a name follows, rather than the end of a sentence.
_INITIAL = re.compile(r"\.(?!\s*(?:$|the |he |she |it |this |that |however|i ))")
_ROMAN = {"i": "1st", "v": "5th", "x": "10th"}
_ALTERED = frozenset(("the", "an", "a", *_ROMAN, *UNITS, *_SPELLED))


def occurrences(needle: tuple[str, ...], words: tuple[str, ...]) -> Iterator[int]:
    """Yield the positions at which ``needle`` is a contiguous run in ``words``."""
    if not needle:
        return
    size, first = len(needle), needle[0]
    at = -1
    for _ in range(words.count(first)):
        at = words.index(first, at + 1)
        if words[at : at + size] == needle:
            yield at


def occurs(needle: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether ``needle``, one word or more, is a contiguous run in ``words``."""
    return next(occurrences(needle, words), None) is not None
