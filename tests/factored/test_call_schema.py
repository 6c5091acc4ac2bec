"""Calls held to the tools' schemas: nothing else can be written, and every valid call can."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import playing
from support.playing import arm_of, compose_taubench
from support.vocabularies import can_write, random_text, small_grammars, small_tokenizer

import evaluate
from factored.call_checks import CallChecker, Punt, read_json_call
from factored.call_schema import FREE_LEVELS, LARGEST, call_schema
from factored.calls import run as call_evaluation
from factored.evaluation import plan
from factored.taubench.environment import LoadedDomain
from factored.taubench.loading import load_domain, read_json
from factored.taubench.recordings import read_recordings
from factored.taubench.tasks import RESPOND, Action
from harness.errors import UserError

DOMAINS = ("bikes", "retail", "airline")
RECORDINGS = {"airline": "gpt-4o-airline.json", "retail": "tool-calling-retail.json"}
RIDER = {"name": 'Zoë "Z" O\'Neil ☃ 東京', "height_cm": -170}
BOOK = {"member_id": "M-1", "bike_id": "B-1", "first_day": "2031-07-01", "days": 2}


@pytest.fixture(params=DOMAINS)
def domain(request: pytest.FixtureRequest, bikes: LoadedDomain) -> LoadedDomain:
    if request.param == "bikes":
        return bikes
    return load_domain(request.param, request.getfixturevalue("data"))


def tool(name: str, parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def one_field(schema: Any, **beside: Any) -> list[dict[str, Any]]:
    """A tool with one field, which it needs."""
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"], **beside}
    return [tool("t", parameters)]


def written(value: Any) -> str:
    return json.dumps({"name": "t", "arguments": {"x": value}}, ensure_ascii=False)


def held(schemas: Any) -> str:
    text = call_schema(schemas, "schemas")
    assert text is not None
    return text


def in_order(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with its fields in the order of the schema: the only one that masks let through."""
    if isinstance(value, list):
        return [in_order(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    declared = schema.get("properties", {})
    names = [name for name in declared if name in value]
    names += [name for name in value if name not in declared]
    return {name: in_order(value[name], declared.get(name, {})) for name in names}


def undeclared(value: Any, schema: Mapping[str, Any]) -> bool:
    """Does an object hold a field that its schema does not declare?"""
    if isinstance(value, list):
        return any(undeclared(item, schema.get("items", {})) for item in value)
    if not isinstance(value, dict):
        return False
    declared = schema.get("properties", {})
    return any(n not in declared or undeclared(v, declared[n]) for n, v in value.items())


def real_calls(name: str, data: Path) -> Iterator[Action]:
    """Calls of the golden sequences, of all tasks and of a recording."""
    for sequence in read_json(data / "golden_calls.json")["sequences"]:
        if sequence["domain"] == name:
            yield from (Action(call["name"], call["kwargs"]) for call in sequence["calls"])
    for tasks in load_domain(name, data).tasks.values():
        yield from (action for task in tasks for action in task.actions)
    recordings, _ = read_recordings(data / "trajectories" / RECORDINGS[name])
    steps = [step.action for recording in recordings for step in recording.steps]
    yield from (action for action in steps if action is not None and action.name != RESPOND)


def test_random_choices_under_the_masks_are_always_calls_that_are_run(domain):
    schema, checker = held(domain.schemas), CallChecker(domain.schemas)
    texts = [random_text(schema, seed) for seed in range(80)]
    read = [checker.read(text) for text in texts]
    assert [punt for punt in read if isinstance(punt, Punt)] == []
    assert len({action.name for action in read}) > 8


@pytest.mark.parametrize("seed", range(12))
def test_random_choices_of_one_tool_s_call_are_run_whatever_the_tool(domain, seed):
    for one in domain.schemas:
        found = CallChecker([one]).read(random_text(held([one]), seed))
        assert isinstance(found, Action), found


def test_random_choices_of_the_form_alone_are_calls_of_any_name(bikes):
    schema = call_schema(bikes.schemas, "json")
    read = [read_json_call(random_text(schema, seed)) for seed in range(60)]
    assert all(isinstance(found, Action) for found in read)
    assert not {found.name for found in read} & {tool.name for tool in bikes.domain.tools}
    for text in ("Hello", "[]", '{"name": "a"}', '{"name": 1, "arguments": {}}',
                 '{"name": "a", "arguments": []}', '{"name": "a", "arguments": {}, "id": 1}',
                 '{"name": "a", "arguments": {"x": 1e999}}'):  # fmt: skip
        assert not can_write(schema, text)


@pytest.mark.parametrize("name", ["retail", "airline"])
def test_every_valid_real_call_can_be_written(name, data):
    loaded = load_domain(name, data)
    checker, schema = CallChecker(loaded.schemas), held(loaded.schemas)
    parameters = {s["function"]["name"]: s["function"]["parameters"] for s in loaded.schemas}
    tokenizer, seen, beside = small_tokenizer(), 0, 0
    for action in real_calls(name, data):
        if isinstance(checker.check(action), Punt):
            continue
        of_tool = parameters[action.name]
        ordered = in_order(dict(action.kwargs), of_tool)
        text = json.dumps({"name": action.name, "arguments": ordered}, ensure_ascii=False)
        matcher, ids = small_grammars().matcher(schema), tokenizer.encode(text)
        whole = matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()
        assert whole is not undeclared(action.kwargs, of_tool), text
        seen, beside = seen + whole, beside + (not whole)
    assert seen > 1000
    assert beside <= 1, "one recorded call holds fields that no schema declares"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("book_rental", {**BOOK, "riders": [RIDER, RIDER], "extras": ["child seat", "lock"]}),
        ("book_rental", {**BOOK, "riders": [], "extras": []}),
        ("book_rental", {**BOOK, "days": -3, "riders": [RIDER], "extras": []}),
        ("give_credit", {"member_id": "M-1", "amount": 1}),
        ("give_credit", {"member_id": "M-1", "amount": 1.0}),
        ("give_credit", {"member_id": "M-1", "amount": -0.25}),
        ("give_credit", {"member_id": "", "amount": LARGEST}),
        ("find_member", {"email": 'a "quoted" \\ back\nslash\t\u0007 é ☃ 東京 😀 </s> {"name"}'}),
        ("think", {"thought": "x" * 3000}),
    ],
)
def test_a_valid_call_can_be_written_with_and_without_spaces(bikes, name, arguments):
    schema = held(bikes.schemas)
    call = {"name": name, "arguments": arguments}
    for separators in ((", ", ": "), (",", ":")):
        text = json.dumps(call, ensure_ascii=False, separators=separators)
        assert CallChecker(bikes.schemas).read(text) == Action(name, arguments)
        assert can_write(schema, text)


