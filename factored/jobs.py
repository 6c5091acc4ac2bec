"""TauBench arms, and tool agents on recorded calls, as jobs: from a plan to an outcome."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factored.arm import TauBenchArm, prepare
from factored.calls import run as calls
from factored.dry_run import dry_run
from factored.evaluation import RESULTS, TauBenchResult, evaluate
from factored.settings import canonical, taubench_settings
from factored.tables import figures, show_metrics
from harness.hashing import digest_of
from harness.outcomes import Outcome, Plan
from harness.terminal import console as terminal
from harness.tracking import Findings, TrackedRun, tracked

FILES = ("config.yaml", "manifest.json", "metrics.json", "episodes.jsonl", RESULTS)


def plan(config: dict[str, Any]) -> Plan:
    """Return what a resolved config asks for: checked, in its one spelling.

    Raises UserError that names the key and a value that would do.
    """
    if config["task"] == "calls":
        return calls.plan(config)
    spelt, notes = canonical(config)
    taubench_settings(spelt)
    players = [spelt[role] for role in ("planner", "tool_agent", "user")]
    models = [[player.get("model"), player.get("engine")] for player in players if player]
    return Plan(spelt, digest_of(models), tuple(notes))


def run(planned: Plan) -> Outcome:
    """Run what was planned and say how it went.

    Raises UserError for anything a user can mend, RunFailedError where too much of it failed.
    """
    if planned.config["task"] == "calls":
        return calls.run(planned)
    return run_arm(planned)


def run_arm(planned: Plan) -> Outcome:
    """Run the arm, or print what it would do.

    Raises UserError for anything a user can mend, RunFailedError where too many episodes met
    infrastructure trouble.
    """
    console = terminal()
    for note in planned.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arm = prepare(taubench_settings(planned.config), planned.config)
    for warning in caught:
        console.print(f"warning: {warning.message}", highlight=False, markup=False, soft_wrap=True)
    if arm.settings.dry_run:
        dry_run(arm, console)
        return Outcome("dry run", name=arm.name)
    with tracked(arm.settings.tracker, _tracked_run(arm)) as log:
        result = evaluate(arm)
        log(_findings(result))
    return Outcome(
        "done" if result.fresh else "already done",
        name=arm.name,
        folder=str(result.folder),
        figures=figures(result.metrics),
        loads=sum({id(backend): backend.loads for backend in arm.backends.values()}.values()),
        show=lambda: show_metrics(result, arm.settings.report.show, console),
    )


def _tracked_run(arm: TauBenchArm) -> TrackedRun:
    root = Path(arm.settings.paths.runs)
    config: Mapping[str, Any] = {**arm.config, "digests": arm.digests}
    return TrackedRun(arm.fingerprint[:16], arm.name, "taubench", config, root / arm.name, root)


def _findings(result: TauBenchResult) -> Findings:
    """Collect pass^k, punts and ends, and the arm's files, for the tracker."""
    metrics = result.metrics
    turns = metrics.turns
    scalars = {f"pass^{row.k}": row.value for row in metrics.pass_all if row.value is not None}
    for name, count in (("turns", turns.turns), ("calls", turns.calls), ("punts", turns.punts)):
        scalars[f"turns/{name}"] = count
    scalars |= {f"ended/{name}": float(count) for name, count in metrics.ended.items()}
    return Findings(scalars, [], [result.folder / name for name in FILES])
