"""The engine for servers that speak OpenAI's chat completions, on a machine of yours or hosted.

Requests run side by side on an event loop in a thread of its own, so that each has one deadline
over all of it and an end stops them at once. It stands on httpx and not on OpenAI's client, which
reads answers of any size, follows redirects, and sends what it finds in the environment
(organization, project) to whatever server is named.
"""

import asyncio
import json
import queue
import random
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field

from harness.completions import Completion, Request, failed
from harness.engines import openai_errors as errors
from harness.engines import openai_wire as wire
from harness.engines.base import EngineSpec
from harness.engines.openai_errors import BusyError, RefusedError
from harness.engines.openai_http import asked_wait, client_of, key_of
from harness.errors import UserError
from harness.fingerprint import COSMETIC
from harness.models import Checkpoint, ModelSpec

if TYPE_CHECKING:
    import httpx

LONGEST_PAUSE_S = 60.0
MOST_IN_A_ROW = 20  # requests, beyond those on their way, that may fail without one that does not
MOST_REFUSED = 5  # requests that a server may refuse as they are before it has answered any
MOST_REPORTED = 20  # models, or finish reasons, that a manifest lists
MOST_EMPTY = 3  # times that an answer of neither text nor tokens is asked for again
# Tries beyond ``retries`` for a server that is gone after it has answered: with the pauses of
# conf/engine/openai.yaml two and a half minutes at least, in which one is started again.
MORE_TRIES = 5
BUSY = frozenset({408, 409, 425, 429})
AWAY = frozenset({502, 503, 504, 521, 522, 523})  # what gateways answer for a server that is gone
# What the engine itself sets; anything else may stand in ``extra``.
OURS = frozenset(
    {"model", "messages", "stream", "n", "tools", "response_format", "stop", "seed", "temperature"}
) | frozenset(get_args(wire.LengthField))
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
Answered = tuple[int, Completion]


@dataclass(frozen=True)
class OpenAiSpec(EngineSpec):
    """Where the server is, what it is called, what it takes; see conf/engine/openai.yaml.

    ``base_url``, the key, and the last five (requests at once, seconds, tries, the first pause,
    bytes) decide no text. ``key_variable`` is the name of an environment variable, never a key.
    """

    kind: Literal["openai"]
    # Where the server is reached decides no text: ``server`` says which one it is.
    base_url: Annotated[str, COSMETIC]
    server: str
    served: str | None
    key_variable: Annotated[str | None, COSMETIC]
    takes: tuple[wire.Takes, ...]
    schemas: wire.Schemas
    length_field: wire.LengthField
    extra: Mapping[str, Any]
    concurrency: Annotated[int, Field(ge=1, le=1000), COSMETIC]
    timeout_s: Annotated[float, Field(gt=0), COSMETIC]
    retries: Annotated[int, Field(ge=0), COSMETIC]
    pause_s: Annotated[float, Field(ge=0), COSMETIC]
    max_bytes: Annotated[int, Field(ge=1), COSMETIC]

    asks_server: ClassVar[bool] = True
    supports_tool_choice: ClassVar[bool] = True

    def identity(self) -> dict[str, Any]:
        """Return which server it is and what it is sent; raises UserError for what cannot be."""
        _check(self)
        return {
            "kind": self.kind,
            "server": self.server,
            "takes": sorted(self.takes),
            "schemas": self.schemas,
            "length_field": self.length_field,
            "extra": dict(self.extra),
        }

    def version(self) -> str:
        """Return the version of the requests' form; the server alone knows what answers."""
        return "chat completions 1"

    def served_name(self, model: ModelSpec) -> str:
        """Return what the server calls a model."""
        return self.served or model.hub or model.name

    @property
    def lanes(self) -> int:
        """Return how many requests are on their way at once."""
        return self.concurrency

    def open(self, model: ModelSpec, checkpoint: Checkpoint | None) -> "OpenAiEngine":  # noqa: ARG002
        """Return the engine, not yet connected; raises UserError for a key that is not there."""
        _check(self)
        return OpenAiEngine(self, model)


