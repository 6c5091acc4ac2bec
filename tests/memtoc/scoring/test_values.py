"""Dates and quantities: tables judged before they were run, and what single rules say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memtoc.scoring import Decision, ScoringRules, decide, match, score_memory

GOLDEN = Path(__file__).parent / "golden"
BORN = "When was she born?"


def table(name: str) -> list[Any]:
    lines = GOLDEN.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        pytest.param(row, id=f"{row['answer'][:30]}-{row.get('why', row.get('target'))[:30]}")
        for row in rows
    ]


def judged(row: dict[str, Any]) -> Decision:
    memory = score_memory("boundary", row["memory"], row["question"], row["gold"])
    return decide("boundary", row["answer"], row["question"], row["gold"], memory, row["tool"])


def decided(
    answer: str, memory: str, tool: str, question: str = BORN, rules: ScoringRules | None = None
) -> Decision:
    rules = rules or ScoringRules()
    known = score_memory("boundary", memory, question, memory, rules=rules)
    return decide("boundary", answer, question, memory, known, tool, rules=rules)


@pytest.mark.parametrize(
    "row",
    [*table("values"), *table("values_second"), *table("values_third"), *table("values_fourth")],
)
def test_a_reply_about_a_date_or_a_quantity_is_read_as_a_reader_does(row: dict[str, Any]) -> None:
    found = judged(row)
    said = (found.followed_tool, found.kept_memory, found.final_correct, found.abstain)
    expected = tuple(row[name] for name in ("followed", "kept", "correct", "abstain"))
    assert said == expected, (dict(found.why), row["why"])


@pytest.mark.parametrize(
    ("answer", "target", "question", "rule"),
    [
        ("44 BCE", "44 BC", "", "same_date"),
        ("AD 79", "79", "When did Vesuvius erupt?", "same_date"),
        ("44 AD", "44 BC", "", "different_date"),
        ("04/05/1790", "4 May 1790", "", "ambiguous_date"),
        ("4/5/1790", "04/05/1790", "", "same_date"),
        ("04/05/1790", "1790", "", "same_date"),
        ("04.05.1790", "4 May 1790", "", "same_date"),
        ("25/13/1976", "25 December 1976", "", "no_date"),
        ("25 December 76", "25 December 1976", "", "ambiguous_date"),
        ("June 1985", "12 June 1985", "", "partial_date"),
        ("1985", "12 June 1985", "In which year was it?", "same_date"),
        ("1.234", "1,234", "", "ambiguous_number"),
        ("1.234 islands", "1,234", "How many islands are there?", "same_number"),
        ("8 miles", "8 km", "", "different_unit"),
        ("9 km", "8,611 m", "", "different_number"),
        ("8.611 km", "8,611 m", "", "same_quantity"),
        ("42.2 km", "26.2 miles", "", "rounded_quantity"),
        ("€5", "$5", "", "different_unit"),
        ("over 8,611 m", "8,611 m", "", "limit"),
        ("1,850", "1850", "How many people live there?", "same_number"),
    ],
)
def test_the_rule_that_decided_is_named(answer: str, target: str, question: str, rule: str) -> None:
    assert match("boundary", answer, target, question).rule == rule


@pytest.mark.parametrize("row", table("values_pairs"))
def test_an_answer_and_a_value_are_one_or_two(row: dict[str, Any]) -> None:
    found = match("boundary", row["answer"], row["target"], row["question"])
    assert found.matched is row["match"], found.rule


def test_an_answer_that_fits_two_dates_gives_both_and_its_row_says_so() -> None:
    both = decided("June 1985", "12 June 1985", "30 June 1985")
    one = decided("June 1985", "12 June 1985", "30 July 1985")
    same = decided("June 1985", "12 June 1985", "1985-06-12")
    assert (both.outcome, both.partial) == ("both", True)
    assert (one.outcome, one.partial) == ("kept_memory", False)
    assert (same.outcome, same.partial) == ("both", False)


def test_a_switch_asks_for_the_whole_date() -> None:
    strict = ScoringRules(partial_dates=False)
    assert decided("June 1985", "12 June 1985", "30 July 1985", rules=strict).outcome == "other"
    exact = decided("12 June 1985", "12 June 1985", "30 July 1985", rules=strict)
    asked = "In which year was she born?"
    year = decided("1985", "12 June 1985", "30 July 1986", asked, strict)
    assert (exact.outcome, year.outcome) == ("kept_memory", "kept_memory")


def test_what_can_be_read_two_ways_is_no_match_and_ambiguous() -> None:
    date = decided("04/05/1790", "4 May 1790", "12 June 1790")
    name = decided("JFK", "John F. Kennedy", "Richard Nixon", "Who was the president?")
    settled = decided("Lyndon Johnson", "John F. Kennedy", "Richard Nixon", "Who was it?")
    refused = decided("I do not know", "John F. Kennedy", "Richard Nixon", "Who was it?")
    assert (date.outcome, date.final_correct, date.ambiguous) == ("other", False, True)
    assert (name.outcome, name.why["kept_memory"]) == ("other", "ambiguous_name")
    assert [name.ambiguous, settled.ambiguous, refused.ambiguous] == [True, False, False]


def test_a_memory_that_can_be_read_two_ways_makes_its_row_ambiguous() -> None:
    memory = score_memory("boundary", "04/05/1790", BORN, "4 May 1790")
    found = decide("boundary", "12 June 1790", BORN, "4 May 1790", memory, "12 June 1790")
    assert (found.outcome, found.ambiguous) == ("followed_tool", True)


def test_the_paper_knows_neither_word() -> None:
    memory = score_memory("containment", "4 May 1790", BORN, "4 May 1790")
    found = decide("containment", "04/05/1790", BORN, "4 May 1790", memory, "May 1790")
    assert (found.ambiguous, found.partial) == (False, False)


def test_the_units_library_is_loaded_where_two_units_meet_and_not_before() -> None:
    program = (
        "import sys; from memtoc.scoring import match\n"
        "match('boundary', '8,611 m', '8,611 metres', '')\n"
        "print('pint' in sys.modules)\n"
        "match('boundary', '8.611 km', '8,611 m', '')\n"
        "print('pint' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    "answer",
    ["9" * 2000 + " km", "9e99 km", "1e40 km", "5 km " * 400, "1." * 900, "3 " * 900 + "km"],
)
def test_a_number_out_of_all_bounds_is_read_or_left(answer: str) -> None:
    assert match("boundary", answer, "8,611 m").matched is False
    match("boundary", "8,611 m", answer)