@pytest.mark.parametrize(
    "text",
    [
        "I will look that up.",
        '{"name": "get_member", "arguments": {}}',
        '{"name": "get_member", "arguments": {"member_id": 1}}',
        '{"name": "get_member", "arguments": {"member_id": "M", "verbose": true}}',
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "get_membe", "arguments": {"member_id": "M"}}',
        '{"arguments": {"member_id": "M"}, "name": "get_member"}',
        '{"name": "get_member", "name": "get_member", "arguments": {"member_id": "M"}}',
        '{"name": "get_member", "arguments": {"member_id": "M", "member_id": "M"}}',
        '{"name": "give_credit", "arguments": {"member_id": "M", "amount": 1e999}}',
        '{"name": "give_credit", "arguments": {"member_id": "M", "amount": NaN}}',
        '{"name": "give_credit", "arguments": {"member_id": "M", "amount": "1"}}',
        '{"name": "add_extras", "arguments": {"rental_id": "R", "extras": ["wings"]}}',
        '```json\n{"name": "get_member", "arguments": {"member_id": "M"}}\n```',
    ],
)
def test_what_is_no_valid_call_cannot_be_written(bikes, text):
    assert not can_write(held(bikes.schemas), text)


def test_a_number_that_is_none_is_malformed(bikes):
    text = '{"name": "give_credit", "arguments": {"member_id": "M", "amount": 1e999}}'
    found = CallChecker(bikes.schemas).read(text)
    assert isinstance(found, Punt)
    assert found.error == "malformed"


