"""One finished episode as a row: tau-bench's keys, and ours beside them.

tau-bench's are ``task_id, reward, info, traj, trial``; its own tools read results.json, so that
names, order and nesting of the rows are fixed. ``traj`` holds what reached the environment, so that
those tools can replay it; punts stand in ``turns``, which holds every decision.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from factored.episode import INVALID, Ended, Episode, Turn
from factored.roles import Usage, usage_row
from factored.taubench.tasks import RESPOND, Task
from harness.hashing import digest_of

Key = tuple[int, int, int]  # task, trial, seed


@dataclass(frozen=True)
class EpisodeInfo:
    """What tau-bench keeps beside a reward.

    ``source`` is who gave the last observation (``user``, a tool's name or ``punt``), ``user_cost``
    the user simulator's US dollars, ``reward_info`` what ``Reward.as_row`` writes, None for an
    episode that was not scored.
    """

    task: Task
    source: str
    user_cost: float
    reward_info: Mapping[str, Any] | None

    def as_row(self) -> dict[str, Any]:
        """Return the info as it stands in files."""
        return {
            "task": self.task.as_row(),
            "source": self.source,
            "user_cost": self.user_cost,
            "reward_info": self.reward_info,
        }


@dataclass(frozen=True)
class RecordedRun:
    """What a replayed dialogue gave when it was recorded.

    ``final_hash`` is the data's after its calls, ``no_call_reward`` the reward of its messages
    without any call; ``needs_write`` says whether its task ends in another state than it begins
    with.
    """

    reward: float | None
    final_hash: str
    no_call_reward: float
    needs_write: bool


@dataclass(frozen=True)
class EpisodeSummary:
    """An episode in figures, without its texts: a row of episodes.jsonl.

    ``turns`` is their number, ``punts`` the error of each punt in order.
    """

    task_id: int
    trial: int
    seed: int
    reward: float | None
    ended: Ended
    steps: int
    error: str | None
    final_hash: str | None
    turns: int
    punts: tuple[str, ...]
    usage: Mapping[str, Usage]

    def as_row(self) -> dict[str, Any]:
        """Return the summary as it stands in files."""
        return asdict(self) | {"usage": usage_row(self.usage)}


@dataclass(frozen=True)
class EpisodeRow:
    """A row of generations.jsonl and results.json.

    ``reward`` is None for an episode without a result, ``recorded`` None unless a recording is
    replayed. ``traj`` is in tau-bench's native message form, ``usage`` by role.
    """

    task_id: int
    reward: float | None
    info: EpisodeInfo
    traj: tuple[Mapping[str, Any], ...]
    trial: int
    seed: int
    ended: Ended
    steps: int
    error: str | None
    final_hash: str | None
    recorded: RecordedRun | None
    turns: tuple[Turn, ...]
    usage: Mapping[str, Usage]

    @property
    def key(self) -> Key:
        """(task, trial, seed)."""
        return self.task_id, self.trial, self.seed

    @property
    def valid(self) -> bool:
        """Whether the episode has a reward; infrastructure trouble and a time-out have none."""
        return self.ended not in INVALID

    def as_row(self) -> dict[str, Any]:
        """Return the row as it stands in files."""
        return {
            "task_id": self.task_id,
            "reward": self.reward,
            "info": self.info.as_row(),
            "traj": list(self.traj),
            "trial": self.trial,
            "seed": self.seed,
            "ended": self.ended,
            "steps": self.steps,
            "error": self.error,
            "final_hash": self.final_hash,
            "recorded": asdict(self.recorded) if self.recorded else None,
            "turns": [turn.as_row() for turn in self.turns],
            "usage": usage_row(self.usage),
        }

    def summary(self) -> EpisodeSummary:
        """Return the row without its texts."""
        return EpisodeSummary(
            task_id=self.task_id,
            trial=self.trial,
            seed=self.seed,
            reward=self.reward,
            ended=self.ended,
            steps=self.steps,
            error=self.error,
            final_hash=self.final_hash,
            turns=len(self.turns),
            punts=tuple(turn.punt.error for turn in self.turns if turn.punt),
            usage=self.usage,
        )


def episode_row(
    episode: Episode,
    key: Key,
    system: str,
    usage: Mapping[str, Usage],
    recorded: RecordedRun | None,
) -> EpisodeRow:
    """Return the row of an episode that has ended.

    ``system`` is the planner's prompt, ``recorded`` what the replayed run gave, if any.
    """
    assert episode.ended is not None, "the episode has ended"
    task_id, trial, seed = key
    reward = episode.reward.reward if episode.reward else 0.0
    return EpisodeRow(
        task_id=task_id,
        reward=reward if episode.valid else None,
        info=EpisodeInfo(
            task=episode.task,
            source=episode.turns[-1].source if episode.turns else "user",
            user_cost=usage["user"].cost if "user" in usage else 0.0,
            reward_info=episode.reward.as_row() if episode.reward else None,
        ),
        traj=tuple(trajectory(episode, system)),
        trial=trial,
        seed=seed,
        ended=episode.ended,
        steps=episode.steps,
        error=episode.error,
        final_hash=episode.final_hash,
        recorded=recorded,
        turns=tuple(episode.turns),
        usage={role: counts.rounded() for role, counts in usage.items()},
    )


def trajectory(episode: Episode, system: str) -> list[dict[str, Any]]:
    """Return the messages of a dialogue in tau-bench's native form, without its punts."""
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
