"""Values that stand in a reply only because it repeats the question."""

import re

from memtoc.scoring.lexicon import COMMON, COPULAS, PREPOSITIONS
from memtoc.scoring.text import Text, occurs, read

_OPENS = re.compile(r"\W*(?:(?:q|question)\W+)?(?:who|whom|whose|what|which|when|where|why|how)\b")
_CHOICE = re.compile(r"\bor\b")


def only_repeated(said: Text, first: int, last: int, question: str) -> bool:
    """Return whether words ``first`` up to ``last`` are the question's, repeated with the rest.

    The text says nothing beyond the question's words and common ones. "The capital of
    Luxembourg" repeats it; "Luxembourg", "It is Luxembourg" and "The capital is Luxembourg" answer.
    Of a choice ("Is Cork or Dublin the capital?") one side alone is an answer, both are none.
    """
    words = said.words[first:last]
    asked = read(question)
    if not occurs(words, asked.words):
        return False
    rest = said.words[:first] + said.words[last:]
    chosen = _CHOICE.search(asked.shown)
    if chosen:
        return bool(_CHOICE.search(said.shown)) and len(rest) > 1
    # "It is Luxembourg" and "In Luxembourg" say no more than the name.
    carriers = COPULAS | PREPOSITIONS - {"of"} | COMMON - set(asked.words)
    if carriers.issuperset(rest):
        return False
    # The edge of a sentence, beside its copula: "The capital is | Luxembourg", "Luxembourg | is".
    closes = last == len(said.words) and first and said.words[first - 1] in COPULAS
    opens = not first and said.words[last : last + 1] and said.words[last] in COPULAS
    return not (closes or opens) or occurs(said.words, asked.words)


def offers_both(said: Text, first: int, last: int, question: str) -> bool:
    """Return whether a choice is handed back in a sentence: "Cork or Dublin is the capital"."""
    asked = read(question).words
    behind, ahead = said.words[first : last + 2], said.words[max(0, first - 2) : last]
    return (behind[last - first :][:1] == ("or",) and occurs(behind, asked)) or (
        ahead[1:2] == ("or",) and occurs(ahead, asked)
    )


def asks_back(said: Text) -> bool:
    """Return whether a text is a question itself: "Cork or Dublin?", "What's the capital?".

    "Dublin?" is an answer that is not sure of itself.
    """
    asks = said.shown.rstrip(" \"')*").endswith("?")
    return asks and bool(_CHOICE.search(said.shown) or _OPENS.match(said.shown))
