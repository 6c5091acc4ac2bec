"""The embedded benchmark: questions in our own words, each with a tool that really answers it.

``questions.jsonl`` holds the authored rows; a row names its tool, whose JSON schema stands in
``schemas/NAME.json`` and whose facts in ``facts/*.csv``::

    {"id": "s-alien-1", "question": "...", "gold": "Ridley Scott", "near": "...", "far": "...",
     "kind": "person", "family": "creator_role", "chain": "s-alien", "fold": "A",
     "review": "pass", "aliases": [],
     "tool": {"name": "work_credits", "arguments": {...}}}
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from harness.errors import UserError, one_of
from harness.json_files import read_jsonl
from memtoc.questions import Benchmark, check_questions, question_from_row
from memtoc.sources.starter.tables import LookupFailedError
from memtoc.sources.starter.tools import TOOLS

FOLDER = Path(__file__).parent
QUESTIONS = FOLDER / "questions.jsonl"
MAX_MESSAGE = 300


def load() -> Benchmark:
    """Return the starter benchmark, in the order of its authored rows."""
    rows = [(f"{QUESTIONS} row {number}", row) for number, row in read_jsonl(QUESTIONS)]
    questions = tuple(question_from_row(_with_schema(row, at), at) for at, row in rows)
    check_questions(questions, [at for at, _ in rows])
    notes = {"schema_source": "starter", "tools": sorted({q.tool.name for q in questions})}
    return Benchmark("starter", questions, notes)


def _with_schema(row: dict[str, Any], at: str) -> dict[str, Any]:
    tool = row.get("tool")
    tool = tool if isinstance(tool, dict) else {}
    name = tool.get("name")
    if name not in TOOLS:
        raise UserError(f"{at}: unknown tool '{name}': {one_of(TOOLS, str(name))}")
    whole = {"schema": schema(name), "arguments": tool.get("arguments"), "source": "starter"}
    return {**row, "source": "starter", "tool": whole}


@cache
def schema(tool_name: str) -> dict[str, Any]:
    """Return the JSON schema {name, description, parameters} of a tool."""
    text = (FOLDER / "schemas" / f"{tool_name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def call(tool_name: str, arguments: Any) -> dict[str, Any]:
    """Run a tool; return ``{"status": "ok", "result": ...}`` or a structured error, never raise.

    Errors are ``{"status": "error", "error": {"code", "type", "message"}}`` with code 400
    (arguments do not fit the schema), 404 (unknown tool, no such fact) or 409 (ambiguous).
    """
    if not isinstance(tool_name, str) or tool_name not in TOOLS:
        return _error(404, "unknown_tool", f"No tool is called {tool_name!r:.60}.")
    misfit = _misfit(tool_name, arguments)
    if misfit:
        return _error(400, "invalid_arguments", misfit)
    try:
        return {"status": "ok", "result": TOOLS[tool_name](arguments)}
    except LookupFailedError as failure:
        return _error(failure.code, failure.kind, failure.message)


def _misfit(tool_name: str, arguments: Any) -> str | None:
    """Return what in the arguments does not fit the schema, in one line; None if all fits."""
    validator = Draft202012Validator(
        schema(tool_name)["parameters"], format_checker=FormatChecker()
    )
    try:
        error = next(validator.iter_errors(arguments), None)
    except RecursionError:
        return "arguments are nested too deeply"
    return f"{error.json_path}: {error.message}" if error else None


def _error(code: int, kind: str, message: str) -> dict[str, Any]:
    cut = message[:MAX_MESSAGE]
    return {"status": "error", "error": {"code": code, "type": kind, "message": cut}}
