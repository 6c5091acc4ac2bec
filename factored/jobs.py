"""TauBench arms, and tool agents on recorded calls, as jobs: from a plan to an outcome."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factored import call_evaluation
from factored.arm import TauBenchArm, prepare
from factored.dry_run import dry_run
from factored.evaluation import RESULTS, TauBenchResult, evaluate
from factored.settings import canonical, taubench_settings
from factored.tables import figures, show_metrics
from harness.hashing import digest_of
from harness.outcomes import Outcome, Plan
from harness.terminal import console as terminal
from harness.tracking import Findings, TrackedRun, tracked

FILES = ("config.yaml", "manifest.json", "metrics.json", "episodes.jsonl", RESULTS)


def plan(container: dict[str, Any]) -> Plan:
    """What a resolved config asks for: canonical, validated."""
    if container["task"] == "calls":
        return call_evaluation.plan(container)
    config, notes = canonical(container)
    taubench_settings(config)
    players = [config[role] for role in ("planner", "tool_agent", "user")]
    models = [[player.get("model"), player.get("engine")] for player in players if player]
    return Plan(config, digest_of(models), tuple(notes))


def run(planned: Plan) -> Outcome:
    """Runs what was planned."""
    if planned.config["task"] == "calls":
        return call_evaluation.run(planned)
    return run_arm(planned)


def run_arm(planned: Plan) -> Outcome:
    """Evaluates the arm, or shows what it would do.

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
    """pass^k, punts and errors; the arm's files."""
    metrics = result.metrics
    scalars = {f"pass^{row['k']}": row["value"] for row in metrics["pass"] if row["value"]}
    scalars |= {f"turns/{name}": metrics["turns"][name] for name in ("turns", "calls", "punts")}
    scalars |= {f"ended/{name}": float(count) for name, count in metrics["ended"].items()}
    return Findings(scalars, [], [result.folder / name for name in FILES])
