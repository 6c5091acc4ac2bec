"""JSON files that others wrote: whatever does not fit is one line that names file and row."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UserError


def read_json(path: Path, missing: str = "check the path", broken: str = "mend the file") -> Any:
    """The value of a JSON file, with or without a byte order mark.

    ``missing`` and ``broken`` are what to do where it cannot be read, or is no JSON; with that
    the line of a UserError ends. A key that stands twice in one object counts as broken.
    """
    with _readable(path, missing):
        text = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid JSON ({error}): {broken}") from error


def read_jsonl(path: Path, missing: str = "check the path") -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a JSONL file with their line numbers; blank lines are passed over.

    Raises UserError, naming file and row, for a missing file (what to do then: ``missing``), wrong
    encoding, bad JSON, NaN and infinities, a key that stands twice, and a row that is no object.
    """
    with _readable(path, missing), path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _json_object(line, f"{path} row {number}")


def json_if_readable(path: Path) -> Any:
    """The value of a JSON file of our own that can be made again; None where it is of no use."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def deeper_than(value: Any, levels: int) -> bool:
    """Whether lists and objects lie in each other at more levels than this.

    ``[1]`` has one level, ``[[1]]`` two. Counted without recursion, which Python ends at 1000.
    """
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
        row = json.loads(line, parse_constant=_no_number, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error}): mend or remove the row") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: a JSON object is needed, not {type(row).__name__}")
    return row


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two equal keys JSON would silently keep the last."""
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
