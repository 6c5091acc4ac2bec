"""A fake server of OpenAI's chat completions: answers by script, faults included.

def answer(asked: Asked) -> Answer: ...
with chat_serving(answer) as server:
    ...  # server.url, server.asked
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.servers import serving


@dataclass(frozen=True)
class Asked:
    """One request: its body, its headers, its number among all, and among those that are equal."""

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    path: str
    number: int
    again: int

    @property
    def last(self) -> Mapping[str, Any]:
        message: Mapping[str, Any] = self.body["messages"][-1]
        return message

    @property
    def prompt(self) -> str:
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass(frozen=True)
class Answer:
    """What goes over the wire; ``cut`` ends the connection in the middle of it.

    ``until`` holds the answer back until the event is set, ``drip`` is the pause after each byte.
    """

    content: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    until: threading.Event | None = None
    drip: float = 0.0


def said(
    text: str | None,
    *calls: tuple[str, Any],
    finish: str | None = None,
    usage: Any = None,
    **message: Any,
) -> Answer:
    """A completion: its text, its calls as (name, text of the arguments)."""
    turn: dict[str, Any] = {"role": "assistant", "content": text, **message}
    if calls:
        turn["tool_calls"] = [
            {"id": f"call_{at}", "type": "function", "function": {"name": n, "arguments": a}}
            for at, (n, a) in enumerate(calls)
        ]
    ended = finish or ("tool_calls" if calls else "stop")
    return of_json(
        {
            "object": "chat.completion",
            "model": "served",
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": turn, "finish_reason": ended}],
            "usage": usage or {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
    )


def of_json(body: Any, status: int = 200, **headers: str) -> Answer:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(body).encode(), status, shown)


def error(status: int, message: str = "no", **more: Any) -> Answer:
    headers = {name: more.pop(name) for name in ("Retry_After", "Location") if name in more}
    return of_json({"error": {"message": message, **more}}, status, **headers)


CUT = Answer(b'{"choices": [{"message": {"content": "half', cut=True)
GARBAGE = Answer(b"<html>\x1b[31mBad gateway\x07</html>", headers={"Content-Type": "text/html"})
EMPTY = of_json({"choices": []})
# Each is answered in place of the first tries; a retry is answered as if nothing had been.
TRANSIENT: Mapping[str, Answer] = {
    "429": error(429, "slow down", Retry_After="0"),
    "500": error(500),
    "503 without a body": Answer(b"", 503),
    "cut": CUT,
    "garbage": GARBAGE,
    "empty choices": EMPTY,
    "error in a 200": of_json({"error": {"message": "upstream", "code": 502}}),
    "no message": of_json({"choices": [{"finish_reason": "stop"}]}),
}


@dataclass
class ChatServer:
    """A running fake; ``asked`` grows with every request."""

    url: str
    asked: list[Asked]

    def key_headers(self) -> Sequence[str | None]:
        return [asked.headers.get("Authorization") for asked in self.asked]


def _handler(answer: Callable[[Asked], Answer], log: list[Asked]) -> type[BaseHTTPRequestHandler]:
    counting = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            if not sent:  # a client that has left
                return
            body = json.loads(sent)
            with counting:
                again = sum(asked.body == body for asked in log)
                asked = Asked(body, dict(self.headers), self.path, len(log), again)
                log.append(asked)
            given = answer(asked)
            if given.until is not None:
                given.until.wait(30)
            length = len(given.content) + (100 if given.cut else 0)
            self.send_response(given.status)
            headers = {"Content-Type": "application/json", **given.headers}
            for name, value in {**headers, "Content-Length": str(length)}.items():
                self.send_header(name, value)
            self.end_headers()
            step = 1 if given.drip else max(1, len(given.content))
            with suppress(OSError):  # a client that has had enough
                for at in range(0, len(given.content), step):
                    self.wfile.write(given.content[at : at + step])
                    time.sleep(given.drip)

    return Handler


@contextmanager
def chat_serving(answer: Callable[[Asked], Answer]) -> Iterator[ChatServer]:
    """A server that answers by rule for as long as the block lasts."""
    log: list[Asked] = []
    with serving(_handler(answer, log)) as address:
        yield ChatServer(f"{address}/v1", log)


class MortalServer:
    """A server that can be killed, also out of its own answers, and started again at its place."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        self.deaths = self.port = 0
        self._handler = type(
            "Quiet", (_handler(answer, self.asked),), {"log_message": lambda *_: None}
        )
        self._server: ThreadingHTTPServer | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        if self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
            self.port = self._server.server_port
            threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def kill(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            server.shutdown()
            server.server_close()
            self.deaths += 1


def faulty(answer: Callable[[Asked], Answer], *faults: Answer) -> Callable[[Asked], Answer]:
    """Each distinct request meets these faults, one a try, before it is answered."""

    def answered(asked: Asked) -> Answer:
        return faults[asked.again] if asked.again < len(faults) else answer(asked)

    return answered
