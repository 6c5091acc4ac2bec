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

_STATUS = r"(?:408|425|429|50[0-9]|52[0-9]|529)"
_WORDS = (
    # HTTP: a status where statuses stand, and the reason phrases.
    rf"\b(?:http\w*|status|code|error)\W{{0,4}}(?:[\w.]+\W{{1,3}})?{_STATUS}\b",
    rf"\A\W*{_STATUS}\b(?!\.\d)",
    r"\b(?:400 bad request|401 unauthorized|403 forbidden|404 not found|410 gone)\b",
    r"\binternal server error\b|\bbad gateway\b|\bgateway time-?out\b|\btoo many requests\b",
    r"\b(?:access|permission) denied\b|\b(?:authentication|authorization) failed\b",
    # Limits.
    r"\brate[ _-]?limit|\bthrottl|\bquota exceeded\b|\bresource[ _]?exhausted\b",
    r"\bcircuit breaker\b|\bmax(?:imum)? retries\b|\bretries exceeded\b|\bat capacity\b",
    # Whatever is not there now.
    r"\b(?:service|server|system|backend|tool|api|database|endpoint|upstream|host|resource)\b.{0,40}"
    r"\b(?:unavailable|unreachable|overloaded|down|offline|busy|not respond\w*|maintenance"
    r"|locked)\b",
    r"\btemporar(?:y|ily)\b.{0,40}\b(?:unavailable|failure|error|problem|outage|down)\b",
    r"\A\W*(?:\w+\W+){0,2}unavailable\b",
    r"\bno response from\b|\b(?:did not|didn't|failed to) (?:respond|answer)\b",
    # Time.
    r"\btim(?:ed|e)[ _-]?outs?\b|timeout(?:error|exception|expired)|\bdeadline[ _]?exceeded\b",
    # The way there.
    r"\bconnection\w*\W+(?:[\w']+\W+){0,3}"
    r"(?:reset|refused|aborted|closed|lost|error|failed|timed|dropped|terminated)",
    r"\b(?:unable to|could not|cannot|can't|failed to) (?:connect|reach|fetch|contact)\b",
    r"\b(?:econn(?:reset|refused|aborted)|etimedout|ehostunreach|enetunreach|enotfound|epipe)\b",
    r"\berr_\w+|\bi/o error\b",
    r"\b(?:network|dns|ssl|tls|socket|transport|proxy|upstream|gateway)\b.{0,24}"
    r"\b(?:error|failure|failed|unreachable)\b",
    r"\bbroken pipe\b|\bremote end closed\b|\bname resolution\b|\bcertificate verify failed\b",
    # Programs.
    # No \w* in front: a search tries it at each letter of a long word, and each time to its end.
    r"(?:connect|connection|network|server|service|http|operational|database|transport|runtime"
    r"|unavailable|protocol|gateway)\w{0,12}(?:error|exception)\b",
    r"\b(?:internal|unexpected|unknown|transient|server|system|tool|backend|fatal)[ _-](?:\w+ )?"
    r"(?:error|failure|fault|exception)\b",
    r"\b(?:tool|function|request|api|call|execution|operation)\b(?: \w+){0,2} (?:failed|crashed)\b",
    r"\b(?:try|retry)\b.{0,24}\b(?:later|again)\b",
)
_FAILURE = re.compile("|".join(f"(?:{words})" for words in _WORDS), re.IGNORECASE)


_TRACEBACK = re.compile(r"\s*traceback\b", re.IGNORECASE)


def is_failure(text: str) -> bool:
    """Return whether a recorded answer is the failure of a server or of the way to it."""
    if text.lstrip().lower().startswith(("<!doctype html", "<html")) or _TRACEBACK.match(text):
        return True
    # A record's own text ("note": "the server was down") stands far inside of it.
    found = _FAILURE.search(text) if len(text) <= MAX_LENGTH else None
    return found is not None and found.start() <= MARGIN
