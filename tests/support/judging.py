"""Rows of one question, truly scored: a memory, a wrong return, the gold, one reply to all."""

from harness.completions import Completion, Decoding, Message, Request
from memtoc.episodes import Episode
from memtoc.questions import Question
from memtoc.scored import ScoredRow, read_memory, score_episode
from memtoc.sources.schemas import call_for


def judged(memory: str, returned: str, right: str, reply: str, name: str = "q1") -> list[ScoredRow]:
    """One question's rows under no_tool, tool_right, tool_wrong and tool_error, truly scored."""
    question = Question(
        id=name, text="In which city was the mill built?", gold=right, near=returned, far=None,
        kind="place", family="free_form", chain=name, fold="A",
        tool=call_for("In which city was the mill built?", "free_form", "place"), source="human",
    )  # fmt: skip
    known = read_memory(question, Completion(memory, "stop"))
    nothing = Request((Message("user", "x"),), Decoding("greedy", 0.0, 8))
    values = {"tool_right": right, "tool_wrong": returned, "tool_error": None, "no_tool": None}
    correct = {"tool_right": True, "tool_wrong": False, "tool_error": False, "no_tool": None}
    return [
        score_episode(
            Episode(question, condition, value, correct[condition], nothing),
            Completion(memory if condition == "no_tool" else reply, "stop"),
            known,
        )
        for condition, value in values.items()
    ]
