"""A finished arm, as every reader of one gets it: loaded from its folder, checked, typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from harness.completions import Completion, from_row
from harness.errors import UserError
from harness.folders import RunFolder
from harness.manifest import Manifest, check_files, read_manifest
from harness.rows import REMEDY, read_rows, read_value
from memtoc.rates import Metrics
from memtoc.scored import ScoredMemory, ScoredRow
from memtoc.settings import ArmSettings, arm_settings

# The kinds of runs, as their manifests name them.
ARM, MEMORY = "evaluate", "memory"
# Raw texts, which a person may mend before an arm is scored again.
MENDABLE = ("generations.jsonl",)

Label = tuple[str, str]  # question id, condition


@dataclass(frozen=True)
class MemoryFacts:
    """The memory that an arm's cells stand on: its folder, and the digest over its texts."""

    folder: Path
    digest: str


@dataclass(frozen=True)
class FinishedMemory:
    """A finished closed-book pass: the model's memory of each question, in canonical order."""

    folder: Path
    manifest: Manifest
    rows: tuple[ScoredMemory, ...]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a memory folder; raises UserError naming file and line of what does not fit."""
        manifest = read_manifest(folder, MEMORY, "memory")
        rows = read_rows(folder / "memories.jsonl", ScoredMemory)
        check_files(folder, manifest, MENDABLE)
        return cls(folder, manifest, rows)


@dataclass(frozen=True)
class FinishedArm:
    """A finished arm: its settings, what its manifest says, its scored rows and its rates."""

    folder: Path
    settings: ArmSettings
    config: Mapping[str, Any]
    manifest: Manifest
    rows: tuple[ScoredRow, ...]
    metrics: Metrics

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read an arm's folder.

        Raises UserError, naming file, line and what to do, for a folder that is no finished arm of
        this version, a row or section that does not fit, and files that disagree with the manifest
        or with each other.
        """
        manifest = read_manifest(folder, ARM, "arm")
        config = _config(folder / "config.yaml")
        rows = read_rows(folder / "episodes.jsonl", ScoredRow)
        metrics = read_value(folder / "metrics.json", Metrics)
        _check_texts(folder, rows)
        check_files(folder, manifest, MENDABLE)
        if not len(rows) == metrics.rows == manifest.counts["rows"]:
            raise UserError(
                f"{folder}: {len(rows)} rows in episodes.jsonl, {metrics.rows} in metrics.json,"
                f" {manifest.counts['rows']} in manifest.json: {REMEDY}"
            )
        return cls(
            folder, _settings(folder / "config.yaml", config), config, manifest, rows, metrics
        )

    @property
    def memory(self) -> MemoryFacts:
        """Return where the arm's memory is, and its digest: equal digests share their cells."""
        found = self.manifest.about["memory"]
        return MemoryFacts(Path(found["folder"]), str(found["digest"]))

    def replies(self) -> dict[Label, Completion]:
        """Return the raw completions by question id and condition."""
        return completions(self.folder)


def _check_texts(folder: Path, rows: Sequence[ScoredRow]) -> None:
    texts = completions(folder)
    absent = [row for row in rows if (row.id, row.condition) not in texts]
    if absent:
        first = absent[0]
        raise UserError(
            f"{folder / 'generations.jsonl'} has no text for {first.id} under {first.condition},"
            f" and for {len(absent) - 1} more rows: {REMEDY}"
        )


def completions(folder: Path) -> dict[Label, Completion]:
    """Return the completions of an arm's or a memory's generations.jsonl.

    Raises UserError for a row that is none.
    """
    rows = RunFolder(folder).generations()
    try:
        return {(row["id"], row["condition"]): from_row(row) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{folder}: generations.jsonl has a row that is none ({error}): restore the file"
        ) from error


def _config(path: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read ({type(error).__name__}): {REMEDY}") from error
    if not isinstance(config, dict):
        raise UserError(f"{path} is not an arm's config: {REMEDY}")
    return config


def _settings(path: Path, config: Mapping[str, Any]) -> ArmSettings:
    try:
        return arm_settings(config)
    except (KeyError, UserError) as error:
        reason = str(error).splitlines()[0] if isinstance(error, UserError) else f"no {error}"
        raise UserError(f"{path} is not an arm's config ({reason}): {REMEDY}") from error
