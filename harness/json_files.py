"""JSON files that others wrote: a mistake in them is a UserError that names file and row."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UserError


def read_json(path: Path, missing: str = "check the path", broken: str = "mend the file") -> Any:
    """Return the value of a JSON file, with or without a byte order mark.

    Raises UserError for a file that cannot be read, is not JSON, or has a key twice in one object.
    The error ends with what to do: ``missing`` in the first case, ``broken`` in the others.
    """
    with _readable(path, missing):
        text = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error}): {broken}") from error


def read_jsonl(path: Path, missing: str = "check the path") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a JSONL file with their line numbers; skip blank lines.

    Raises UserError, naming file and row, for a missing file (it ends with ``missing``, what to do
    then), wrong encoding, bad JSON, NaN and infinities, a key twice in one object, and a row that
    is not an object.
    """
    with _readable(path, missing), path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _json_object(line, f"{path} row {number}")


def json_if_readable(path: Path) -> Any:
    """Return the value of a JSON file of our own; None if it is missing or damaged.

    For files that are made again then.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def deeper_than(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested deeper than ``levels``: ``[[1]]`` has two."""
    # Layer by layer rather than by recursion, which Python ends at a depth of 1000.
    layer = [value]
    for _ in range(levels + 1):
        layer = [child for parent in layer for child in _children(parent)]
        if not layer:
            return False
    return True


@contextmanager
def _readable(path: Path, missing: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}: {missing}") from error


def _json_object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_constant=_no_number, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error}): mend or remove the row") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: a JSON object is needed, not {type(row).__name__}")
    return row


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise ValueError for a key that it holds twice."""
    # json.loads alone would keep the last of two equal keys without a word.
    found = dict(pairs)
    if len(found) < len(pairs):
        key = next(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {key[:80]!r} stands twice in one object")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
