"""Recorded dialogues: a result file of tau-bench, read back into actions and what they led to.

One record of the file's list::

    {"task_id": 0, "trial": 0, "reward": 1.0,
     "info": {"task": {...}, "reward_info": {...} or null},
     "traj": [{"role": "system", ...}, {"role": "user", ...}, {"role": "assistant", ...}, ...]}

Two ways of writing calls are read: native ones (``tool_calls``, answered by a ``tool`` message) and
the text of act and react agents (``Action:`` and a JSON object, answered by ``API output: ``).
"""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from factored.taubench.loading import read_json, read_text
from factored.taubench.tasks import RESPOND, Action, Task
from factored.taubench.users import STOP
from harness.errors import UserError

RESULTS = "results.json"  # of a run of ours, beside its config.yaml
API_OUTPUT = "API output: "
TOOLS_IN_TEXT = "#Available tools"


@dataclass(frozen=True)
class RecordedStep:
    """An action, or why it cannot be read, and the answer that was recorded to it.

    ``answer`` is None where the recording stops before it; ``message`` counts from 0.
    """

    action: Action | None
    answer: str | None
    message: int
    problem: str = ""


@dataclass(frozen=True)
class Recording:
    """One recorded dialogue. ``ended`` is False at the step limit, None where it is not known.

    ``record`` counts from 0. ``task_id`` and ``trial`` are None where the record does not say them.
    A dialogue that is ``scored_open`` has a reward though nothing ended it: its script was over.
    """

    where: str
    record: int
    task_id: int | None
    trial: int | None
    task: Task
    opening: str
    steps: tuple[RecordedStep, ...]
    ended: bool | None
    scored_open: bool
    reward: float | None
    reward_info: Mapping[str, Any]

    @property
    def at(self) -> dict[str, int | None]:
        """Record, task and trial, as they stand in a list of differences."""
        return {"record": self.record, "task_id": self.task_id, "trial": self.trial}

    @property
    def user_lines(self) -> list[str]:
        """What the user says, in order, the opening line first."""
        replies = [s.answer or "" for s in self.steps if s.action and s.action.name == RESPOND]
        return [self.opening, *replies]


def read_recordings(path: Path) -> tuple[list[Recording], list[str]]:
    """Return the dialogues of a result file, and a line for each record that was left out.

    A record without messages is an episode that crashed unrecorded. Raises UserError that names
    the record where one cannot be read.
    """
    records = read_json(path)
    if not isinstance(records, list):
        raise UserError(f"{path}: must be a list of recorded dialogues")
    recordings, left_out = [], []
    for index, record in enumerate(records):
        where = f"{path}: record {index}"
        if not isinstance(record, dict) or not isinstance(record.get("traj"), list):
            raise UserError(f"{where}: needs the dialogue's messages in 'traj'")
        if record["traj"]:
            recordings.append(_recording(record, where, index))
        else:
            left_out.append(f"record {index} has no messages: {_crash(record)}")
    return recordings, left_out


def run_domain(path: Path) -> Mapping[str, Any]:
    """Return the settings of the domain of the run that a result file belongs to: name, split, ...

    Empty for a file that does not lie in a run's folder.
    """
    config = path.parent / "config.yaml"
    if path.name != RESULTS or not config.is_file():
        return {}
    try:
        content = yaml.safe_load(read_text(config))
    except (yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{config}: is not YAML ({type(error).__name__})") from error
    domain = content.get("domain") if isinstance(content, dict) else None
    return domain if isinstance(domain, dict) else {}


def has_province(recordings: Sequence[Recording]) -> bool:
    """Return whether these were recorded before the users' addresses had the key 'state'."""
    return any(
        '"province": ' in (step.answer or "")
        for recording in recordings
        for step in recording.steps
        if step.action and step.action.name == "get_user_details"
    )


def _crash(record: Mapping[str, Any]) -> str:
    info = record.get("info")
    return str(info.get("error", "no reason"))[:200] if isinstance(info, dict) else "no reason"


def _recording(record: Mapping[str, Any], where: str, index: int) -> Recording:
    info, messages = record.get("info"), record["traj"]
    if not isinstance(info, dict) or "task" not in info:
        raise UserError(f"{where}: needs its task in 'info.task'")
    if not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        raise UserError(f"{where}: every message needs a 'role'")
    reward, reward_info = record.get("reward"), info.get("reward_info")
    return Recording(
        record=index,
        where=f"record {index} (task {record.get('task_id')}, trial {record.get('trial')})",
        task_id=_whole(record.get("task_id")),
        trial=_whole(record.get("trial")),
        task=Task.from_row(info["task"], where),
        opening=next((_text(m) for m in messages if m["role"] == "user"), ""),
        steps=recorded_steps(messages),
        ended=_ended(record, messages),
        scored_open=record.get("ended") == "script_over",
        reward=float(reward) if isinstance(reward, int | float) else None,
        reward_info=reward_info if isinstance(reward_info, dict) else {},
    )


def _ended(record: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> bool | None:
    """Return whether something ended the dialogue, as far as the record says it.

    tau-bench writes no ``reward_info`` at the step limit; others may never write one, so that
    where the user's last words end the dialogue a missing one says nothing.
    """
    if "ended" in record:  # a result file of ours
        return record["ended"] in ("user_stop", "agent_stop")
    if record["info"].get("reward_info") is not None:
        return True
    if "reward_info" not in record["info"] or STOP in _text(messages[-1]):
        return None
    return False


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def recorded_steps(messages: Sequence[Mapping[str, Any]]) -> tuple[RecordedStep, ...]:
    """Return the agent's actions in a dialogue's messages, each with its answer."""
    in_text = _writes_calls_as_text(messages)
    steps = []
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        follows = messages[index + 1] if index + 1 < len(messages) else {"role": "assistant"}
        answer = None if follows["role"] == "assistant" else _text(follows)
        try:
            action = _text_action(message) if in_text else _native_action(message)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            steps.append(RecordedStep(None, answer, index, str(error)))
            continue
        if in_text and answer is not None and action.name != RESPOND:
            answer = answer.removeprefix(API_OUTPUT)
        steps.append(RecordedStep(action, answer, index))
    return tuple(steps)


def _writes_calls_as_text(messages: Sequence[Mapping[str, Any]]) -> bool:
    if any(message.get("tool_calls") or message["role"] == "tool" for message in messages):
        return False
    return any(
        (message["role"] == "system" and TOOLS_IN_TEXT in _text(message))
        or (message["role"] == "user" and _text(message).startswith(API_OUTPUT))
        for message in messages
    )


def _native_action(message: Mapping[str, Any]) -> Action:
    """Return the first tool call, the only one that the original runs, else the message."""
    calls = message.get("tool_calls")
    if not calls or calls[0].get("function") is None:
        return Action(RESPOND, {"content": _text(message)})
    call = calls[0]["function"]
    return Action(call["name"], _arguments(call["arguments"]))


def _text_action(message: Mapping[str, Any]) -> Action:
    """Return what stands after the last ``Action:``; text that is not JSON goes to the user."""
    text = _text(message).split("Action:")[-1].strip()
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return Action(RESPOND, {"content": text})
    return Action(call["name"], call["arguments"])


def _arguments(given: Any) -> Any:
    """Return a call's arguments from JSON text, or from a Python literal: some recordings hold it.

    Raises ValueError where the text is neither.
    """
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(given)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError("the arguments are neither JSON nor a Python literal") from error


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
