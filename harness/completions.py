"""What an engine is asked (`Request`) and what it gives back (`Completion`, `ChoiceScore`).

Example::

    greedy = Decoding("greedy", temperature=0.0, max_new_tokens=32)
    request = Request((Message("user", "Who painted Guernica?"),), greedy)
    Completion("Picasso.", "stop", prompt_tokens=14, completion_tokens=3).status  # "ok"
"""

import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from harness import thoughts
from harness.adapters import Adapter
from harness.hashing import digest_of

# Errors of engines about a long prompt begin so; the rest of an error may quote a server.
_TOO_LONG = re.compile(r"prompt\b.{0,40}\bexceeds the context")

_OPTIONAL = ("calls", "text_in", "unanswered")
Status = Literal["ok", "truncated", "empty", "error"]
Finish = Literal["stop", "length", "error"]


@dataclass(frozen=True)
class ToolCall:
    """A function call as a model wrote it.

    ``arguments`` is text that should be a JSON object; nothing has checked that it is one.
    """

    name: str
    arguments: str


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    An assistant's turn may carry one call; a ``tool`` turn answers the call right before it.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    call: ToolCall | None = None


@dataclass(frozen=True)
class Decoding:
    """How text is drawn: greedily if ``temperature`` T is 0, else from softmax(logits / T)."""

    name: str
    temperature: Annotated[float, Field(ge=0)]
    max_new_tokens: Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Named:
    """The tool choice that makes the model call the tool of this name."""

    tool: str


# ``auto``: the model decides; ``none``: it answers in text; ``required``: it calls some tool.
ToolChoice = Literal["auto", "none", "required"] | Named


@dataclass(frozen=True)
class Request:
    """One prompt with everything that decides its reply except the model and the engine.

    ``stop`` strings end the text and are cut from it. ``seed`` is 0 under greedy decoding, so
    that equal prompts stay equal requests. ``schema`` is the text of a JSON schema: the engine
    holds the reply to it. ``tools`` are the functions that the model may call, each the text of a
    schema in OpenAI's function format; ``tool_choice`` says whether it may, must or must not.
    ``adapter`` is the LoRA adapter that the model answers with.
    """

    messages: tuple[Message, ...]
    decoding: Decoding
    stop: tuple[str, ...] = ()
    seed: int = 0
    schema: str | None = None
    tools: tuple[str, ...] = ()
    tool_choice: ToolChoice = "auto"
    adapter: Adapter | None = None

    @cached_property
    def digest(self) -> str:
        """Return the identity of the request (sha256), the same on every machine."""
        content = asdict(self)
        del content["decoding"]["name"]
        content["adapter"] = self.adapter and self.adapter.digest
        # Fields at their defaults stay out, so that caches and recordings made before a field
        # existed are still found.
        if self.schema is None:
            del content["schema"]
        if not self.tools:
            del content["tools"]
        if self.tool_choice == "auto":
            del content["tool_choice"]
        if self.adapter is None:
            del content["adapter"]
        for message in content["messages"]:
            if message["call"] is None:
                del message["call"]
        return digest_of(content)


@dataclass(frozen=True)
class Completion:
    """A model's reply: raw text, why it ended, and its cost in tokens (None: unknown).

    ``calls`` are the function calls beside the text, from engines that report them separately.
    ``text_in`` names the field in which a server put text while the reply itself has none;
    ``unanswered`` is a server's reply of neither text nor tokens, however often it was asked.
    """

    text: str
    finish: Finish
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    error: str | None = None
    calls: tuple[ToolCall, ...] = ()
    text_in: str | None = None
    unanswered: bool = False

    @property
    def status(self) -> Status:
        """Return how the row counts: only ok rows are scored, the others are counted apart.

        A reply inside an open thought is truncated, whatever reason the engine gave for its end.
        """
        if self.finish == "error":
            return "error"
        if self.finish == "length" or thoughts.thought_is_open(self.text):
            return "truncated"
        return "ok" if self.text.strip() or self.calls else "empty"

    @property
    def final(self) -> bool:
        """Return whether a later run may read this reply from the cache.

        A failed request is asked again, and so is a server that gave no text or put it elsewhere: a
        person may have mended it.
        """
        if self.finish == "error" or self.unanswered:
            return False
        return self.text_in is None or self.status != "empty"

    @property
    def context_exceeded(self) -> bool:
        """Return whether the prompt is longer than the model reads."""
        return bool(self.error) and bool(_TOO_LONG.match(str(self.error)))


@dataclass(frozen=True)
class ChoiceScore:
    """Natural log-probabilities of the tokens of a given continuation, in order."""

    tokens: tuple[float, ...]

    @property
    def total(self) -> float:
        """Return the log-probability of the whole continuation."""
        return sum(self.tokens)


def failed(reason: str) -> Completion:
    """Return the completion of a request that failed for this reason."""
    return Completion(text="", finish="error", error=reason)


def to_row(completion: Completion) -> dict[str, Any]:
    """Return a completion as a JSON object, with its status for readers of the file."""
    row = {**asdict(completion), "status": completion.status}
    # Fields at their defaults stay out, so that rows keep the bytes of earlier versions.
    return {name: part for name, part in row.items() if part or name not in _OPTIONAL}


def from_row(row: Any) -> Completion:
    """Return the completion that `to_row` wrote; raise ValueError for any other value."""
    try:
        found = Completion(
            text=row["text"],
            finish=row["finish"],
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            error=row["error"],
            calls=tuple(ToolCall(call["name"], call["arguments"]) for call in row.get("calls", ())),
            text_in=row.get("text_in"),
            unanswered=row.get("unanswered", False),
        )
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"not a completion: {problem!r}") from problem
    fits = (
        isinstance(found.text, str)
        and found.finish in get_args(Finish)
        and isinstance(found.prompt_tokens, int | None)
        and isinstance(found.completion_tokens, int | None)
        and isinstance(found.error, str | None)
        and isinstance(found.text_in, str | None)
        and isinstance(found.unanswered, bool)
        and all(
            isinstance(part, str) for call in found.calls for part in (call.name, call.arguments)
        )
    )
    if not fits:
        raise ValueError("not a completion: a field has another type")
    return found
