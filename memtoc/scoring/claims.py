"""Which words of a span are the value that it asserts.

A model answers in a sentence that repeats the question, opens with a hedge and ends in a caveat.
This module cuts those off.
"""

import re
from bisect import bisect_left
from functools import lru_cache

from memtoc.scoring.clauses import clauses_of, is_abbreviation
from memtoc.scoring.lexicon import COMMON, COPULAS, HEADS, NO_PARTICIPLES, PREPOSITIONS, VERBS
from memtoc.scoring.text import Text, occurs, read

# Left over in front of a value behind the echo: "... directed | by Ridley Scott", "probably 1790".
_OPENERS = frozenset(("by", "in", "on", "at", "circa", "likely", "probably", "possibly", "perhaps"))
# Five letters, so that sponsors and sponsoring are one word of the question.
STEM = 5
# Part of the echo all the same: what they do to the value is told apart in ``rejection``.
_NEGATIONS = frozenset(
    ("dont", "doesnt", "didnt", "isnt", "wasnt", "cant", "couldnt", "wouldnt", "doubt", "unlikely")
)
_HEDGE = re.compile(
    r"^\W*(?:although|though|while|not)\b|(?:\bnot|n't) (?:\w+ )?"
    r"(?:sure|certain|positive|know|think|believe)\b"
    r"|\b(?:unsure|uncertain|afraid|sorry|cannot|can't|could not|couldn't|unable"
    r"|doubt|doubtful|unlikely)\b"
)

# A value ends where a sentence, a relative clause or a caveat begins.
_VALUE_END = re.compile(
    r"[;\n]|[.!?](?=\s|$)|,?\s\(?(?:but|however|although|though|which|who|whose|while|whereas"
    r"|based on|according to|rather than|instead of)\b"
    r"|,\s(?:and|as|so|not|because|since|if|the tool|i|he|she|it|they|this|that)\b"
)


def value(text: str, question: str) -> Text:
    """Return the words that answer the question, without echo, opening hedges and caveats.

    "The father of Ada is likely Lord Byron, but I am not sure" gives "lord byron". A text that
    repeats nothing, and one that holds the question's words alone, is its own value.
    """
    said = read(text)
    return said.part(*value_range(text, question))


@lru_cache(maxsize=16384)
def value_range(text: str, question: str) -> tuple[int, int]:
    """Return the index of the value's first word, and the index behind its last word."""
    said, known = read(text), known_words(question)
    first = _echo_end(said, _behind_hedge(said, question), known)
    return first, _echo_start(said, first, clause_end(said, first), known)


@lru_cache(maxsize=4096)
def known_words(question: str) -> frozenset[str]:
    """Return the stems of the question's words: "sponsors" and "sponsoring" share one."""
    return frozenset(word[:STEM] for word in read(question).words if word not in COMMON)


def _behind_hedge(said: Text, question: str) -> int:
    """Return the index of the first word behind an opening hedge ("I'm not sure, but")."""
    clauses = clauses_of(said.shown)
    # The value of "I'm not sure, but it may be Lord Byron" stands behind the "but".
    if len(clauses) == 1 or not _HEDGE.search(said.shown, *clauses[0]):
        return 0
    start, end = clauses[1]
    behind = bisect_left(said.starts, start)
    return behind if asserts(said.shown[start:end], question) else 0


def _echoes(word: str, known: frozenset[str]) -> bool:
    return _is_common(word) or word[:STEM] in known


def _is_common(word: str) -> bool:
    # Participles and adverbs ("directed", "officially") carry no value of their own. Names that
    # look like one (Harding, Sicily) are told by a list: capitals are gone here.
    inflected = len(word) > 5 and word.endswith(("ed", "ing", "ly"))
    return word in COMMON or (inflected and word not in NO_PARTICIPLES)


def _echo_end(said: Text, start: int, known: frozenset[str]) -> int:
    """Return where the value starts: behind the last copula or preposition of the opening echo.

    A preposition behind a copula counts until a word of the question follows: in "the answer is
    Catherine of Navarre" the value starts with Catherine even if the question names her.
    """
    cut, sentence, repeated, named = start, False, 0, False
    for at in range(start, len(said.words)):
        word = said.words[at]
        if not _echoes(word, known) and word not in _NEGATIONS:
            break
        copula = word in COPULAS
        named = not copula and sentence and (named or not _is_common(word))
        sentence |= copula
        repeated += word[:STEM] in known
        if copula or (word in PREPOSITIONS and not named) or ":" in said.after(at):
            cut = at + 1
    else:
        # Nothing but the question's words: there is no value to tell from the echo.
        return start
    first = cut if sentence or repeated >= 2 or ":" in said.after(cut - 1) else start
    while first < len(said.words) - 1 and said.words[first] in _OPENERS:
        first += 1
    return first


def _echo_start(said: Text, first: int, last: int, known: frozenset[str]) -> int:
    """Return where a closing echo starts, as in "Lord Byron | is the father of Ada".

    A verb of the question may open it as well: "The Thames | flows past the Tower".
    """
    repeated = copula = 0
    opening = last
    for at in range(last - 1, first, -1):
        word = said.words[at]
        if not _echoes(word, known):
            break
        opening = at
        repeated += word[:STEM] in known or word == "answer"
        copula = at if word in COPULAS else copula
    if copula and repeated:
        return copula
    for at in range(opening, last - 2):
        word = said.words[at]
        verb = word[:STEM] in known and (word in VERBS or word.endswith(("s", "ed")))
        if verb and word not in HEADS and not PREPOSITIONS.isdisjoint(said.words[at:last]):
            return at
    return last


def clause_end(said: Text, first: int) -> int:
    """Return the index behind the last word of the clause that word ``first`` stands in."""
    if first >= len(said.words):
        return len(said.words)
    for match in _VALUE_END.finditer(said.shown, said.starts[first] + 1):
        # The stop of "H. C. Artmann" ends no sentence.
        if match.group() != "." or not is_abbreviation(said.shown, match.start()):
            return bisect_left(said.starts, match.start())
    return len(said.words)


def repeats(said: Text, question: str) -> bool:
    """Return whether a text holds nothing but the question's words and common ones."""
    known = known_words(question)
    return bool(known) and all(_echoes(word, known) for word in said.words)


def asserts(clause: str, question: str) -> bool:
    """Return whether a clause says more than the question's words and common ones.

    The question's words in an order of their own count: "the answer is Henry Ada" asserts a name.
    """
    known = known_words(question)
    words = read(clause).words
    if any(not _echoes(word, known) for word in words):
        return True
    last = max((at for at, word in enumerate(words) if word in COPULAS), default=-1)
    named = tuple(word for word in words[last + 1 :] if word not in COMMON)
    asked = tuple(word for word in read(question).words if word not in COMMON)
    return len(named) > 1 and not occurs(named, asked)
