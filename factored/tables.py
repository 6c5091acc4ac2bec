"""What a person sees of a TauBench arm in the terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from factored.arms import FinishedTauBench
from factored.metrics import PassRow, TauBenchMetrics, TurnCounts
from factored.roles import RARE, Usage
from factored.show import show_dialogue
from harness.terminal import say


def show_metrics(arm: FinishedTauBench, with_dialogue: bool, console: Console) -> None:
    """Print pass^k, errors and costs, one dialogue if wanted, and where the files are.

    Raises UserError where the dialogue's file is damaged.
    """
    metrics = arm.metrics
    rows = arm.graded() if with_dialogue else []
    if rows:
        # A dialogue with a punt shows more than one without, a short one is read sooner.
        shown = max(rows, key=lambda row: (any(turn.punt for turn in row.turns), -len(row.turns)))
        show_dialogue(shown.as_row(), console)
    turns = metrics.turns
    counts = f"{turns.messages} messages, {turns.calls} calls, {turns.punts} punts"
    for title, table in (
        ("pass^k (95 % intervals, bootstrap over tasks)", pass_rows(metrics)),
        (f"{turns.turns} turns: {counts}", _errors(turns)),
        ("Against the script, whose decisions are taken in order whatever came", _scripts(metrics)),
        ("Roles", _usage(metrics.usage)),
    ):
        if table is not None:
            say(console, f"\n{title}")
            if table.row_count:
                console.print(table)
    ended = ", ".join(f"{count} {name}" for name, count in sorted(metrics.ended.items()))
    say(console, f"{metrics.episodes} episodes ended: {ended}")
    agreed = metrics.ended_on_agreement
    if agreed is not None and agreed.episodes:
        say(
            console,
            f"{agreed.episodes} of them ended by the user while agreeing to a change, before the"
            f" agent could make it ({agreed.failed} without reward 1)",
        )
    say(console, _conditions(metrics))
    say(console, f"arm: {arm.folder}")


def _conditions(metrics: TauBenchMetrics) -> str:
    """Say under what conditions the figures compare: step limit, cost of a punt, tasks left out."""
    limits = metrics.limits
    if limits.upstream_strict:
        punts = "nothing is punted (upstream-strict)"
    else:
        punts = f"a punt costs {'a' if limits.punt_costs_step else 'no'} step"
    skipped = f"; {metrics.skipped} tasks of the split left out" if metrics.skipped else ""
    return f"at most {limits.steps} steps, {punts}{skipped}"


LEGEND = {
    "pass^k": "share of tasks solved in each of k trials, averaged over the choices of k trials",
    "punts %": "turns of the tool agent, in percent, in which it handed the request back",
}


def figures(metrics: TauBenchMetrics) -> dict[str, str]:
    """Return the columns of a sweep's table: pass^k, and punts in percent of turns."""
    found = {
        f"pass^{row.k}": "-" if row.value is None else f"{row.value:.3f}"
        for row in metrics.pass_all
    }
    turns = metrics.turns
    share = 100 * turns.punts / turns.turns if turns.turns else 0.0
    return {**found, "punts %": f"{share:.1f}"}


def pass_rows(metrics: TauBenchMetrics) -> Table:
    """Return pass^k over all tasks, over those without known faults, and the do-nothing floor."""
    tasks, clean = metrics.pass_all[0].tasks, metrics.pass_clean[0].tasks
    table = Table()
    table.add_column("k", justify="right")
    for name in (f"all {tasks} tasks", f"{clean} without known faults"):
        table.add_column(name, justify="right")
    for row, other in zip(metrics.pass_all, metrics.pass_clean, strict=True):
        table.add_row(str(row.k), _interval(row), _interval(other))
    floors = [metrics.floor, metrics.floor_clean]
    table.add_row(
        "floor (nothing done)", *("" if floor is None else f"{floor:.3f}" for floor in floors)
    )
    return table


def _interval(row: PassRow) -> str:
    if row.value is None:
        return f"{len(row.lacking)} tasks lack trials" if row.tasks else "no tasks"
    return f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})"


def _errors(turns: TurnCounts) -> Table:
    table = Table()
    for name in ("error", "of", "turns"):
        table.add_column(name, justify="right" if name == "turns" else "left")
    for counts, of in ((turns.call_errors, "call"), (turns.planner_errors, "planner")):
        for name, count in counts.items():
            if count:
                table.add_row(name, of, str(count))
    return table


def _scripts(metrics: TauBenchMetrics) -> Table | None:
    """Show what became of the calls that a script intended, and of a replayed run's results."""
    if metrics.intended is None:
        return None
    table = Table()
    for name in ("", "number", "of"):
        table.add_column(name, justify="right" if name else "left")
    for kind, count in metrics.intended.items():
        table.add_row(
            f"exact {kind}: run as the script has them", str(count.exact), str(count.total)
        )
    run = metrics.recorded
    if run is not None:
        for name, equal, of in (
            ("dialogues that end in the recorded data", run.equal_hashes, run.episodes),
            ("dialogues with the recorded reward", run.equal_rewards, run.episodes),
            ("dialogues with reward 1", run.successes, run.episodes),
            ("the same, had no call been made", run.no_call_successes, run.episodes),
            ("recorded reward 1 by changing data, kept", run.writing_kept, run.writing),
        ):
            table.add_row(name, str(equal), str(of))
    return table


def _usage(usage: Mapping[str, Usage]) -> Table | None:
    if not usage:
        return None
    columns: Sequence[str] = (
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "seconds",
        "truncated",
        "shortened",
        "retries",
        "cost",
        *(name for name in RARE if any(getattr(counts, name) for counts in usage.values())),
    )
    table = Table()
    table.add_column("role")
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for role, counts in usage.items():
        table.add_row(role, *(_usage_cell(counts, name) for name in columns))
    return table


def _usage_cell(counts: Usage, name: str) -> str:
    """A count; tokens and cost are a lower bound where a server left some of them out."""
    shown = f"{getattr(counts, name):g}"
    if name not in ("prompt_tokens", "completion_tokens", "cost") or not counts.without_usage:
        return shown
    return "unknown" if counts.without_usage == counts.calls else f"{shown} or more"
