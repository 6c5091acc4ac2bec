"""What servers say when they refuse a request: the kind of refusal, and a line that can be shown.

A server's words are untrusted. Its errors may quote the prompt, which may say anything, so only the
beginning of a message decides what kind it is.
"""

import json
import re
from typing import Any
from urllib.parse import unquote

from harness.terminal import printable

MAX_SAID = 300  # characters of a server's own words
MAX_READ = 20_000  # characters in which these are looked for
MAX_BEFORE_PROMPT = 200  # characters of a message that decide its kind
NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")
REFUSED_AS_IT_IS = (400, 413, 422)  # statuses of a request that no server would take

# A limit on tokens, and a word that says that it is passed.
_LIMIT = (
    r"(?:context[ _-](?:length|window|size|limit)"
    r"|max(?:imum)?[ _](?:(?:allowed|supported|configured|total|model|model's)[ _])*"
    r"(?:context|input|prompt|sequence|seq|model|num|total|allowed|request|completion context)"
    r"[ _](?:length|len|tokens?|size|limit)"
    r"|max(?:imum)?[ _](?:number of (?:input |prompt |total )?tokens|length)"
    r"|(?:model |input |prompt )?token[ _](?:limit|count)|number of (?:input |prompt )?tokens"
    r"|(?:input|prompt|sequence)[ _]length|model's context|n_ctx|session_len)"
)
_PASSED = (
    r"(?:exceed|(?:long|larg|great|bigg|high)er than|more than|too (?:long|large|big|many)\b"
    r"|overflow|beyond|less than or equal|must be (?:less|at most|smaller|<)|does ?n[o']t fit"
    r"|not enough|reduce )"
)
_PASSES = re.compile(f"{_LIMIT}.{{0,100}}?{_PASSED}|{_PASSED}.{{0,100}}?{_LIMIT}", re.IGNORECASE)
# Sentences of servers that say it by themselves: "Prompt is 11543 tokens but the model context
# window is 4096 tokens", "too large for model with 32768 maximum context length".
_STATED = re.compile(
    r"(?:context[ _](?:length|window|size|limit)|maximum (?:prompt|input|model) length)"
    r"(?: (?:is|of)|:|=)? ?(?:only |limited to )?\(?\d"
    r"|\d (?:tokens? )?maximum context length"
    r"|token count.{0,30} exceeds the limit of \d"
    r"|input length should be \["
    r"|inputs`? (?:must have less than \d|tokens \+ `?max_new_tokens`? must be)"
    # The room that is left for the reply, once the prompt has taken more than all of it.
    r"|max(?:_completion)?_tokens (?:must be at least 1, got -|\(-)\d"
    r"|cannot truncate to \d+, required \d",
    re.IGNORECASE,
)
_WITHOUT_FIGURES = re.compile(
    r"request exceeds the available context size"
    r"|context (?:size|length|window) (?:has been |was |is )?exceeded"
    r"|exceeds? the (?:model's )?context (?:window|length|size|limit)\b(?! *,)"
    r"|exceeded (?:max(?:imum)? )?context length"
    r"|context window exceeds limit"
    r"|greater than the context length"
    r"|(?:prompt|inputs?)\b.{0,40}? (?:is|are) too (?:long|large|big)"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|messages?\b.{0,40}string too long"
    r"|(?:\u4e0a\u4e0b\u6587|\u8f93\u5165|\u63d0\u793a).{0,20}(?:\u8fc7\u957f|\u8d85)"
    r"|\u8d85[\u8fc7\u51fa].{0,20}(?:\u4e0a\u4e0b\u6587|\u6700\u5927.{0,6}\u957f\u5ea6)",
    re.IGNORECASE,
)
_CODES = frozenset(
    {
        "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
        "exceed_context_size_error", "contextwindowexceedederror", "tokens_limit_reached",
        "request_too_large",
    }
)  # fmt: skip
# Without any figure, and believed only with a status that blames the request.
_HINTED = re.compile(
    r"context_length_exceeded|exceed_context_size|exceeds the available context"
    r"|maximum context length|maximum model length|model's context length",
    re.IGNORECASE,
)
# A limit on tokens over time, which passes; a text that is no prompt (a tool's name, a stop).
_OTHER = re.compile(
    r"rate.?limit|per (?:second|minute|hour|day)|too many requests|throttl|quota|\btpm\b"
    r"|please wait|try again later|invalid '?(?:tools|functions|stop|user|metadata|response_format)"
    r"|completion tokens, whereas",
    re.IGNORECASE,
)


