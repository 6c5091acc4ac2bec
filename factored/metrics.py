"""Figures of an arm: pass^k, what went wrong with calls, what the roles cost."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from factored.agreement import ended_on_agreement
from factored.call_checks import CALL_ERRORS, PLANNER_ERRORS
from factored.episode import Ended, Limits
from factored.results import EpisodeRow
from factored.roles import Usage, summed, usage_row
from factored.taubench.environment import LoadedDomain, score
from factored.taubench.tasks import RESPOND, Task
from harness.hashing import canonical_json
from harness.stats import bootstrap_ratios, percentile_interval

Rows = Sequence[EpisodeRow]
SUCCESS = 1 - 1e-6  # tau-bench's tolerance


@dataclass(frozen=True)
class PassRow:
    """pass^k over ``tasks`` tasks, with a 95 % interval.

    ``value``, ``low`` and ``high`` are None where the tasks of ``lacking`` have fewer than k
    valid trials, or where there are no tasks.
    """

    k: int
    tasks: int
    value: float | None
    lacking: tuple[int, ...]
    low: float | None = None
    high: float | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the row as it stands in files: without an interval where there is no value."""
        row: dict[str, Any] = {"k": self.k, "tasks": self.tasks, "value": self.value}
        interval = {} if self.value is None else {"low": self.low, "high": self.high}
        return {**row, **interval, "lacking": list(self.lacking)}


@dataclass(frozen=True)
class TurnCounts:
    """Turns of all episodes, and what became of them; errors by kind."""

    turns: int
    messages: int
    calls: int
    punts: int
    call_errors: Mapping[str, int]
    planner_errors: Mapping[str, int]


@dataclass(frozen=True)
class ToolCounts:
    """Calls of a tool that ran, and those of them that it answered with an error."""

    calls: int
    errors: int


@dataclass(frozen=True)
class ExactCount:
    """Calls that a script intended, and those of them that ran exactly so."""

    exact: int
    total: int


@dataclass(frozen=True)
class RecordedCounts:
    """A replay against its recording, in episodes.

    ``successes`` are the replay's; ``no_call_successes`` those that the recorded messages earn
    without any call; ``writing`` the recorded successes whose task needs a write, ``writing_kept``
    those of them that the replay keeps.
    """

    episodes: int
    equal_hashes: int
    equal_rewards: int
    recorded_successes: int
    no_call_successes: int
    successes: int
    writing: int
    writing_kept: int


@dataclass(frozen=True)
class AgreementCounts:
    """Episodes that the user ended while agreeing to a change not made yet; those without reward 1.

    See ``agreement.py``: a weakness of simulated users, and no failure of the agent.
    """

    episodes: int
    failed: int


@dataclass(frozen=True)
class TauBenchMetrics:
    """The content of metrics.json.

    ``pass_all`` (the file's key is ``pass``) is over all tasks of the arm, ``pass_clean`` over
    those without known faults; the floors are the shares of them that an agent solves which does
    nothing. ``skipped`` counts the split's tasks that are left out. ``ended_on_agreement`` is None
    in files from before it was counted.
    """

    episodes: int
    ended: Mapping[Ended, int]
    pass_all: Annotated[tuple[PassRow, ...], Field(alias="pass")]
    pass_clean: tuple[PassRow, ...]
    floor: float
    floor_clean: float | None
    turns: TurnCounts
    tools: Mapping[str, ToolCounts]
    intended: Mapping[Literal["reads", "writes"], ExactCount] | None
    recorded: RecordedCounts | None
    usage: Mapping[str, Usage]
    limits: Limits
    skipped: int
    ended_on_agreement: AgreementCounts | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the metrics as they stand in the file."""
        tables: dict[str, Any] = {
            "pass_all": [row.as_row() for row in self.pass_all],
            "pass_clean": [row.as_row() for row in self.pass_clean],
            "usage": usage_row(self.usage),
        }
        # ``pass`` is a keyword of Python, so that no field can have the file's name.
        return {
            "pass" if key == "pass_all" else key: tables.get(key, value)
            for key, value in asdict(self).items()
        }


def pass_k(successes: int, trials: int, k: int) -> float:
    """Return the chance that k trials drawn without replacement all succeed.

    C(successes, k) / C(trials, k), Yao et al. 2024 (tau-bench).
    """
    return comb(successes, k) / comb(trials, k)


def pass_table(rows: Rows, tasks: Iterable[int], trials: int, seed: int) -> tuple[PassRow, ...]:
    """Return pass^k for k = 1 to ``trials``: the mean over a fixed list of tasks.

    A k for which a task has too few valid trials has no value: the mean would be over other tasks.
    The interval is a bootstrap over tasks.
    """
    counts = {task: [0, 0] for task in tasks}
    for row in rows:
        if row.valid and row.task_id in counts:
            counts[row.task_id][0] += _succeeds(row.reward)
            counts[row.task_id][1] += 1
    return tuple(_pass(k, counts, seed) for k in range(1, trials + 1))


def _pass(k: int, counts: Mapping[int, Sequence[int]], seed: int) -> PassRow:
    lacking = tuple(task for task, (_, valid) in counts.items() if valid < k)
    if lacking or not counts:
        return PassRow(k, len(counts), None, lacking)
    values = np.array([[pass_k(won, valid, k)] for won, valid in counts.values()])
    drawn = bootstrap_ratios(values, np.ones_like(values), seed)
    low, high = percentile_interval(drawn)
    return PassRow(k, len(counts), float(values.mean()), (), float(low[0]), float(high[0]))


def _succeeds(reward: float | None) -> bool:
    return reward is not None and reward >= SUCCESS


def floor_tasks(loaded: LoadedDomain, tasks: Mapping[int, Task]) -> list[int]:
    """Return the ids of the tasks that an agent solves which says nothing and does nothing."""
    return [
        index
        for index, task in tasks.items()
        if score(loaded, task, loaded.fresh_state(), []).reward >= SUCCESS
    ]


def measure(
    rows: Rows,
    loaded: LoadedDomain,
    tasks: Mapping[int, Task],
    faulty: Iterable[int],
    *,
    trials: int,
    seed: int,
    limits: Limits,
    skipped: int,
) -> TauBenchMetrics:
    """Return the figures of an arm's episodes; ``faulty`` are the tasks with known mistakes."""
    clean = [index for index in tasks if index not in set(faulty)]
    floor = floor_tasks(loaded, tasks)
    return TauBenchMetrics(
        episodes=len(rows),
        ended=dict(Counter(row.ended for row in rows)),
        pass_all=pass_table(rows, tasks, trials, seed),
        pass_clean=pass_table(rows, clean, trials, seed),
        floor=len(floor) / len(tasks),
        floor_clean=len(set(floor).intersection(clean)) / len(clean) if clean else None,
        turns=turn_counts(rows, loaded),
        tools=tool_counts(rows, loaded),
        intended=intended_counts(rows, loaded),
        recorded=recorded_counts(rows),
        usage=usage_sums(rows),
        limits=limits,
        skipped=skipped,
        ended_on_agreement=agreement_counts(rows, loaded),
    )


