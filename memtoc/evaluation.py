"""An arm from end to end: memory pass, tool pass, scored rows, rates."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from harness.cache import GenerationCache
from harness.errors import UserError
from harness.folders import RunFolder
from harness.outcomes import Command, Outcome, Plan
from harness.passes import Row, check_empties, check_errors, run_pass
from harness.remarks import remarks
from harness.run import Executed, Produced, execute
from harness.seeds import generator
from harness.terminal import console, say
from harness.tracking import MOST_SAMPLES, TrackerLog
from memtoc import rules
from memtoc.arm import Arm, prepare
from memtoc.arms import FinishedArm
from memtoc.dry_run import dry_run
from memtoc.episodes import episodes, has_row
from memtoc.memories import elicit
from memtoc.scored import ScoredRow, score_episodes
from memtoc.settings import ArmSettings
from memtoc.tables import figures, legend, show

FILES = ("config.yaml", "manifest.json", "metrics.json", "episodes.jsonl", "generations.jsonl")


def evaluate(arm: Arm) -> Executed[FinishedArm]:
    """Run an arm, continue it, or read it where it is finished.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    return execute(arm.run, partial(_work, arm), FinishedArm.load, _shown)


def _work(arm: Arm, folder: RunFolder) -> Produced:
    from memtoc.metrics import measure  # numpy: an arm that is finished is read without it

    with GenerationCache(Path(arm.settings.paths.cache) / "generations.sqlite") as cache:
        memories = elicit(arm, cache)
        rows = episodes(arm.settings, arm.questions)
        wanted = [
            Row({"id": row.question.id, "condition": row.condition}, arm.asked(row.request))
            for row in rows
        ]
        completions, counts = run_pass("with tool", wanted, folder, arm.backend, cache, arm.audit)
    check_errors(completions, arm.settings.report.max_error_rate)
    check_empties(completions, arm.settings.report.max_empty_rate)
    scored = score_episodes(rows, completions, memories.completions, arm.settings.scoring)
    folder.write_rows("episodes.jsonl", [asdict(row) for row in scored])
    metrics = measure(scored, arm.settings.seed, arm.settings.scoring)
    folder.write("metrics.json", asdict(metrics))
    memory = {"folder": str(memories.folder), "digest": memories.digest}
    return Produced(
        {**counts.as_row(), "skipped": _skipped(arm)},
        {**arm.about(), "memory": memory, "scorer": metrics.scorer},
        [*memories.notes, *remarks(completions, arm.settings.model)],
    )


def _skipped(arm: Arm) -> dict[str, int]:
    """Count the rows that questions cannot have under a condition, e.g. without a far value."""
    return dict(
        Counter(
            condition
            for condition in arm.settings.conditions
            for question in arm.questions
            if not has_row(arm.settings, question, condition)
        )
    )


def run_arm(plan: Plan[ArmSettings]) -> Outcome:
    """Evaluate the planned arm, or show what it would do."""
    return run_prepared(prepare(plan.settings, plan.config, plan.sweep))


def run_prepared(arm: Arm) -> Outcome:
    """Evaluate an arm that is made ready, or show what it would do."""
    for line in arm.benchmark.remarks:
        say(console(), line)
    if arm.settings.dry_run:
        dry_run(arm, console())
        return Outcome("dry run", name=arm.run.name)
    done = evaluate(arm)
    _check_reading(arm, done)
    report = arm.settings.report
    shown = figures(done.result.metrics, report)
    return done.outcome(shown, lambda: show(done.result, report, console()), legend(shown, report))


def _check_reading(arm: Arm, done: Executed[FinishedArm]) -> None:
    """Refuse to show a finished arm as read by rules that it was not read by."""
    wanted, found = arm.settings.scoring.changes(), done.result.metrics.scorer
    if wanted != found.partition(" ")[2]:
        keys = "".join(f" scoring.{change}" for change in wanted.split())
        raise UserError(
            f"{done.run.folder} is finished and was scored by '{found}': for the rules that are"
            f" set now run python analyze.py --config-name=rescore arm={done.run.folder}{keys}"
        )


EVALUATE = Command(ArmSettings, rules.plan, run_arm)


def _shown(arm: FinishedArm) -> TrackerLog:
    """Return what a tracker shows: both matchers' rates, row counts, rows, the arm's files."""
    scalars = {f"rows/{status}": float(count) for status, count in arm.metrics.status.items()}
    for matcher, measured in arm.metrics.matchers.items():
        for rate in measured.rates:
            if rate.value is not None:
                scalars[f"{matcher}/{rate.metric} ({rate.definition})"] = rate.value
    return TrackerLog(scalars, _sample(arm), [arm.folder / name for name in FILES])


def _sample(arm: FinishedArm) -> Sequence[dict[str, Any]]:
    """Return some scored rows with their replies, drawn over all questions and conditions alike."""
    matcher, seed, replies = arm.settings.report.matcher, arm.settings.seed, arm.replies()

    def drawn(row: ScoredRow) -> float:
        return generator(seed, "sample", f"{row.id} {row.condition}").random()

    return [
        {
            "id": row.id,
            "condition": row.condition,
            "status": row.status,
            "cell": row.scores[matcher].cell,
            "outcome": row.scores[matcher].outcome,
            "reply": replies[row.id, row.condition].text,
        }
        for row in sorted(arm.rows, key=drawn)[:MOST_SAMPLES]
    ]
