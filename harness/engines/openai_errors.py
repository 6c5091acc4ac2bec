"""What servers say when they refuse a request: the kind of refusal, and a line that can be shown.

A server's words are untrusted: a bounded, printable part of them without the key is kept.
"""

import json
import re
from typing import Any
from urllib.parse import unquote

from harness.terminal import printable

MAX_SAID = 300  # characters of a server's own words
MAX_READ = 20_000  # characters in which these are looked for
NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class RefusedError(Exception):
    """The server refuses this request for good: asking again would change nothing."""


class BusyError(Exception):
    """The request may be answered later; ``wait`` is what the server asks for, in seconds.

    ``away`` says that the server itself may be gone: a gateway answers, or a connection is cut.
    """

    def __init__(self, reason: str, wait: float = 0.0, away: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.away = wait, away


def is_out_of_money(status: int, error: Any) -> bool:
    """Return whether the account has nothing left."""
    code = error.get("code") if isinstance(error, dict) else None
    return status == 402 or (status in (403, 429) and code in NO_MONEY)


def status_of(error: Any) -> int:
    """Return the status that an error in an answer of status 200 stands for."""
    codes = [error.get(key) for key in ("code", "status")] if isinstance(error, dict) else []
    statuses = [int(str(code)) for code in codes if re.fullmatch("[45][0-9]{2}", str(code))]
    return statuses[0] if statuses else 500


def refusal_in(content: bytes) -> Any:
    """Return the error in the body of a refused request, or None for a body of another form.

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
    if isinstance(found, dict) and not words_of(found) and found.get("error"):
        found = found["error"]
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
