"""The manifest of a finished run: one list of facts for every kind of run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files import json_rows
from harness.hashing import digest_of_file
from harness.json_files import json_if_readable
from harness.rows import REMEDY, read_value

# Written into every manifest; a reader of another format refuses the folder. Format 1 (July to
# December 2026) had no `format`, no files' digests and another list of facts for each kind.
FORMAT = 2
# What a kind of run always counts.
COUNTED = (
    "rows", "generated", "cached", "failed", "prompt_tokens", "completion_tokens", "engine_loads",
)  # fmt: skip
NAME = "manifest.json"


@dataclass(frozen=True)
class FileFacts:
    """A file as the run left it: its sha256 (hex), and its number of rows if it is JSONL."""

    sha256: str
    rows: int | None


@dataclass(frozen=True)
class ModelFacts:
    """A model that took part: its name, its weights' digest, and the revision they came from.

    ``adapters`` are the digests of the LoRA adapters that requests named.
    """

    name: str
    weights: str
    revision: str | None
    adapters: Sequence[str]


@dataclass(frozen=True)
class Manifest:
    """A run's facts. ``models`` and ``engines`` are by role; ``about`` is what one kind adds.

    ``digests`` belong to what the config names; with the settings they make up the fingerprint.
    ``counts`` holds every name of `COUNTED`, and what else the kind counts.
    """

    format: int
    kind: str
    fingerprint: str
    started: str
    finished: str
    pid: int
    seed: int
    digests: Mapping[str, str | None]
    models: Mapping[str, ModelFacts]
    engines: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, Any]
    files: Mapping[str, FileFacts]
    python: str
    packages: Mapping[str, str]
    git_commit: str | None
    hardware: Mapping[str, Any]
    about: Mapping[str, Any]


def file_facts(folder: Path) -> dict[str, FileFacts]:
    """Return the facts of every JSON and JSONL file in a run's folder, by name."""
    written = sorted(path for path in folder.iterdir() if path.suffix in (".jsonl", ".json"))
    return {
        path.name: FileFacts(digest_of_file(path), _rows(path))
        for path in written
        if path.name not in (NAME, "tracked.json")
    }


def _rows(path: Path) -> int | None:
    if path.suffix != ".jsonl":
        return None
    return sum(1 for _ in json_rows(path.read_text(encoding="utf-8", errors="replace")))


def read_manifest(folder: Path, kind: str, noun: str) -> Manifest:
    """Return the manifest of a finished run of this kind; errors call it ``noun``.

    Raises UserError for a folder without a finished run, and for a run of another kind or version.
    """
    if not (folder / "DONE").is_file():
        raise UserError(f"{folder} is not a finished {noun} (no DONE in it): give another folder")
    _check_format(folder / NAME)
    manifest = read_value(folder / NAME, Manifest)
    if manifest.kind != kind:
        # Each kind of run says in its own facts how it is read.
        reader = manifest.about.get("read_with", "the command that made it prints it again")
        raise UserError(f"{folder} is no {noun} but a run of kind {manifest.kind}: {reader}")
    return manifest


def check_files(folder: Path, manifest: Manifest, mendable: Collection[str] = ()) -> None:
    """Raise UserError for the first file that is gone, has another number of rows, or has changed.

    Of the ``mendable`` files only the rows are counted: a person may mend a text in them by hand.
    """
    for name, facts in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path} is gone, which its run left: {REMEDY}")
        rows = _rows(path)
        if rows != facts.rows:
            raise UserError(f"{path} holds {rows} rows, its run has {facts.rows}: {REMEDY}")
        if name not in mendable and digest_of_file(path) != facts.sha256:
            raise UserError(f"{path} is not as its run left it: {REMEDY}")


def _check_format(path: Path) -> None:
    """Raise UserError, naming the version that wrote it, for a manifest of another format."""
    content = json_if_readable(path)
    if not isinstance(content, dict) or not content:
        raise UserError(f"{path} is not a manifest: {REMEDY}")
    written = content.get("format", 1)
    if written != FORMAT:
        commit = content.get("git_commit") or "unknown"
        raise UserError(
            f"{path.parent} was written by another version (format {written}, commit {commit};"
            f" this one reads format {FORMAT}): read it with that commit, or move the folder away"
            " and run the same command again"
        )
