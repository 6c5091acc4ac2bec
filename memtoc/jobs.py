"""An arm as a job of its own or of a sweep: from a plan to an outcome."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.errors import UserError
from harness.folders import RunFolder
from harness.outcomes import Outcome, Plan
from harness.seeds import generator
from harness.terminal import console as terminal
from harness.tracking import MOST_SAMPLES, Findings, TrackedRun, tracked
from memtoc import rules
from memtoc.arm import Arm, prepare
from memtoc.dry_run import dry_run
from memtoc.evaluation import ArmResult, evaluate
from memtoc.merging import merged
from memtoc.settings import MOST_SHARDS, ArmSettings, Report, arm_settings
from memtoc.tables import show

FILES = ("config.yaml", "manifest.json", "metrics.json", "episodes.jsonl", "generations.jsonl")
# The main columns of a sweep's table: metric and definition, as in memtoc.metrics.RATES.
MAIN = {
    "retention": ("retention", "ours"),
    "correct tool": ("correct-tool following", "ours"),
    "wrong tool": ("incorrect-tool following", "ours"),
    "error abst.": ("tool-error abstention", "released"),
}


def plan(container: dict[str, Any]) -> Plan:
    """The arm of a resolved config, or a merge, held against the rules between groups."""
    return plan_merge(container) if container["task"] == "merge" else rules.plan(container)


def run(planned: Plan) -> Outcome:
    """Runs what was planned."""
    return run_merge(planned) if planned.config["task"] == "merge" else run_arm(planned)


def run_arm(plan: Plan) -> Outcome:
    """Evaluates the arm, or shows what it would do.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    if plan.dropped:
        raise UserError(plan.dropped)
    console = terminal()
    for note in plan.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    return _run(prepare(arm_settings(plan.config), plan.config), console)


def plan_merge(container: dict[str, Any]) -> Plan:
    """The plan of the whole arm, with the number of shards that it is joined from."""
    arm = {name: part for name, part in container.items() if name != "shards"}
    shards = container.get("shards")
    if not isinstance(shards, int) or not 2 <= shards <= MOST_SHARDS:
        raise UserError(f"shards={shards}: give the number of shards, from 2 to {MOST_SHARDS}")
    if container.get("shard") is not None:
        raise UserError("shard is for the arms that are joined: leave it out, and set shards=n")
    planned = rules.plan({**arm, "task": "evaluate"})
    return replace(planned, config={**planned.config, "task": "merge", "shards": shards})


def run_merge(plan: Plan) -> Outcome:
    """Evaluates the whole arm from the rows of its finished shards."""
    if plan.dropped:
        raise UserError(plan.dropped)
    config = {name: part for name, part in plan.config.items() if name != "shards"}
    return _run(merged({**config, "task": "evaluate"}, plan.config["shards"]), terminal())


def _run(arm: Arm, console: Console) -> Outcome:
    if arm.settings.dry_run:
        dry_run(arm, console)
        return Outcome("dry run", name=arm.name)
    loads = arm.backend.loads
    with tracked(arm.settings.tracker, _tracked_run(arm)) as log:
        result = evaluate(arm)
        log(findings(result, arm.settings))
    return outcome_of(arm, result, arm.backend.loads - loads, console)


def _tracked_run(arm: Arm) -> TrackedRun:
    root = Path(arm.settings.paths.runs)
    config = {**arm.config, "digests": arm.digests}
    return TrackedRun(arm.fingerprint[:16], arm.name, "evaluate", config, root / arm.name, root)


def outcome_of(arm: Arm, result: ArmResult, loads: int, console: Console) -> Outcome:
    """What a sweep's table says of an arm."""
    return Outcome(
        "done" if result.fresh else "already done",
        name=arm.name,
        folder=str(result.folder),
        figures=figures(result.metrics, arm.settings.report),
        loads=loads,
        show=lambda: show(result, arm.settings.report, console),
    )


def figures(metrics: Mapping[str, Any], report: Report) -> dict[str, str]:
    """The main rates in percent with their support, as "62.5 (16)"."""
    rates = metrics["matchers"][report.matcher]["rates"]
    by_name = {(rate["metric"], rate["definition"]): rate for rate in rates}
    return {column: _figure(by_name[rate]) for column, rate in MAIN.items() if rate in by_name}


def _figure(rate: Mapping[str, Any]) -> str:
    value = "-" if rate["value"] is None else f"{100 * rate['value']:.1f}"
    return f"{value} ({rate['denominator']})"


def findings(result: ArmResult, settings: ArmSettings) -> Findings:
    """What a tracker shows: every rate under both matchers, row counts, rows, the arm's files."""
    scalars = {f"rows/{status}": float(n) for status, n in result.metrics["status"].items()}
    for matcher, measured in result.metrics["matchers"].items():
        for rate in measured["rates"]:
            if rate["value"] is not None:
                scalars[f"{matcher}/{rate['metric']} ({rate['definition']})"] = rate["value"]
    files = [result.folder / name for name in FILES]
    return Findings(scalars, _sample(result.folder, settings), files)


def _sample(folder: Path, settings: ArmSettings) -> list[dict[str, Any]]:
    """Some scored rows with their replies, drawn over all questions and conditions alike."""
    replies = RunFolder(folder).generations()
    texts = {(row["id"], row["condition"]): row["text"] for row in replies}
    drawn = sorted(
        RunFolder(folder).read_rows("episodes.jsonl"),
        key=lambda row: generator(
            settings.seed, "sample", f"{row['id']} {row['condition']}"
        ).random(),
    )
    return [
        {
            "id": row["id"],
            "condition": row["condition"],
            "status": row["status"],
            "cell": row["scores"][settings.report.matcher]["cell"],
            "outcome": row["scores"][settings.report.matcher]["outcome"],
            "reply": texts.get((row["id"], row["condition"]), ""),
        }
        for row in drawn[:MOST_SAMPLES]
    ]
