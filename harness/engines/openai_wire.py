"""Chat completions on the wire: what is sent, how answers and errors are read.

Whatever a server answers is untrusted: it is checked field by field, and of its error texts a
bounded, printable line without the key is kept.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from harness.completions import Completion, Finish, Named, Request, ToolCall, ToolChoice
from harness.errors import UserError
from harness.models import ModelSpec
from harness.rendering import folded
from harness.terminal import printable
from harness.tool_calls import message_dicts

Takes = Literal["temperature", "seed", "stop", "template"]
Schemas = Literal["strict", "lenient", "none"]
LengthField = Literal["max_tokens", "max_completion_tokens"]

MAX_SAID = 300  # characters of a server's own words
MAX_READ = 20_000  # characters in which these are looked for
MAX_BEFORE_PROMPT = 200
_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
}
# How servers say that a prompt is too long: OpenAI, vLLM, llama.cpp, SGLang.
_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "exceeds the available context",
    "maximum context length",
    "maximum model length",
    "model's context length",
)
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")


class RefusedError(Exception):
    """The server will not answer this request, however often it is made."""


class BusyError(Exception):
    """The request may be answered later; ``wait`` is what the server asks for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Form:
    """How requests to a server look: the model's name there, and what the server takes."""

    served: str
    takes: Sequence[Takes]
    schemas: Schemas
    length_field: LengthField
    extra: Mapping[str, Any]


def body_of(request: Request, model: ModelSpec, form: Form) -> dict[str, Any]:
    """Return the body of a request; raises UserError for a schema that the server refuses."""
    decoding = request.decoding
    body: dict[str, Any] = {
        "model": form.served,
        "messages": message_dicts(folded(request.messages, model.system_role)),
        form.length_field: decoding.max_new_tokens,
        "stream": False,
    }
    if "temperature" in form.takes:
        body["temperature"] = decoding.temperature
    if "seed" in form.takes and decoding.temperature > 0:
        body["seed"] = request.seed
    if "stop" in form.takes and request.stop:
        body["stop"] = list(request.stop)
    if model.template:
        body["chat_template_kwargs"] = dict(model.template)
    if request.tools:
        body["tools"] = [json.loads(tool) for tool in request.tools]
        if request.tool_choice != "auto":  # the default of every server
            body["tool_choice"] = _tool_choice(request.tool_choice)
    if request.schema is not None:
        body["response_format"] = _response_format(request.schema, form.schemas)
    extra = dict(form.extra)
    if isinstance(more := extra.get("chat_template_kwargs"), Mapping):
        extra["chat_template_kwargs"] = {**body.get("chat_template_kwargs", {}), **more}
    return body | extra


def _tool_choice(choice: ToolChoice) -> str | dict[str, Any]:
    if isinstance(choice, Named):
        return {"type": "function", "function": {"name": choice.tool}}
    return choice


def _response_format(schema: str, schemas: Schemas) -> dict[str, Any]:
    if schemas == "none":
        raise UserError(
            "engine.schemas=none: a reply shall be held to a JSON schema, and the server takes"
            " none: ask for no schema, or set engine.schemas=strict"
        )
    strict = {"strict": True} if schemas == "strict" else {}
    return {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": json.loads(schema), **strict},
    }


def completion_of(body: Mapping[str, Any], request: Request) -> Completion:
    """Return the completion that an answer holds.

    Reasoning beside the text is left where it is. Raises BusyError for an answer that is none,
    RefusedError for one that the server holds back or that calls a tool unasked.
    """
    message, reason = _choice(body)
    if reason == "content_filter":
        raise RefusedError("the server's content filter held the reply back")
    if not isinstance(reason, str) or reason not in _FINISHES:
        raise BusyError(f"the answer ends for an unknown reason ({readable(str(reason))[:60]})")
    text, calls = _text(message), _calls(message)
    if calls and not request.tools:
        raise RefusedError("the server answered with a tool call, and no tool was offered")
    cut = min((at for word in request.stop if (at := text.find(word)) >= 0), default=None)
    return Completion(
        text=text[:cut],
        finish="stop" if cut is not None else _FINISHES[reason],
        prompt_tokens=_count(body, "prompt_tokens"),
        completion_tokens=_count(body, "completion_tokens"),
        calls=calls,
    )


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """The first choice's message, and why it ended."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BusyError("the answer holds no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise BusyError("the answer's choice holds no message")
    return message, choices[0].get("finish_reason")


def _text(message: Mapping[str, Any]) -> str:
    """The text, or the words of a refusal; of a list of parts, those that are text."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "".join(str(part.get("text", "")) for part in parts)
    if content is None:
        content = message.get("refusal") or ""
    if not isinstance(content, str):
        raise BusyError("the answer's content is no text")
    return _whole(content)


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise BusyError("the answer's tool_calls are no list")
    return tuple(_call(call) for call in calls)


def _call(call: Any) -> ToolCall:
    """The call as the model wrote it: whether it can be run is for others to see."""
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not isinstance(function, dict):
        raise BusyError("the answer's tool call names no function")
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_whole(name), _whole(text))


def _whole(text: str) -> str:
    """Without halves of characters, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(body: Mapping[str, Any], name: str) -> int:
    usage = body.get("usage")
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def answering(body: Mapping[str, Any]) -> str:
    """Return who answers, as the server says: the model, and the version of what runs it."""
    known = [body.get(name) for name in ("model", "system_fingerprint")]
    return " ".join(readable(word)[:100] for word in known if isinstance(word, str)) or "unknown"


def parsed(content: bytes, key: str | None) -> Mapping[str, Any]:
    """Return the JSON object that an answer is; raises BusyError for anything else."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise BusyError(f"the answer is no JSON: {said(content, key)}") from None
    if not isinstance(body, dict):
        raise BusyError(f"the answer is no JSON object: {said(content, key)}")
    return body


def error_in(body: Mapping[str, Any]) -> Any:
    """Return the error that an answer carries, whatever its status; None where it has none."""
    return body.get("error") or (body if body.get("object") == "error" else None)


def status_of(error: Any) -> int:
    """Return the status that an error in an answer of status 200 stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def is_too_long(status: int, error: Any) -> bool:
    """Return whether the server says that the prompt is longer than its model reads.

    It says so first: what follows may quote the prompt, which may say anything.
    """
    words = [word[:MAX_BEFORE_PROMPT].lower() for word in _words(error)]
    return status in (400, 413, 422) and any(said in w for said in _TOO_LONG for w in words)


def is_out_of_money(status: int, error: Any) -> bool:
    """Return whether the account has nothing left."""
    code = error.get("code") if isinstance(error, dict) else None
    return status == 402 or (status in (403, 429) and code in _NO_MONEY)


def _words(error: Any) -> list[str]:
    if not isinstance(error, dict):
        return [str(error)]
    return [str(error[key]) for key in ("message", "code", "type") if error.get(key) is not None]


def said_in(error: Any, content: bytes, key: str | None) -> str:
    """Return what the server says of an error, in a line that can be shown."""
    words = _words(error)[:1] if error else []
    return _shown(words[0], key) if words else said(content, key)


def said(content: bytes, key: str | None) -> str:
    """Return the beginning of an answer, in a line that can be shown."""
    return _shown(content.decode("utf-8", "replace"), key) or "nothing"


def _shown(text: str, key: str | None) -> str:
    """A line that can be shown, without the key or its beginning, which is a secret too."""
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
