"""From a raw reply to the short span that is judged (spec section 4, extraction)."""

import re
from dataclasses import dataclass

# Only the tail of a runaway reply can hold the last marker; 128 new tokens are far shorter.
MAX_REPLY = 20_000

_MARKER = re.compile(r"(?<![\w\"'“”‘’`«])[*_#>\s]{0,8}FINAL[*_]{0,3}[ \t]{0,4}:", re.IGNORECASE)
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)


@dataclass(frozen=True)
class Span:
    """The extracted answer and the rule that found it."""

    text: str
    rule: str


def extract(reply: str) -> Span:
    """The answer span of a raw reply; an empty text where there is none."""
    tail = reply[-MAX_REPLY:]
    found = list(_MARKER.finditer(tail))
    if not found:
        lines = [line.strip() for line in tail.splitlines() if line.strip()]
        return Span(lines[-1], "last_line") if lines else Span("", "empty")
    for line in tail[found[-1].end() :].splitlines():
        if line.strip(" *_\t"):
            return Span(line.strip(" *_\t"), "marker")
    return Span("", "empty")
