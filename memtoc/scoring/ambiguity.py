"""What the rules leave open: replies that can be read two ways, and replies that fit two values."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from memtoc.scoring.claims import value
from memtoc.scoring.lexicon import PREPOSITIONS
from memtoc.scoring.match import match
from memtoc.scoring.memory import Memory
from memtoc.scoring.rules import ScoringRules
from memtoc.scoring.text import Text

# Rules that decide nothing: the reply may or may not give the value. Each counts as no match, and
# its row is for a judge or an annotator. Every rule of that kind is to be added here.
AMBIGUOUS = frozenset(("ambiguous_date", "ambiguous_number", "ambiguous_name"))
# Rules by which a reply gives each value that it fits, being less exact than they are.
PARTIAL = frozenset(("partial_date", "rounded_quantity"))

_LEFT_OUT = PREPOSITIONS | {"and", "or"}
_CAPITALS = re.compile(r"\b(?:[A-Z]\.?){2,6}(?!\w)")

Decided = tuple[bool, str]


def is_ambiguous(why: Mapping[str, str], memory: Memory | None) -> bool:
    """Return whether a rule that decides nothing stands behind a decision of a row or its memory.

    ``why`` maps fields to rules.
    """
    rules = {*why.values(), memory.why if memory else ""}
    return not rules.isdisjoint(AMBIGUOUS)


def is_partial(
    decisions: Sequence[tuple[Decided, Sequence[str]]], question: str, rules: ScoringRules
) -> bool:
    """Return whether a reply gives two different values of a row, being too coarse for one.

    Each decision comes with the values that it was made on.
    """
    given = [(rule, values[0]) for (matched, rule), values in decisions if matched and values]
    if PARTIAL.isdisjoint(rule for rule, _ in given):
        return False
    pairs = combinations({value for _, value in given}, 2)
    return any(not match("boundary", *pair, question, rules).matched for pair in pairs)


def may_be_initials(span: str, target: str, question: str) -> bool:
    """Return whether one names the other by its initials, as JFK does John F. Kennedy.

    Whether it does so is knowledge of the world, or of an alias, and no rule.
    """
    pairs = ((span, target), (target, span))
    return any(
        _CAPITALS.search(short)
        and _initials(value(short, question)) in _initials_of(value(long, question))
        for short, long in pairs
    )


def _initials(short: Text) -> str:
    """Return the letters of J.F.K. or JFK; a sign that is in no name where it is neither."""
    letters = "".join(short.words)
    one = len(short.words) == 1 or all(len(word) == 1 for word in short.words)
    return letters if one and 2 <= len(letters) <= 6 and letters.isalpha() else "-"


def _initials_of(long: Text) -> tuple[str, str]:
    if len(long.words) < 2 or any(word[0].isdigit() for word in long.words):
        return "", ""
    main = [word for word in long.words if word not in _LEFT_OUT]
    return "".join(w[0] for w in long.words), "".join(w[0] for w in main)
