"""Decisions and user lines written down beforehand: a domain's own, or those of a recorded run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factored.taubench.loading import read_json
from factored.taubench.recordings import Recording, read_recordings
from factored.taubench.tasks import Action, MalformedActionError
from harness.errors import UserError


@dataclass(frozen=True)
class Script:
    """What the user says and what the agent does, in order.

    A recorded script also has the answer to each action, the reward, and the task's user.
    """

    user_lines: tuple[str, ...]
    actions: tuple[Action, ...]
    answers: tuple[str, ...] = ()
    reward: float | None = None
    user_id: str | None = None


Scripts = Mapping[tuple[int, int], Script]  # by task and trial


def recorded_scripts(path: Path, trials: int) -> dict[tuple[int, int], Script]:
    """Return the scripts of a result file by (task, trial): the first ``trials`` of each task.

    Trials are counted from 0 in the order of the file's numbers, since files number them in more
    than one way. A turn that cannot be read is left out: the recorded run died of it. Raises
    UserError for a record without task, or one that repeats another.
    """
    recordings, _ = read_recordings(path)
    of_task: dict[int, dict[int, Recording]] = {}
    for recording in recordings:
        if recording.task_id is None:
            raise UserError(f"{path}: {recording.where} has no 'task_id'")
        of_trial = of_task.setdefault(recording.task_id, {})
        if (recording.trial or 0) in of_trial:
            raise UserError(f"{path}: {recording.where} is there twice")
        of_trial[recording.trial or 0] = recording
    return {
        (task_id, number): _recorded(of_trial[trial])
        for task_id, of_trial in sorted(of_task.items())
        for number, trial in enumerate(sorted(of_trial)[:trials])
    }


def check_user(script: Script, task_id: int, user: str, split: str) -> None:
    """Raise UserError for a recorded dialogue about another user than the task's.

    Task ids mean other tasks in another split or domain; the user tells them apart.
    """
    if script.user_id not in (None, user):
        raise UserError(
            f"taubench.recording: its task {task_id} is about '{script.user_id}', domain.split="
            f"{split} has '{user}' there: set the domain and split it is of"
        )


def _recorded(recording: Recording) -> Script:
    steps = [step for step in recording.steps if step.action is not None]
    return Script(
        user_lines=tuple(recording.user_lines),
        actions=tuple(step.action for step in steps if step.action is not None),
        answers=tuple(step.answer or "" for step in steps),
        reward=recording.reward,
        user_id=recording.task.user_id,
    )


def domain_scripts(path: Path, trials: int) -> dict[tuple[int, int], Script]:
    """Return the scripts that come with a domain by (task, trial), the same for every trial.

    The file holds a list, one entry a task: {"user": [line, ...], "actions": [{name, kwargs},
    ...]}. Raises UserError that names the entry.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UserError(f"{path}: must be a list of scripts")
    scripts = [_written(entry, f"{path} entry {index}") for index, entry in enumerate(entries)]
    return {(index, trial): one for index, one in enumerate(scripts) for trial in range(trials)}


def _written(entry: Any, where: str) -> Script:
    try:
        actions = tuple(Action(action["name"], action["kwargs"]) for action in entry["actions"])
        lines = tuple(entry["user"])
    except (KeyError, TypeError, MalformedActionError) as error:
        raise UserError(f"{where}: needs 'user' and 'actions' ({error!r})") from error
    if not lines or not all(isinstance(line, str) for line in lines):
        raise UserError(f"{where}: 'user' must be a list of texts")
    return Script(lines, actions)
