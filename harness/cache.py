"""The generation cache: every completion and every score ever made, committed as it arrives.

SQLite in WAL mode, so that several processes can share one file. The key covers the request,
the weights, the adapter and the engine's own semantics: engines never read each other's rows.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

from harness.completions import ChoiceScore, Completion, Request, from_row, to_row
from harness.errors import UserError
from harness.files import disk_errors, json_line
from harness.hashing import digest_of

WAIT_S = 120.0  # how long one process waits for another one's commit
CHUNK = 500  # keys a query; SQLite bounds the number of variables


class GenerationCache:
    """Completions by key. Failed requests are never stored, so that they are tried again."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file; raises UserError where it is something else."""
        self.path = path
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            self._db = sqlite3.connect(path, timeout=WAIT_S)
            _into_wal(self._db)
            self._db.execute("PRAGMA synchronous=NORMAL")
            for table in ("completions", "scores"):
                self._db.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} (key TEXT PRIMARY KEY, row TEXT NOT NULL)"
                )
            self._db.commit()

    def __enter__(self) -> Self:
        """The cache itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the file."""
        self._db.close()

    def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the completions that are there, by key."""
        with self._errors():
            return {key: from_row(json.loads(row)) for key, row in self._rows("completions", keys)}

    def put(self, completions: Iterable[tuple[str, Completion]]) -> None:
        """Stores a group in one transaction: all of a batch or nothing of it."""
        rows = [
            (key, json_line(to_row(completion)))
            for key, completion in completions
            if completion.finish != "error"
        ]
        with self._errors(), self._db:
            self._db.executemany("INSERT OR IGNORE INTO completions VALUES (?, ?)", rows)

    def get_scores(self, keys: Sequence[str]) -> dict[str, tuple[ChoiceScore, ...]]:
        """Return the scores that are there, by key."""
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


def _into_wal(db: sqlite3.Connection) -> None:
    """Sets the mode where it is not set yet, and where the disk can have it.

    SQLite does not wait for others that do the same at that moment: it refuses.
    """
    deadline = monotonic() + WAIT_S
    while db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.01)


def _explain(path: Path, error: Exception) -> str:
    text = str(error)
    if "full" in text:
        return f"{path}: no room left on the disk: free some and run the same command again"
    if "locked" in text:
        return f"{path} is held by another process for over {WAIT_S:.0f} s: end it or wait"
    if "disk I/O" in text:  # all that SQLite says of a quota or a limit on file sizes
        return f"{path}: the disk refuses to write or read it: free some room or set paths.cache"
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be written ({text}): set paths.cache to a folder of yours"
    return f"{path} is not a generation cache ({text}): move it away or set paths.cache"


def cache_key(request: Request, weights: str, engine: Mapping[str, Any]) -> str:
    """Return the key of a request's completion under given weights and engine semantics.

    The request's digest covers its adapter: a base and its adapters never read each other's rows.
    """
    return digest_of({"request": request.digest, "weights": weights, "engine": dict(engine)})
