"""A TauBench arm from end to end: episodes, result file, figures."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from factored.arm import TauBenchArm
from factored.episode import INVALID
from factored.metrics import measure
from factored.pool import run_episodes
from factored.results import summary_row
from harness.errors import RunFailedError
from harness.folders import RunFolder, open_folder

RESULTS = "results.json"


@dataclass(frozen=True)
class TauBenchResult:
    """Where an arm's files are, the content of its metrics.json, and whether it ran just now."""

    folder: Path
    metrics: Mapping[str, Any]
    fresh: bool


def evaluate(arm: TauBenchArm) -> TauBenchResult:
    """Runs an arm, continues it, or reads it where it is finished.

    Raises UserError for anything a user can mend, RunFailedError where too many episodes met
    infrastructure trouble.
    """
    root = Path(arm.settings.paths.runs)
    with open_folder(root, arm.slug, arm.fingerprint, arm.config) as folder:
        fresh = not folder.done
        if fresh:
            _run(arm, folder)
        return TauBenchResult(folder.path, folder.read("metrics.json"), fresh)


def _run(arm: TauBenchArm, folder: RunFolder) -> None:
    settings = arm.settings
    rows = run_episodes(arm, folder)
    _check_trouble(rows, settings.report.max_error_rate, folder)
    # tau-bench's tools take every record for a graded one: those without a reward stay out.
    folder.write(RESULTS, [row for row in rows if row["ended"] not in INVALID])
    folder.write_rows("episodes.jsonl", [summary_row(row) for row in rows])
    faulty = settings.domain.faulty.get(settings.domain.split, ())
    metrics = measure(rows, arm.loaded, arm.tasks, faulty, settings.trials, settings.seed)
    metrics |= {"limits": asdict(settings.limits), "skipped": arm.skipped}
    folder.write("metrics.json", metrics)
    folder.finish(arm.facts())


def _check_trouble(rows: list[dict[str, Any]], max_error_rate: float, folder: RunFolder) -> None:
    failed = [row for row in rows if row["ended"] in INVALID]
    if len(failed) > max_error_rate * len(rows):
        first = failed[0]
        reason = (
            f"{len(failed)} of {len(rows)} episodes have no result (first: task"
            f" {first['task_id']}, {first['ended']}: {first['error'] or 'out of time'}): mend the"
            " cause and run the same command again, or raise report.max_error_rate"
        )
        folder.fail(reason)
        raise RunFailedError(reason)
