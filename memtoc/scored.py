"""A row of episodes.jsonl: whose reply it is, what was read from it, both matchers' decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.completions import Completion, Status
from memtoc.episodes import Episode
from memtoc.questions import Question
from memtoc.scoring import (
    DEFAULT_RULES,
    MATCHERS,
    Memory,
    ScoringRules,
    Span,
    acknowledges,
    cell,
    decide,
    extract,
    score_memory,
)


@dataclass(frozen=True)
class ScoredMemory:
    """A row of memories.jsonl: a closed-book reply as each matcher reads it.

    ``span`` is None and ``scores`` is empty where the reply says nothing of what the model knows:
    its request failed, or it was cut while the model still thought.
    """

    id: str
    status: Status
    span: str | None
    scores: Mapping[str, Memory]


@dataclass(frozen=True)
class Score:
    """What one matcher decides on a row.

    ``cell`` and ``memory_correct`` are None without a memory that could be read. ``outcome`` and
    what follows are None without a reply that could be read; ``why`` maps each of them to the rule
    that decided it. ``ambiguous`` and ``partial`` are as in ``Decision``, None in rows of older
    scorers.
    """

    cell: str | None
    memory_correct: bool | None
    outcome: str | None = None
    followed_tool: bool | None = None
    kept_memory: bool | None = None
    final_correct: bool | None = None
    abstain: bool | None = None
    why: Mapping[str, str] | None = None
    ambiguous: bool | None = None
    partial: bool | None = None


@dataclass(frozen=True)
class ScoredRow:
    """A reply beside its memory. ``scores`` are by matcher.

    ``span`` and ``acknowledged``, with the rules that gave them, are None without a reply that
    could be read; ``tool_value`` is None where the return carried no value.
    """

    id: str
    condition: str
    kind: str
    family: str
    fold: str
    chain: str
    question: str
    gold: str
    tool_value: str | None
    status: Status
    span: str | None
    span_rule: str | None
    memory_span: str | None
    memory_status: Status
    acknowledged: bool | None
    acknowledged_rule: str | None
    scores: Mapping[str, Score]


def read_memory(
    question: Question, reply: Completion, rules: ScoringRules = DEFAULT_RULES
) -> ScoredMemory:
    """Score the reply to a question asked with no tool."""
    span = extract(reply.text)
    if _is_no_answer(reply, span):
        return ScoredMemory(question.id, reply.status, None, {})
    scores = {
        matcher: score_memory(
            matcher, span.text, question.text, question.gold, question.aliases, rules
        )
        for matcher in MATCHERS
    }
    return ScoredMemory(question.id, reply.status, span.text, scores)


def score_episodes(
    rows: Sequence[Episode],
    replies: Sequence[Completion],
    memories: Mapping[str, Completion],
    rules: ScoringRules = DEFAULT_RULES,
) -> list[ScoredRow]:
    """Score each reply beside the memory of its question; ``memories`` are by question id."""
    questions = {row.question.id: row.question for row in rows}
    read = {
        name: read_memory(question, memories[name], rules) for name, question in questions.items()
    }
    return [
        score_episode(row, reply, read[row.question.id], rules)
        for row, reply in zip(rows, replies, strict=True)
    ]


def score_episode(
    row: Episode, reply: Completion, memory: ScoredMemory, rules: ScoringRules = DEFAULT_RULES
) -> ScoredRow:
    """Score a reply beside its memory.

    A failed request, and a reply that was cut while the model still thought, get no decisions,
    only their status. The cell is known all the same, unless that befell the memory's request.
    """
    question, span = row.question, extract(reply.text)
    failed = _is_no_answer(reply, span)
    named = acknowledges(reply.text, memory.span, row.tool_value)
    return ScoredRow(
        id=question.id,
        condition=row.condition,
        kind=question.kind,
        family=question.family,
        fold=question.fold,
        chain=question.chain,
        question=question.text,
        gold=question.gold,
        tool_value=row.tool_value,
        status=reply.status,
        span=None if failed else span.text,
        span_rule=None if failed else span.rule,
        memory_span=memory.span,
        memory_status=memory.status,
        acknowledged=None if failed else named.conflict,
        acknowledged_rule=None if failed else named.rule,
        scores={
            matcher: _score(
                matcher, row, None if failed else span, memory.scores.get(matcher), rules
            )
            for matcher in MATCHERS
        },
    )


def _is_no_answer(reply: Completion, span: Span) -> bool:
    return reply.status == "error" or span.rule == "unclosed_thought"


def _score(
    matcher: str, row: Episode, span: Span | None, memory: Memory | None, rules: ScoringRules
) -> Score:
    question = row.question
    where = cell(memory, row.tool_correct) if memory else None
    known = memory.correct if memory else None
    if span is None:
        return Score(where, known)
    found = decide(
        matcher,
        span.text,
        question.text,
        question.gold,
        memory,
        row.tool_value,
        question.aliases,
        rules,
    )
    return Score(
        where,
        known,
        found.outcome,
        found.followed_tool,
        found.kept_memory,
        found.final_correct,
        found.abstain,
        found.why,
        found.ambiguous,
        found.partial,
    )
