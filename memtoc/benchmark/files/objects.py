"""JSON in the shapes that people keep rows in: lines, an array, objects, pandas' columns."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.json_files import unique_keys
from memtoc.benchmark.files.raw import MOST_CHARACTERS, MOST_ROWS, Raw, Row, Wanted

_BLANK = re.compile(r"[ \t\r\n]*")


def parse(text: str, path: Path, wanted: Wanted) -> Raw:
    """Return the objects of a text as rows; the header is every key in the order it comes up.

    Numbers keep their spelling, null and NaN are empty, true and false are texts. Raises UserError
    with the line for what is no JSON, and with the row for a value that is no text.
    """
    values = list(_values(text, path))
    unit, words, objects = "line", "", values
    if len(values) == 1:
        unit, (words, objects) = "item", _within(values[0][1], wanted)
    if len(objects) > MOST_ROWS:
        raise UserError(f"{path} has more than {MOST_ROWS:,} rows: give a part of it")
    keys: dict[str, None] = {}
    for number, value in objects:
        if not isinstance(value, dict):
            kind = "a list" if isinstance(value, list) else f"{value!r:.40}"
            raise UserError(f"{path} {unit} {number}: an object is needed, not {kind}")
        keys |= dict.fromkeys(value)
    rows = [
        Row(
            number,
            tuple(_cell(value.get(key), key, f"{path} {unit} {number}", wanted) for key in keys),
        )
        for number, value in objects
    ]
    header = [Row(0, tuple(keys))] if keys else []
    return Raw((*header, *rows), unit, notes=(f"read as JSON{words}",), facts={"format": "JSON"})


def _values(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each value of a text with the line it starts in; only a line feed ends a line."""
    decoder = json.JSONDecoder(
        object_pairs_hook=unique_keys, parse_int=str, parse_float=str, parse_constant=_constant
    )
    at, line, counted = _BLANK.match(text).end(), 1, 0  # type: ignore[union-attr]
    while at < len(text):
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if text[at] == "," and at:
                raise UserError(
                    f"{path} line {line}: a comma between two values: remove it, or put [ and ]"
                    " round all of them"
                ) from error
            raise UserError(
                f"{path} line {error.lineno}: not valid JSON ({error.msg}): mend it there"
            ) from error
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise UserError(
                f"{path} line {line}: not valid JSON ({reason}): mend the value that starts there"
            ) from error
        yield line, value
        at = _BLANK.match(text, end).end()  # type: ignore[union-attr]


def _within(value: Any, wanted: Wanted) -> tuple[str, list[tuple[int, Any]]]:
    """Return how a single value holds rows, in words, and the rows, numbered from 1."""
    words = ""
    if isinstance(value, dict):
        words, value = _rows_of(value, wanted)
    return words, list(enumerate(value if isinstance(value, list) else [value], start=1))


def _rows_of(value: Mapping[str, Any], wanted: Wanted) -> tuple[str, Any]:
    parts = list(value.values())
    if {"columns", "data"} <= set(value) and isinstance(value["columns"], list):
        names = [str(name) for name in value["columns"]]
        return ", by rows under 'data'", [
            dict(zip(names, row, strict=False)) if isinstance(row, list) else row
            for row in value["data"]
        ]
    lists = [name for name, part in value.items() if _objects(part)]
    if len(lists) == 1:
        return f", rows under the key '{lists[0][:40]}'", value[lists[0]]
    known = [name for name in value if wanted.column(name)]
    if known and parts and all(isinstance(part, dict) for part in parts):
        index = dict.fromkeys(key for part in parts for key in part)
        return ", by columns", [{n: value[n].get(key) for n in value} for key in index]
    if known and parts and all(isinstance(part, list) for part in parts):
        longest = max(map(len, parts))
        filled = {name: [*part, *[None] * (longest - len(part))] for name, part in value.items()}
        return ", by columns", [{n: filled[n][at] for n in value} for at in range(longest)]
    return "", value


def _objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _cell(value: Any, key: str, where: str, wanted: Wanted) -> str:
    if wanted.column(key) in wanted.lists and isinstance(value, list | tuple):
        return "|".join(_cell(part, key, where, Wanted()) for part in value)
    if wanted.names and wanted.column(key) is None and isinstance(value, list | dict):
        return json.dumps(value)[:MOST_CHARACTERS]  # of a column that nobody asks for
    text = text_of(value, key, where)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{where}: '{key}' holds half a character: mend the text") from error
    return text


def text_of(value: Any, key: str, where: str) -> str:
    """Return a value that is no list as the text of a cell; raises UserError for others."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        kind = "a list" if isinstance(value, list | tuple) else "an object"
        raise UserError(
            f"{where}: '{key[:40]}' holds {kind}: give one text, other spellings as aliases"
        )
    if len(value) > MOST_CHARACTERS:
        raise UserError(f"{where}: '{key[:40]}' is over {MOST_CHARACTERS:,} characters: shorten it")
    return value


def _constant(name: str) -> None:
    # pandas' rows written by Python's json hold NaN where a cell is empty.
    if name != "NaN":
        raise ValueError(f"{name} is no JSON number")
