"""Atomic writes, JSON lines and lock files: after a kill or on a full disk a file is old or new."""

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
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a disk's errors (full, read-only, forbidden) into a UserError that names ``path``."""
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
    """Write a whole file, or leave the old one; raise UserError if the disk refuses."""
    data = content.encode() if isinstance(content, str) else content
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, since a rename is atomic within one file system only; with the process
        # id, since another process may write the same file now.
        beside = path.parent / f".{path.name}.{os.getpid()}"
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                # Without it a power cut can keep the rename and lose the content.
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file for people: indented, keys in the order given."""
    write_atomic(path, _readable_json(value, indent=2) + "\n")


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row of a JSONL file, with the line feed that ends it."""
    return _readable_json(row) + "\n"


def _readable_json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, as a reply cut by a server can end with
        return json.dumps(value, indent=indent)
    return text


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSONL file: one JSON object a line."""
    write_atomic(path, "".join(json_line(row) for row in rows))


def json_rows(text: str) -> Iterator[str]:
    """Yield the lines of a JSONL text, blank ones left out."""
    # Not splitlines(): U+2028, U+0085 and their like stand unescaped in a row that json_line wrote.
    return (line for line in text.split("\n") if line.strip())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, after waiting for other processes of this machine that hold it.

    Raises UserError on a file system without locks.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            raise UserError(
                f"{path}: this file system has no locks ({error.strerror}): mount it with locks"
                " (Lustre: -o flock), or set paths.* to another disk"
            ) from error
        yield
