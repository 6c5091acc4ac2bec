"""Chat completions on the wire: what is sent, how answers are read.

Whatever a server answers is untrusted: it is checked field by field.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.completions import Completion, Finish, Named, Request, ToolCall, ToolChoice
from harness.engines.openai_errors import BusyError, RefusedError, readable, said, words_of
from harness.errors import UserError
from harness.models import ModelSpec
from harness.rendering import folded
from harness.tool_calls import message_dicts

Takes = Literal["temperature", "seed", "stop", "template"]
Schemas = Literal["strict", "lenient", "none"]
LengthField = Literal["max_tokens", "max_completion_tokens"]

MOST_TOKENS = 10**9  # a larger count is none
MAX_REASON = 60  # characters of a finish reason
# Why replies end, as servers and gateways to other protocols spell it: Google, Mistral, Anthropic,
# z.ai and others beside OpenAI's own. What is in none of these three sets is a finished reply
# (TGI's eos_token, Anthropic's end_turn, Cohere's COMPLETE), so that no good text is thrown away.
# In lower case, "_" for "-" and " ".
_LENGTHS = frozenset(
    {
        "length", "max_tokens", "max_length", "max_new_tokens", "max_output_tokens",
        "max_completion_tokens", "model_length", "token_limit", "model_context_window_exceeded",
    }
)  # fmt: skip
_FILTERS = frozenset(
    {
        "content_filter", "content_filtered", "safety", "recitation", "blocklist", "spii",
        "prohibited_content", "sensitive", "error_toxic", "guardrail_intervened",
    }
)  # fmt: skip
# The server broke off: what came of the text is no reply.
_BROKEN = frozenset({"error", "abort", "aborted", "network_error", "insufficient_system_resource"})
_PREFIX = re.compile(r"(?:finish_?reason[._])", re.IGNORECASE)


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

    A finish reason that is missing or unknown counts as a finished reply. Reasoning beside the text
    is left where it is. Raises BusyError for an answer that is none, RefusedError for one that the
    server holds back or that calls a tool unasked.
    """
    _, message = _choice(body)
    reason = _PREFIX.sub("", finish_reason(body)).lower().replace("-", "_").replace(" ", "_")
    if reason in _FILTERS:
        raise RefusedError("the server's content filter held the reply back")
    if reason in _BROKEN:
        raise BusyError(f"the server broke the answer off ({finish_reason(body)})")
    text, calls = _text(message), _calls(message)
    if calls and not request.tools:
        raise RefusedError("the server answered with a tool call, and no tool was offered")
    cut = min((at for word in request.stop if (at := text.find(word)) >= 0), default=None)
    ended: Finish = "length" if reason in _LENGTHS and cut is None else "stop"
    written = _count(body, "completion_tokens")
    blank = not text.strip() and not calls
    text_in = _text_in(message) if blank else None
    return Completion(
        text=text[:cut],
        finish=ended,
        prompt_tokens=_count(body, "prompt_tokens"),
        completion_tokens=written,
        calls=calls,
        text_in=text_in,
        unanswered=blank and not written and text_in is None,
    )


def finish_reason(body: Mapping[str, Any]) -> str:
    """Return the spelling of an answer's finish reason; "null", "absent" or "empty" for none.

    Of a reason that is no text it is the type, e.g. "dict".
    """
    choice, _ = _choice(body)
    if "finish_reason" not in choice:
        return "absent"
    reason = choice["finish_reason"]
    if reason is None or reason == "":
        return "null" if reason is None else "empty"
    spelt = reason if isinstance(reason, str) else type(reason).__name__
    return readable(spelt)[:MAX_REASON]


def _choice(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the first choice and its message; raises BusyError if there is none."""
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BusyError("the answer holds no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise BusyError("the answer's choice holds no message")
    return choices[0], message


def _text(message: Mapping[str, Any]) -> str:
    """Return the text, the words of a refusal, or the joined text parts of a list."""
    content = message.get("content")
    if isinstance(content, dict):
        content = [content]
    if isinstance(content, list):
        content = "".join(_part(part) for part in content)
    if content is None:
        content = message.get("refusal") or ""
    if not isinstance(content, str):
        raise BusyError("the answer's content is no text")
    return _whole(content)


def _part(part: Any) -> str:
    if isinstance(part, dict):
        part = part.get("text") if part.get("type", "text") in ("text", "output_text") else None
    return part if isinstance(part, str) else ""


def _text_in(message: Mapping[str, Any]) -> str | None:
    """Return the field that holds reasoning, for a message without text; None without any."""
    parts = message.get("content")
    if isinstance(parts, list) and any(
        isinstance(part, dict) and part.get("type") in ("thinking", "reasoning") for part in parts
    ):
        return "content"  # of Mistral, whose thoughts are parts of it
    for field in ("reasoning_content", "reasoning", "thinking"):
        found = message.get(field)
        if isinstance(found, str) and found.strip():
            return field
    # OpenRouter's list of parts, where it gives no field of one text beside it.
    details = message.get("reasoning_details")
    return "reasoning_details" if isinstance(details, list) and details else None


def _calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = message.get("tool_calls") or []
    older = message.get("function_call")  # the field before OpenAI had several calls
    if not calls and isinstance(older, dict) and older.get("name"):
        calls = [{"function": older}]
    if not isinstance(calls, list):
        raise BusyError("the answer's tool_calls are no list")
    return tuple(_call(call) for call in calls)


def _call(call: Any) -> ToolCall:
    """Return the call as the model wrote it, not checked against the tools' schemas."""
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not isinstance(function, dict):
        raise BusyError("the answer's tool call names no function")
    arguments = function.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_whole(name), _whole(text))


def _whole(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(body: Mapping[str, Any], name: str) -> int | None:
    """Return a count of tokens (20, 20.0 or "20"); None for anything else: it is unknown."""
    usage = body.get("usage")
    found = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(found, str):
        digits = re.fullmatch(r"([0-9]{1,10})(?:\.0{1,6})?", found.strip()[:20])
        found = int(digits[1]) if digits else None
    if isinstance(found, float):
        found = int(found) if found.is_integer() else None
    if isinstance(found, bool) or not isinstance(found, int):
        return None
    return found if 0 <= found <= MOST_TOKENS else None


def answering(body: Mapping[str, Any]) -> str:
    """Return the model and the version (`system_fingerprint`) that the server names."""
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
    """Return the error in an answer of status 2xx, None if there is none.

    An error without words beside choices counts as none: some gateways always send the field.
    """
    choices = body.get("choices")
    found = body.get("error") or (body if body.get("object") == "error" else None)
    if isinstance(choices, list) and choices:
        if found is not None and not words_of(found):
            found = None
        if found is None and isinstance(choices[0], dict):
            return choices[0].get("error")
    return found
