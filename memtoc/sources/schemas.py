"""A tool for a question whose source names none: one JSON schema per (family, kind).

``Who is the father of Norah Jones?`` (genealogy, person) gets::

    {"name": "genealogy_lookup", "description": "Looks up how two people are ...",
     "parameters": {"type": "object", "properties": {"person": ..., "relation": ...}, ...}}
    called with {"person": "Norah Jones", "relation": "father"}

Such tools are our invention: ``schema_source`` is then ``family_kind`` in the manifest.
"""

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from harness.errors import UserError
from memtoc.benchmark.families import asked_by, roles_of
from memtoc.questions import ToolCall

SCHEMA_SOURCE = "family_kind"


@cache
def _wording() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        Path(__file__).with_name("tool_schemas.json").read_text(encoding="utf-8")
    )
    return loaded


def schema_for(family: str, kind: str) -> dict[str, Any]:
    """Return the JSON schema {name, description, parameters} of a (family, kind).

    If the template itself says what comes back (a relative, a credit), the kind does not show: the
    released kinds are noisy there (a mother labelled "place").
    """
    tool, value = _wording()["families"][family], _wording()["kinds"][kind]
    slots = _slots(family, tool["slots"]) if tool["slots"] else _search_slots(kind)
    return {
        "name": tool["name"].format(kind=value["stem"]),
        "description": f"{tool['purpose']}. Returns {tool.get('returns', value['returns'])}.",
        "parameters": {
            "type": "object",
            "properties": slots,
            "required": list(slots),
            "additionalProperties": False,
        },
    }


def _slots(family: str, slots: Mapping[str, Any]) -> dict[str, Any]:
    subject, role = slots["subject"], slots["role"]
    return {
        subject["name"]: {
            "type": "string",
            "description": subject["description"],
            "minLength": 1,
        },
        role["name"]: {
            "type": "string",
            "description": role["description"],
            "enum": list(roles_of(family)),
        },
    }


def _search_slots(kind: str) -> dict[str, Any]:
    if kind == "timezone":
        place = "Name of the place, with its region or country where known."
        return {"place": {"type": "string", "description": place, "minLength": 1}}
    query = "The question in full, in natural language."
    return {"query": {"type": "string", "description": query, "minLength": 1}}


def call_for(question: str, family: str, kind: str) -> ToolCall:
    """Return the (family, kind) tool, called with arguments taken from the question.

    A question outside of its family's template goes to the free_form tool of its kind, since its
    role and subject are unknown.
    """
    asked = asked_by(question)
    if asked.family != family or asked.role is None:
        family = "free_form"
    text = " ".join(question.split())
    schema = schema_for(family, kind)
    names = list(schema["parameters"]["properties"])
    if family != "free_form":
        values = [asked.subject, asked.role]
    elif kind == "timezone":
        values = [asked.subject or text]
    else:
        values = [text]
    return ToolCall(schema, dict(zip(names, values, strict=True)), SCHEMA_SOURCE)


def check_call(tool: ToolCall, where: str) -> None:
    """Raise UserError unless the schema is valid JSON Schema and the call is valid against it."""
    try:
        validator = _validator(json.dumps(tool.schema["parameters"]))
    except SchemaError as error:
        raise UserError(
            f"{where}: parameters of tool '{tool.name}' are not JSON Schema ({error.message}):"
            " mend the schema"
        ) from error
    problem = next(iter(validator.iter_errors(dict(tool.arguments))), None)
    if problem is not None:
        raise UserError(
            f"{where}: arguments of tool '{tool.name}' do not fit its schema"
            f" ({problem.message}): mend the arguments"
        )


@lru_cache(maxsize=4096)
def _validator(parameters: str) -> Draft202012Validator:
    """Return a validator, kept: many questions share a schema, and checking one is costly."""
    loaded = json.loads(parameters)
    Draft202012Validator.check_schema(loaded)
    return Draft202012Validator(loaded)
