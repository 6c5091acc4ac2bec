"""A role that a model plays: planner, tool agent or user, each on its own engine and decoding."""

import secrets
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from time import monotonic
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from harness.completions import (
    Completion,
    Decoding,
    Message,
    Request,
    ToolCall,
    failed,
)
from harness.engines import AnyEngine
from harness.errors import UserError
from harness.generation import Backend
from harness.models import ModelSpec
from harness.rendering import Renderer, audit, audit_tools
from harness.seeds import generator
from harness.shared_backend import SharedBackend
from harness.thoughts import closes_unopened, without_thoughts, without_unopened

# What a user can do whose model is not shown function calls.
WITHOUT_CALLS = "use agent=native, which writes tools and calls as text"


class InfrastructureError(Exception):
    """An engine or server failed for good: the episode has no result, and is no failure."""


class ContextExceededError(Exception):
    """The dialogue has grown longer than the role's model can read."""


class InterruptedEpisodeError(Exception):
    """The run is being stopped."""


@dataclass(frozen=True)
class Price:
    """Price in US dollars for a million tokens."""

    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class RoleSettings:
    """The model that plays a role, how it runs, and what its tokens cost."""

    model: ModelSpec
    engine: AnyEngine
    decoding: Decoding
    price: Price


class Reply(NamedTuple):
    """A model's text, without its thoughts, and the tools that it calls."""

    text: str
    calls: tuple[ToolCall, ...] = ()


RARE = ("empty", "beside", "closed", "without_usage")


@dataclass
class Usage:
    """What a role has cost in one episode; ``cost`` in US dollars.

    ``truncated`` counts replies cut at their length, ``shortened`` dialogues of which the role was
    shown a part, ``retries`` calls that failed and were made again. Of the replies ``empty`` have
    no text, ``beside`` had text in a field that holds no reply, ``closed`` end a thought that they
    did not begin, and ``without_usage`` left out a count of tokens, which cost and sums then lack.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    truncated: int = 0
    shortened: int = 0
    retries: int = 0
    cost: float = 0.0
    empty: int = 0
    beside: int = 0
    closed: int = 0
    without_usage: int = 0

    def as_row(self) -> dict[str, Any]:
        """Return the counts as a file holds them: the last four only where they are not 0.

        Rows then keep the bytes that earlier versions wrote.
        """
        row = asdict(self)
        return {name: count for name, count in row.items() if count or name not in RARE}

    def rounded(self) -> "Usage":
        """Return the counts as an episode's row holds them: seconds to 3 decimals, cost to 6."""
        return replace(self, seconds=round(self.seconds, 3), cost=round(self.cost, 6))


def usage_row(usage: Mapping[str, Usage]) -> dict[str, Any]:
    """Return the counts by role as a file holds them."""
    return {role: counts.as_row() for role, counts in usage.items()}


def summed(counts: Iterable[Usage]) -> Usage:
    """Return the sum of all counts, seconds and cost to 6 decimals."""
    total = Usage()
    for one in counts:
        for field in fields(Usage):
            setattr(total, field.name, getattr(total, field.name) + getattr(one, field.name))
    return replace(total, seconds=round(total.seconds, 6), cost=round(total.cost, 6))


@dataclass(frozen=True)
class Retries:
    """How often a failed call is made again, and the pause in seconds before the first time.

    The pause doubles each time; ``stopping`` cuts it short.
    """

    times: int
    pause_s: float
    stopping: threading.Event

    def wait(self, attempt: int) -> None:
        """Pause before an attempt (1, 2, ...); raises InterruptedEpisodeError when stopped."""
        if self.stopping.wait(self.pause_s * 2 ** (attempt - 1)):
            raise InterruptedEpisodeError


@dataclass
class Role:
    """One model in one episode; ``usage`` grows with every reply.

    ``key`` names the episode (task/trial): seeds are drawn for it.
    """

    name: str
    settings: RoleSettings
    backend: SharedBackend
    retries: Retries
    seed: int
    key: str
    usage: Usage

    def reply(self, messages: Sequence[Message], schema: str | None = None) -> str:
        """Return the model's text without its thoughts, held to a JSON schema if one is given.

        Raises what ``answer`` raises.
        """
        return self.answer(messages, schema=schema).text

    def answer(
        self, messages: Sequence[Message], schema: str | None = None, tools: Sequence[str] = ()
    ) -> Reply:
        """Return the model's text, and its calls of the ``tools`` (schemas as JSON) it is offered.

        Raises ContextExceededError where the model cannot read that much, InterruptedEpisodeError
        where the run is being stopped, InfrastructureError after the last attempt.
        """
        request = Request(
            tuple(messages),
            self.settings.decoding,
            seed=self._seed(),
            schema=schema,
            tools=tuple(tools),
        )
        # An engine that asks a server has made its own attempts.
        times = 0 if self.settings.engine.asks_server else self.retries.times
        for attempt in range(times + 1):
            if attempt:
                self.usage.retries += 1
                self.retries.wait(attempt)
            completion = self._complete(request)
            if completion.unanswered:
                raise InfrastructureError(f"{self.name}: the server gave neither text nor tokens")
            if completion.finish != "error":
                return Reply(self._text(completion), completion.calls)
            if completion.context_exceeded:
                raise ContextExceededError(f"{self.name}: {completion.error}")
            if self.retries.stopping.is_set():
                raise InterruptedEpisodeError
        raise InfrastructureError(f"{self.name}: {completion.error}")

    def _complete(self, request: Request) -> Completion:
        started = monotonic()
        try:
            return self.backend.complete(request)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - however an engine breaks, the run goes on
            return failed(f"{type(error).__name__}: {error}")
        finally:
            self.usage.seconds += monotonic() - started

    def _text(self, completion: Completion) -> str:
        usage, price = self.usage, self.settings.price
        usage.calls += 1
        prompt, written = completion.prompt_tokens, completion.completion_tokens
        usage.without_usage += prompt is None or written is None
        usage.prompt_tokens += prompt or 0
        usage.completion_tokens += written or 0
        usage.truncated += completion.status == "truncated"
        usage.empty += completion.status == "empty"
        usage.beside += completion.text_in is not None
        usage.closed += closes_unopened(completion.text)
        usage.cost += (price.prompt * (prompt or 0) + price.completion * (written or 0)) / 1e6
        if self.settings.model.thinking:
            return without_thoughts(completion.text)
        return without_unopened(completion.text)

    def _seed(self) -> int:
        """Return 0 under greedy decoding, else a seed for this role, episode and place in it."""
        if self.settings.decoding.temperature == 0:
            return 0
        key = f"{self.key}/{self.usage.calls}"
        return generator(self.seed, self.name, key).getrandbits(31)


def audit_template(backend: Backend, tools: bool = False) -> None:
    """Raise UserError where the model's chat template drops a part of a dialogue.

    Renders random words in a system text, a user's and an agent's turn, and a tool's answer, and
    looks for them in the prompt; with ``tools`` also in a tool's schema and in a call of it. A
    backend without a checkpoint has no template here to look at.
    """
    if backend.checkpoint is None:
        return
    renderer = Renderer(backend.model, backend.checkpoint.folder)
    system, asked, said, answered = (f"sentinel{secrets.token_hex(4)}" for _ in range(4))
    opening = [Message("system", system), Message("user", asked)]
    messages = [*opening, Message("assistant", said), Message("user", answered)]
    audit(renderer, messages, [system, asked, said, answered])
    if tools:
        audit_tools(renderer, opening, WITHOUT_CALLS)