def _check(spec: OpenAiSpec) -> None:
    try:
        parts = urlsplit(spec.base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not spec.base_url.isprintable() or " " in spec.base_url:
        raise UserError(
            "engine.base_url is no address: give it up to and with /v1, as in"
            " http://127.0.0.1:8000/v1"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise UserError(
            "engine.base_url: no password and no ? or # may stand in it: put the key into an"
            " environment variable and its name into engine.key_variable"
        )
    if spec.key_variable is not None and not _VARIABLE.fullmatch(spec.key_variable):
        raise UserError(
            "engine.key_variable is the name of an environment variable in capitals, as in"
            " OPENAI_API_KEY, and never the key"
        )
    if taken := sorted(OURS & set(spec.extra)):
        raise UserError(f"engine.extra.{taken[0]}: the engine sets this itself: leave it out")


class OpenAiEngine:
    """A client of one server."""

    def __init__(self, spec: OpenAiSpec, model: ModelSpec) -> None:
        """Raises UserError for a model or key that cannot be used."""
        if model.kind == "base":
            raise UserError(
                f"model '{model.name}' is a base checkpoint, which no chat completions are asked"
                " of: use engine=hf"
            )
        if model.template and "template" not in spec.takes:
            raise UserError(
                f"model '{model.name}' has arguments of its chat template, which the server is not"
                " sent: add template to engine.takes, or leave model.template out"
            )
        self.spec = spec
        self.model = model
        self.reported: Counter[str] = Counter()
        self.finish_reasons: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self._answered = self._refused = self._lost_in_a_row = 0
        self._key = key_of(spec.key_variable)
        self._url = f"{spec.base_url.rstrip('/')}/chat/completions"
        self._form = wire.Form(
            spec.served_name(model), spec.takes, spec.schemas, spec.length_field, spec.extra
        )
        self._client = client_of(spec.base_url, self._key, spec.timeout_s, spec.concurrency)
        self._slots = asyncio.Semaphore(spec.concurrency)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield completions in the order in which they come, those that came together as a group.

        Several threads may run at once. Raises UserError, after the completions that have come,
        where the server takes no request: no such model or key, no connection. Raises
        CancelledError when the engine is closed.
        """
        ready: queue.SimpleQueue[Future[Answered]] = queue.SimpleQueue()
        asked = [
            asyncio.run_coroutine_threadsafe(self._answer(index, requests[index]), self._loop)
            for index in sorted(missing)
        ]
        for future in asked:
            future.add_done_callback(ready.put)
        try:
            left = len(asked)
            while left:
                group, error = _arrived(ready)
                left -= len(group)
                if group:
                    yield dict(group)
                if error is not None:
                    raise error
        finally:
            for future in asked:
                future.cancel()

    def close(self) -> None:
        """End what is on its way; whoever waits for it gets a CancelledError."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()

    async def _answer(self, index: int, request: Request) -> Answered:
        """The completion of one request; raises UserError where no request gets any."""
        sent = wire.body_of(request, self.model, self._form)
        body = json.dumps(sent, allow_nan=False).encode("ascii")
        async with self._slots:
            completion = await self._tried(request, body)
        lost = completion.finish == "error" and not completion.context_exceeded
        self._lost_in_a_row = self._lost_in_a_row + 1 if lost else 0
        never = not self._answered and self._refused > MOST_REFUSED
        if never or self._lost_in_a_row > MOST_IN_A_ROW + self.spec.concurrency:
            raise UserError(
                f"{self.spec.base_url} {'refuses' if never else 'fails'} one request after another"
                f" ({completion.error}): mend it, or what engine.takes and engine.extra send, and"
                " run the same command again"
            )
        return index, completion

    async def _tried(self, request: Request, body: bytes) -> Completion:
        """The completion, after as many tries as it takes; failed after the last."""
        import httpx

        empty, gone_since = 0, None
        for attempt in range(self.spec.retries + MORE_TRIES + 1):
            tries, wait = self.spec.retries, 0.0
            try:
                completion = await self._ask(request, body)
                if not completion.unanswered or empty == min(MOST_EMPTY, self.spec.retries):
                    return completion
                empty += 1
                self.counters["empty_asked_again"] += 1
            except RefusedError as error:
                return failed(str(error))
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                if attempt >= tries + (MORE_TRIES if self._answered else 0):
                    raise self._unreachable(error) from error
            except BusyError as error:
                if error.away and gone_since is None:
                    gone_since = self._answered
                # A gateway that answers others refuses this request, and is not gone.
                gone = error.away and self._answered and gone_since == self._answered
                if attempt >= tries + (MORE_TRIES if gone else 0):
                    return failed(f"{error} (tried {attempt + 1} times)")
                wait = error.wait
            await asyncio.sleep(max(wait, self._pause(attempt)))
        raise AssertionError("the last try returns or raises")

    def _pause(self, attempt: int) -> float:
        """The pause, doubled with each attempt, less up to half so that requests spread out."""
        whole = min(self.spec.pause_s * 2.0**attempt, LONGEST_PAUSE_S)
        return whole * random.uniform(0.5, 1.0)

    async def _ask(self, request: Request, body: bytes) -> Completion:
        status, headers, content = await self._post(body)
        if status != 200:
            raise self._refusal(status, headers, content, errors.refusal_in(content))
        answer = wire.parsed(content, self._key)
        if error := wire.error_in(answer):
            raise self._refusal(errors.status_of(error), headers, content, error)
        completion = wire.completion_of(answer, request)
        self._answered += 1
        _count(self.reported, wire.answering(answer))
        _count(self.finish_reasons, wire.finish_reason(answer))
        return completion

    async def _post(self, body: bytes) -> tuple[int, "httpx.Headers", bytes]:
        """Status, headers and body; the body is bounded and as it came over the wire."""
        import httpx

        received = bytearray()
        try:
            async with (
                asyncio.timeout(self.spec.timeout_s),
                self._client.stream("POST", self._url, content=body) as reply,
            ):
                if reply.headers.get("content-encoding", "identity") != "identity":
                    raise BusyError("the answer is compressed, and identity was asked for")
                async for chunk in reply.aiter_raw():
                    received += chunk
                    if len(received) > self.spec.max_bytes:
                        raise RefusedError(f"the answer has over {self.spec.max_bytes} bytes")
        except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout):
            raise BusyError(f"no answer within {self.spec.timeout_s:g} s") from None
        except (httpx.NetworkError, httpx.ProtocolError) as error:
            if isinstance(error, httpx.ConnectError):
                raise
            raise BusyError(f"the connection broke ({type(error).__name__})") from None
        return reply.status_code, reply.headers, bytes(received)

    def _refusal(
        self, status: int, headers: Mapping[str, str], content: bytes, error: Any
    ) -> Exception:
        """The exception for an error of the server: of this request, or of the whole run."""
        words = f"HTTP {status}: {errors.said_in(error, content, self._key)}"
        if problem := self._of_the_run(status, error):
            return UserError(f"{problem} ({words})")
        if errors.is_too_long(status, error or content.decode("utf-8", "replace")):
            return RefusedError(f"prompt exceeds the context ({words})")
        if status in BUSY or status >= 500 or status < 300:
            return BusyError(words, asked_wait(headers), status in AWAY)
        self._refused += 1
        return RefusedError(words)

    def _of_the_run(self, status: int, error: Any) -> str | None:
        """The problem that every request will meet, and what to do about it; None for others."""
        spec, server = self.spec, self.spec.base_url
        if 300 <= status < 400:
            return f"{server} redirects, which is not followed: set engine.base_url to the new one"
        if status == 401 and spec.key_variable is None:
            return f"{server} wants a key: set engine.key_variable to the variable that holds it"
        if status == 401:
            return f"{server} refuses the key in {spec.key_variable}: mend the variable"
        if status == 404:
            return (
                f"{server} has no model '{self._form.served}', or no chat completions:"
                " set engine.served, or engine.base_url up to and with /v1"
            )
        if errors.is_out_of_money(status, error):
            return f"{server}: the account has nothing left: top it up and run this again"
        return None

    def _unreachable(self, error: Exception) -> UserError:
        gone = "has gone and not come back" if self._answered else "cannot be reached"
        return UserError(
            f"{self.spec.base_url} {gone} ({errors.readable(str(error))[:120]}): start the server"
            " or mend engine.base_url, and run the same command again"
        )


def _arrived(
    ready: "queue.SimpleQueue[Future[Answered]]",
) -> tuple[list[Answered], BaseException | None]:
    """Wait for a request to end; return the answers that are there, and the first exception."""
    group: list[Answered] = []
    first: BaseException | None = None
    while not (group or first) or not ready.empty():
        future = ready.get()
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            group.append(future.result())
        else:
            first = first or error
    return group, first


def _count(counts: Counter[str], name: str) -> None:
    """Count a server's word, as long as there are few different ones."""
    if name in counts or len(counts) < MOST_REPORTED:
        counts[name] += 1
