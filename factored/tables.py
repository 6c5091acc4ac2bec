"""What a person sees of a TauBench arm in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from factored.evaluation import RESULTS, TauBenchResult
from factored.show import show_dialogue
from factored.taubench.loading import read_json


def show_metrics(result: TauBenchResult, with_dialogue: bool, console: Console) -> None:
    """Prints pass^k, errors and costs, one dialogue if wanted, and where the files are."""
    metrics = result.metrics
    if with_dialogue:
        rows = read_json(result.folder / RESULTS)
        if rows:
            show_dialogue(max(rows, key=_interest), console)
    turns = metrics["turns"]
    counts = ", ".join(f"{turns[name]} {name}" for name in ("messages", "calls", "punts"))
    for title, table in (
        ("pass^k (95 % intervals, bootstrap over tasks)", pass_rows(metrics)),
        (f"{turns['turns']} turns: {counts}", _errors(turns)),
        ("Against the script (open loop)", _scripts(metrics)),
        ("Roles", _usage(metrics["usage"])),
    ):
        if table is not None:
            _say(console, f"\n{title}")
            if table.row_count:
                console.print(table)
    ended = ", ".join(f"{count} {name}" for name, count in sorted(metrics["ended"].items()))
    _say(console, f"{metrics['episodes']} episodes ended: {ended}")
    _say(console, _conditions(metrics))
    _say(console, f"arm: {result.folder}")


def _conditions(metrics: Mapping[str, Any]) -> str:
    """What a reader has to know before comparing: the step limit, what a punt costs, who is out."""
    limits = metrics["limits"]
    if limits["upstream_strict"]:
        punts = "nothing is punted (upstream-strict)"
    else:
        punts = f"a punt costs {'a' if limits['punt_costs_step'] else 'no'} step"
    skipped = f"; {metrics['skipped']} tasks of the split left out" if metrics["skipped"] else ""
    return f"at most {limits['steps']} steps, {punts}{skipped}"


def figures(metrics: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a sweep's table: pass^k, and punts in percent of turns."""
    found = {f"pass^{row['k']}": _value(row) for row in metrics["pass"]}
    turns = metrics["turns"]
    share = 100 * turns["punts"] / turns["turns"] if turns["turns"] else 0.0
    return {**found, "punts %": f"{share:.1f}"}


def pass_rows(metrics: Mapping[str, Any]) -> Table:
    """pass^k over all tasks and over those without known faults, with the do-nothing floor."""
    tasks, clean = metrics["pass"][0]["tasks"], metrics["pass_clean"][0]["tasks"]
    table = Table()
    table.add_column("k", justify="right")
    for name in (f"all {tasks} tasks", f"{clean} without known faults"):
        table.add_column(name, justify="right")
    for row, other in zip(metrics["pass"], metrics["pass_clean"], strict=True):
        table.add_row(str(row["k"]), _interval(row), _interval(other))
    floors = [metrics["floor"], metrics["floor_clean"]]
    table.add_row("floor", *("" if floor is None else f"{floor:.3f}" for floor in floors))
    return table


def _interest(row: Mapping[str, Any]) -> tuple[int, int]:
    """A dialogue with a punt shows more than one without, a short one is read sooner."""
    return any(turn["punt"] for turn in row["turns"]), -len(row["turns"])


def _value(row: Mapping[str, Any]) -> str:
    return "-" if row["value"] is None else f"{row['value']:.3f}"


def _interval(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return f"{len(row['lacking'])} tasks lack trials" if row["tasks"] else "no tasks"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def _errors(turns: Mapping[str, Any]) -> Table:
    table = Table()
    for name in ("error", "of", "turns"):
        table.add_column(name, justify="right" if name == "turns" else "left")
    for kind, of in (("call_errors", "call"), ("planner_errors", "planner")):
        for name, count in turns[kind].items():
            if count:
                table.add_row(name, of, str(count))
    return table


def _scripts(metrics: Mapping[str, Any]) -> Table | None:
    """What became of the calls that a script intended, and of a replayed run's results."""
    if metrics["intended"] is None:
        return None
    table = Table()
    for name in ("", "equal", "of"):
        table.add_column(name, justify="right" if name else "left")
    for kind, count in metrics["intended"].items():
        table.add_row(f"exact {kind}", str(count["exact"]), str(count["total"]))
    recorded = metrics["recorded"]
    if recorded is not None:
        for name in ("hashes", "rewards"):
            table.add_row(
                f"final {name}", str(recorded[f"equal_{name}"]), str(recorded["episodes"])
            )
        for name, kept, of in (
            ("rewards", "successes", "episodes"),
            ("rewards without any call", "no_call_successes", "episodes"),
            ("recorded successes that need a write", "writing_kept", "writing"),
        ):
            table.add_row(name, str(recorded[kept]), str(recorded[of]))
    return table


def _usage(usage: Mapping[str, Mapping[str, float]]) -> Table | None:
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
    )
    table = Table()
    table.add_column("role")
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for role, counts in usage.items():
        table.add_row(role, *(f"{counts.get(name, 0):g}" for name in columns))
    return table


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
