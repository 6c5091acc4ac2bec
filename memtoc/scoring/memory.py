"""The model's closed-book answer: is there one, and is it right?"""

from collections.abc import Sequence
from dataclasses import dataclass

from memtoc.scoring.abstain import abstains
from memtoc.scoring.match import match


@dataclass(frozen=True)
class Memory:
    """``correct`` is None where there is no memory (``absent``); ``why`` names the rule."""

    span: str
    absent: bool
    correct: bool | None
    why: str


def score_memory(
    matcher: str, span: str, question: str, gold: str, aliases: Sequence[str] = ()
) -> Memory:
    """Scores the closed-book span against gold or any of its aliases."""
    declined = abstains(matcher, span, question)
    if declined.matched or declined.no_answer:
        return Memory(span, True, None, declined.rule)
    correct, why = any_match(matcher, span, (gold, *aliases), question)
    return Memory(span, False, correct, why)


def any_match(matcher: str, span: str, values: Sequence[str], question: str) -> tuple[bool, str]:
    """Whether the span gives one of the values; the rule is the first match's, else gold's."""
    decisions = [match(matcher, span, value, question) for value in values]
    hit = next((decision for decision in decisions if decision.matched), decisions[0])
    return hit.matched, hit.rule
