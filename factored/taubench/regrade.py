"""New rewards for stored trajectories: their actions run again, scored by today's tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factored.taubench.environment import Environment, LoadedDomain, Reward
from factored.taubench.loading import read_json
from factored.taubench.recordings import Recording, read_recordings
from factored.taubench.tasks import Task
from factored.taubench.tools import EpisodeCrashError
from factored.taubench.users import RecordedUser
from harness.errors import UserError


@dataclass(frozen=True)
class Regraded:
    """One stored dialogue with both rewards, and the record with the new one in it."""

    where: str
    before: float | None
    after: float
    record: Mapping[str, Any]


def regrade(
    path: Path, loaded: LoadedDomain, split: str, recorded_tasks: bool
) -> tuple[list[Regraded], list[str]]:
    """Return the dialogues of a result file under new rewards, and a line for each one left out.

    Scores by the task of the data that has the record's ``task_id``, or by the recorded task.
    Raises UserError for a record whose task is missing or about another user.
    """
    recordings, left_out = read_recordings(path)
    records = [record for record in read_json(path) if record["traj"]]
    regraded = []
    for recording, record in zip(recordings, records, strict=True):
        task = recording.task if recorded_tasks else _task(recording, loaded, split)
        reward = rerun(recording, loaded, task)
        info = {**record["info"], "reward_info": reward.as_row() if reward else None}
        after = reward.reward if reward else 0.0
        new = {**record, "reward": after, "info": info}
        regraded.append(Regraded(recording.where, recording.reward, after, new))
    return regraded, left_out


def rerun(recording: Recording, loaded: LoadedDomain, task: Task) -> Reward | None:
    """Return the reward of the recorded actions under a task; None for an unfinished dialogue."""
    environment = Environment(loaded, RecordedUser(recording.user_lines))
    environment.reset(task)
    for step in recording.steps:
        if step.action is None:
            return None
        try:
            taken = environment.step(step.action)
        except EpisodeCrashError:
            continue
        if taken.done:
            return taken.reward
    return None


def _task(recording: Recording, loaded: LoadedDomain, split: str) -> Task:
    tasks = loaded.tasks.get(split, ())
    if recording.task_id is None or not 0 <= recording.task_id < len(tasks):
        raise UserError(
            f"{recording.where}: {loaded.domain.name} {split} has no such task:"
            f" set --split to one of {', '.join(sorted(loaded.tasks))}, or use --recorded-tasks"
        )
    task = tasks[recording.task_id]
    if task.user_id != recording.task.user_id:
        raise UserError(
            f"{recording.where}: it is about '{recording.task.user_id}', {loaded.domain.name}"
            f" {split} has '{task.user_id}' there: set --domain and --split to its own,"
            " or use --recorded-tasks"
        )
    return task
