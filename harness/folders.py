"""Run folders: named by what they hold, locked while written, finished once.

``<slug>-<hash8>/`` holds config.yaml, manifest.json, generations.jsonl (raw text, appended as it
comes, put in canonical order at the end), the scored rows and metrics of the run, and DONE, which
is renamed into place last.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from harness.errors import UserError
from harness.files import (
    disk_errors,
    json_line,
    json_rows,
    locked,
    write_atomic,
    write_json,
    write_jsonl,
)
from harness.fingerprint import identity


@dataclass(frozen=True)
class RunFolder:
    """One arm's or memory's folder."""

    path: Path

    @property
    def done(self) -> bool:
        """Whether the run in it is finished."""
        return (self.path / "DONE").exists()

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds generations as they come; a kill can tear the last line at most."""
        path = self.path / "generations.jsonl"
        text = "".join(json_line(row) for row in rows)
        with disk_errors(path), path.open("a", encoding="utf-8") as file:
            file.write(text)

    def generations(self) -> list[dict[str, Any]]:
        """The whole rows that are there; a torn last line is passed over."""
        path = self.path / "generations.jsonl"
        if not path.exists():
            return []
        with disk_errors(path):
            text = path.read_text(encoding="utf-8", errors="replace")
        rows = []
        for line in json_rows(text):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows

    def write_generations(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replaces the appended rows by all rows in canonical order."""
        write_jsonl(self.path / "generations.jsonl", rows)

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A JSONL file of the folder."""
        write_jsonl(self.path / name, rows)

    def read_rows(self, name: str) -> list[dict[str, Any]]:
        """Rows of a file that ``write_rows`` left; raises UserError where it is gone or damaged."""
        path = self.path / name
        try:
            return [json.loads(line) for line in json_rows(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(path, error) from error

    def write(self, name: str, value: Any) -> None:
        """A JSON file of the folder."""
        write_json(self.path / name, value)

    def read(self, name: str) -> Any:
        """A JSON file that ``write`` left; raises UserError where it is gone or damaged."""
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(path, error) from error

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Completes the manifest and marks the run as done."""
        self.write("manifest.json", {**self.read("manifest.json"), **manifest, "finished": now()})
        (self.path / "FAILED").unlink(missing_ok=True)
        write_atomic(self.path / "DONE", now() + "\n")

    def fail(self, reason: str) -> None:
        """Leaves the reason of a failure; the next run removes it once it succeeds."""
        write_atomic(self.path / "FAILED", reason + "\n")


def _unreadable(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} cannot be read ({type(error).__name__}): move the folder away")


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def open_folder(
    root: Path,
    slug: str,
    fingerprint: str,
    config: Mapping[str, Any],
    cosmetic: Collection[str] = (),
) -> Iterator[RunFolder]:
    """Make or continue the folder of a fingerprint, and hold its lock.

    A second process that wants the same folder waits here, then finds the work done. A finished
    folder is never written again, so it is given without a lock, as a read-only disk needs. Raises
    UserError, showing the difference, where the folder holds a run of other settings; those under
    the ``cosmetic`` keys may differ.
    """
    folder = RunFolder(root / f"{slug}-{fingerprint[:8]}")
    if folder.done:
        _check_same(folder, fingerprint, config, cosmetic)
        yield folder
        return
    with disk_errors(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
    with locked(folder.path / ".lock"):
        if (folder.path / "manifest.json").exists():
            _check_same(folder, fingerprint, config, cosmetic)
        else:
            _begin(folder, fingerprint, config)
        yield folder


def _begin(folder: RunFolder, fingerprint: str, config: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    write_atomic(folder.path / "config.yaml", text)
    started = {"fingerprint": fingerprint, "started": now(), "pid": os.getpid()}
    folder.write("manifest.json", started)


def _check_same(
    folder: RunFolder, fingerprint: str, config: Mapping[str, Any], cosmetic: Collection[str]
) -> None:
    try:
        stored = yaml.safe_load((folder.path / "config.yaml").read_text(encoding="utf-8"))
        theirs = identity(stored, cosmetic)
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise UserError(
            f"{folder.path / 'config.yaml'} cannot be read ({type(error).__name__}):"
            " move the folder away"
        ) from error
    ours = identity(config, cosmetic)
    keys = sorted({*ours, *theirs})
    changed = [key for key in keys if _shown(ours, key) != _shown(theirs, key)]
    if changed:
        key = changed[0]
        raise UserError(
            f"{folder.path} holds a run of other settings ({key}: {_shown(theirs, key)} there,"
            f" {_shown(ours, key)} here{_more(changed)}): move it away or set paths.*"
        )
    manifest = folder.read("manifest.json")
    if not isinstance(manifest, dict) or "fingerprint" not in manifest:
        raise UserError(f"{folder.path / 'manifest.json'} is no manifest: move the folder away")
    if manifest["fingerprint"] != fingerprint:
        raise UserError(
            f"{folder.path} holds a run of the same settings on other data or weights: "
            "move it away or set paths.*"
        )


def _shown(settings: Mapping[str, Any], key: str) -> str:
    return repr(settings[key]) if key in settings else "absent"


def _more(changed: Sequence[str]) -> str:
    return f", and {len(changed) - 1} more" if len(changed) > 1 else ""
