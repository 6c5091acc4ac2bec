"""Memory, outcome and cell: what the rules add up to."""

import pytest

from harness.errors import UserError
from memtoc.scoring import CELLS, MATCHERS, abstains, cell, decide, match, score_memory

QUESTION = "Who is the father of Ada Lovelace?"


@pytest.mark.parametrize("matcher", MATCHERS)
def test_an_alias_of_the_gold_is_right(matcher: str) -> None:
    memory = score_memory(matcher, "George Gordon", QUESTION, "Lord Byron", ["George Gordon"])
    decision = decide(
        matcher, "George Gordon", QUESTION, "Lord Byron", memory, None, ["George Gordon"]
    )
    assert memory.correct
    assert decision.final_correct
    assert decision.outcome == "kept_memory"


@pytest.mark.parametrize("span", ["", "Unknown", "Q: Who is it?", "The father of Ada Lovelace is"])
def test_a_memory_that_is_no_answer_is_absent_and_cannot_be_kept(span: str) -> None:
    memory = score_memory("boundary", span, QUESTION, "Lord Byron")
    decision = decide("boundary", span, QUESTION, "Lord Byron", memory, None)
    assert (memory.absent, memory.correct) == (True, None)
    assert not decision.kept_memory
    assert decision.why["kept_memory"] == "no_memory"


def test_every_field_of_a_decision_names_its_rule() -> None:
    memory = score_memory("boundary", "Lord Byron", QUESTION, "Lord Byron")
    decision = decide("boundary", "Newton", QUESTION, "Lord Byron", memory, "Isaac Newton")
    assert set(decision.why) == {
        "followed_tool",
        "kept_memory",
        "final_correct",
        "abstain",
        "outcome",
    }
    assert all(decision.why.values())


def test_the_paper_counts_a_value_that_a_refusal_mentions_and_ours_does_not() -> None:
    span = "The father is not specified, the output only gives Isaac Newton."
    followed = {
        matcher: decide(matcher, span, QUESTION, "Lord Byron", None, "Isaac Newton").followed_tool
        for matcher in MATCHERS
    }
    assert followed == {"containment": True, "boundary": False}


def test_cells_follow_from_memory_and_return() -> None:
    right = score_memory("boundary", "Lord Byron", QUESTION, "Lord Byron")
    wrong = score_memory("boundary", "Isaac Newton", QUESTION, "Lord Byron")
    absent = score_memory("boundary", "Unknown", QUESTION, "Lord Byron")
    found = [cell(m, tool) for m in (right, wrong) for tool in (True, False)]
    assert found == ["agree", "arb", "tool_gold", "both_wrong"]
    assert [cell(absent, tool) for tool in (True, False, None)] == ["mem_absent"] * 2 + [None]
    assert cell(right, None) is None
    assert {*found, "mem_absent"} == set(CELLS)


def test_an_unknown_matcher_is_named_with_the_nearest_one() -> None:
    for ask in (lambda: match("boundry", "a", "b"), lambda: abstains("boundry", "a")):
        with pytest.raises(UserError, match="unknown matcher 'boundry': did you mean 'boundary'"):
            ask()
