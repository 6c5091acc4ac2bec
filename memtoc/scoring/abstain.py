"""Whether a span declines to answer (spec section 4, abstention)."""

import re
from dataclasses import dataclass

from memtoc.scoring.match import check_matcher
from memtoc.scoring.text import read

_REFUSAL = re.compile(
    r"\b(?:unknown|cannot|can ?not|can't|unable to|not sure|no information|not available"
    r"|could not|couldn't|does not (?:provide|contain)|did not provide|not provided"
    r"|not specified|not found)\b",
    re.IGNORECASE,
)
_ECHO = re.compile(r"\s*(?:q|question)\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class Abstention:
    """Whether the span abstains, and the rule; ``echo`` and ``truncated`` are no abstention."""

    matched: bool
    rule: str

    @property
    def no_answer(self) -> bool:
        """Neither an answer nor a refusal: an echoed question, a stub, nothing at all."""
        return self.rule in ("echo", "truncated", "empty")


def abstains(matcher: str, span: str, question: str = "") -> Abstention:
    """Whether ``span`` is a refusal; an echoed question and a stub are labelled as such."""
    check_matcher(matcher)
    if not span.strip():
        return Abstention(False, "empty")
    if _ECHO.match(span) or (question and read(span).words == read(question).words):
        return Abstention(matcher == "containment" and bool(_ECHO.match(span)), "echo")
    found = bool(_REFUSAL.search(span))
    return Abstention(found, "refusal" if found else "answer")
