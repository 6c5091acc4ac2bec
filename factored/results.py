"""One finished episode as a row: tau-bench's keys, and ours beside them.

tau-bench's are ``task_id, reward, info, traj, trial``. ``traj`` holds what reached the environment,
so that tau-bench's own tools can replay it; punts stand in ``turns``, which holds every decision.
"""

import json
from collections.abc import Mapping
from types import UnionType
from typing import Any

from factored.episode import Episode, Turn
from factored.roles import Usage
from factored.taubench.tasks import RESPOND
from harness.hashing import digest_of

# What a stored row holds at least, and of which type.
ROW: Mapping[str, type | UnionType] = {
    "task_id": int, "reward": float | None, "info": dict, "traj": list, "trial": int, "seed": int,
    "ended": str, "steps": int, "error": str | None, "final_hash": str | None,
    "recorded": dict | None, "turns": list, "usage": dict,
}  # fmt: skip


def episode_row(
    episode: Episode,
    key: tuple[int, int, int],
    system: str,
    usage: Mapping[str, Usage],
    recorded: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The row of an episode; ``key`` is (task, trial, seed).

    ``reward`` is None for an episode without one. ``recorded`` says what the replayed run gave.
    """
    task_id, trial, seed = key
    reward = episode.reward.reward if episode.reward else 0.0
    return {
        "task_id": task_id,
        "reward": reward if episode.valid else None,
        "info": _info(episode, usage),
        "traj": trajectory(episode, system),
        "trial": trial,
        "seed": seed,
        "ended": episode.ended,
        "steps": episode.steps,
        "error": episode.error,
        "final_hash": episode.final_hash,
        "recorded": dict(recorded) if recorded else None,
        "turns": [turn.as_row() for turn in episode.turns],
        "usage": {role: counts.as_row() for role, counts in usage.items()},
    }


def _info(episode: Episode, usage: Mapping[str, Usage]) -> dict[str, Any]:
    return {
        "task": episode.task.as_row(),
        "source": episode.turns[-1].source if episode.turns else "user",
        "user_cost": usage["user"].cost if "user" in usage else 0.0,
        "reward_info": episode.reward.as_row() if episode.reward else None,
    }


def trajectory(episode: Episode, system: str) -> list[dict[str, Any]]:
    """The messages of a dialogue in tau-bench's native form, without its punts."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "content": episode.opening},
    ]
    for number, turn in enumerate(episode.turns):
        if turn.action is not None:
            messages.extend(_exchange(turn, number))
    return messages


def _exchange(turn: Turn, number: int) -> list[dict[str, Any]]:
    action = turn.action
    assert action is not None
    if action.name == RESPOND:
        said = {"role": "assistant", "content": action.kwargs.get("content"), "tool_calls": None}
        return [said, {"role": "user", "content": turn.observation}]
    arguments = json.dumps(dict(action.kwargs), ensure_ascii=False)
    # Nine letters and digits: what the strictest chat template takes as a call's id.
    call_id = digest_of([number, action.name, arguments])[:9]
    function = {"name": action.name, "arguments": arguments}
    call = {"id": call_id, "type": "function", "function": function}
    answer = {
        "role": "tool",
        "tool_call_id": call_id,
        "name": action.name,
        "content": turn.observation,
    }
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]


def summary_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """An episode in figures, without its texts."""
    punts = [turn["punt"]["error"] for turn in row["turns"] if turn["punt"]]
    kept = ("task_id", "trial", "seed", "reward", "ended", "steps", "error", "final_hash")
    return {
        **{name: row[name] for name in kept},
        "turns": len(row["turns"]),
        "punts": punts,
        "usage": row["usage"],
    }


def is_whole(row: Mapping[str, Any]) -> bool:
    """Whether a stored row has everything that ``episode_row`` writes."""
    return all(name in row and isinstance(row[name], kind) for name, kind in ROW.items())


def key_of(row: Mapping[str, Any]) -> tuple[int, int, int]:
    """(task, trial, seed) of a row."""
    return row["task_id"], row["trial"], row["seed"]
