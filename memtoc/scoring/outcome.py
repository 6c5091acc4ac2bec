"""What the answer did with the return and the memory (outcomes of arXiv 2608.26295)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memtoc.scoring.abstain import abstains
from memtoc.scoring.ambiguity import is_ambiguous, is_partial, may_be_initials
from memtoc.scoring.memory import Memory, any_match
from memtoc.scoring.rules import DEFAULT_RULES, ScoringRules

OUTCOMES = ("followed_tool", "kept_memory", "both", "abstain", "other")


@dataclass(frozen=True)
class Decision:
    """One answer, judged; ``why`` maps each field to the rule that decided it.

    ``ambiguous`` marks what no rule could settle, ``partial`` an answer that gives two different
    values because it is less exact than they are; both in ``boundary`` alone.
    """

    followed_tool: bool
    kept_memory: bool
    final_correct: bool
    abstain: bool
    outcome: str
    why: Mapping[str, str]
    ambiguous: bool = False
    partial: bool = False


def decide(
    matcher: str,
    span: str,
    question: str,
    gold: str,
    memory: Memory | None,
    tool_value: str | None,
    aliases: Sequence[str] = (),
    rules: ScoringRules = DEFAULT_RULES,
) -> Decision:
    """Judge an extracted span against return, memory and gold.

    ``tool_value`` is None if the return carries no value, ``memory`` None if there is none to read.
    A span follows, keeps or is correct by the same matcher; correctness counts aliases of the gold.
    """
    declined = abstains(matcher, span, question)
    # In ours a refusal gives no value, whatever it mentions; the paper counts the mention too.
    silent = declined.rule if matcher == "boundary" and declined.matched else ""
    right = (gold, *aliases)
    returned = () if tool_value is None else (tool_value,)
    known = () if memory is None or memory.absent else (memory.span,)

    def judge(values: Sequence[str], *rivals: Sequence[str]) -> tuple[bool, str]:
        others = [rival for group in rivals for rival in group]
        if silent:
            return False, silent
        found = any_match(matcher, span, values, question, rules, others)
        unknown = found == (False, "different") and matcher == "boundary"
        if unknown and any(may_be_initials(span, value, question) for value in values):
            return False, "ambiguous_name"
        return found

    followed, why_followed = judge(returned, right, known) if returned else (False, "no_value")
    kept, why_kept = judge(known, right, returned) if known else (False, "no_memory")
    correct, why_correct = judge(right, returned, known)
    why = {
        "followed_tool": why_followed,
        "kept_memory": why_kept,
        "final_correct": why_correct,
        "abstain": declined.rule,
    }
    ambiguous = is_ambiguous(why, memory)
    fits = (((followed, why_followed), returned), ((kept, why_kept), known))
    fits_two = is_partial((*fits, ((correct, why_correct), right)), question, rules)
    outcome = _outcome(followed, kept, declined.matched)
    # Where nothing was followed or kept, what was read as a refusal or an answer is the reason.
    why["outcome"] = declined.rule if outcome in ("abstain", "other") else outcome
    return Decision(followed, kept, correct, declined.matched, outcome, why, ambiguous, fits_two)


def _outcome(followed: bool, kept: bool, abstain: bool) -> str:
    if followed and kept:
        return "both"
    if followed or kept:
        return "followed_tool" if followed else "kept_memory"
    return "abstain" if abstain else "other"
