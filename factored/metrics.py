"""Figures of an arm: pass^k, what went wrong with calls, what the roles cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from factored.calls import CALL_ERRORS, PLANNER_ERRORS
from factored.episode import INVALID
from factored.taubench.environment import LoadedDomain, score
from factored.taubench.tasks import RESPOND, Task
from harness.hashing import canonical_json
from harness.stats import bootstrap_ratios, percentile_interval

Rows = Sequence[Mapping[str, Any]]
SUCCESS = 1 - 1e-6  # tau-bench's tolerance


def pass_k(successes: int, trials: int, k: int) -> float:
    """The chance that k trials drawn without replacement all succeed: C(c, k) / C(n, k)."""
    return comb(successes, k) / comb(trials, k)


def pass_table(rows: Rows, tasks: Iterable[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """pass^k for k = 1 to ``trials``: the mean over a fixed list of tasks (Yao et al. 2024).

    A k for which a task has too few valid trials has no value: the mean would be over other tasks.
    The interval is a bootstrap over tasks.
    """
    listed = list(tasks)
    counts = {task: [0, 0] for task in listed}
    for row in rows:
        if row["ended"] not in INVALID and row["task_id"] in counts:
            counts[row["task_id"]][0] += row["reward"] >= SUCCESS
            counts[row["task_id"]][1] += 1
    return [_pass(k, counts, seed) for k in range(1, trials + 1)]


def _pass(k: int, counts: Mapping[int, Sequence[int]], seed: int) -> dict[str, Any]:
    lacking = [task for task, (_, valid) in counts.items() if valid < k]
    if lacking or not counts:
        return {"k": k, "tasks": len(counts), "value": None, "lacking": lacking}
    values = np.array([[pass_k(won, valid, k)] for won, valid in counts.values()])
    drawn = bootstrap_ratios(values, np.ones_like(values), seed)
    low, high = percentile_interval(drawn)
    return {
        "k": k,
        "tasks": len(counts),
        "value": float(values.mean()),
        "low": float(low[0]),
        "high": float(high[0]),
        "lacking": [],
    }


def floor_tasks(loaded: LoadedDomain, tasks: Mapping[int, Task]) -> list[int]:
    """The tasks that an agent solves which says nothing and does nothing."""
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
    trials: int,
    seed: int,
) -> dict[str, Any]:
    """The content of metrics.json."""
    clean = [index for index in tasks if index not in set(faulty)]
    floor = floor_tasks(loaded, tasks)
    return {
        "episodes": len(rows),
        "ended": dict(Counter(row["ended"] for row in rows)),
        "pass": pass_table(rows, tasks, trials, seed),
        "pass_clean": pass_table(rows, clean, trials, seed),
        "floor": len(floor) / len(tasks),
        "floor_clean": len(set(floor).intersection(clean)) / len(clean) if clean else None,
        "turns": turn_counts(rows, loaded),
        "tools": tool_counts(rows, loaded),
        "intended": intended_counts(rows, loaded),
        "recorded": recorded_counts(rows),
        "usage": usage_sums(rows),
    }


def turn_counts(rows: Rows, loaded: LoadedDomain) -> dict[str, Any]:
    """Turns, actions and punts; errors by kind.

    ``call_errors`` and ``planner_errors`` count turns by the first error of each.
    ``wrong_value`` counts calls that ran and changed data, unlike the call that was intended, or,
    where that is not known, unlike any of the task's ground truth.
    """
    turns = [turn for row in rows for turn in row["turns"]]
    punts = Counter(turn["punt"]["error"] for turn in turns if turn["punt"])
    actions = [turn["action"]["name"] for turn in turns if turn["action"]]
    return {
        "turns": len(turns),
        "messages": sum(name == RESPOND for name in actions),
        "calls": sum(name != RESPOND for name in actions),
        "punts": punts.total(),
        "call_errors": {
            **{error: punts[error] for error in CALL_ERRORS},
            "wrong_value": sum(_wrong_values(row, loaded) for row in rows),
        },
        "planner_errors": {error: punts[error] for error in PLANNER_ERRORS},
    }


def _wrong_values(row: Mapping[str, Any], loaded: LoadedDomain) -> int:
    truth = {canonical_json(action) for action in row["info"]["task"]["actions"]}
    wrong = 0
    for turn in row["turns"]:
        if turn["action"] and turn["action"]["name"] in loaded.domain.writes:
            right = {canonical_json(turn["intended"])} if turn["intended"] else truth
            wrong += canonical_json(turn["action"]) not in right
    return wrong


def tool_counts(rows: Rows, loaded: LoadedDomain) -> dict[str, dict[str, int]]:
    """For each tool: calls that ran, those that it answered with an error."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in (turn for row in rows for turn in row["turns"]):
        if turn["action"] and turn["action"]["name"] != RESPOND:
            counts[turn["action"]["name"]]["calls"] += 1
            counts[turn["action"]["name"]]["errors"] += turn["observation"].startswith("Error: ")
    return {tool.name: dict(counts[tool.name]) for tool in loaded.domain.tools if counts[tool.name]}


def intended_counts(rows: Rows, loaded: LoadedDomain) -> dict[str, dict[str, int]] | None:
    """Of the calls that a script intended: how many ran exactly so, reads and writes apart."""
    counts = {kind: {"exact": 0, "total": 0} for kind in ("reads", "writes")}
    for turn in (turn for row in rows for turn in row["turns"]):
        intended = turn["intended"]
        if intended and intended["name"] != RESPOND:
            kind = "writes" if intended["name"] in loaded.domain.writes else "reads"
            counts[kind]["total"] += 1
            same = turn["action"] and canonical_json(turn["action"]) == canonical_json(intended)
            counts[kind]["exact"] += bool(same)
    return counts if any(count["total"] for count in counts.values()) else None


def recorded_counts(rows: Rows) -> dict[str, Any] | None:
    """Against the replayed run: equal final states and rewards; and what its successes became.

    ``writing`` counts the recorded successes whose task needs a write, ``no_call`` the successes
    of the recorded messages without any call.
    """
    replayed = [row for row in rows if row["recorded"] and row["ended"] not in INVALID]
    if not replayed:
        return None
    recorded = [row["recorded"] for row in replayed]
    needing = [
        row
        for row in replayed
        if row["recorded"]["needs_write"] and (row["recorded"]["reward"] or 0) >= SUCCESS
    ]
    return {
        "episodes": len(replayed),
        "equal_hashes": sum(r["final_hash"] == r["recorded"]["final_hash"] for r in replayed),
        "equal_rewards": sum(r["reward"] == r["recorded"]["reward"] for r in replayed),
        "recorded_successes": sum((run["reward"] or 0) >= SUCCESS for run in recorded),
        "no_call_successes": sum(run["no_call_reward"] >= SUCCESS for run in recorded),
        "successes": sum(row["reward"] >= SUCCESS for row in replayed),
        "writing": len(needing),
        "writing_kept": sum(row["reward"] >= SUCCESS for row in needing),
    }


def usage_sums(rows: Rows) -> dict[str, dict[str, float]]:
    """Calls, tokens, seconds and US dollars of each role over all episodes."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for role, counts in row["usage"].items():
            sums[role].update(counts)
    return {role: {name: round(n, 6) for name, n in found.items()} for role, found in sums.items()}
