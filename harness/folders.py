"""Run folders: named by their content, locked while written, finished once.

``<slug>-<hash8>/`` holds::

    config.yaml          the settings in canonical form
    manifest.json        the run's facts
    generations.jsonl    raw text, appended as it comes, put in canonical order at the end
    ...                  scored rows and metrics, by kind of run
    FAILED or DONE       the reason of a failure, or the time of the finish; DONE comes last
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
    """The folder of one run, and the reading and writing of its files."""

    path: Path

    @property
    def done(self) -> bool:
        """Return whether the run in it is finished."""
        return (self.path / "DONE").exists()

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append generations as they come; a kill can tear the last line at most."""
        path = self.path / "generations.jsonl"
        text = "".join(json_line(row) for row in rows)
        with disk_errors(path), path.open("a", encoding="utf-8") as file:
            file.write(text)

    def generations(self) -> list[dict[str, Any]]:
        """Return the whole rows of generations.jsonl, leaving out a line that a kill has torn."""
        path = self.path / "generations.jsonl"
        if not path.exists():
            return []
        with disk_errors(path):
            # A kill can tear a line inside of a character.
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
        """Replace the appended rows by all rows in canonical order."""
        write_jsonl(self.path / "generations.jsonl", rows)

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a JSONL file of the folder."""
        write_jsonl(self.path / name, rows)

    def read_rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a JSONL file; raise UserError if it is gone or damaged."""
        path = self.path / name
        try:
            return [json.loads(line) for line in json_rows(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(path, error) from error

    def write(self, name: str, value: Any) -> None:
        """Write a JSON file of the folder."""
        write_json(self.path / name, value)

    def read(self, name: str) -> Any:
        """Return the content of a JSON file; raise UserError if it is gone or damaged."""
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise _unreadable(path, error) from error

    def finish(self, manifest: Mapping[str, Any]) -> None:
        """Complete the manifest, remove FAILED, and mark the run as done."""
        self.write("manifest.json", {**self.read("manifest.json"), **manifest, "finished": now()})
        (self.path / "FAILED").unlink(missing_ok=True)
        write_atomic(self.path / "DONE", now() + "\n")

    def fail(self, reason: str) -> None:
        """Write the reason of a failure to FAILED; a later run that succeeds removes it."""
        write_atomic(self.path / "FAILED", reason + "\n")


def _unreadable(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} cannot be read ({type(error).__name__}): move the folder away")


def now() -> str:
    """Return the time in UTC to the second, e.g. 2026-03-01T09:00:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def place_of(root: Path, slug: str, fingerprint: str) -> Path:
    """Return where the folder of a fingerprint is, or will be: ``root/slug-hash8``.

    The hash alone finds one that is there: a folder that an earlier version gave another slug, or a
    person another beginning, is read and continued under the name that it has.
    """
    named = root / f"{slug}-{fingerprint[:8]}"
    if named.exists():  # the root may hold thousands of runs
        return named
    others = sorted(root.glob(f"*-{fingerprint[:8]}/config.yaml"))
    return others[0].parent if others else named


@contextmanager
def open_folder(
    root: Path,
    slug: str,
    fingerprint: str,
    config: Mapping[str, Any],
    cosmetic: Collection[str] = (),
) -> Iterator[RunFolder]:
    """Make or continue the folder of a fingerprint; yield it and hold its lock meanwhile.

    A second process that wants the same folder waits here, then finds the work done. A finished
    folder needs no lock. Raises UserError, showing the difference, if the folder holds a run of
    other settings; those under the ``cosmetic`` keys may differ.
    """
    folder = RunFolder(place_of(root, slug, fingerprint))
    if folder.done:
        # Read without the lock file: a finished run may lie on a read-only disk.
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
    # Compared as they are shown: to Python 1, 1.0 and True are equal.
    changed = [key for key in keys if _shown(ours, key) != _shown(theirs, key)]
    if changed:
        key = changed[0]
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UserError(
            f"{folder.path} holds a run of other settings ({key}: {_shown(theirs, key)} there,"
            f" {_shown(ours, key)} here{more}): move it away or set paths.*"
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
