"""A TauBench arm from end to end: episodes, result file, figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from factored.arm import TauBenchArm
from factored.metrics import TauBenchMetrics, measure
from factored.pool import run_episodes
from factored.results import EpisodeRow, EpisodeSummary
from factored.stored import check_count, count_rows, read_rows, read_value
from harness.errors import RunFailedError
from harness.folders import RunFolder, open_folder

RESULTS = "results.json"


@dataclass(frozen=True)
class TauBenchResult:
    """Where an arm's files are, its figures, and whether it ran just now."""

    folder: Path
    metrics: TauBenchMetrics
    fresh: bool

    def graded(self) -> list[EpisodeRow]:
        """Return the episodes of results.json: those that have a reward.

        Raises UserError where the file is damaged.
        """
        return read_value(self.folder / RESULTS, list[EpisodeRow])


def evaluate(arm: TauBenchArm) -> TauBenchResult:
    """Run an arm, continue it, or read it where it is finished.

    Raises UserError for anything a user can mend, RunFailedError where too many episodes met
    infrastructure trouble.
    """
    root = Path(arm.settings.paths.runs)
    with open_folder(root, arm.slug, arm.fingerprint, arm.config) as folder:
        fresh = not folder.done
        if fresh:
            work(arm, folder)
            folder.finish(arm.facts())
        return TauBenchResult(folder.path, read_metrics(folder.path), fresh)


def work(arm: TauBenchArm, folder: RunFolder) -> None:
    """Run the episodes and write the arm's files, all but the manifest.

    Raises RunFailedError, with the reason in FAILED, where more than ``report.max_error_rate`` of
    the episodes have no result.
    """
    settings = arm.settings
    rows = run_episodes(arm, folder)
    _check_trouble(rows, settings.report.max_error_rate, folder)
    # tau-bench's tools take every record for a graded one: those without a reward stay out.
    folder.write(RESULTS, [row.as_row() for row in rows if row.valid])
    folder.write_rows("episodes.jsonl", [row.summary().as_row() for row in rows])
    metrics = measure(
        rows,
        arm.loaded,
        arm.tasks,
        settings.domain.faulty.get(settings.domain.split, ()),
        trials=settings.trials,
        seed=settings.seed,
        limits=settings.limits,
        skipped=arm.skipped,
    )
    folder.write("metrics.json", metrics.as_row())


def read_metrics(folder: Path) -> TauBenchMetrics:
    """Return the figures of a finished arm.

    Raises UserError where metrics.json or episodes.jsonl is damaged, or where episodes.jsonl or
    generations.jsonl lacks rows.
    """
    metrics = read_value(folder / "metrics.json", TauBenchMetrics)
    summaries = read_rows(folder / "episodes.jsonl", EpisodeSummary)
    check_count(folder / "episodes.jsonl", len(summaries), metrics.episodes)
    generations = folder / "generations.jsonl"
    check_count(generations, count_rows(generations), metrics.episodes)
    return metrics


def _check_trouble(rows: Sequence[EpisodeRow], max_error_rate: float, folder: RunFolder) -> None:
    failed = [row for row in rows if not row.valid]
    if len(failed) > max_error_rate * len(rows):
        first = failed[0]
        reason = (
            f"{len(failed)} of {len(rows)} episodes have no result (first: task"
            f" {first.task_id}, {first.ended}: {first.error or 'out of time'}): mend the"
            " cause and run the same command again, or raise report.max_error_rate"
        )
        folder.fail(reason)
        raise RunFailedError(reason)
