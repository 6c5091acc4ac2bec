"""The two matchers by name: ``containment`` (the paper's) and ``boundary`` (ours)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.errors import UserError, one_of
from memtoc.scoring.boundary import same_answer
from memtoc.scoring.containment import contains
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules

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


def match(
    matcher: str,
    answer: str,
    target: str,
    question: str = "",
    rules: ScoringRules = DEFAULT_RULES,
    rivals: Sequence[str] = (),
) -> Match:
    """Return whether ``answer`` (an extracted span) gives ``target`` (gold, return or memory).

    ``rivals`` are the row's other candidates, from which a short form must tell the target apart.
    Raises UserError for an unknown matcher.
    """
    return _match(matcher, answer, target, question, rules, tuple(rivals))


@lru_cache(maxsize=16384)
def _match(
    matcher: str,
    answer: str,
    target: str,
    question: str,
    rules: ScoringRules,
    rivals: tuple[str, ...],
) -> Match:
    check_matcher(matcher)
    if matcher == "containment":
        rule = contains(answer, target)
        return Match(bool(rule), rule or "no_containment")
    return Match(*same_answer(answer, target, question, rules, rivals))
