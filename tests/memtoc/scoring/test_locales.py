"""Replies of codes, lists, markup, names in other languages and refusals, judged by reading.

``locales_first`` was judged before the rules for them were written, the others after they were done
and before they saw them; docs/scoring.md has the first-pass figures of all.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memtoc.scoring import decide, extract, score_memory

GOLDEN = Path(__file__).parent / "golden"
FIELDS = {
    "followed_tool": "followed",
    "kept_memory": "kept",
    "final_correct": "correct",
    "abstain": "abstain",
}


def table(name: str) -> list[dict[str, Any]]:
    lines = GOLDEN.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def disagreements(row: dict[str, Any]) -> dict[str, str]:
    """Return decision -> the rule that decided, where it is not as judged."""
    span = extract(row["reply"])
    memory = score_memory("boundary", row["memory"], row["question"], row["gold"])
    made = decide("boundary", span.text, row["question"], row["gold"], memory, row["tool"])
    return {
        field: f"{made.why[field]} ({span.rule}: {span.text})"
        for field, judged in FIELDS.items()
        if getattr(made, field) is not row[judged]
    }


def report(name: str) -> None:
    """Print the share of each decision that is as judged, and the rows that are not."""
    rows = table(name)
    wrong = Counter[str]()
    for row in rows:
        found = disagreements(row)
        wrong.update(found.keys())
        if found:
            print(row["kind"], repr(row["reply"]), found)
    for field in FIELDS:
        print(f"{field}: {len(rows) - wrong[field]} of {len(rows)}")


# What stays as it is, and why: docs/scoring.md, Limits.
KNOWN = {"FINAL: The ticket costs **$5** (was $10)"}


@pytest.mark.parametrize("name", ["locales_first", "locales_second", "locales_third"])
def test_replies_are_decided_as_a_reader_decides(name: str) -> None:
    wrong = [(row["reply"], found) for row in table(name) if (found := disagreements(row))]
    assert [found for found in wrong if found[0] not in KNOWN] == []


def test_names_of_other_languages_are_loaded_when_a_question_asks_for_them() -> None:
    script = """
import sys
from memtoc.scoring import match
match("boundary", "Isaac Newton", "Lord Byron", "Who is the father of Ada?")
match("boundary", "Germany", "Germany", "Which country is it?")
print("babel" in sys.modules)
print(match("boundary", "Allemagne", "Germany", "Which country is it?").matched)
print("babel" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True"]


@pytest.mark.parametrize("thought", ["<think>" + "hm. " * 9999, "Rome?\n<think>" + "x\n" * 15_000])
def test_a_thought_longer_than_the_bound_is_no_answer(thought: str) -> None:
    span = extract(thought + "FINAL: Paris")
    assert span.text == ("" if thought.startswith("<think>") else "Rome?")
    assert extract(thought + "</think>\nFINAL: Paris").text == "Paris"
