"""Writes that a kill or a full disk cannot tear."""

import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UserError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns what a disk can do to us (full, read-only, forbidden) into a UserError."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise UserError(
                f"{path}: no room left on the disk: free some and run the same command again,"
                " finished work is kept"
            ) from error
        raise UserError(f"{path}: cannot be written ({error.strerror}): check paths.*") from error


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes a whole file, or leaves what was there; raises UserError on a full disk."""
    data = content.encode() if isinstance(content, str) else content
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.parent / f".{path.name}.{os.getpid()}"
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people: indented, keys in the order given."""
    write_atomic(path, _readable_json(value, indent=2) + "\n")


def json_line(row: Mapping[str, Any]) -> str:
    """A row of a JSONL file, line feed included; rows are told apart by line feeds alone."""
    return _readable_json(row) + "\n"


def _readable_json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, as a reply cut by a server can end with
        return json.dumps(value, indent=indent)
    return text


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    write_atomic(path, "".join(json_line(row) for row in rows))


def json_rows(text: str) -> Iterator[str]:
    """The lines of a JSONL file; other line ends than a line feed are part of a row's text."""
    return (line for line in text.split("\n") if line.strip())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock file; other processes of this machine wait for it."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
