"""The cells of the design: is the memory right, is the return right?"""

from memtoc.scoring.memory import Memory

CELLS = ("agree", "arb", "tool_gold", "both_wrong", "mem_absent")


def cell(memory: Memory, tool_correct: bool | None) -> str | None:
    """The cell of a row; None where nothing was returned to judge (``no_tool``).

    An error payload carries no right value: give ``tool_correct=False`` for it, as the release
    does.
    """
    if tool_correct is None:
        return None
    if memory.absent:
        return "mem_absent"
    if memory.correct:
        return "agree" if tool_correct else "arb"
    return "tool_gold" if tool_correct else "both_wrong"
