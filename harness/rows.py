"""Files of a run, read back as typed rows; whatever does not fit is one line."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from harness.errors import UserError
from harness.files import json_rows
from harness.settings import strict_adapter

Shape = TypeVar("Shape")

REMEDY = "restore the file, or move the folder away and run the same command again"


def read_value(path: Path, shape: type[Shape]) -> Shape:
    """Return the one value of a JSON file as a ``shape``, e.g. a frozen dataclass.

    Raises UserError with the file, the key that does not fit and what to do.
    """
    return _one(_text(path), shape, str(path))


def read_rows(path: Path, row: type[Shape]) -> tuple[Shape, ...]:
    """Return the rows of a JSONL file, each as a ``row``, in the file's order.

    Raises UserError with the file, the line, the key that does not fit and what to do.
    """
    lines = enumerate(_text(path).split("\n"), start=1)
    return tuple(_one(line, row, f"{path} line {number}") for number, line in lines if line.strip())


def whole_rows(path: Path, row: type[Shape]) -> list[Shape]:
    """Return the rows of an unfinished JSONL file that fit; none where there is no file.

    Passes over every other line: a kill tears the last one, and a row that is passed over is made
    again.
    """
    if not path.exists():
        return []
    rows = []
    for line in json_rows(path.read_text(encoding="utf-8", errors="replace")):
        with suppress(ValueError, RecursionError):
            rows.append(_validated(line, row))
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}): {REMEDY}") from error


def _one(text: str, shape: type[Shape], where: str) -> Shape:
    try:
        return _validated(text, shape)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        place = f"{where}: '{key}'" if key else where
        raise UserError(f"{place} does not fit ({first['msg']}): {REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where} is not JSON ({type(error).__name__}): {REMEDY}") from error


def _validated(text: str, shape: type[Shape]) -> Shape:
    adapter = strict_adapter(shape)
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
