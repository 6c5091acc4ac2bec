"""Replies about names, judged by reading before the rules saw them, and the switches.

``docs/scoring.md`` says how many of each table the rules had right at first.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from memtoc.scoring import ScoringRules, acknowledges, decide, extract, match, score_memory

GOLDEN = Path(__file__).parent / "golden"
TABLES = (
    "names_first",
    "names_second",
    "names_third",
    "names_fourth",
    "names_fifth",
    "names_sixth",
)


def table(name: str) -> list[dict[str, Any]]:
    lines = GOLDEN.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


ROWS = [
    pytest.param(row, id=f"{row['why'][:30]}-{row['reply'][:40]}-{row['gold'][:20]}")
    for name in TABLES
    for row in table(name)
    # Rows that no rule settles are kept with the reason.
    if "open" not in row
]


@pytest.mark.parametrize("row", ROWS)
def test_a_reply_is_judged_as_a_reader_judged_it(row: dict[str, Any]) -> None:
    question, gold = row["question"], row["gold"]
    span = extract(row["reply"]).text
    memory = row["memory"] and score_memory("boundary", row["memory"], question, gold)
    decision = decide("boundary", span, question, gold, memory, row["tool"])
    judged = (row["followed"], row["kept"], row["correct"], row["abstain"])
    ours = (
        decision.followed_tool,
        decision.kept_memory,
        decision.final_correct,
        decision.abstain,
    )
    assert ours == judged, dict(decision.why)
    named = acknowledges(row["reply"], row["memory"], row["tool"])
    # Null where a reader could take it either way.
    assert row["acknowledged"] in (None, named.conflict), named.rule


QUESTION = "Who discovered penicillin?"


def test_a_surname_alone_is_a_switch() -> None:
    strict = ScoringRules(surname=False)
    for rules, matched in ((ScoringRules(), True), (strict, False)):
        found = match("boundary", "Fleming", "Alexander Fleming", QUESTION, rules)
        assert found.matched is matched
        memory = score_memory(
            "boundary", "It was Fleming", QUESTION, "Alexander Fleming", (), rules
        )
        assert memory.correct is matched
        decision = decide(
            "boundary", "Florey", QUESTION, "Ann Hale", memory, "Howard Florey", (), rules
        )
        assert decision.followed_tool is matched


def test_a_surname_of_two_candidates_gives_neither() -> None:
    rivals = ("Ian Fleming",)
    found = match("boundary", "Fleming", "Alexander Fleming", QUESTION, rivals=rivals)
    assert (found.matched, found.rule) == (False, "surname_shared")


def test_rules_that_are_set_otherwise_are_named() -> None:
    assert ScoringRules().changes() == ""
    assert ScoringRules(surname=False).changes() == "surname=false"
