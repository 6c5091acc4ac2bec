"""The starter's tools: schema-valid calls look facts up, all else is a structured error."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memtoc.questions import Question
from memtoc.sources import starter
from memtoc.sources.starter.tools import TOOLS

QUESTIONS = starter.load().questions
SCHEMAS = Path(starter.__file__).parent / "schemas"
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
each_tool = pytest.mark.parametrize("name", sorted(TOOLS))


@each_question
def test_stored_arguments_fit_the_schema_and_give_the_gold(question: Question) -> None:
    Draft202012Validator(question.tool.schema["parameters"]).validate(question.tool.arguments)
    returned = starter.call(question.tool.name, question.tool.arguments)
    assert returned == {"status": "ok", "result": question.gold}


@each_question
def test_arguments_of_another_name_never_give_this_gold(question: Question) -> None:
    """Every free text of the call, one at a time, replaced by a name that no table holds."""
    for changed in with_each_text_replaced(question.tool.arguments, question.tool.schema):
        returned = starter.call(question.tool.name, changed)
        assert returned.get("result") != question.gold, changed
        assert returned["status"] == "error"


def with_each_text_replaced(arguments: Any, schema: Any) -> list[dict[str, Any]]:
    enums = set(enum_values(schema))
    first_name_alone = {**arguments.get("person", {})}
    first_name_alone.pop("other_names", None)
    if first_name_alone:
        arguments = {**arguments, "person": first_name_alone}
    whole = json.dumps(arguments)
    texts = [text for text in texts_of(arguments) if text not in enums]
    return [json.loads(whole.replace(json.dumps(t), json.dumps("Zzyzx Nowhere"))) for t in texts]


def enum_values(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = schema["enum"] if isinstance(schema.get("enum"), list) else []
        return [*own, *(text for part in schema.values() for text in enum_values(part))]
    if isinstance(schema, list):
        return [text for part in schema for text in enum_values(part)]
    return []


def texts_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts_of(part)]


def test_every_tool_gives_several_facts_for_the_stored_calls_alone() -> None:
    facts: dict[str, set[str]] = {}
    for question in QUESTIONS:
        result = starter.call(question.tool.name, question.tool.arguments)["result"]
        facts.setdefault(question.tool.name, set()).add(result)
    assert len(facts) >= 8
    assert set(facts) == set(TOOLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "fact"),
    [
        ("biography_lookup", {"person": {"full_name": "Ada King", "other_names": ["Bob Marley"]},
         "event": "death", "detail": "date", "date_style": "month_day_year"}, "May 11, 1981"),
        ("biography_lookup", {"person": {"full_name": "JFK"}, "event": "death",
                              "detail": "year"}, "1963"),
        ("country_facts", {"country": {"identified_by": "iso_code", "value": "IS"},
                           "attribute": "capital"}, "Reykjavik"),
        ("element_table", {"element": {"identified_by": "atomic_number", "value": "80"},
                           "property": "name"}, "mercury"),
        ("family_tree", {"person": {"full_name": "Henry VIII"}, "relation": "spouse",
                         "position": 3}, "Jane Seymour"),
        ("office_holders", {"office": {"title": "President", "jurisdiction": "United States"},
                            "selector": {"ordinal": 2}}, "John Adams"),
        ("office_holders", {"office": {"title": "President", "jurisdiction": "United States"},
                            "selector": {"on_date": "1963-11-22"}}, "Lyndon B. Johnson"),
        ("organization_finder", {"type": "company", "clues": [
            {"kind": "founder", "value": "Jeff Bezos"},
            {"kind": "task", "value": "rocket launches"}]}, "Blue Origin"),
        ("product_registry", {"item": {"name": "iPhone"}, "fields": ["maker", "year"]},
         {"maker": "Apple", "year": "2007"}),
        ("timezone_lookup", {"location": {"city": "Portland", "country_code": "US",
                                          "region": "Maine"}}, "America/New_York"),
        ("timezone_lookup", {"location": {"city": "Lima", "country_code": "PE"},
                             "output": "area"}, "America"),
        ("work_credits", {"work": {"title": "Dracula", "medium": "film"}, "role": "director"},
         "Tod Browning"),
        ("work_finder", {"medium": "ballet", "features": [
            {"kind": "character", "value": "Odette"},
            {"kind": "character", "value": "Odile"}]}, "Swan Lake"),
    ],
)  # fmt: skip
def test_other_arguments_give_other_facts(tool: str, arguments: Any, fact: Any) -> None:
    assert starter.call(tool, arguments) == {"status": "ok", "result": fact}


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "kind"),
    [
        ("timezone_lookup", {"location": {"city": "Portland", "country_code": "US"}},
         409, "ambiguous"),
        ("timezone_lookup", {"location": {"city": "Portland", "country_code": "usa"}},
         400, "invalid_arguments"),
        ("biography_lookup", {"person": {"full_name": "William Shakespeare"}, "event": "birth",
                              "detail": "date"}, 404, "not_recorded"),
        ("biography_lookup", {"person": {"full_name": "Arnold Schwarzenegger"}, "event": "death",
                              "detail": "date"}, 404, "not_recorded"),
        ("office_holders", {"office": {"title": "President", "jurisdiction": "United States"},
                            "selector": {"on_date": "the fourth of July"}},
         400, "invalid_arguments"),
        ("office_holders", {"office": {"title": "President", "jurisdiction": "United States"},
                            "selector": {"ordinal": 1, "on_date": "1790-01-01"}},
         400, "invalid_arguments"),
        ("work_credits", {"work": {"title": "Star Wars", "medium": "film",
                                   "released": {"from": 1990}}, "role": "director"},
         404, "not_found"),
        ("element_table", {"element": {"identified_by": "name", "value": "Phlogiston"},
                           "property": "symbol"}, 404, "not_found"),
        ("no_such_tool", {}, 404, "unknown_tool"),
        (["element_table"], {}, 404, "unknown_tool"),
        (None, None, 404, "unknown_tool"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_a_structured_error(
    tool: Any, arguments: Any, code: int, kind: str
) -> None:
    returned = starter.call(tool, arguments)
    assert returned["status"] == "error"
    assert (returned["error"]["code"], returned["error"]["type"]) == (code, kind)
    assert returned["error"]["message"]


@each_tool
@pytest.mark.parametrize("arguments", [None, [], "x", 1, {}, {"unknown": 1}, {"person": []}])
def test_bad_arguments_are_refused_by_the_schema(name: str, arguments: Any) -> None:
    assert starter.call(name, arguments)["error"]["code"] == 400


@each_tool
def test_deeply_nested_arguments_are_refused_without_a_crash(name: str) -> None:
    nested: Any = "bottom"
    for _ in range(50_000):
        nested = [nested]
    error = starter.call(name, {"person": nested, "element": nested})["error"]
    assert error["code"] == 400
    assert len(error["message"]) <= 300


@each_tool
def test_schemas_are_valid_and_of_realistic_depth(name: str) -> None:
    schema = starter.schema(name)
    Draft202012Validator.check_schema(schema["parameters"])
    assert schema["name"] == name
    assert schema["description"]
    text = json.dumps(schema["parameters"])
    assert schema["parameters"]["required"]
    assert text.count('"type": "object"') >= 2, "an object within the arguments"
    assert '"enum"' in text or '"format"' in text
    assert text.count('"description"') >= 4


def test_the_schemas_use_arrays_formats_and_optional_fields() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SCHEMAS.glob("*.json"))
    assert {path.stem for path in SCHEMAS.glob("*.json")} == set(TOOLS)
    for feature in ('"array"', '"format"', '"pattern"', '"default"', '"oneOf"', '"minimum"'):
        assert feature in text
