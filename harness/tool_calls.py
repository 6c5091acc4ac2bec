"""Function calls on their way to a model and back.

To a model they go in OpenAI's message form, which servers and chat templates share. Back they come
beside the text where a server reads them out, else as text in one of these forms::

    <tool_call>{"name": "get_order", "arguments": {"id": "#W1"}}</tool_call>     (Hermes, Qwen)
    {"name": "get_order", "parameters": {"id": "#W1"}}                           (Llama 3.1)
    [TOOL_CALLS] [{"name": "get_order", "arguments": {"id": "#W1"}}]             (Mistral)
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from harness.completions import Message, ToolCall
from harness.hashing import digest_of

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MAX_CHARACTERS = 100_000  # of a text that calls are looked for in
TAGGED = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|\Z)", re.DOTALL)
_LISTED = re.compile(r"\A\s*(?:\[TOOL_CALLS\]\s*)?(?=\[)")
_BARE = re.compile(r"\A\s*(?:<\|python_tag\|>\s*)?(?=\{)")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def message_dicts(messages: Sequence[Message], parsed: bool = False) -> list[dict[str, Any]]:
    """Return the messages in OpenAI's form; ``parsed`` gives arguments as objects for templates.

    Calls are numbered by nine letters and digits, which is what the strictest template takes; they
    follow from what is called and where, so that equal dialogues stay equal requests.
    """
    dicts: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for number, message in enumerate(messages):
        turn: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.call is not None:
            name, arguments = message.call.name, message.call.arguments
            last = {"id": digest_of([number, name, arguments])[:9], "name": name}
            function = {"name": name, "arguments": json.loads(arguments) if parsed else arguments}
            call = {"id": last["id"], "type": "function", "function": function}
            turn |= {"content": message.content or None, "tool_calls": [call]}
            if parsed:  # templates join it to text
                turn["content"] = message.content
        if message.role == "tool":
            assert last, "a tool answers the call before it"
            turn |= {"tool_call_id": last["id"], "name": last["name"]}
        dicts.append(turn)
    return dicts


def can_be_told(call: ToolCall) -> bool:
    """Do servers and templates take this call as a part of a dialogue?

    They refuse a name of other characters and arguments that are no JSON object: numbers beyond
    every number and halves of characters are no JSON to most.
    """
    try:
        arguments = json.loads(call.arguments)
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(arguments, dict) and bool(_NAME.fullmatch(call.name))


def calls_in(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text without the calls that it writes out, and those calls; broken ones are none.

    A tag that opens is a call whatever it holds: its raw text becomes the arguments.
    """
    if len(text) > MAX_CHARACTERS:
        return text, ()
    if OPEN in text:
        calls = tuple(_tagged(found[1].strip()) for found in TAGGED.finditer(text))
        return TAGGED.sub("", text).strip(), calls
    for form in (_BARE, _LISTED):
        if begins := form.match(text):
            found = _parsed(text[begins.end() :].strip())
            listed = found if isinstance(found, list) else [found]
            calls = tuple(call for item in listed if (call := _call(item)))
            if listed and len(calls) == len(listed):
                return "", calls
    return text, ()


def _tagged(inside: str) -> ToolCall:
    return _call(_parsed(inside)) or ToolCall("", inside)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(value: Any) -> ToolCall | None:
    """The call that an object with a name and arguments (or parameters) is."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        return ToolCall(value["name"], arguments)
    if isinstance(arguments, dict):
        return ToolCall(value["name"], json.dumps(arguments, ensure_ascii=False))
    return None
