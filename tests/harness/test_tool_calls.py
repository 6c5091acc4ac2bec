"""Function calls as messages and as text; what requests without them were before there were any."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.completions import Completion, Decoding, Message, Request, ToolCall, from_row, to_row
from harness.tool_calls import calls_in, can_be_told, message_dicts

CALL = ToolCall("find", '{"a": "x"}')
TAGGED = '<tool_call>\n{"name": "find", "arguments": {"a": "x"}}\n</tool_call>'


def test_requests_without_tools_keep_the_digests_they_always_had():
    talk = (
        Message("system", "Be brief."),
        Message("user", "Who?"),
        Message("assistant", "She."),
        Message("user", "Sure?"),
    )
    plain = Request(talk, Decoding("greedy", 0.0, 16), ("\n",))
    held = Request(talk[1:2], Decoding("sampled", 0.7, 16), (), 5, '{"type": "object"}')
    assert plain.digest == "be8987edff60a82257b1034fb42ae6e4f4d30187f444ac5d91847f35cc40b271"
    assert held.digest == "eae786846f05380eea1fa90d95df2a1b7bb4096f602288faf91e0a1a6b812b5c"


def test_tools_and_calls_are_part_of_the_digest():
    greedy = Decoding("greedy", 0.0, 16)
    asked, said = Message("user", "Who?"), Message("assistant", "")
    requests = [
        Request((asked, said), greedy),
        Request((asked, said), greedy, tools=("{}",)),
        Request((asked, Message("assistant", "", CALL)), greedy),
        Request((asked, Message("assistant", "", ToolCall("find", "{}"))), greedy),
        Request((asked, Message("tool", "")), greedy),
    ]
    assert len({request.digest for request in requests}) == len(requests)


def test_a_completion_keeps_its_calls_in_a_row_and_one_without_has_the_row_it_had():
    found = Completion("", "stop", 1, 2, calls=(CALL, ToolCall("x", "{")))
    assert from_row(json.loads(json.dumps(to_row(found)))) == found
    assert set(to_row(Completion("a", "stop"))) == {
        "text", "finish", "prompt_tokens", "completion_tokens", "error", "status"
    }  # fmt: skip
    for broken in ([1], [{"name": "x"}], [{"name": 1, "arguments": ""}], 3, {"name": "x"}):
        with pytest.raises(ValueError, match="not a completion"):
            from_row({**to_row(found), "calls": broken})


@pytest.mark.parametrize(
    ("text", "rest", "calls"),
    [
        (f"Let me see.\n{TAGGED}", "Let me see.", [CALL]),
        (f"{TAGGED}\n{TAGGED}", "", [CALL, CALL]),
        (TAGGED.removesuffix("</tool_call>"), "", [CALL]),
        ('{"name": "find", "parameters": {"a": "x"}}', "", [CALL]),
        ('<|python_tag|>{"name": "find", "parameters": {"a": "x"}}', "", [CALL]),
        ('[TOOL_CALLS] [{"name": "find", "arguments": {"a": "x"}}]', "", [CALL]),
        (' [{"name": "find", "arguments": {"a": "x"}}]\n', "", [CALL]),
        ('{"name": "find", "arguments": "{\\"a\\": \\"x\\"}"}', "", [CALL]),
        ("<tool_call>find(a='x')</tool_call>", "", [ToolCall("", "find(a='x')")]),
        ("Your bike is B-1.", "Your bike is B-1.", []),
        ("{}", "{}", []),
        ("[]", "[]", []),
        ("[1]", "[1]", []),
        ('{"name": "Ann"}', '{"name": "Ann"}', []),
        ('Use {"name": "find", "arguments": {}}.', 'Use {"name": "find", "arguments": {}}.', []),
        ('[{"name": "find", "arguments": {}}, 3]', '[{"name": "find", "arguments": {}}, 3]', []),
        ("[" * 90_000, "[" * 90_000, []),
    ],
)
def test_calls_that_a_text_writes_out_are_told_from_its_words(text, rest, calls):
    assert calls_in(text) == (rest, tuple(calls))


@given(
    st.text()
    | st.lists(st.sampled_from(["<tool_call>", "</tool_call>", "{", "[", "x"])).map("".join)
)
def test_any_text_is_taken_apart_without_an_error(text):
    rest, calls = calls_in(text)
    assert isinstance(rest, str)
    assert all(isinstance(call, ToolCall) for call in calls)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("find", "{}", True),
        ("find-it_2", '{"a": [1, {"b": null}]}', True),
        ("functions.find", "{}", False),
        ("", "{}", False),
        ("x" * 65, "{}", False),
        ("find\n", "{}", False),
        ("find", "", False),
        ("find", "[]", False),
        ("find", '{"a": NaN}', False),
        ("find", '{"a": -1e999}', False),
        ("find", '{"a": "\\ud800"}', False),
        ("find", '{"a": ' + "9" * 5000 + "}", False),
        ("find", '{"a":' * 100_000, False),
    ],
)
def test_only_what_servers_and_templates_read_is_told_as_a_call(name, arguments, told):
    assert can_be_told(ToolCall(name, arguments)) is told


def test_arguments_are_text_for_servers_and_objects_for_templates():
    talk = (Message("user", "Who?"), Message("assistant", "", CALL), Message("tool", "She."))
    server, template = message_dicts(talk), message_dicts(talk, parsed=True)
    assert server[1]["tool_calls"][0]["function"]["arguments"] == '{"a": "x"}'
    assert template[1]["tool_calls"][0]["function"]["arguments"] == {"a": "x"}
    assert (server[1]["content"], template[1]["content"]) == (None, "")
    assert message_dicts(talk) == server, "ids follow from the dialogue"
