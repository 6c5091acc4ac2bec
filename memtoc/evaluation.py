"""An arm from end to end: memory pass, tool pass, scored rows, rates."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cache import GenerationCache
from harness.errors import RunFailedError
from harness.folders import RunFolder, open_folder
from harness.passes import Row, check_errors, counts_row, run_pass
from memtoc.arm import Arm
from memtoc.episodes import episodes, has_row
from memtoc.memories import elicit
from memtoc.metrics import measure
from memtoc.scored import score_episodes
from memtoc.scoring import SCORER_VERSION


@dataclass(frozen=True)
class ArmResult:
    """Where an arm's files are, and the content of its metrics.json and manifest.json.

    ``fresh`` is False where the arm was finished before.
    """

    folder: Path
    fresh: bool
    metrics: Mapping[str, Any]
    manifest: Mapping[str, Any]


def evaluate(arm: Arm) -> ArmResult:
    """Runs an arm, continues it, or reads it where it is finished.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    root = Path(arm.settings.paths.runs)
    with open_folder(root, arm.slug, arm.fingerprint, arm.config) as folder:
        fresh = not folder.done
        if fresh:
            with GenerationCache(Path(arm.settings.paths.cache) / "generations.sqlite") as cache:
                try:
                    _run(arm, folder, cache)
                except RunFailedError as error:
                    folder.fail(str(error))
                    raise
        metrics, manifest = folder.read("metrics.json"), folder.read("manifest.json")
        return ArmResult(folder.path, fresh, metrics, manifest)


def _run(arm: Arm, folder: RunFolder, cache: GenerationCache) -> None:
    memories = elicit(arm, cache)
    rows = episodes(arm.settings, arm.questions)
    wanted = [Row({"id": row.question.id, "condition": row.condition}, row.request) for row in rows]
    completions, counts = run_pass("with tool", wanted, folder, arm.backend, cache, arm.audit)
    check_errors(completions, arm.settings.report.max_error_rate)
    scored = score_episodes(rows, completions, memories.completions)
    folder.write_rows("episodes.jsonl", scored)
    folder.write("metrics.json", measure(scored, arm.settings.seed))
    folder.finish(
        {
            **arm.facts(),
            "memory": {"folder": str(memories.folder), "digest": memories.digest},
            "counts": {**counts_row(counts, arm.backend), "skipped": _skipped(arm)},
            "scorer": SCORER_VERSION,
        }
    )


def _skipped(arm: Arm) -> dict[str, int]:
    """Rows that an arm of these conditions could not have, by condition."""
    return dict(
        Counter(
            condition
            for condition in arm.settings.conditions
            for question in arm.questions
            if not has_row(arm.settings, question, condition)
        )
    )
