import json
from itertools import product

import pytest
from jsonschema import Draft202012Validator

from harness.errors import UserError
from memtoc.questions import FAMILIES, KINDS, ToolCall
from memtoc.sources.schemas import call_for, check_call, schema_for

PAIRS = list(product(FAMILIES, KINDS))


@pytest.mark.parametrize(("family", "kind"), PAIRS)
def test_every_family_and_kind_has_a_valid_schema(family, kind):
    schema = schema_for(family, kind)
    Draft202012Validator.check_schema(schema["parameters"])
    assert set(schema) == {"name", "description", "parameters"}
    assert schema["name"].replace("_", "").isalpha() and len(schema["name"]) <= 64
    assert "{" not in schema["name"]


@pytest.mark.parametrize(
    ("question", "family", "kind", "arguments"),
    [
        (
            "Who is the father of Norah Jones?",
            "genealogy",
            "person",
            {"person": "Norah Jones", "relation": "father"},
        ),
        (
            "Who is the cast member of Ice (2004 film)?",
            "creator_role",
            "person",
            {"title": "Ice (2004 film)", "role": "cast member"},
        ),
        (
            "Who is the director of film Skirts Ahoy!?",
            "creator_role",
            "person",
            {"title": "Skirts Ahoy!", "role": "director"},
        ),
        (
            "What is the date of death of Gerald Patterson?",
            "birth_death_date",
            "date",
            {"person": "Gerald Patterson", "event": "date of death"},
        ),
        ("What is the time zone of Évreux?", "free_form", "timezone", {"place": "Évreux"}),
        (
            "who plays  nim in the film",
            "free_form",
            "person",
            {"query": "who plays nim in the film"},
        ),
    ],
)
def test_arguments_are_taken_from_the_question(question, family, kind, arguments):
    call = call_for(question, family, kind)
    assert call.arguments == arguments
    check_call(call, "here")


@pytest.mark.parametrize(("family", "kind"), PAIRS)
def test_a_question_that_no_template_fits_still_gets_a_valid_call(family, kind):
    call = call_for("Magic Johnson was born in which year?", family, kind)
    check_call(call, "here")
    assert "Magic Johnson" in json.dumps(dict(call.arguments))


def test_the_schema_of_a_templated_question_does_not_repeat_a_noisy_kind():
    assert schema_for("genealogy", "place") == schema_for("genealogy", "person")


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"type": "objekt"}, {}, "not JSON Schema"),
        ({"type": "object", "required": ["city"]}, {}, "do not fit its schema"),
    ],
)
def test_an_invalid_tool_is_named_with_its_row(parameters, arguments, message):
    tool = ToolCall({"name": "lookup", "parameters": parameters}, arguments, "here")
    with pytest.raises(UserError, match=f"questions row 3.*lookup.*{message}"):
        check_call(tool, "questions row 3")