def agreement_counts(rows: Rows, loaded: LoadedDomain) -> AgreementCounts:
    """Count the episodes that end in the user's agreement to a change, before it is made."""
    ended = [row for row in rows if ended_on_agreement(row.turns, loaded.domain.writes)]
    return AgreementCounts(len(ended), sum(not _succeeds(row.reward) for row in ended))


def turn_counts(rows: Rows, loaded: LoadedDomain) -> TurnCounts:
    """Count turns, actions and punts; errors by kind.

    ``call_errors`` and ``planner_errors`` count turns by the first error of each.
    ``wrong_value`` counts calls of tools that change data which ran with another name or other
    arguments than the script's call; without a script, than every call of the task's ground truth.
    """
    turns = [turn for row in rows for turn in row.turns]
    punts = Counter(turn.punt.error for turn in turns if turn.punt)
    actions = [turn.action.name for turn in turns if turn.action]
    return TurnCounts(
        turns=len(turns),
        messages=sum(name == RESPOND for name in actions),
        calls=sum(name != RESPOND for name in actions),
        punts=punts.total(),
        call_errors={
            **{error: punts[error] for error in CALL_ERRORS},
            "wrong_value": sum(_wrong_values(row, loaded) for row in rows),
        },
        planner_errors={error: punts[error] for error in PLANNER_ERRORS},
    )


def _wrong_values(row: EpisodeRow, loaded: LoadedDomain) -> int:
    truth = {canonical_json(action.as_row()) for action in row.info.task.actions}
    wrong = 0
    for turn in row.turns:
        if turn.action and turn.action.name in loaded.domain.writes:
            right = {canonical_json(turn.intended.as_row())} if turn.intended else truth
            wrong += canonical_json(turn.action.as_row()) not in right
    return wrong


def tool_counts(rows: Rows, loaded: LoadedDomain) -> dict[str, ToolCounts]:
    """Count, for each tool that was called, the calls that ran and their errors."""
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for turn in (turn for row in rows for turn in row.turns):
        if turn.action and turn.action.name != RESPOND:
            calls[turn.action.name] += 1
            errors[turn.action.name] += turn.observation.startswith("Error: ")
    called = [tool.name for tool in loaded.domain.tools if calls[tool.name]]
    return {name: ToolCounts(calls[name], errors[name]) for name in called}


def intended_counts(
    rows: Rows, loaded: LoadedDomain
) -> dict[Literal["reads", "writes"], ExactCount] | None:
    """Count how many of the calls that a script intended ran exactly so; None without any."""
    exact: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for turn in (turn for row in rows for turn in row.turns):
        intended = turn.intended
        if intended and intended.name != RESPOND:
            kind = "writes" if intended.name in loaded.domain.writes else "reads"
            ran = canonical_json(turn.action.as_row()) if turn.action else None
            exact[kind] += ran == canonical_json(intended.as_row())
            total[kind] += 1
    if not total:
        return None
    return {
        "reads": ExactCount(exact["reads"], total["reads"]),
        "writes": ExactCount(exact["writes"], total["writes"]),
    }


def recorded_counts(rows: Rows) -> RecordedCounts | None:
    """Compare final states and rewards with those of the replayed run; None without a replay."""
    replayed = [(row, row.recorded) for row in rows if row.recorded and row.valid]
    if not replayed:
        return None
    needing = [row for row, run in replayed if run.needs_write and _succeeds(run.reward)]
    return RecordedCounts(
        episodes=len(replayed),
        equal_hashes=sum(row.final_hash == run.final_hash for row, run in replayed),
        equal_rewards=sum(row.reward == run.reward for row, run in replayed),
        recorded_successes=sum(_succeeds(run.reward) for _, run in replayed),
        no_call_successes=sum(_succeeds(run.no_call_reward) for _, run in replayed),
        successes=sum(_succeeds(row.reward) for row, _ in replayed),
        writing=len(needing),
        writing_kept=sum(_succeeds(row.reward) for row in needing),
    )


def usage_sums(rows: Rows) -> dict[str, Usage]:
    """Sum calls, tokens, seconds and US dollars of each role over all episodes."""
    roles = dict.fromkeys(role for row in rows for role in row.usage)
    return {role: summed(row.usage[role] for row in rows if role in row.usage) for role in roles}
