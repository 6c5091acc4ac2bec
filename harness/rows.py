"""Files of a finished run, read back into dataclasses: what does not fit is named by its line."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from harness.errors import UserError
from harness.files import json_rows
from harness.settings import strict_adapter

Shape = TypeVar("Shape")

REMEDY = "restore the file, or move the folder away and run the same command again"


def read_rows(path: Path, row: type[Shape]) -> tuple[Shape, ...]:
    """Return the rows of a JSONL file, each as a ``row`` (a frozen dataclass).

    Raises UserError naming file and line for the first row that is not one.
    """
    lines = enumerate(json_rows(_text(path)), start=1)
    return tuple(_fitted(line, row, f"{path} line {number}") for number, line in lines)


def read_shape(path: Path, shape: type[Shape]) -> Shape:
    """Return the content of a JSON file as a ``shape``; raises UserError naming the first key."""
    return _fitted(_text(path), shape, str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UserError(f"{path} cannot be read ({reason}): {REMEDY}") from error


def _fitted(text: str, shape: type[Shape], where: str) -> Shape:
    try:
        return strict_adapter(shape).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise UserError(f"{where}: {f'{key}: ' if key else ''}{reason}: {REMEDY}") from error
