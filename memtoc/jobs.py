"""An arm as a job of its own or of a sweep: from a plan to an outcome."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from harness.errors import UserError
from harness.outcomes import Outcome, Plan
from memtoc.arm import Arm, prepare
from memtoc.dry_run import dry_run
from memtoc.evaluation import ArmResult, evaluate
from memtoc.settings import Report, arm_settings
from memtoc.tables import show

# The main columns of a sweep's table: metric and definition, as in memtoc.metrics.RATES.
MAIN = {
    "retention": ("retention", "ours"),
    "correct tool": ("correct-tool following", "ours"),
    "wrong tool": ("incorrect-tool following", "ours"),
    "error abst.": ("tool-error abstention", "released"),
}


def run_arm(plan: Plan) -> Outcome:
    """Evaluates the arm, or shows what it would do.

    Raises UserError for anything a user can mend, RunFailedError where too many rows failed.
    """
    if plan.dropped:
        raise UserError(plan.dropped)
    console = Console()
    for note in plan.notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    arm = prepare(arm_settings(plan.config), plan.config)
    if arm.settings.dry_run:
        dry_run(arm, console)
        return Outcome("dry run", name=arm.name)
    loads = arm.backend.loads
    result = evaluate(arm)
    return outcome_of(arm, result, arm.backend.loads - loads, console)


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
