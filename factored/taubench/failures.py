"""Tell a failure that somebody put into a recording from an answer that a tool gives.

Harnesses that test how agents bear trouble replace some answers by texts like these::

    503 Service Unavailable
    {"error": {"code": 429, "message": "Rate limit exceeded"}}
    Error: the request timed out, please try again later

No tool of these domains answers so: tools refuse in their own words ("Error: user not found").
"""

import re

# Longer texts are records: an address or a note may hold such words without being a failure.
MAX_LENGTH = 2_000  # characters
MARGIN = 200  # characters before the words of a failure: other keys of an error, a prefix

_STATUS = r"(?:408|425|429|50[0-4]|507|508|509|52[0-9]|529)"
_WORDS = (
    rf"\b(?:http|status|code|error)\W{{0,4}}(?:\w+\W{{1,3}})?{_STATUS}\b",
    rf"\A\W*{_STATUS}\b",
    r"\binternal server error\b",
    r"\bbad gateway\b",
    r"\bgateway time-?out\b",
    r"\btoo many requests\b",
    r"\brate[ _-]?limit(?:ed|s)?\b",
    r"\bquota exceeded\b",
    r"\b(?:service|server|system|backend|tool|api|database|endpoint|upstream|host)\b.{0,40}"
    r"\b(?:unavailable|unreachable|overloaded|down|offline|busy|not responding|maintenance)\b",
    r"\btemporar(?:y|ily)\b.{0,40}\b(?:unavailable|failure|error|problem|outage|down)\b",
    r"\btim(?:ed|e)[ _-]?out\b",
    r"\btimeout(?:error|exception)?\b",
    r"\bdeadline[ _]?exceeded\b",
    r"\bconnection\w*\W+(?:\w+\W+){0,2}"
    r"(?:reset|refused|aborted|closed|lost|error|failed|timed|dropped)",
    r"\bconnect(?:ion)?error\b",
    r"\b(?:econn(?:reset|refused|aborted)|etimedout|ehostunreach|enotfound|epipe)\b",
    r"\b(?:network|dns|ssl|tls|socket|transport)\b.{0,20}\b(?:error|failure|failed|unreachable)\b",
    r"\bbroken pipe\b",
    r"\bremote end closed\b",
    r"\b(?:internal|unexpected|unknown|transient|server|system|tool)[ _-](?:\w+ )?"
    r"(?:error|failure|fault)\b",
    r"\b(?:tool|function|request|api|call)\b(?: \w+){0,2} (?:failed|crashed)\b",
    r"\b(?:try|retry)\b.{0,12}\blater\b",
)
_FAILURE = re.compile("|".join(f"(?:{words})" for words in _WORDS), re.IGNORECASE)


def is_failure(text: str) -> bool:
    """Return whether a recorded answer is the failure of a server or of the way to it."""
    if len(text) > MAX_LENGTH:
        return text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))
    found = _FAILURE.search(text)
    if found is None:
        return False
    # A record's own text ("note": "the server was down") stands far inside of it.
    return found.start() <= MARGIN or text.lstrip().startswith(("<", "Traceback"))
