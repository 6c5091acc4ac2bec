"""A row of episodes.jsonl: whose reply it is, what was read from it, both matchers' decisions."""

from dataclasses import asdict
from typing import Any

from harness.completions import Completion
from memtoc.episodes import Episode
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


def score_episode(row: Episode, reply: Completion, memory_reply: Completion) -> dict[str, Any]:
    """Scores a reply beside its memory.

    A failed request, and a reply that was cut while the model still thought, get no decisions,
    only their status. The cell is known all the same, unless that befell the memory's request.
    """
    question, span = row.question, extract(reply.text)
    memory_span = extract(memory_reply.text)
    failed = _is_no_answer(reply, span)
    known = None if _is_no_answer(memory_reply, memory_span) else memory_span
    named = acknowledges(reply.text, known.text if known else None, row.tool_value)
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
        "memory_span": known.text if known else None,
        "memory_status": memory_reply.status,
        "acknowledged": None if failed else named.conflict,
        "acknowledged_rule": None if failed else named.rule,
        "scores": {
            matcher: _scores(matcher, row, None if failed else span, known) for matcher in MATCHERS
        },
    }


def _is_no_answer(reply: Completion, span: Span) -> bool:
    return reply.status == "error" or span.rule == "unclosed_thought"


def _scores(
    matcher: str, row: Episode, span: Span | None, memory_span: Span | None
) -> dict[str, Any]:
    question = row.question
    memory: Memory | None = None
    if memory_span is not None:
        memory = score_memory(
            matcher, memory_span.text, question.text, question.gold, question.aliases
        )
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
