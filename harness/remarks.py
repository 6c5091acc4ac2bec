"""Notes for the user on what the replies of a run were like, and what to set about it."""

from collections.abc import Sequence

from harness.completions import Completion
from harness.models import ModelSpec
from harness.thoughts import closes_unopened


def remarks(completions: Sequence[Completion], model: ModelSpec) -> list[str]:
    """Return a line for each thing worth a look in a pass, with the number of its rows."""
    of = len(completions)
    empty = sum(reply.status == "empty" for reply in completions)
    unanswered = sum(reply.unanswered for reply in completions)
    beside = [reply.text_in for reply in completions if reply.text_in]
    closed = sum(closes_unopened(reply.text) for reply in completions)
    lines = []
    if empty:
        lines.append(empty_remark(empty, of, "rows"))
    if unanswered:
        lines.append(
            f"{unanswered} of {of} rows got neither text nor tokens from the server, though asked"
            " again: is its model loaded?"
        )
    if beside:
        lines.append(beside_remark(len(beside), of, "rows", beside[0]))
    if closed and not model.thinking:
        lines.append(closed_remark(closed, of, "rows"))
    return lines


def empty_remark(empty: int, of: int, noun: str) -> str:
    """Say how many replies have no text; ``noun`` names what is counted."""
    return f"{empty} of {of} {noun} are empty ({100 * empty / of:.1f} %; report.max_empty_rate)"


def beside_remark(beside: int, of: int, noun: str, field: str) -> str:
    """Say where a server put the text of replies that have none themselves, and what to set."""
    return (
        f"{beside} of {of} {noun} have no text, and the server put text into {field}: leave room"
        " for an answer after the thoughts (decoding.max_new_tokens, or a thinking budget in"
        " engine.extra), or start the server without its reasoning parser"
    )


def closed_remark(closed: int, of: int, noun: str) -> str:
    """Say that replies close a thought that a chat template opened, though none is declared."""
    return (
        f"{closed} of {of} {noun} hold </think> without <think>: what stands before it is taken for"
        " a thought, and model.thinking is false: set model.thinking=true, or turn thoughts off on"
        " the server"
    )
