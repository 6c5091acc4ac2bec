"""The cells of the design (arXiv 2608.26295): is the memory right, is the return right?"""

from memtoc.scoring.memory import Memory

CELLS = ("agree", "arb", "tool_gold", "both_wrong", "mem_absent")


def cell(memory: Memory, tool_correct: bool | None) -> str | None:
    """Return the cell of a row, one of ``CELLS``; None for ``no_tool``, which has no return.

    ``tool_correct`` is None for ``no_tool`` and False for an error payload, as in the release.
    """
    if tool_correct is None:
        return None
    if memory.absent:
        return "mem_absent"
    if memory.correct:
        return "agree" if tool_correct else "arb"
    return "tool_gold" if tool_correct else "both_wrong"
