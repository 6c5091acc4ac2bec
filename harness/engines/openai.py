"""The engine for servers that speak OpenAI's chat completions, on a machine of yours or hosted.

Requests run side by side on an event loop in a thread of its own, so that each has one deadline
over all of it and an end stops them at once. It stands on httpx and not on OpenAI's client, which
reads answers of any size, follows redirects, and sends what it finds in the environment
(organization, project) to whatever server is named.
"""

import asyncio
import ipaddress
import json
import os
import queue
import random
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field

from harness.completions import Completion, Request, failed
from harness.engines import openai_wire as wire
from harness.engines.base import EngineSpec
from harness.engines.openai_wire import BusyError, RefusedError
from harness.errors import UserError
from harness.fingerprint import COSMETIC
from harness.models import Checkpoint, ModelSpec

if TYPE_CHECKING:
    import httpx

LONGEST_PAUSE_S = 60.0
LONGEST_WAIT_S = 300.0  # of what a server may ask for
CONNECT_S = 20.0
MOST_IN_A_ROW = 20  # requests, beyond those on their way, that may fail without one that does not
MOST_REPORTED = 20  # models that a manifest lists
BUSY = frozenset({408, 409, 425, 429})
# What the engine itself sets; anything else may stand in ``extra``.
OURS = frozenset(
    {"model", "messages", "stream", "n", "tools", "response_format", "stop", "seed", "temperature"}
) | frozenset(get_args(wire.LengthField))
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
Answered = tuple[int, Completion]


@dataclass(frozen=True)
class OpenAiSpec(EngineSpec):
    """Where the server is, what it is called, what it takes; conf/engine/openai.yaml explains all.

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
        self._lost_in_a_row = 0
        self._key = _key(spec.key_variable)
        self._url = f"{spec.base_url.rstrip('/')}/chat/completions"
        self._form = wire.Form(
            spec.served_name(model), spec.takes, spec.schemas, spec.length_field, spec.extra
        )
        self._client = _client(spec, self._key)
        self._slots = asyncio.Semaphore(spec.concurrency)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(
        self, requests: Sequence[Request], missing: Collection[int]
    ) -> Iterator[Mapping[int, Completion]]:
        """Yield completions in the order in which they come, those that came together as a group.

        Several threads may run at once. Raises UserError where the server takes none of this: no
        such model or key, nobody there. Raises CancelledError when the engine is closed.
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
                group = [ready.get().result()]
                while not ready.empty():
                    group.append(ready.get().result())
                left -= len(group)
                yield dict(group)
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
        """The completion of one request; raises UserError where none gets any."""
        sent = wire.body_of(request, self.model, self._form)
        body = json.dumps(sent, allow_nan=False).encode("ascii")
        async with self._slots:
            completion = await self._tried(request, body)
        lost = completion.finish == "error" and not completion.context_exceeded
        self._lost_in_a_row = self._lost_in_a_row + 1 if lost else 0
        if self._lost_in_a_row > MOST_IN_A_ROW + self.spec.concurrency:
            raise UserError(
                f"{self.spec.base_url} fails one request after another ({completion.error}): mend"
                " it and run the same command again"
            )
        return index, completion

    async def _tried(self, request: Request, body: bytes) -> Completion:
        """The completion, after as many tries as it takes; failed after the last."""
        import httpx

        for attempt in range(self.spec.retries + 1):
            last = attempt == self.spec.retries
            try:
                return await self._ask(request, body)
            except RefusedError as error:
                return failed(str(error))
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                if last:
                    raise self._nobody_there(error) from error
                wait, reason = 0.0, ""
            except BusyError as error:
                wait, reason = error.wait, str(error)
            if not last:
                await asyncio.sleep(max(wait, self._pause(attempt)))
        return failed(f"{reason} (tried {self.spec.retries + 1} times)")

    def _pause(self, attempt: int) -> float:
        """Doubled with each attempt; drawn around that, so that not all come back at once."""
        whole = min(self.spec.pause_s * 2.0**attempt, LONGEST_PAUSE_S)
        return whole * random.uniform(0.5, 1.0)

    async def _ask(self, request: Request, body: bytes) -> Completion:
        status, headers, content = await self._post(body)
        if status != 200:
            raise self._refusal(status, headers, content, self._error_of(content))
        answer = wire.parsed(content, self._key)
        if error := wire.error_in(answer):
            raise self._refusal(wire.status_of(error), headers, content, error)
        completion = wire.completion_of(answer, request)
        answers = wire.answering(answer)
        if answers in self.reported or len(self.reported) < MOST_REPORTED:
            self.reported[answers] += 1
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
                    raise BusyError("the answer is compressed, which nobody asked for")
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

    def _error_of(self, content: bytes) -> Any:
        try:
            return wire.error_in(wire.parsed(content, self._key))
        except BusyError:
            return None

    def _refusal(
        self, status: int, headers: Mapping[str, str], content: bytes, error: Any
    ) -> Exception:
        """What an error of the server is for this request, or for the whole run."""
        words = f"HTTP {status}: {wire.said_in(error, content, self._key)}"
        if problem := self._of_the_run(status, error):
            return UserError(f"{problem} ({words})")
        if wire.is_too_long(status, error):
            return RefusedError(f"prompt exceeds the context ({words})")
        if status in BUSY or status >= 500 or status < 300:
            return BusyError(words, _asked_wait(headers))
        return RefusedError(words)

    def _of_the_run(self, status: int, error: Any) -> str | None:
        """What no other request would be spared, and what to do about it."""
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
        if wire.is_out_of_money(status, error):
            return f"{server}: the account has nothing left: top it up and run this again"
        return None

    def _nobody_there(self, error: Exception) -> UserError:
        return UserError(
            f"{self.spec.base_url} cannot be reached ({wire.readable(str(error))[:120]}): start the"
            " server or mend engine.base_url, and run the same command again"
        )


def _key(variable: str | None) -> str | None:
    """The key that a variable holds; no error shows it. Raises UserError for an unusable one."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"engine.key_variable: {wire.readable(variable)[:60]} is not set: export it"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(f"engine.key_variable: what {variable} holds is no key: mend it")
    return key


def _client(spec: OpenAiSpec, key: str | None) -> "httpx.AsyncClient":
    """Follows no redirect, so that the key goes to no other host.

    Proxies come from the environment, except for a server on this machine.
    """
    import httpx

    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        **({"Authorization": f"Bearer {key}"} if key else {}),
    }
    try:
        httpx.URL(spec.base_url)
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(spec.timeout_s, connect=min(spec.timeout_s, CONNECT_S)),
            # Bounded by the engine's own slots: a request that is cancelled at the wrong moment
            # keeps its place in the pool for good, and a bounded one would fill up.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=spec.concurrency),
            follow_redirects=False,
            trust_env=not _is_here(urlsplit(spec.base_url).hostname or ""),
        )
    except httpx.InvalidURL as error:
        raise UserError(f"engine.base_url cannot be used ({error}): mend it") from error
    except (ImportError, ValueError, OSError) as error:
        raise UserError(
            f"engine: the proxy or certificates of the environment cannot be used"
            f" ({wire.readable(str(error))[:120]}): mend or unset HTTPS_PROXY, ALL_PROXY,"
            " SSL_CERT_FILE"
        ) from error


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _asked_wait(headers: Mapping[str, str]) -> float:
    """The seconds that Retry-After asks for, within bounds: a number, or a date; 0 without it."""
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            date = parsedate_to_datetime(asked)
        except (ValueError, OverflowError):
            return 0.0
        seconds = (date.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_WAIT_S) if isfinite(seconds) else 0.0
