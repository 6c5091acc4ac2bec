"""Whether a reply says that the return and the memory disagree: a screening tool."""

import re
from dataclasses import dataclass

MAX_REPLY = 20_000

_CONFLICT = re.compile(
    r"\b(?:conflict(?:s|ed|ing)?|contradict\w{0,5}|disagree\w{0,6}|discrepan\w{1,4}"
    r"|inconsisten\w{1,4}|differs? from|does not match|doesn't match)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Acknowledgment:
    """Whether the conflict is named, and the rule that decided."""

    conflict: bool
    rule: str


def acknowledges(  # noqa: ARG001
    reply: str, memory_span: str | None, tool_value: str | None
) -> Acknowledgment:
    """Reads the whole reply, not the span."""
    found = bool(_CONFLICT.search(reply[:MAX_REPLY]))
    return Acknowledgment(found, "conflict_word" if found else "none")
