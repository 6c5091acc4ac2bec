"""The model's closed-book answer, and the cell that it gives together with the tool's return."""

from collections.abc import Sequence
from dataclasses import dataclass

from memtoc.scoring.abstain import abstains
from memtoc.scoring.match import match
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules

# Cells of the design (arXiv 2608.26295): is the memory right, is the return right?
CELLS = ("agree", "arb", "tool_gold", "both_wrong", "mem_absent")


@dataclass(frozen=True)
class Memory:
    """The closed-book answer, judged; ``correct`` is None if it is absent, ``why`` is the rule."""

    span: str
    absent: bool
    correct: bool | None
    why: str


def score_memory(
    matcher: str,
    span: str,
    question: str,
    gold: str,
    aliases: Sequence[str] = (),
    rules: ScoringRules = DEFAULT_RULES,
) -> Memory:
    """Return the memory that a closed-book span gives, judged by gold and its aliases.

    The memory is absent if the span abstains, hands the question back, breaks off or is empty.
    """
    declined = abstains(matcher, span, question)
    # Null, and not false: what the model does not say it knows is neither right nor wrong.
    if declined.matched or declined.no_answer:
        return Memory(span, True, None, declined.rule)
    correct, why = any_match(matcher, span, (gold, *aliases), question, rules)
    return Memory(span, False, correct, why)


def any_match(
    matcher: str,
    span: str,
    values: Sequence[str],
    question: str,
    rules: ScoringRules = DEFAULT_RULES,
    rivals: Sequence[str] = (),
) -> tuple[bool, str]:
    """Return whether the span gives one of the values, and the first match's rule, else gold's.

    ``values`` name one thing, ``rivals`` are the other candidates of the row.
    """
    decisions = [match(matcher, span, value, question, rules, rivals) for value in values]
    hit = next((decision for decision in decisions if decision.matched), decisions[0])
    return hit.matched, hit.rule


def cell(memory: Memory, tool_correct: bool | None) -> str | None:
    """Return the cell of a row, one of ``CELLS``; None for ``no_tool``, which has no return.

    ``tool_correct`` is None for ``no_tool`` and False for an error payload, as in the release.
    """
    if tool_correct is None:
        return None
    if memory.absent:
        return "mem_absent"
    if memory.correct:
        return "agree" if tool_correct else "arb"
    return "tool_gold" if tool_correct else "both_wrong"
