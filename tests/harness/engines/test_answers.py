"""Shapes of answers that servers were reported to give, each with the completion it becomes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from support.asking import MODEL, ask, spec
from support.chat_server import Answer, Asked, chat_serving, error, of_json, said

from harness.completions import Completion
from harness.engines.openai import OpenAiEngine

ABSENT = object()


@dataclass(frozen=True)
class Shape:
    """What a server answers, one try after another (the last for good), and what comes of it.

    ``asked`` is the number of requests it takes, ``again`` how many of them because an answer was
    empty, ``reason`` the spelling that is counted.
    """

    answers: Sequence[Answer]
    text: str = "She."
    status: str = "ok"
    usage: tuple[int | None, int | None] = (7, 3)
    asked: int = 1
    again: int = 0
    reason: str | None = "stop"
    text_in: str | None = None
    unanswered: bool = False
    error: str = ""


def shape(answer: Answer, *then: Answer, **expected: Any) -> Shape:
    return Shape((answer, *then), **expected)


def ended(reason: Any, text: str | None = "She.", **more: Any) -> Answer:
    """An answer with this finish reason, or without the field."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text, **more}}
    if reason is not ABSENT:
        choice["finish_reason"] = reason
    return of_json(
        {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
    )


def counted(usage: Any) -> Answer:
    body: dict[str, Any] = {
        "choices": [{"message": {"content": "She."}, "finish_reason": "stop"}],
        "usage": usage,
    }
    if usage is ABSENT:
        del body["usage"]
    return of_json(body)


def tokens(prompt: Any, completion: Any) -> Answer:
    return counted({"prompt_tokens": prompt, "completion_tokens": completion})


NOTHING = {"prompt_tokens": 7, "completion_tokens": 0}
COLD = said(None, usage=NOTHING)
BLANK = said("", usage=NOTHING)

FINISHED = {
    name: shape(ended(name), reason=name)
    for name in (
        "stop", "eos_token", "eos", "end_turn", "stop_sequence", "complete", "COMPLETE", "STOP",
        "FinishReason.STOP", "tool_calls", "function_call", "tool_use", "end", "stop-sequence",
    )
}  # fmt: skip
CUT_OFF = {
    name: shape(ended(name), reason=name, status="truncated")
    for name in (
        "length", "max_tokens", "MAX_TOKENS", "model_length", "max_length", "max_output_tokens",
        "max_new_tokens", "FINISH_REASON_MAX_TOKENS", "model_context_window_exceeded",
    )
}  # fmt: skip
UNKNOWN = {
    "null": shape(ended(None), reason="null"),
    "absent": shape(ended(ABSENT), reason="absent"),
    "empty": shape(ended(""), reason="empty"),
    "unheard of": shape(ended("because"), reason="because"),
    "a number": shape(ended(3), reason="int"),
    "a dict": shape(ended({"type": "stop"}), reason="dict"),
    "a list": shape(ended(["stop"]), reason="list"),
    "an unprintable word": shape(ended("\x1b[2J"), reason="\\x1b[2J"),
    "a page": shape(ended("x" * 9000), reason="x" * 60),
}
HELD_BACK = {
    name: shape(ended(name, ""), text="", status="error", usage=(0, 0), reason=None,
                error="content filter")
    for name in ("content_filter", "content-filter", "SAFETY", "RECITATION", "sensitive")
}  # fmt: skip
BROKEN = {
    name: shape(ended(name, "She"), ended("stop"), asked=2)
    for name in ("error", "abort", "insufficient_system_resource")
}
EMPTIES = {
    "a cold start, null": shape(COLD, said("She."), asked=2, again=1),
    "a cold start, blank": shape(BLANK, BLANK, said("She."), asked=3, again=2),
    "blank for good": shape(
        BLANK, text="", status="empty", usage=(7, 0), asked=4, again=3, unanswered=True
    ),
    "null for good": shape(
        COLD, text="", status="empty", usage=(7, 0), asked=4, again=3, unanswered=True
    ),
    "blank and nothing counted": shape(
        of_json({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}),
        text="", status="empty", usage=(None, None), asked=4, again=3, unanswered=True,
    ),
    "blank and cut": shape(
        said("", finish="length", usage=NOTHING),
        text="", status="truncated", usage=(7, 0), asked=4, again=3, reason="length",
        unanswered=True,
    ),
    "blank with tokens is the model's": shape(said(""), text="", status="empty"),
    "blank, then a fault, then a text": shape(BLANK, error(500), said("She."), asked=3, again=1),
    "no content": shape(
        of_json({"choices": [{"message": {}, "finish_reason": "stop"}], "usage": NOTHING}),
        said("She."), asked=2, again=1,
    ),
}  # fmt: skip
BESIDE = {
    field: shape(said(None, **{field: "It was she."}), text="", status="empty", text_in=field)
    for field in ("reasoning_content", "reasoning", "thinking")
} | {
    "reasoning in parts": shape(
        said("", reasoning_details=[{"type": "reasoning.text", "text": "It was she."}]),
        text="", status="empty", text_in="reasoning_details",
    ),
    "content of one object": shape(said({"text": "She."}), text="She."),
    "reasoning cut off": shape(
        said("", finish="length", reasoning_content="It was"),
        text="", status="truncated", reason="length", text_in="reasoning_content",
    ),
    "reasoning beside a text": shape(said("She.", reasoning_content="It was she.")),
    "reasoning without a token": shape(
        said(None, usage=NOTHING, reasoning="It was she."),
        text="", status="empty", usage=(7, 0), text_in="reasoning",
    ),
    "reasoning that is no text": shape(said("", reasoning={"x": 1}), text="", status="empty"),
    "blank reasoning": shape(said("", reasoning_content="\n"), text="", status="empty"),
}  # fmt: skip
USAGE = {
    "none": shape(counted(ABSENT), usage=(None, None)),
    "null": shape(counted(None), usage=(None, None)),
    "a word": shape(counted("none"), usage=(None, None)),
    "a list": shape(counted([1]), usage=(None, None)),
    "empty": shape(counted({}), usage=(None, None)),
    "the prompt alone": shape(counted({"prompt_tokens": 7}), usage=(7, None)),
    "whole floats": shape(tokens(20.0, 5.0), usage=(20, 5)),
    "digits": shape(tokens("20", "5"), usage=(20, 5)),
    "digits of a float": shape(tokens("20.0", " 5 "), usage=(20, 5)),
    "nought": shape(tokens(0, 0), usage=(0, 0)),
    "halves": shape(tokens(20.5, "5.5"), usage=(None, None)),
    "below nought": shape(tokens(-1, "-1"), usage=(None, None)),
    "no numbers": shape(tokens(float("nan"), float("inf")), usage=(None, None)),
    "huge": shape(tokens(10**12, "9" * 5000), usage=(None, None)),
    "huge floats": shape(tokens(1e300, 1e15), usage=(None, None)),
    "true": shape(tokens(True, False), usage=(None, None)),
    "other digits": shape(tokens("\u0662\u0660", "5e0"), usage=(None, None)),
    "null fields": shape(tokens(None, None), usage=(None, None)),
}
CONTENT = {
    "parts": shape(said([{"type": "text", "text": "Sh"}, {"type": "text", "text": "e."}])),  # type: ignore[arg-type]
    "output parts": shape(said([{"type": "output_text", "text": "She."}])),  # type: ignore[arg-type]
    "strings in a list": shape(said(["Sh", "e."])),  # type: ignore[arg-type]
    "one part": shape(said({"type": "text", "text": "She."})),  # type: ignore[arg-type]
    "an error that says nothing": shape(
        of_json({
            "error": {"message": "", "code": None},
            "choices": [{"message": {"content": "She."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        })
    ),
    "an error in the choice": shape(
        of_json({"choices": [{
            "message": {"content": ""}, "finish_reason": "error",
            "error": {"code": 502, "message": "upstream"},
        }]}),
        said("She."), asked=2,
    ),
    "a byte-order mark": shape(Answer(b"\xef\xbb\xbf" + said("She.").content)),
    "spaces to keep the line open": shape(Answer(b"\n \n" + said("She.").content)),
    "a closing tag alone": shape(said("It was</think>She."), text="It was</think>She."),
}  # fmt: skip
FURTHER = {
    "created": shape(Answer(said("She.").content, 201)),
    "accepted and queued": shape(
        of_json({"requestId": "1", "status": "pending"}, 202), said("She."), asked=2
    ),
    "no content at all": shape(Answer(b"", 204), said("She."), asked=2),
    "line ends without a token": shape(said("\n\n", usage=NOTHING), said("She."), asked=2, again=1),
    "thoughts as parts alone": shape(
        said([{"type": "thinking", "thinking": "It was she."}]),  # type: ignore[arg-type]
        text="", status="empty", text_in="content",
    ),
    "thoughts as parts and a text": shape(
        said([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "She."}])  # type: ignore[arg-type]
    ),
    "a part without words": shape(
        said([{"type": "text", "text": ""}], usage=NOTHING),  # type: ignore[arg-type]
        said("She."), asked=2, again=1,
    ),
    "a part that is null": shape(said([None, {"type": "text", "text": "She."}])),  # type: ignore[arg-type]
    "a second choice": shape(
        of_json({
            "choices": [
                {"message": {"content": "She."}, "finish_reason": "stop"},
                {"message": {"content": "He."}, "finish_reason": "length"},
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        })
    ),
    "choices that are no list": shape(
        of_json({"choices": {"0": {"message": {"content": "x"}}}}), said("She."), asked=2
    ),
    "a chunk of a stream": shape(
        of_json({"choices": [{"delta": {"content": "x"}, "finish_reason": None}]}),
        said("She."), asked=2,
    ),
    "a stream": shape(Answer(b'data: {"choices": []}\n\ndata: [DONE]'), said("She."), asked=2),
    "two answers in one": shape(Answer(said("a").content * 2), said("She."), asked=2),
    "a login page": shape(Answer(b"<html>Log in</html>"), said("She."), asked=2),
    "a message beside a null error": shape(
        of_json(json.loads(said("She.").content) | {"error": None, "detail": ""})
    ),
    "an error as a word": shape(of_json({"error": "overloaded"}), said("She."), asked=2),
    "overloaded": shape(error(529, "Overloaded"), said("She."), asked=2),
    "an old call that nobody offered": shape(
        ended("function_call", None, function_call={"name": "find", "arguments": "{}"}),
        text="", status="error", usage=(0, 0), reason=None, error="no tool was offered",
    ),
    "an old call without a name": shape(
        said("She.", function_call={"name": "", "arguments": ""})
    ),
    "a filtered prompt": shape(
        error(400, "The prompt triggered the content management policy", code="content_filter"),
        text="", status="error", usage=(0, 0), reason=None, error="content management",
    ),
    "a status that is a word, in a 200": shape(
        of_json({"error": {"message": "no such field", "code": "400"}}),
        text="", status="error", usage=(0, 0), reason=None, error="HTTP 400: no such field",
    ),
    "a status beside a code, in a 200": shape(
        of_json({"error": {"message": "no such field", "code": "bad", "status": 422}}),
        text="", status="error", usage=(0, 0), reason=None, error="HTTP 422: no such field",
    ),
    "usage as text": shape(counted('{"prompt_tokens": 7}'), usage=(None, None)),
    "usage as dicts": shape(tokens({"value": 7}, [3]), usage=(None, None)),
    "usage of another protocol": shape(
        counted({"input_tokens": 7, "output_tokens": 3}), usage=(None, None)
    ),
    "nested too deeply": shape(
        Answer(b'{"choices": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"), said("She."), asked=2
    ),
    "a stop in mixed case": shape(ended("Stop"), reason="Stop"),
    "a length in words": shape(ended("max tokens"), reason="max tokens", status="truncated"),
    "a null that is a word": shape(ended("null"), reason="null"),
    "half a character": shape(said("She\ud800."), text="She\ufffd."),
}  # fmt: skip
SHAPES = {
    f"{kind}: {name}": found
    for kind, group in (
        ("finished", FINISHED), ("cut", CUT_OFF), ("unknown reason", UNKNOWN),
        ("held back", HELD_BACK), ("broken off", BROKEN), ("empty", EMPTIES),
        ("text beside", BESIDE), ("usage", USAGE), ("content", CONTENT), ("further", FURTHER),
    )
    for name, found in group.items()
}  # fmt: skip


def given(found: Shape) -> tuple[Completion, OpenAiEngine, list[Asked]]:
    with chat_serving(lambda asked: found.answers[min(asked.number, len(found.answers) - 1)]) as at:
        engine = spec(at.url, retries=4).open(MODEL, None)
        try:
            (group,) = engine.run([ask("Who?")], [0])
        finally:
            engine.close()
    return group[0], engine, at.asked


@pytest.mark.parametrize("found", SHAPES.values(), ids=SHAPES)
def test_an_answer_of_any_shape_becomes_this_row(found):
    row, engine, asked = given(found)
    assert (row.text, row.status) == (found.text, found.status)
    assert (row.prompt_tokens, row.completion_tokens) == found.usage
    assert len(asked) == found.asked
    assert (row.text_in, row.unanswered) == (found.text_in, found.unanswered)
    assert dict(engine.finish_reasons) == (
        {} if found.reason is None else {found.reason: found.again + 1}
    )
    assert engine.counters["empty_asked_again"] == found.again
    assert found.error in (row.error or "")
