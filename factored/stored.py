"""What a run left on disk, read back as typed rows; whatever does not fit is one line."""

import json
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError, with_config

from harness.errors import UserError
from harness.files import json_rows
from harness.settings import STRICT

Row = TypeVar("Row")
REMEDY = "move the folder away and run the same command again"


def read_value(path: Path, kind: type[Row]) -> Row:
    """Return the one value of a JSON file as ``kind``.

    Raises UserError with the file, the key that does not fit and what to do.
    """
    return _one(_text(path), kind, str(path))


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Return all rows of a JSONL file as ``kind``, in the file's order.

    Raises UserError with the file, the line, the key that does not fit and what to do.
    """
    lines = enumerate(_text(path).split("\n"), 1)
    return [_one(line, kind, f"{path} line {number}") for number, line in lines if line.strip()]


def whole_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Return the rows of an unfinished JSONL file that fit ``kind``; none where there is no file.

    Passes over every other line: a kill tears the last one, and a row that is passed over is
    made again.
    """
    if not path.exists():
        return []
    rows = []
    for line in json_rows(path.read_text(encoding="utf-8", errors="replace")):
        with suppress(ValueError, RecursionError):
            rows.append(_validated(line, kind))
    return rows


def check_count(path: Path, found: int, expected: int) -> None:
    """Raise UserError for a file that holds another number of rows than its run has."""
    if found != expected:
        raise UserError(f"{path} holds {found} rows, its run has {expected}: {REMEDY}")


def count_rows(path: Path) -> int:
    """Return the number of rows of a JSONL file; raises UserError where it cannot be read."""
    return sum(1 for _ in json_rows(_text(path)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}): {REMEDY}") from error


def _one(text: str, kind: type[Row], where: str) -> Row:
    try:
        return _validated(text, kind)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        place = f"{where}: '{key}'" if key else where
        raise UserError(f"{place} does not fit ({first['msg']}): {REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} is not JSON ({type(error).__name__}): {REMEDY}") from error


def _validated(text: str, kind: type[Row]) -> Row:
    adapter: TypeAdapter[Row] = _adapter(kind)  # type: ignore[arg-type]
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
    # pydantic's JSON parser refuses half a character ("\ud83d"), which a reply that a server cut
    # can end with and which Python's parser takes. The shape is checked with a "?" in its place.
    value = json.loads(text)
    adapter.validate_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return adapter.validate_python(value, strict=False)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """The strict reader of a type; pydantic takes a dataclass's settings from the class alone."""
    if is_dataclass(kind):
        return TypeAdapter(with_config(STRICT)(kind))
    return TypeAdapter(kind, config=STRICT)
