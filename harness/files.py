"""Writes that a kill or a full disk cannot tear."""

import errno
import json
import os
import tempfile
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


def write_atomic(path: Path, text: str) -> None:
    """Writes a whole file, or leaves what was there; raises UserError on a full disk."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people: indented, keys in the order given."""
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object a line."""
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
