"""A TauBench arm from end to end: episodes, result file, figures."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from factored.arm import TauBenchArm, prepare
from factored.arms import RESULTS, FinishedTauBench
from factored.dry_run import dry_run
from factored.metrics import measure, usage_sums
from factored.pool import RunEpisodes, run_episodes
from factored.results import EpisodeRow
from factored.roles import Usage, summed
from factored.settings import TauBenchSettings, canonical, taubench_settings
from factored.tables import LEGEND, figures, show_metrics
from harness.errors import RunFailedError
from harness.folders import RunFolder
from harness.hashing import digest_of
from harness.outcomes import Command, Outcome, Plan
from harness.remarks import BESIDE_REMEDY, beside_remark, closed_remark, empty_remark
from harness.run import Executed, Produced, execute
from harness.terminal import console, say
from harness.tracking import TrackerLog

FILES = ("config.yaml", "manifest.json", "metrics.json", "episodes.jsonl", RESULTS)


def plan(config: dict[str, Any]) -> Plan[TauBenchSettings]:
    """Return what a resolved config asks for: checked, in its one spelling.

    Raises UserError that names the key and a value that would do.
    """
    spelt, notes = canonical(config)
    players = [spelt[role] for role in ("planner", "tool_agent", "user")]
    models = [[player.get("model"), player.get("engine")] for player in players if player]
    return Plan(spelt, taubench_settings(spelt), digest_of(models), tuple(notes))


def run(planned: Plan[TauBenchSettings]) -> Outcome:
    """Run the planned arm, or print what it would do.

    Raises UserError for anything a user can mend, RunFailedError where too many episodes met
    infrastructure trouble.
    """
    screen = console()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = prepare(planned.settings, planned.config, planned.sweep)
    for warning in caught:
        say(screen, f"warning: {warning.message}")
    if arm.settings.dry_run:
        dry_run(arm, screen)
        return Outcome("dry run", name=arm.run.name)
    done = evaluate(arm)
    return done.outcome(
        figures(done.result.metrics),
        lambda: show_metrics(done.result, arm.settings.report.show, screen),
        LEGEND,
    )


TAUBENCH = Command(TauBenchSettings, plan, run)


def evaluate(arm: TauBenchArm) -> Executed[FinishedTauBench]:
    """Run an arm, continue it, or read it where it is finished.

    Raises UserError for anything a user can mend, RunFailedError where too many episodes met
    infrastructure trouble.
    """
    return execute(arm.run, partial(_work, arm), FinishedTauBench.load, _shown)


def _work(arm: TauBenchArm, folder: RunFolder) -> Produced:
    settings = arm.settings
    played = run_episodes(arm, folder)
    rows = played.rows
    _check_trouble(rows, settings.report.max_error_rate)
    usage = usage_sums([row for row in rows if row.valid])
    _check_empties(usage, settings.report.max_empty_rate, folder)
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
    about = {
        "tasks": list(arm.tasks),
        "skipped": arm.skipped,
        "environment_of": "tau-bench 59a200c6",
        "read_with": (
            "python -m factored.taubench show FOLDER prints its dialogues, and the command that"
            " made it (evaluate.py --config-name=taubench) its figures"
        ),
    }
    return Produced(_counts(played), about, _notes(usage))


def _counts(played: RunEpisodes) -> dict[str, Any]:
    """Count episodes; a cached one lay in the folder of an earlier start."""
    total = summed(usage_sums(played.rows).values())
    failed = sum(not row.valid for row in played.rows)
    told = total.without_usage < total.calls or not total.calls
    return {
        "rows": len(played.rows),
        "cached": played.kept,
        "generated": len(played.rows) - played.kept - failed,
        "failed": failed,
        "model_calls": total.calls,
        "prompt_tokens": total.prompt_tokens if told else None,
        "completion_tokens": total.completion_tokens if told else None,
        **({"without_usage": total.without_usage} if total.without_usage else {}),
    }


def _notes(usage: Mapping[str, Usage]) -> list[str]:
    lines = []
    for role, counts in usage.items():
        noun, of = f"replies of the {role}", counts.calls
        if counts.empty:
            lines.append(empty_remark(counts.empty, of, noun))
        if counts.beside:
            lines.append(beside_remark(counts.beside, of, noun, "reasoning_content or reasoning"))
        if counts.closed:
            lines.append(closed_remark(counts.closed, of, noun))
    return lines


def _check_empties(usage: Mapping[str, Usage], max_empty_rate: float, folder: RunFolder) -> None:
    for role, counts in usage.items():
        if counts.empty > max_empty_rate * counts.calls:
            where = ", and the server put text into its reasoning" if counts.beside else ""
            remedy = BESIDE_REMEDY if counts.beside else "mend the server"
            raise RunFailedError(
                f"{counts.empty} of {counts.calls} replies of the {role} are empty{where}:"
                f" {remedy}, move {folder.path} away and run the same command again, or raise"
                " report.max_empty_rate"
            )


def _check_trouble(rows: Sequence[EpisodeRow], max_error_rate: float) -> None:
    failed = [row for row in rows if not row.valid]
    if len(failed) > max_error_rate * len(rows):
        first = failed[0]
        raise RunFailedError(
            f"{len(failed)} of {len(rows)} episodes have no result (first: task"
            f" {first.task_id}, {first.ended}: {first.error or 'out of time'}): mend the"
            " cause and run the same command again, or raise report.max_error_rate"
        )


def _shown(arm: FinishedTauBench) -> TrackerLog:
    """Collect pass^k, punts and ends, and the arm's files, for the tracker."""
    metrics, turns = arm.metrics, arm.metrics.turns
    scalars = {f"pass^{row.k}": row.value for row in metrics.pass_all if row.value is not None}
    for name, count in (("turns", turns.turns), ("calls", turns.calls), ("punts", turns.punts)):
        scalars[f"turns/{name}"] = count
    scalars |= {f"ended/{name}": float(count) for name, count in metrics.ended.items()}
    return TrackerLog(scalars, [], [arm.folder / name for name in FILES])
