"""The generation cache: completions and scores in SQLite, committed as they arrive.

WAL mode lets several processes of one machine share a file; on a network file system the file has
a rollback journal, which several machines share by locks. A key covers the request (with its
adapter), the weights and the engine's own semantics, so that each engine reads only its own rows::

    with GenerationCache(Path("cache/generations.sqlite")) as cache:
        stored = cache.get([cache_key(request, weights, engine)])
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

from harness.completions import ChoiceScore, Completion, Request, from_row, to_row
from harness.errors import UserError
from harness.files import disk_errors, json_line
from harness.filesystems import sharing_of, type_of
from harness.hashing import digest_of

WAIT_S = 120.0  # how long one process waits for another one's commit
CHUNK = 500  # keys a query: SQLite before 3.32 takes at most 999 variables


class GenerationCache:
    """Completions and scores by key. Those that are not final stay out: the next run asks again."""

    def __init__(self, path: Path) -> None:
        """Open or make the file; raise UserError if it is something else or cannot be written."""
        self.path = path
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        sharing = sharing_of(path.parent)
        if sharing == "objects":
            raise UserError(
                f"{path}: a {type_of(path.parent)} mount has no locks, and the cache would break:"
                " set paths.cache to a folder on another disk"
            )
        with self._errors():
            self._db = sqlite3.connect(path, timeout=WAIT_S)
            if sharing == "shared":
                _set_journal(self._db, "delete")
            else:
                _set_journal(self._db, "wal")
                # Under WAL a power cut can then lose the last commits, and never the file; FULL
                # would wait for the disk at every group. A rollback journal needs it.
                self._db.execute("PRAGMA synchronous=NORMAL")
            for table in ("completions", "scores"):
                self._db.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, row TEXT NOT NULL)"
                )
            self._db.commit()

    def __enter__(self) -> Self:
        """Return the cache itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the stored completions by key; keys without one are absent."""
        with self._errors():
            return {key: from_row(json.loads(row)) for key, row in self._rows("completions", keys)}

    def put(self, completions: Iterable[tuple[str, Completion]]) -> None:
        """Store a group in one transaction: the whole group or, after a kill, nothing of it."""
        rows = [
            (key, json_line(to_row(completion)))
            for key, completion in completions
            if completion.final
        ]
        with self._errors(), self._db:
            # Two processes may generate for one key: the first stays, so that all later readers
            # see the same text.
            self._db.executemany("INSERT OR IGNORE INTO completions VALUES (?, ?)", rows)

    def get_scores(self, keys: Sequence[str]) -> dict[str, tuple[ChoiceScore, ...]]:
        """Return the stored scores by key, one `ChoiceScore` for each choice."""
        with self._errors():
            return {
                key: tuple(ChoiceScore(tuple(tokens)) for tokens in json.loads(row))
                for key, row in self._rows("scores", keys)
            }

    def put_scores(self, scores: Iterable[tuple[str, Sequence[ChoiceScore]]]) -> None:
        """Store a group of scores in one transaction."""
        rows = [(key, json.dumps([score.tokens for score in group])) for key, group in scores]
        with self._errors(), self._db:
            self._db.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", rows)

    def _rows(self, table: str, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, row FROM {table} WHERE key IN ({marks})"  # noqa: S608
            yield from self._db.execute(query, chunk)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise UserError(_explain(self.path, error)) from error


def _set_journal(db: sqlite3.Connection, mode: str) -> None:
    """Set the journal's mode, which the file keeps, if it is in another one.

    A file that cannot have it (one in memory, say) keeps its mode, and SQLite raises nothing.
    """
    deadline = monotonic() + WAIT_S
    while db.execute("PRAGMA journal_mode").fetchone() != (mode,):
        try:
            db.execute(f"PRAGMA journal_mode={mode}")
            return
        except sqlite3.OperationalError as error:
            # SQLite refuses at once, whatever the timeout, when two processes switch to WAL
            # together, so retry.
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.01)


def _explain(path: Path, error: Exception) -> str:
    text = str(error)
    if "full" in text:
        return f"{path}: no room left on the disk: free some and run the same command again"
    if "locking protocol" in text:  # no locks: an old NFS, Lustre without -o flock
        return f"{path}: the file system there has no locks: set paths.cache to one that has"
    if "locked" in text:
        return f"{path} is held by another process for over {WAIT_S:.0f} s: end it or wait"
    if "disk I/O" in text:  # all that SQLite says of a quota or a limit on file sizes
        return f"{path}: the disk refuses to write or read it: free some room or set paths.cache"
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be written ({text}): set paths.cache to a folder of yours"
    return f"{path} is not a generation cache ({text}): move it away or set paths.cache"


def cache_key(request: Request, weights: str, engine: Mapping[str, Any]) -> str:
    """Return the key of a request's completion: sha256 over request, weights and engine.

    The request's digest covers its adapter, so that a base and its adapters have rows of their own.
    """
    return digest_of({"request": request.digest, "weights": weights, "engine": dict(engine)})