class RefusedError(Exception):
    """The server will not answer this request, however often it is made."""


class BusyError(Exception):
    """The request may be answered later; ``wait`` is what the server asks for, in seconds.

    ``away`` says that a gateway answers in place of the server.
    """

    def __init__(self, reason: str, wait: float = 0.0, away: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.away = wait, away


def is_too_long(status: int, error: Any) -> bool:
    """Return whether the server says that the prompt is longer than its model reads.

    The status decides how clearly it has to say so: llama.cpp answers 400 or 500, TGI 422, and
    other errors of status 500 may quote a prompt that speaks of contexts.
    """
    said = [" ".join(word.split())[:MAX_BEFORE_PROMPT] for word in words_of(error)]
    if any(_OTHER.search(word) for word in said):
        return False
    if any(word.lower() in _CODES for word in said) or any(map(_WITHOUT_FIGURES.search, said)):
        return True
    if any(map(_STATED.search, said)):
        return True
    passes = [word for word in said if _PASSES.search(word)]
    if status in REFUSED_AS_IT_IS:
        return bool(passes) or any(map(_HINTED.search, said))
    return any(re.search(r"\d", word) for word in passes)


def is_out_of_money(status: int, error: Any) -> bool:
    """Return whether the account has nothing left."""
    code = error.get("code") if isinstance(error, dict) else None
    return status == 402 or (status in (403, 429) and code in NO_MONEY)


def status_of(error: Any) -> int:
    """Return the status that an error in an answer of status 200 stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def refusal_in(content: bytes) -> Any:
    """Return the error that the body of a refused request holds, None where none can be told.

    Servers write ``{"error": {...}}``, ``{"error": "..."}``, the error itself, ``{"detail": ...}``
    (FastAPI), ``{"message": ..., "error": "Bad Request"}``, or a list of one of these (Google).
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        return None
    found = body.get("error") or body.get("detail")
    if isinstance(found, list) and found and isinstance(found[0], dict) and "msg" in found[0]:
        return str(found[0]["msg"])
    if isinstance(body.get("message"), str) and not isinstance(found, dict):
        return body | {"type": found or body.get("type")}
    return found


def words_of(error: Any) -> list[str]:
    """Return what an error says: its message first, then its code, type, and what it wraps."""
    if not isinstance(error, dict):
        return [str(error)] if error else []
    found = [error.get(key) for key in ("message", "code", "type")]
    wrapped = error.get("metadata")  # of OpenRouter: what the provider behind it said
    if isinstance(wrapped, dict):
        found.append(wrapped.get("raw"))
    return [str(word) for word in found if word not in (None, "")]


def said_in(error: Any, content: bytes, key: str | None) -> str:
    """Return what the server says of an error, in a line that can be shown."""
    words = words_of(error)[:1]
    return shown(words[0], key) if words else said(content, key)


def said(content: bytes, key: str | None) -> str:
    """Return the beginning of an answer, in a line that can be shown."""
    return shown(content.decode("utf-8", "replace"), key) or "nothing"


def shown(text: str, key: str | None) -> str:
    """Return a line that can be shown, without the key or its beginning, which is a secret too."""
    text = text[:MAX_READ]
    if key:
        plain = unquote(text)
        text = text if plain == text or key[:8] not in plain else plain
        for form in {key, json.dumps(key)[1:-1]}:
            for length in range(len(form), min(len(form), 8) - 1, -1):
                text = text.replace(form[:length], "***")
    line = readable(text)
    return line if len(line) <= MAX_SAID else f"{line[:MAX_SAID]}..."


def readable(text: str) -> str:
    """Return one line, in which nothing can steer a terminal."""
    return printable(" ".join(text.split()))