@pytest.mark.parametrize(
    ("schemas", "good", "bad"),
    [
        (one_field({"type": "string", "pattern": "^#W[0-9]{3}$"}), ["#W123"], ["W123", "#W12"]),
        (one_field({"enum": ['a "b"', "é☃", 1, None]}), ['a "b"', "é☃", 1, None], ["a", 1.0, 2]),
        (one_field({"const": {"b": [1], "a": {}}}), [{"b": [1], "a": {}}], [{}]),
        (one_field({"type": ["integer", "null"]}), [None, 3], [3.0, "3", 2**60]),
        (one_field({"type": "integer", "maximum": 5}), [5, -9], [6, -(2**60)]),
        (one_field({"type": "string", "format": "date"}), ["2031-07-01"], ["2031-7-1"]),
        (one_field({"description": "whatever"}), [1, "a", [[]], {"b": {}}], []),
        (one_field(True), [1, "a", [[]], {"b": {}}], []),
        (one_field({"type": "object"}), [{}, {"a": {"b": [1]}}], ["a"]),
        (one_field({"type": "array"}), [[], [1, "a"]], [{}]),
        (
            one_field({"type": "object", "properties": {"a": {"type": "string"}}}),
            [{}, {"a": "b"}],
            [{"b": 1}, {"a": "b", "c": 1}],
        ),
        (
            one_field({"type": "object", "properties": {"default": {"type": "string"}}}),
            [{"default": "b"}],
            [{"default": 1}],
        ),
        (
            one_field(
                {"$ref": "#/$defs/node"},
                **{
                    "$defs": {
                        "node": {
                            "type": "object",
                            "properties": {
                                "v": {"type": "integer"},
                                "next": {"$ref": "#/$defs/node"},
                            },
                            "required": ["v"],
                        }
                    }
                },
            ),
            [{"v": 1}, {"v": 1, "next": {"v": 2, "next": {"v": 3}}}],
            [{"v": "1"}, {"v": 1, "next": {}}, {"v": 1, "w": 2}],
        ),
        (
            one_field(
                {
                    "allOf": [
                        {"type": "object", "properties": {"a": {"type": "integer"}}},
                        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
                    ]
                }
            ),
            [{"a": 1, "b": "c"}],
            [{"a": 1}, {"a": "1", "b": "c"}],
        ),
        (
            one_field(
                {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}},
                    "required": ["a"],
                    "anyOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}],
                }
            ),
            [{"a": 1, "b": "c"}],
            [{"a": 1}],
        ),
    ],
)
def test_schemas_of_other_tools_mean_what_they_mean_to_the_checker(schemas, good, bad):
    schema, checker = held(schemas), CallChecker(schemas)
    for value in good:
        assert isinstance(checker.read(written(value)), Action)
        assert can_write(schema, written(value)), value
    for value in bad:
        assert not can_write(schema, written(value)), value
    for seed in range(5):
        assert isinstance(checker.read(random_text(schema, seed)), Action)


@pytest.mark.parametrize("name", ['a "quoted" tool', "naïve ☃", "back\\slash", "{}", "{tools}"])
def test_a_tool_of_any_name_can_be_called(name):
    schemas = [tool(name, {"type": "object", "properties": {}}), tool("other", {"type": "object"})]
    assert can_write(held(schemas), json.dumps({"name": name, "arguments": {}}, ensure_ascii=False))
    assert {CallChecker(schemas).read(random_text(held(schemas), s)).name for s in range(9)} == {
        name, "other",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"not": {"type": "integer"}}, "not"),
        ({"type": "string", "pattern": "^(?=a)b"}, "regex"),
        ({"type": "string", "format": "colour"}, "colour"),
        ({"$ref": "https://example.org/schema"}, "example.org"),
        ({"$ref": "#/$defs/nowhere"}, "nowhere"),
        ({"enum": []}, "Unsatisfiable"),
        ({"enum": [f"{n}" * 40 for n in range(60_000)]}, "too big|characters"),
        ({"minimum": float("inf"), "type": "number"}, "."),
    ],
)
def test_a_keyword_that_masks_cannot_obey_is_an_error_that_names_it(schema, keyword):
    fields = {"plain": {"type": "string"}, "hard": schema}
    schemas = [
        tool("easy", {"type": "object"}),
        tool("stuck", {"properties": fields, "required": ["hard"]}),
    ]
    with pytest.raises(UserError, match=rf"'stuck', parameter 'hard'.*({keyword})") as raised:
        call_schema(schemas, "schemas")
    assert "\n" not in str(raised.value)
    assert call_schema(schemas, "json") == call_schema([], "json")
    assert call_schema(schemas, "none") is None


@pytest.mark.parametrize(
    "parameters",
    [None, [], "object", True, {"type": "frob"}, {"properties": []}, {"required": 5},
     {"properties": {"a": {"type": "integer", "minimum": "3"}}}],
)  # fmt: skip
def test_parameters_that_are_no_schema_are_an_error(parameters):
    with pytest.raises(UserError, match=r"'two\\nlines'.*: mend it") as raised:
        call_schema([tool("two\nlines", parameters)], "schemas")
    assert "\n" not in str(raised.value)


def test_a_schema_without_a_bottom_is_an_error():
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(UserError, match=r"'t'.*levels"):
        call_schema(one_field(deep), "schemas")


