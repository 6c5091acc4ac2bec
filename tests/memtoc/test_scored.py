from pathlib import Path

import pytest
from support.arms import arm_of, mock_config, row, write_rows

from harness.completions import Completion, failed
from memtoc.episodes import episode
from memtoc.scored import Score, ScoredRow, read_memory, score_episode
from memtoc.scoring import MATCHERS


def scored(
    root: Path, towns: Path, condition: str, reply: Completion, memory: Completion
) -> ScoredRow:
    arm = arm_of(mock_config(root, towns))
    question = arm.questions[0]
    known = read_memory(question, memory)
    return score_episode(episode(arm.settings, question, condition), reply, known)


def said(text: str) -> Completion:
    return Completion(text, "stop")


CELLS = [
    ("tool_right", "FINAL: Ravenna", "agree"),
    ("tool_right", "FINAL: Rome", "tool_gold"),
    ("tool_right", "FINAL: UNKNOWN", "mem_absent"),
    ("tool_right", "", "mem_absent"),
    ("tool_wrong", "FINAL: Ravenna", "arb"),
    ("tool_wrong", "FINAL: Rome", "both_wrong"),
    ("tool_wrong", "FINAL: Modena", "both_wrong"),
    ("tool_wrong_far", "FINAL: Ravenna", "arb"),
    ("tool_error", "FINAL: Ravenna", "arb"),
    ("tool_error", "FINAL: Rome", "both_wrong"),
    ("noop", "FINAL: Ravenna", "arb"),
    ("no_tool", "FINAL: Ravenna", None),
]


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize(("condition", "memory", "cell"), CELLS)
def test_the_cell_follows_from_the_memory_and_the_return(
    tmp_path, towns, matcher, condition, memory, cell
):
    found = scored(tmp_path, towns, condition, said("FINAL: x"), said(memory))
    assert found.scores[matcher].cell == cell


@pytest.mark.parametrize("reply", [failed("down"), said("<think> hm"), said("<reasoning>\nSo")])
def test_what_is_no_answer_gets_no_decision_but_a_cell(tmp_path, towns, reply):
    found = scored(tmp_path, towns, "tool_wrong", reply, said("FINAL: Ravenna"))
    for matcher in MATCHERS:
        assert found.scores[matcher] == Score("arb", memory_correct=True)
    assert (found.span, found.acknowledged) == (None, None)
    assert found.status == ("error" if reply.error else "truncated")


@pytest.mark.parametrize("memory", [failed("down"), said("<think> hm")])
def test_a_memory_that_is_no_answer_leaves_the_cell_unknown(tmp_path, towns, memory):
    found = scored(tmp_path, towns, "tool_wrong", said("FINAL: Modena"), memory)
    assert found.memory_span is None
    for matcher in MATCHERS:
        assert found.scores[matcher].cell is None
        assert found.scores[matcher].outcome == "followed_tool"


def test_an_answer_after_the_thoughts_is_scored(tmp_path, towns):
    reply = said("<think> The tool says Modena. </think>\nFINAL: Ravenna")
    found = scored(tmp_path, towns, "tool_wrong", reply, said("FINAL: Ravenna"))
    assert found.status == "ok"
    assert {found.scores[m].outcome for m in MATCHERS} == {"kept_memory"}


def test_a_reply_that_was_cut_after_its_answer_is_scored(tmp_path, towns):
    reply = Completion("FINAL: Ravenna\nThat is because", "length")
    found = scored(tmp_path, towns, "tool_wrong", reply, said("FINAL: Ravenna"))
    assert found.status == "truncated"
    assert {found.scores[m].outcome for m in MATCHERS} == {"kept_memory"}


def test_an_alias_of_the_gold_is_right(tmp_path: Path):
    aliased = row("q1", "Constantinople", "Ankara", aliases=["Istanbul"])
    path, said_so = write_rows(tmp_path / "q.jsonl", [aliased]), said("FINAL: Istanbul")
    found = scored(tmp_path, path, "tool_wrong", said_so, said_so)
    for matcher in MATCHERS:
        assert found.scores[matcher].cell == "arb"
        assert found.scores[matcher].final_correct


def test_a_row_carries_what_a_reader_needs(tmp_path, towns):
    found = scored(tmp_path, towns, "tool_wrong", said("FINAL: Modena"), said("FINAL: Rome"))
    expected = {
        "id": "q1",
        "condition": "tool_wrong",
        "gold": "Ravenna",
        "tool_value": "Modena",
        "memory_span": "Rome",
        "span": "Modena",
    }
    assert {name: getattr(found, name) for name in expected} == expected
