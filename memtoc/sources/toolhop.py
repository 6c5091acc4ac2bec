"""ToolHop: chains of sub-questions, each with a tool that could answer it.

The publisher's file is one JSON list; a chain of it::

    {"id": 10, "domain": "Film", "question": "In which year was the director of Alien born?",
     "answer": "1937",
     "sub_task": {"Who is the director of Alien?": "Ridley Scott",
                  "In which year was Ridley Scott born?": "1937"},
     "tools": {"Who is the director of Alien?": {"name": "film_credits", "description": "...",
               "parameters": {"type": "object", "properties": {...}, "required": ["title"]}}},
     "functions": ["def film_credits(title): ..."]}

``functions`` are untrusted code: they are counted here, never run.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.json_files import read_json
from memtoc.benchmark.drafts import SourceQuestion, normalised
from memtoc.benchmark.families import asked_by
from memtoc.questions import ToolCall, one_line
from memtoc.sources.schemas import check_call

NAME = "toolhop"
_CHAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,48}")
_ROLE_NAMES = re.compile(r"relation|role|type|property|attribute|event|field|aspect|kind")
_CAPITALISED = re.compile(
    r"\"([^\"]+)\"|((?:[A-Z][\w.'’-]*)(?:\s+(?:(?:of|the|de|von|van|and)\s+)*[A-Z0-9][\w.'’-]*)*)"
)


@dataclass(frozen=True)
class Chains:
    """All sub-questions in the file's order, and what was counted while reading."""

    questions: tuple[SourceQuestion, ...]
    notes: Mapping[str, Any]


def read(path: Path) -> Chains:
    """Read a file of the publisher's shape; it need not be the published one.

    A sub-question without a usable tool is kept; ``notes`` counts why its tool is not used. Raises
    UserError, naming file, chain and field, for any other shape.
    """
    counted: Counter[str] = Counter()
    questions: list[SourceQuestion] = []
    seen: set[str] = set()
    chains = _chains(path)
    for number, chain in enumerate(chains):
        where = f"{path} chain {number}"
        name = _chain_id(chain, where)
        if name in seen:
            raise UserError(f"{where}: id '{name}' stands twice: renumber one of them")
        seen.add(name)
        questions += _hops(chain, name, where, counted)
    notes = {
        "chains": len(chains),
        "sub_questions": len(questions),
        "tools": {reason: counted[reason] for reason in sorted(counted)},
    }
    return Chains(tuple(questions), notes)


def tools_of(path: Path) -> dict[str, ToolCall]:
    """Return normalised question -> its first usable tool call, to join to forms of ToolHop."""
    found: dict[str, ToolCall] = {}
    for question in read(path).questions:
        if question.tool is not None:
            found.setdefault(normalised(question.text), question.tool)
    return found


def _chains(path: Path) -> list[Any]:
    chains = read_json(path, missing="check benchmark.path", broken="download it again")
    if not isinstance(chains, list) or not chains:
        raise UserError(
            f"{path} must hold a list of chains with at least one: check benchmark.path"
        )
    return chains


def _chain_id(chain: Any, where: str) -> str:
    if not isinstance(chain, dict):
        raise UserError(f"{where}: a JSON object is needed, not {type(chain).__name__}")
    given = chain.get("id")
    name = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else ""
    if not _CHAIN_ID.fullmatch(name):
        raise UserError(f"{where}: field 'id' must be a number or a short name, not {given!r}")
    return name


def _hops(
    chain: Mapping[str, Any], name: str, where: str, counted: Counter[str]
) -> Iterator[SourceQuestion]:
    domain = chain.get("domain", "")
    if not isinstance(domain, str):
        raise UserError(f"{where}: field 'domain' must be a text, not {domain!r}")
    tools = _mapping(chain, "tools", where)
    for hop, (text, gold) in enumerate(_mapping(chain, "sub_task", where).items()):
        if not text.strip():
            raise UserError(f"{where}: field 'sub_task' has an empty question: remove it")
        if isinstance(gold, bool) or not isinstance(gold, str | int | float):
            raise UserError(f"{where}: the answer to '{text[:60]}' must be a text, not {gold!r}")
        tool, outcome = tool_call(tools.get(text), text, NAME)
        counted[outcome] += 1
        shown = one_line(text, "a question of field 'sub_task'", where)
        # An answer may be a number, or empty; screening drops the empty ones (no_gold).
        answer = str(gold) and one_line(str(gold), f"the answer to '{text[:60]}'", where)
        yield SourceQuestion(chain=name, hop=hop, text=shown, gold=answer, domain=domain, tool=tool)


def _mapping(chain: Mapping[str, Any], field: str, where: str) -> dict[str, Any]:
    value = chain.get(field)
    if not isinstance(value, dict):
        raise UserError(f"{where}: field '{field}' must map sub-questions, not {value!r:.80}")
    return value


def tool_call(schema: Any, question: str, source: str) -> tuple[ToolCall | None, str]:
    """Return a valid call of the source's tool, and what became of it: used, or why not."""
    if schema is None:
        return None, "missing"
    parameters = schema.get("parameters") if isinstance(schema, dict) else None
    if not isinstance(parameters, dict) or not isinstance(schema.get("name"), str):
        return None, "wrong_shape"
    schema = {"description": "", **schema}
    tool = ToolCall(schema, _filled(parameters, question), source)
    try:
        check_call(tool, "")
    except UserError as error:
        return None, "invalid_schema" if "not JSON Schema" in str(error) else "no_valid_call"
    return tool, "used"


def _filled(parameters: Mapping[str, Any], question: str) -> dict[str, Any]:
    """Return arguments for the required properties, taken from the question."""
    properties, required = parameters.get("properties"), parameters.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    named = [name for name in required if isinstance(name, str)]
    return {name: _value(name, properties.get(name), question) for name in named}


def _value(name: str, schema: Any, question: str) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return _chosen(schema["enum"], question)
    kind = schema.get("type", "string")
    if kind in ("integer", "number"):
        found = re.search(r"\d+", question)
        return int(found[0]) if found else schema.get("minimum", 1)
    if kind == "boolean":
        return bool(schema.get("default", False))
    if kind == "array":
        return [_value(name, schema.get("items"), question)]
    if kind == "object":
        return _filled(schema, question)
    return _text(name, question)


def _chosen(options: list[Any], question: str) -> Any:
    """Return the option that the question names, else the first."""
    text = question.lower()
    named = [o for o in options if isinstance(o, str) and o.lower().replace("_", " ") in text]
    return max(named, key=len) if named else options[0]


def _text(name: str, question: str) -> str:
    """Return the role for a property named like one, else the subject, else the question."""
    asked = asked_by(question)
    if asked.role is not None and _ROLE_NAMES.search(name.lower()):
        return asked.role
    if asked.subject is not None:
        return asked.subject
    # The first word is a capital by position alone.
    names = [m[1] or m[2] for m in _CAPITALISED.finditer(question) if m.start() > 0]
    return max(names, key=len) if names else question