def test_values_without_a_schema_stop_at_some_depth():
    nested: Any = 1
    for _ in range(FREE_LEVELS):
        nested = [nested]
    schema = held(one_field({}))
    assert can_write(schema, written(nested))
    assert not can_write(schema, written([nested]))


def test_writing_freely_is_the_run_that_it_was_before_there_was_a_choice():
    config = compose_taubench("engine@tool_agent.engine=mock")
    before = json.loads(json.dumps(config))
    del before["tool_agent"]["constrained"]
    assert arm_of(config).run.fingerprint == arm_of(before).run.fingerprint
    prints = {
        arm_of(compose_taubench("engine@tool_agent.engine=mock", f"tool_agent.constrained={how}"))
        .run.fingerprint
        for how in ("none", "json", "schemas")
    }  # fmt: skip
    assert len(prints) == 3
    calls = compose_taubench("engine@tool_agent.engine=mock", name="calls")
    assert "constrained" not in call_evaluation.plan(calls).config["tool_agent"]


@pytest.mark.parametrize("name", ["taubench", "calls"])
def test_a_dry_run_says_what_the_tool_agent_is_held_to(name, capsys, outside, smollm2):
    command = evaluate.CONFIGS[name].command()
    outside = [*outside, f"tool_agent.model.path={smollm2}"]

    def shown(*overrides: str) -> str:
        config = compose_taubench("dry_run=true", *overrides, *outside, name=name)
        command.run(command.plan(config))
        return " ".join(capsys.readouterr().out.split())

    assert "constrained=none: the tool agent writes freely" in shown()
    masked = shown("tool_agent.constrained=schemas")
    assert "held to the schemas of 12 tools by token masks of llguidance" in masked
    asked = shown("tool_agent.constrained=json", "engine@tool_agent.engine=mock")
    assert "held to the form of a call as far as engine mock obeys" in asked


def test_a_model_that_would_think_first_is_said_not_to():
    thinking = compose_taubench("tool_agent.constrained=json", "tool_agent.model.thinking=true")
    assert any("does not think" in note for note in plan(thinking).notes)
    assert not plan(compose_taubench("tool_agent.model.thinking=true")).notes


def test_the_tool_agent_asks_for_the_schema_and_others_for_none(outside, monkeypatch):
    from harness.engines.mock import MockEngine

    asked: list[str | None] = []
    reply = MockEngine._reply

    def keeps(engine: MockEngine, request: Any) -> Any:
        asked.append(request.schema)
        return reply(engine, request)

    monkeypatch.setattr(MockEngine, "_reply", keeps)
    config = compose_taubench(
        "engine@tool_agent.engine=mock", "tool_agent.constrained=schemas", "user=llm",
        "engine@user.engine=mock", "domain.tasks=[4]", *outside,
    )  # fmt: skip
    config["user"]["engine"] |= {"reply": "Hello?"}
    arm = arm_of(config)
    playing.evaluate(arm)
    assert set(asked) == {None, arm.call_schema}
    calls = compose_taubench(
        "engine@tool_agent.engine=mock", "tool_agent.constrained=schemas", *outside, name="calls"
    )
    asked.clear()
    call_evaluation.run(call_evaluation.plan(calls))
    assert set(asked) == {arm.call_schema}


@pytest.mark.slow
def test_a_real_model_at_a_high_temperature_writes_calls_that_are_run(bikes, smollm2):
    from harness.completions import Decoding, Message, Request
    from harness.engines.hf import HfSpec
    from harness.models import Checkpoint, ModelSpec

    model = ModelSpec("smollm2", "chat", "keep", thinking=False, path=str(smollm2))
    engine = HfSpec("hf", "hf", "float32", 4096, "cpu").open(model, Checkpoint(smollm2, "d", None))
    schema, hot = held(bikes.schemas), Decoding("hot", 1.5, 96)
    asked = (Message("user", "Find the member with the e-mail address zoe@example.com."),)
    requests = [Request(asked, hot, seed=seed, schema=schema) for seed in range(12)]
    found = [reply for group in engine.run(requests, range(12)) for reply in group.values()]
    whole = [reply for reply in found if reply.status == "ok"]
    assert len(whole) > 3
    checker = CallChecker(bikes.schemas)
    assert all(isinstance(checker.read(reply.text), Action) for reply in whole)
    cut = [reply for reply in found if reply.status != "ok"]
    assert all((c.status, c.completion_tokens) == ("truncated", 96) for c in cut)
