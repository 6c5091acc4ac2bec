"""A finished TauBench arm, as every reader of one gets it: loaded from its folder, checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from factored.arm import KIND
from factored.metrics import TauBenchMetrics
from factored.results import EpisodeRow, EpisodeSummary
from harness.errors import UserError
from harness.manifest import Manifest, check_files, read_manifest
from harness.rows import REMEDY, read_rows, read_value

RESULTS = "results.json"


@dataclass(frozen=True)
class FinishedTauBench:
    """A finished arm: what its manifest says, its episodes in figures, and the arm's figures."""

    folder: Path
    manifest: Manifest
    episodes: tuple[EpisodeSummary, ...]
    metrics: TauBenchMetrics

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read an arm's folder.

        Raises UserError, naming file, line and what to do, for a folder that is no finished arm of
        this version, a row that does not fit, and files that disagree with the manifest or with
        each other.
        """
        manifest = read_manifest(folder, KIND, "TauBench arm")
        metrics = read_value(folder / "metrics.json", TauBenchMetrics)
        episodes = read_rows(folder / "episodes.jsonl", EpisodeSummary)
        check_files(folder, manifest)
        if not len(episodes) == metrics.episodes == manifest.counts["rows"]:
            raise UserError(
                f"{folder}: {len(episodes)} rows in episodes.jsonl, {metrics.episodes} in"
                f" metrics.json, {manifest.counts['rows']} in manifest.json: {REMEDY}"
            )
        return cls(folder, manifest, episodes, metrics)

    def graded(self) -> tuple[EpisodeRow, ...]:
        """Return the episodes of results.json: those that have a reward, with their dialogues.

        Raises UserError where the file is damaged.
        """
        return read_value(self.folder / RESULTS, tuple[EpisodeRow, ...])
