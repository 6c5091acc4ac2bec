"""The oracle's pair: a call in English and back."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factored.call_checks import CallChecker
from factored.requests import RequestError, parse_request, render_request
from factored.taubench.airline import AIRLINE
from factored.taubench.retail import RETAIL
from factored.taubench.tasks import Action

TOOLS = [tool for domain in (AIRLINE, RETAIL) for tool in domain.tools]
TRICKY = st.sampled_from(
    ['"', '""', '" and x set to "', ", ", "; ", ")", ".", "a list of 1 item (", "1", "1.0", "true"]
)
TEXTS = st.lists(st.text(max_size=6) | TRICKY, max_size=4).map("".join)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


def values_of(schema: dict) -> st.SearchStrategy:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "array":
        return st.lists(values_of(schema["items"]), max_size=3)
    if schema["type"] == "object":
        fields = {name: values_of(inner) for name, inner in schema["properties"].items()}
        return st.fixed_dictionaries(fields)
    plain = {"string": TEXTS, "integer": st.integers(), "number": NUMBERS, "boolean": st.booleans()}
    return plain[schema["type"]]


def typed(value: object) -> str:
    """A text that differs where values or types differ, key order included."""
    return repr(value)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_s_calls_come_back_as_they_were(tool):
    checker = CallChecker([tool.schema])

    @settings(max_examples=30, deadline=None)
    @given(values_of(tool.schema["function"]["parameters"]))
    def round_trip(arguments):
        action = Action(tool.name, arguments)
        assert checker.check(action) is action
        back = parse_request(render_request(action))
        assert (back.name, typed(back.kwargs)) == (tool.name, typed(arguments))

    round_trip()


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=4))
def test_any_call_at_all_comes_back_with_types_and_order(name, arguments):
    back = parse_request(render_request(Action(name, arguments)))
    assert (back.name, typed(back.kwargs)) == (name, typed(arguments))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_two_calls_that_differ_are_said_differently(arguments):
    text = render_request(Action("tool", arguments))
    for key in arguments:
        for other in (1, 1.0, "1", True, None, [1], {}):
            changed = {**arguments, key: other}
            if typed(changed) != typed(arguments):
                assert render_request(Action("tool", changed)) != text


def test_whole_and_other_numbers_and_texts_of_them_stay_apart():
    arguments = {"a": 1, "b": 1.0, "c": "1", "d": True, "e": "true", "f": 1e21, "g": -0.0}
    text = render_request(Action("tool", arguments))
    assert typed(parse_request(text).kwargs) == typed(arguments)


def test_the_text_holds_no_json_object_or_list():
    arguments = {"flights": [{"number": "A1", "seats": [1, 2]}, {}], "none": []}
    text = render_request(Action("book", arguments))
    assert not re.search(r"[\[\]{}]", text)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_a_request_reads_as_a_sentence():
    action = Action("book_room", {"guests": 2, "name": 'Ann "A" Lee', "days": ["Mon", "Tue"]})
    assert render_request(action) == (
        'Call the tool book_room with guests set to 2, name set to "Ann ""A"" Lee" '
        'and days set to a list of 2 items ("Mon"; "Tue").'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Please cancel the order.",
        "Call the tool x",
        "Call the tool x with a set to 1",
        "Call the tool x with a set to 1. And then y.",
        'Call the tool x with a set to "open.',
        "Call the tool x with a set to a list of 2 items (1).",
        "Call the tool x with a set to " + "a list of 1 item (" * 200 + "1" + ")" * 200 + ".",
    ],
)
def test_another_text_is_refused_with_the_place(text):
    with pytest.raises(RequestError):
        parse_request(text)


def test_a_number_that_is_not_finite_cannot_be_said():
    with pytest.raises(RequestError):
        render_request(Action("x", {"a": float("inf")}))


BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "tau_bench"


@pytest.mark.skipif(not BESIDE.is_dir(), reason="the recorded dialogues are not at hand")
@pytest.mark.parametrize(
    "file", ["gpt-4o-airline.json", "tool-calling-retail.json"], ids=["airline", "retail"]
)
def test_every_recorded_call_comes_back(file):
    from factored.taubench.recordings import read_recordings

    recordings, _ = read_recordings(BESIDE / "trajectories" / file)
    calls = [
        step.action
        for recording in recordings
        for step in recording.steps
        if step.action is not None and step.action.name != "respond"
    ]
    assert len(calls) > 700
    for call in calls:
        back = parse_request(render_request(call))
        assert (back.name, typed(back.kwargs)) == (call.name, typed(dict(call.kwargs)))
