"""The two matchers by name: ``containment`` (the paper's) and ``boundary`` (ours)."""

from dataclasses import dataclass
from functools import lru_cache

from harness.errors import UserError, one_of
from memtoc.scoring.boundary import same_answer
from memtoc.scoring.containment import contains

MATCHERS = ("containment", "boundary")


@dataclass(frozen=True)
class Match:
    """Whether a text says a value, and the rule that decided."""

    matched: bool
    rule: str


def check_matcher(matcher: str) -> None:
    """Raise UserError for a matcher that does not exist."""
    if matcher not in MATCHERS:
        raise UserError(f"unknown matcher '{matcher}': {one_of(MATCHERS, matcher)}")


@lru_cache(maxsize=16384)
def match(matcher: str, answer: str, target: str, question: str = "") -> Match:
    """Return whether ``answer`` (an extracted span) gives ``target`` (gold, return or memory).

    Raises UserError for an unknown matcher.
    """
    check_matcher(matcher)
    if matcher == "containment":
        rule = contains(answer, target)
        return Match(bool(rule), rule or "no_containment")
    return Match(*same_answer(answer, target, question))
