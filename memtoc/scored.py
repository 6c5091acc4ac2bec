"""A row of episodes.jsonl: whose reply it is, what was read from it, both matchers' decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.completions import Completion, Status
from memtoc.episodes import Episode
from memtoc.questions import Question
from memtoc.scoring import (
    MATCHERS,
    Memory,
    Span,
    acknowledges,
    cell,
    decide,
    extract,
    score_memory,
)


@dataclass(frozen=True)
class ScoredMemory:
    """A closed-book reply as each matcher reads it.

    ``span`` is None and ``scores`` is empty where it says nothing of what the model knows: its
    request failed, or it was cut while the model still thought.
    """

    status: Status
    span: str | None
    scores: Mapping[str, Memory]


def read_memory(question: Question, reply: Completion) -> ScoredMemory:
    """Scores the reply to a question asked with no tool."""
    span = extract(reply.text)
    if _is_no_answer(reply, span):
        return ScoredMemory(reply.status, None, {})
    scores = {
        matcher: score_memory(matcher, span.text, question.text, question.gold, question.aliases)
        for matcher in MATCHERS
    }
    return ScoredMemory(reply.status, span.text, scores)


def score_episodes(
    rows: Sequence[Episode], replies: Sequence[Completion], memories: Mapping[str, Completion]
) -> list[dict[str, Any]]:
    """Each reply beside the memory of its question; ``memories`` are replies by question id."""
    questions = {row.question.id: row.question for row in rows}
    read = {name: read_memory(question, memories[name]) for name, question in questions.items()}
    return [
        score_episode(row, reply, read[row.question.id])
        for row, reply in zip(rows, replies, strict=True)
    ]


def score_episode(row: Episode, reply: Completion, memory: ScoredMemory) -> dict[str, Any]:
    """Scores a reply beside its memory.

    A failed request, and a reply that was cut while the model still thought, get no decisions,
    only their status. The cell is known all the same, unless that befell the memory's request.
    """
    question, span = row.question, extract(reply.text)
    failed = _is_no_answer(reply, span)
    named = acknowledges(reply.text, memory.span, row.tool_value)
    return {
        "id": question.id,
        "condition": row.condition,
        "kind": question.kind,
        "family": question.family,
        "fold": question.fold,
        "chain": question.chain,
        "question": question.text,
        "gold": question.gold,
        "tool_value": row.tool_value,
        "status": reply.status,
        "span": None if failed else span.text,
        "span_rule": None if failed else span.rule,
        "memory_span": memory.span,
        "memory_status": memory.status,
        "acknowledged": None if failed else named.conflict,
        "acknowledged_rule": None if failed else named.rule,
        "scores": {
            matcher: _scores(matcher, row, None if failed else span, memory.scores.get(matcher))
            for matcher in MATCHERS
        },
    }


def _is_no_answer(reply: Completion, span: Span) -> bool:
    return reply.status == "error" or span.rule == "unclosed_thought"


def _scores(matcher: str, row: Episode, span: Span | None, memory: Memory | None) -> dict[str, Any]:
    question = row.question
    found = {
        "cell": cell(memory, row.tool_correct) if memory else None,
        "memory_correct": memory.correct if memory else None,
    }
    if span is None:
        return {**found, "outcome": None}
    decision = decide(
        matcher,
        span.text,
        question.text,
        question.gold,
        memory,
        row.tool_value,
        question.aliases,
    )
    return {**found, **asdict(decision)}
