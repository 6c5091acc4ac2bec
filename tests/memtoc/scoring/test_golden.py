"""Tables of single cases, each judged from the rules of docs/scoring.md; ``why`` names the rule."""

import json
from pathlib import Path
from typing import Any

import pytest

from memtoc.scoring import abstains, acknowledges, decide, extract, match, score_memory

GOLDEN = Path(__file__).parent / "golden"


def table(name: str) -> list[dict[str, Any]]:
    lines = GOLDEN.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def named(rows: list[dict[str, Any]], *fields: str) -> list[Any]:
    return [
        pytest.param(row, id=f"{row['why'][:40]}-{'|'.join(str(row[f])[:30] for f in fields)}")
        for row in rows
    ]


@pytest.mark.parametrize("row", named(table("extraction"), "reply"))
def test_the_answer_span_is_found_in_a_raw_reply(row: dict[str, Any]) -> None:
    assert extract(row["reply"]).text == row["span"], row["why"]


@pytest.mark.parametrize("row", named(table("boundary"), "answer", "target"))
def test_the_boundary_matcher_decides_as_the_rules_say(row: dict[str, Any]) -> None:
    decided = match("boundary", row["answer"], row["target"], row["question"])
    assert decided.matched is row["match"], (decided.rule, row["why"])


@pytest.mark.parametrize("row", named(table("outcomes"), "answer"))
def test_the_outcome_of_an_answer_between_return_and_memory(row: dict[str, Any]) -> None:
    memory = score_memory("boundary", row["memory"], row["question"], row["gold"])
    decision = decide("boundary", row["answer"], row["question"], row["gold"], memory, row["tool"])
    assert decision.outcome == row["outcome"], (dict(decision.why), row["why"])


@pytest.mark.parametrize("row", named(table("abstention"), "span"))
def test_a_refusal_is_told_from_an_answer(row: dict[str, Any]) -> None:
    decided = abstains("boundary", row["span"], row["question"])
    assert decided.matched is row["abstains"], (decided.rule, row["why"])
    assert (decided.rule if decided.no_answer else "") == row["no_answer"], row["why"]


def test_acknowledgment_finds_most_conflicts_and_few_that_are_none() -> None:
    rows = table("acknowledgment")
    said = [acknowledges(row["reply"], row["memory"], row["tool"]).conflict for row in rows]
    hits = sum(ours and row["conflict"] for ours, row in zip(said, rows, strict=True))
    precision = hits / sum(said)
    recall = hits / sum(row["conflict"] for row in rows)
    print(f"acknowledgment on {len(rows)} rows: precision {precision:.3f}, recall {recall:.3f}")
    assert precision >= 0.85
    assert recall >= 0.85


def test_nothing_is_acknowledged_where_the_tool_returned_no_value() -> None:
    assert not acknowledges("The error conflicts with my memory.", "Lord Byron", None).conflict
