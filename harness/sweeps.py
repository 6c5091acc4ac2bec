"""A sweep: all jobs checked before the first starts, each done once, and one table at the end."""

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from harness.errors import UserError
from harness.hashing import digest_of
from harness.outcomes import Outcome, Plan
from harness.terminal import printable, say


@dataclass(frozen=True)
class PlannedJob:
    """One combination of a sweep: its overrides and what they make of the config.

    ``label`` is those of the overrides in which the combinations differ.
    """

    overrides: tuple[str, ...]
    plan: Plan[Any]
    label: str


@dataclass(frozen=True)
class Sweep:
    """The jobs to run, those of one model next to each other, and what was left out."""

    jobs: tuple[PlannedJob, ...]
    duplicates: int
    dropped: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return a name of its content: the same sweep, started again, has the same name."""
        arms = sorted(_key(job.plan) for job in self.jobs)
        return f"sweep-{digest_of(arms)[:8]}"

    def lines(self) -> list[str]:
        """Return what was left out, in words."""
        lines = [
            f"{count} of the jobs left out: {reason}" for reason, count in self.dropped.items()
        ]
        if self.duplicates:
            lines.append(f"{self.duplicates} of the jobs repeat another: run once")
        return lines


def check_presets(overrides: Sequence[str]) -> None:
    """Refuse a sweep over experiments: each has combinations of its own, which would be lost."""
    asked = [o for o in overrides if o.partition("=")[0].lstrip("+").split("@")[0] == "experiment"]
    several = len(asked) > 1 or any("," in override or "(" in override for override in asked)
    if several:
        raise UserError(
            f"{' '.join(asked)}: an experiment is a sweep of its own, two cannot be swept over:"
            " run one command for each"
        )


def plan_sweep(
    combinations: Sequence[Sequence[str]], planned: Callable[[Sequence[str]], Plan[Any]]
) -> Sweep:
    """Plan every combination; raises UserError naming the first that cannot run, or for none.

    Nothing has started by then. Jobs come grouped by the model they keep in memory, in the
    order in which the models were asked for.
    """
    if not combinations:
        raise UserError(f"the sweep has no job: {_spans()} gives no value: name some")
    kept: dict[str, PlannedJob] = {}
    common = set.intersection(*map(set, combinations)) if len(combinations) > 1 else set()
    dropped: dict[str, int] = {}
    duplicates = 0
    for number, overrides in enumerate(combinations, start=1):
        label = " ".join(override for override in overrides if override not in common)
        try:
            job = PlannedJob(tuple(overrides), planned(overrides), label)
        except UserError as error:
            where = f"job {number} of {len(combinations)}{label and f' ({label})'}"
            raise UserError(f"{error} [{where}; nothing was started]") from error
        key = _key(job.plan)
        if job.plan.dropped:
            dropped[job.plan.dropped] = dropped.get(job.plan.dropped, 0) + 1
        elif key in kept:
            duplicates += 1
        else:
            kept[key] = job
    order = list(dict.fromkeys(job.plan.loaded for job in kept.values()))
    jobs = sorted(kept.values(), key=lambda job: order.index(job.plan.loaded))
    return Sweep(tuple(jobs), duplicates, dropped)


def _spans() -> str:
    """Those of the overrides that may span nothing; what is listed never does."""
    spans = [part for part in sys.argv[1:] if "=" in part and ("glob(" in part or "range(" in part)]
    return " or ".join(spans) or "one of its parameters"


def _key(plan: Plan[Any]) -> str:
    return digest_of({name: part for name, part in plan.config.items() if name != "tracker"})


def command_of(overrides: Sequence[str], flags: Sequence[str]) -> str:
    """Return the command that repeats one job of a sweep, ready to be pasted into a shell."""
    alone = ["hydra.mode=RUN"] if any(o.startswith("experiment=") for o in overrides) else []
    return shlex.join(["python", sys.argv[0], *flags, *overrides, *alone])


def show_sweep(
    sweep: Sweep,
    outcomes: Sequence[Outcome],
    commands: Sequence[str],
    console: Console,
) -> None:
    """Print a row for each job, the totals, and for each failed job the command to repeat it.

    ``outcomes`` are fewer than the jobs where the sweep was interrupted.
    """
    console.print(_table(sweep, outcomes))
    legend = {name: text for outcome in outcomes for name, text in outcome.legend.items()}
    for name, text in legend.items():
        say(console, f"{name}: {text}")
    say(console, _totals(sweep, outcomes))
    for note in _notes(sweep, outcomes):
        say(console, f"note: {printable(note)}")
    for outcome, command in zip(outcomes, commands, strict=False):
        if outcome.code:
            say(console, f"failed: {outcome.error}")
            say(console, f"  {command}")


def _notes(sweep: Sweep, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the arms' notes; of those that differ in figures alone the first, with their number.

    A sweep over a server that leaves something open would else say the same for every arm.
    """
    alike: dict[str, list[str]] = {}
    for job, outcome in zip(sweep.jobs, outcomes, strict=False):
        for note in outcome.notes:
            labelled = f"{job.label}: {note}" if job.label else note
            alike.setdefault(re.sub(r"[0-9.]+", "#", note), []).append(labelled)
    more = {1: "", 2: " (and so in another arm)"}
    return [
        f"{same[0]}{more.get(len(same), f' (and so in {len(same) - 1} other arms)')}"
        for same in alike.values()
    ]


def _table(sweep: Sweep, outcomes: Sequence[Outcome]) -> Table:
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.figures))
    arms = f"{len(sweep.jobs)} arm{'s' if len(sweep.jobs) != 1 else ''}"
    table = Table(title=f"Sweep of {arms}", title_justify="left")
    table.add_column("arm", overflow="fold", ratio=1)
    table.add_column("status", max_width=8)
    for name in names:
        table.add_column(name, justify="right", max_width=9)
    for number, job in enumerate(sweep.jobs):
        outcome = outcomes[number] if number < len(outcomes) else None
        table.add_row(*_cells(job, outcome, names))
    return table


def _cells(job: PlannedJob, outcome: Outcome | None, names: Sequence[str]) -> list[str]:
    if outcome is None:
        return [job.label, "not finished", *[""] * len(names)]
    figures = [outcome.figures.get(name, "") for name in names]
    where = "\n".join(part for part in (job.label, outcome.folder or outcome.name) if part)
    return [where, outcome.status, *figures]


def _totals(sweep: Sweep, outcomes: Sequence[Outcome]) -> str:
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    if len(outcomes) < len(sweep.jobs):
        counts["not finished"] = len(sweep.jobs) - len(outcomes)
    listed = ", ".join(f"{count} {status}" for status, count in counts.items())
    loads = sum(outcome.loads for outcome in outcomes)
    arms = "1 arm" if len(sweep.jobs) == 1 else f"{len(sweep.jobs)} arms"
    return f"{arms}: {listed or 'none'}; model loads: {loads}"


def plain(value: Any) -> Any:
    """Return the outcome of a launcher's job, or a failed one where the job broke."""
    if isinstance(value, Outcome):
        return value
    return Outcome("failed", 1, error=f"{type(value).__name__}: {value}".splitlines()[0])
