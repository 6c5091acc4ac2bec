"""Agent kinds: what a planner's text is read as, and the prompts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.playing import arm_of, compose_taubench, evaluate, form_of

from factored.agents import Ask, NativeApiForm, Say, WrittenCall, read_calls
from factored.call_checks import Punt, read_json_call
from factored.requests import parse_request
from factored.taubench.tasks import Action
from harness.completions import ToolCall
from harness.errors import UserError

KINDS = ("factored", "faep", "native", "react", "act")
ACTION = Action("get_member", {"member_id": "M-1"})
CALL = '{"name": "get_member", "arguments": {"member_id": "M-1"}}'
MARK, JSON_MARK = "natural_language_tool_call", "json_tool_call"


def error_of(kind: str, text: str) -> str:
    found = form_of(kind).read(text)
    assert isinstance(found, Punt), found
    return found.error


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_reads_back_the_actions_that_it_writes(kind):
    form = form_of(kind)
    written = form.read(form.write(ACTION))
    if isinstance(written, Ask):
        assert parse_request(written.request) == ACTION
    else:
        assert isinstance(written, WrittenCall)
        assert read_json_call(written.text) == ACTION
    said = form.read(form.write(Action("respond", {"content": " Your bike: B-1.\n"})))
    assert said == Say(" Your bike: B-1.\n")


def test_native_api_writes_no_tools_into_its_prompt_and_sends_every_schema(bikes):
    form = form_of("native_api")
    assert isinstance(form, NativeApiForm)
    assert form.system(bikes.policy, bikes.schemas) == bikes.policy.strip()
    assert [json.loads(tool) for tool in form.tools(bikes.schemas)] == list(bikes.schemas)
    assert form.read(form.write(ACTION)) == form_of("native").read(form_of("native").write(ACTION))
    assert form.answer("get_member", "M-105") == "M-105"


@given(
    name=st.text(), arguments=st.text() | st.sampled_from(["{}", "[]", '{}, "name": "x"', "NaN"])
)
def test_calls_beside_a_text_are_one_object_whatever_stands_in_them(name, arguments):
    found = read_calls([ToolCall(name, arguments)])
    if isinstance(found, WrittenCall):
        call = json.loads(found.text)
        assert list(call) == ["name", "arguments"]
        assert call["name"] == name
    else:
        assert isinstance(found, Punt)
        assert found.error == "malformed"


def test_a_model_whose_template_knows_no_tools_is_found_out_before_anything_is_generated(
    smollm2, outside
):
    path = f"planner.model.path={smollm2}"
    config = compose_taubench("agent=native_api", "planner=llm", path, *outside)
    with pytest.raises(UserError, match=r"'smollm2'.*knows no function calls.*agent=native"):
        evaluate(arm_of(config))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_shows_policy_every_tool_and_the_answers(kind, bikes):
    form = form_of(kind)
    system = form.system(bikes.policy, bikes.schemas)
    assert bikes.policy.strip() in system
    for schema in bikes.schemas:
        assert f'"{schema["function"]["name"]}"' in system
    assert "M-105" in form.answer("find_member", "M-105")


def test_factored_and_its_equivalent_prompt_differ_in_the_suffix_alone(bikes):
    ours, theirs = (compose_taubench(f"agent={kind}")["agent"] for kind in ("factored", "faep"))
    same = {key for key in ours if ours[key] == theirs[key]}
    assert same == {"tools_heading", "answer_prefix"}
    prompts = [form_of(kind).system(bikes.policy, bikes.schemas) for kind in ("factored", "faep")]
    bodies = [
        prompt.removesuffix(agent["suffix"].strip())
        for prompt, agent in zip(prompts, (ours, theirs), strict=True)
    ]
    assert bodies[0] == bodies[1] != prompts[0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        (MARK, "empty"),
        (f"{MARK}:\n", "empty"),
        (f"{MARK} Call a. {MARK} Call b.", "several_calls"),
        (f"Let me check. {MARK} Call a.", "marker_with_text"),
        (f"Call the tool a. {MARK}", "wrong_order"),
        (CALL, "no_marker"),
        ('{"arguments": {"rental_id": "R-2004"}, "name": "get_rental"}', "no_marker"),
        (f"I will call this:\n```json\n{CALL}\n```", "no_marker"),
    ],
)
def test_ways_of_misusing_the_marker_are_told_apart(text, error):
    assert error_of("factored", text) == error


def test_the_marker_may_be_followed_by_a_colon_or_a_new_line_and_words_with_it_are_no_marker():
    form = form_of("factored")
    for text in (f"{MARK} Call a.", f"{MARK}: Call a.", f"\n{MARK}\nCall a."):
        assert form.read(text) == Ask("Call a.")
    for text in ("The record is {}.", f"{MARK}s are requests.", "Use name and arguments."):
        assert form.read(text) == Say(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (f"{JSON_MARK} {CALL} {CALL}", "several_calls"),
        (f"{JSON_MARK} {CALL}\n{JSON_MARK} {CALL}", "several_calls"),
        (f"{JSON_MARK} {CALL} This finds the member.", "marker_with_text"),
        (f"Now. {JSON_MARK} {CALL}", "marker_with_text"),
        (f"{CALL} {JSON_MARK}", "wrong_order"),
        (CALL, "no_marker"),
    ],
)
def test_the_equivalent_prompt_has_the_same_planner_errors(text, error):
    assert error_of("faep", text) == error


def test_a_broken_call_of_the_equivalent_prompt_reaches_the_checker():
    found = form_of("faep").read(f"{JSON_MARK} functions.get_member(member_id='M-1')")
    assert isinstance(found, WrittenCall)
    assert isinstance(read_json_call(found.text), Punt)


def test_a_native_message_with_a_call_is_a_call_the_first_one():
    text = f"Let me see.\n<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{{}}\n</tool_call>"
    assert form_of("native").read(text) == WrittenCall(CALL)
    assert form_of("native").read(f"<tool_call>{CALL}") == WrittenCall(CALL)
    assert error_of("native", " ") == "empty"


@pytest.mark.parametrize("kind", ["react", "act"])
def test_what_follows_the_last_action_counts(kind):
    form = form_of(kind)
    text = f"Thought: the Action: part comes next.\nAction:\n{CALL}"
    assert form.read(text) == WrittenCall(CALL)
    assert form.read("Action:\nWhich bike is it?") == Say("Which bike is it?")
    assert form.read("Which bike is it?") == Say("Which bike is it?")
    respond = '{"name": "respond", "arguments": {"content": "Hello"}}'
    assert form.read(f"Action: {respond}") == Say("Hello")
    assert form.read(f"Action:\n```json\n{respond}\n```") == Say("Hello")
    assert error_of(kind, 'Action: {"name": "respond", "arguments": {}}') == "missing_field"
    assert error_of(kind, "Thought: nothing.\nAction:\n") == "empty"


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text() | st.sampled_from([MARK, JSON_MARK, CALL, "Action:", "{", "<tool_call>"]))
def test_any_text_is_read_as_something(kind, text):
    assert isinstance(form_of(kind).read(text), Say | Ask | WrittenCall | Punt)
