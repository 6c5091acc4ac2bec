"""Today's scorer on the text of a finished arm: nothing is generated, both versions are kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.completions import Completion, from_row
from harness.errors import UserError
from harness.folders import RunFolder
from memtoc import scoring
from memtoc.arm import select
from memtoc.episodes import episodes
from memtoc.metrics import measure
from memtoc.scored import score_episodes
from memtoc.settings import ArmSettings, arm_settings


@dataclass(frozen=True)
class Rescored:
    """Files that now stand beside the old ones, and how many outcomes changed a matcher."""

    episodes: Path
    metrics: Mapping[str, Any]
    old_scorer: str
    changed: Mapping[str, int]
    settings: ArmSettings


def rescore(path: Path) -> Rescored:
    """Scores the arm in a folder again.

    Raises UserError where the folder is no finished arm, its benchmark or memory is not what it
    was, or it was scored by this very version.
    """
    folder = RunFolder(path)
    if not folder.done:
        raise UserError(f"{path} is not a finished arm (no DONE in it): give a folder under runs/")
    manifest = folder.read("manifest.json")
    version, old = scoring.SCORER_VERSION, manifest["scorer"]
    if old == version:
        raise UserError(f"{path} was scored by this version ({version}) already: nothing to do")
    settings = _settings(path / "config.yaml")
    rows = _score(settings, folder, manifest)
    metrics = {**measure(rows, settings.seed), "scorer": version}
    name = f"episodes.scorer-{version}.jsonl"
    folder.write_rows(name, rows)
    folder.write(f"metrics.scorer-{version}.json", metrics)
    changed = _changed(folder.read_rows("episodes.jsonl"), rows)
    return Rescored(path / name, metrics, old, changed, settings)


def _settings(path: Path) -> ArmSettings:
    try:
        return arm_settings(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        reason = (
            str(error).splitlines()[0] if isinstance(error, UserError) else type(error).__name__
        )
        raise UserError(f"{path} is not an arm's config ({reason}): restore it") from error


def _score(
    settings: ArmSettings, folder: RunFolder, manifest: Mapping[str, Any]
) -> list[dict[str, Any]]:
    benchmark = settings.benchmark.load()
    if benchmark.digest != manifest["digests"]["benchmark"]:
        raise UserError(
            f"{folder.path}: its benchmark has changed since: score with the rows of that time"
        )
    replies = _completions(folder)
    memories = {
        name: reply
        for (name, _), reply in _completions(RunFolder(Path(manifest["memory"]["folder"]))).items()
    }
    rows = episodes(settings, select(benchmark, settings))
    try:
        in_order = [replies[row.question.id, row.condition] for row in rows]
        return score_episodes(rows, in_order, memories)
    except KeyError as error:
        raise UserError(
            f"{folder.path}: no text for {error}: its generations.jsonl or the memory folder "
            f"{manifest['memory']['folder']} is incomplete; run the arm's own command again"
        ) from error


def _completions(folder: RunFolder) -> dict[tuple[str, str], Completion]:
    try:
        return {(row["id"], row["condition"]): from_row(row) for row in folder.generations()}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{folder.path}: generations.jsonl has a row that is none ({error}): restore the file"
        ) from error


def _changed(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, int]:
    return {
        matcher: sum(
            before["scores"][matcher]["outcome"] != after["scores"][matcher]["outcome"]
            for before, after in zip(old, new, strict=True)
        )
        for matcher in scoring.MATCHERS
    }
