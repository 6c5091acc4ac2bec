"""Tool agents: what they read, and the oracle."""

import json
from dataclasses import replace

import pytest
from support.playing import compose_taubench

from factored.call_checks import Punt
from factored.settings import canonical, taubench_settings
from factored.tool_agents import ModelToolAgentSpec, Oracle, tool_agent_messages

DIALOGUE = [
    ("User", "Hi"),
    ("Assistant", "Who are you?"),
    ("User", "Ann"),
    ("Assistant", "Find Ann."),
    ("Tool find_member", "M-1"),
]


@pytest.fixture(scope="module")
def spec() -> ModelToolAgentSpec:
    found = taubench_settings(canonical(compose_taubench())[0]).tool_agent
    assert isinstance(found, ModelToolAgentSpec)
    return found


def prompt_of(spec, bikes, **changes):
    changed = replace(spec, **changes)
    return tool_agent_messages(changed, bikes.schemas, "Call the tool x.", DIALOGUE)


def test_by_default_the_request_alone_is_read(spec, bikes):
    messages, left_out = prompt_of(spec, bikes)
    assert messages[-1].content == "Call the tool x."
    assert left_out == 0
    assert not any("Who are you?" in message.content for message in messages)


def test_the_last_messages_or_all_of_them_stand_before_the_request(spec, bikes):
    messages, _ = prompt_of(spec, bikes, context="last", last=2)
    assert messages[-1].content == "Assistant: Find Ann.\nTool find_member: M-1\nCall the tool x."
    messages, _ = prompt_of(spec, bikes, context="conversation")
    assert messages[-1].content.startswith("User: Hi\nAssistant: Who are you?\n")
    assert messages[-1].content.endswith("\nCall the tool x.")


def test_the_oldest_messages_are_left_out_and_counted(spec, bikes):
    messages, left_out = prompt_of(spec, bikes, context="conversation", max_characters=45)
    assert left_out == 3
    assert messages[-1].content.startswith("Assistant: Find Ann.\n")
    messages, left_out = prompt_of(spec, bikes, context="conversation", max_characters=0)
    assert (messages[-1].content, left_out) == ("Call the tool x.", 5)


def test_a_trained_agent_sees_no_schemas_an_untrained_one_all_of_them(spec, bikes):
    names = [schema["function"]["name"] for schema in bikes.schemas]
    seeing, _ = prompt_of(spec, bikes)
    blind, _ = prompt_of(spec, bikes, sees_schemas=False)
    assert all(name in seeing[0].content for name in names)
    assert not any(name in blind[0].content for name in names)


def test_schemas_or_signatures_name_every_parameter(spec, bikes):
    for tools_as in ("schemas", "signatures"):
        messages, _ = prompt_of(spec, bikes, tools_as=tools_as)
        for schema in bikes.schemas:
            for parameter in schema["function"]["parameters"]["properties"]:
                assert parameter in messages[0].content
    signatures, _ = prompt_of(spec, bikes, tools_as="signatures")
    assert "riders: [{name: string, height_cm: integer}]" in signatures[0].content
    assert "extras: [helmet|child seat|lock|basket]" in signatures[0].content


def test_the_examples_of_the_prompt_are_pairs_that_the_oracle_agrees_with(spec):
    for example in spec.examples:
        written = Oracle().write(example.request, [])
        assert isinstance(written, str)
        assert json.loads(written) == json.loads(example.call)


def test_the_oracle_reads_the_request_and_nothing_else():
    text = 'Call the tool find_member with email set to "a@b.c".'
    written = {Oracle().write(text, lines) for lines in ([], DIALOGUE, [("User", "x" * 99)])}
    assert written == {'{"name": "find_member", "arguments": {"email": "a@b.c"}}'}
    other = Oracle().write("Please find the member with the e-mail address a@b.c.", [])
    assert isinstance(other, Punt)
    assert other.error == "malformed"
