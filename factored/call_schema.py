"""The JSON schema of a tool agent's call: what constrained decoding holds its text to.

    {"name": "cancel_order", "arguments": {"order_id": "#W1", "reason": "no longer needed"}}

``json`` holds the text to the form of a call, with any name and arguments. ``schemas`` holds it to
calls that ``CallChecker`` runs: a tool's name, then arguments that its schema allows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from harness.engines.grammar import deeper_than, refusal
from harness.errors import UserError

Constrained = Literal["none", "json", "schemas"]
MAX_TOOL_DEPTH = 64  # levels of a tool's schema: far above any real one
FREE_LEVELS = 8  # of values about which a schema says nothing
# Beyond these JSON numbers lose digits (RFC 8259, section 6), or even are no finite ones: 1e999.
LARGEST = 2**53 - 1
_VALUE = "#/$defs/value"
_NUMBER = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_INSIDE = ("items", "additionalProperties")
# What says nothing about a value, or would mean another document than the call's schema.
_DROPPED = {"title", "description", "default", "examples", "$comment", "deprecated", "readOnly"}
_DROPPED |= {"writeOnly", "$schema", "$id", "x-guidance"}


def call_schema(schemas: Sequence[Mapping[str, Any]], constrained: Constrained) -> str | None:
    """Return the JSON schema (as text) of calls of these tools; None for ``none``.

    ``schemas`` are in OpenAI's function format. Raises UserError that names the tool, its
    parameter and what token masks cannot hold it to.
    """
    if constrained == "none":
        return None
    if constrained == "json":
        return _text(_call({"type": "string"}, _free_fields({"type": "object"})))
    tools = {schema["function"]["name"]: schema["function"]["parameters"] for schema in schemas}
    calls: list[dict[str, Any]] = []
    for name, parameters in tools.items():
        _check(name, parameters)
        calls.append(_tool_call(name, parameters, f"#/anyOf/{len(calls)}/properties/arguments"))
    return _text({"anyOf": calls})


def _text(schema: Mapping[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    if _VALUE not in text:
        return text
    return json.dumps({**schema, "$defs": _free_values()}, ensure_ascii=False)


def _call(name: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": name, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _tool_call(name: str, parameters: Mapping[str, Any], root: str) -> dict[str, Any]:
    closes = '"allOf"' not in json.dumps(parameters)
    narrowed = _narrow(parameters, root, closes)
    return _call({"const": name}, {"type": "object", **narrowed, "additionalProperties": False})


def _check(name: str, parameters: Any) -> None:
    """Raise UserError for what is no schema, or one that replies cannot be held to."""
    shown = repr(name)[:80]
    if deeper_than(parameters, MAX_TOOL_DEPTH):
        raise UserError(f"tool {shown}: its schema has over {MAX_TOOL_DEPTH} levels: mend it")
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise UserError(f"tool {shown}: {error.json_path} is no JSON schema: mend it") from error
    if not isinstance(parameters, dict):
        raise UserError(f"tool {shown}: its parameters must be a schema of an object: mend it")
    if reason := _refusal(name, parameters):
        raise UserError(
            f"tool {shown}{_culprit(name, parameters, reason)}: no call can be held to its schema"
            f" ({reason}): set tool_agent.constrained to json or none"
        )


def _culprit(name: str, parameters: Mapping[str, Any], reason: str) -> str:
    """Name the first parameter that is refused for this reason when it stands alone."""
    for field, schema in parameters.get("properties", {}).items():
        alone = {**parameters, "properties": {field: schema}, "required": [field]}
        if _refusal(name, alone) == reason:
            return f", parameter {field[:80]!r}"
    return ""


def _refusal(name: str, parameters: Mapping[str, Any]) -> str | None:
    return refusal(_text(_tool_call(name, parameters, "#/properties/arguments")))


def _free_values() -> dict[str, Any]:
    """Return schemas of any JSON value, by how many levels of lists and objects it may have."""
    plain: list[Mapping[str, Any]] = [{"type": ["string", "boolean", "null"]}, _NUMBER]
    found: dict[str, Any] = {"value0": {"anyOf": plain}}
    for level in range(1, FREE_LEVELS + 1):
        inner = _value(level - 1)
        nested = [
            {"type": "array", "items": inner},
            {"type": "object", "additionalProperties": inner},
        ]
        found[f"value{level}"] = {"anyOf": [*plain, *nested]}
    return found


def _narrow(schema: Any, root: str, closes: bool) -> Any:
    """Return a tool's schema as a part of the call's.

    Its references go to ``root``, its numbers are bounded; with ``closes`` objects take the fields
    that they declare and no others.
    """
    if not isinstance(schema, dict):
        return _value(FREE_LEVELS) if schema is True else schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            found[key] = {name: _narrow(inner, root, closes) for name, inner in value.items()}
        elif key in _LISTS and isinstance(value, list):
            # A branch beside fields of its own parent would refuse those if it were closed.
            apart = closes and "properties" not in schema
            found[key] = [_narrow(inner, root, apart) for inner in value]
        elif key in _INSIDE:
            found[key] = _narrow(value, root, closes)
        elif key == "$ref" and isinstance(value, str) and value.startswith("#"):
            found[key] = root + value[1:]
        elif key not in _DROPPED:
            found[key] = value
    return _free_fields(_closed(_bounded(found))) if closes else _free_fields(_bounded(found))


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Close an object to fields that it does not declare, where the schema leaves that open."""
    open_ended = {"additionalProperties", "patternProperties", "$ref", *_LISTS}
    if "properties" in schema and not open_ended & schema.keys():
        schema["additionalProperties"] = False
    return schema


def _free_fields(schema: dict[str, Any]) -> dict[str, Any]:
    """Bound values about which the schema says nothing to FREE_LEVELS levels."""
    if not schema:
        return _value(FREE_LEVELS)
    types = _types(schema)
    if "object" in types and not {"properties", "patternProperties", *_LISTS} & schema.keys():
        schema.setdefault("additionalProperties", _value(FREE_LEVELS))
    if "array" in types and "prefixItems" not in schema:
        schema.setdefault("items", _value(FREE_LEVELS))
    return schema


def _types(schema: Mapping[str, Any]) -> list[Any]:
    types = schema.get("type")
    return types if isinstance(types, list) else [types]


def _value(levels: int) -> dict[str, Any]:
    return {"$ref": f"{_VALUE}{levels}"}


def _bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """Bound numbers by LARGEST, unless the schema bounds them itself."""
    if not any(kind in ("number", "integer") for kind in _types(schema)):
        return schema
    if not {"minimum", "exclusiveMinimum"} & schema.keys():
        schema["minimum"] = -LARGEST
    if not {"maximum", "exclusiveMaximum"} & schema.keys():
        schema["maximum"] = LARGEST
    return schema
