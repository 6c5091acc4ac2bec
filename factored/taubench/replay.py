"""Compare the environment with the original: golden call sequences, recorded dialogues.

Both comparisons count equal and total values of four kinds (observations, done flags, data hashes,
rewards) and keep the first differences as lines to read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factored.taubench.environment import Environment, LoadedDomain, Reward, Step
from factored.taubench.loading import read_json
from factored.taubench.recordings import Recording
from factored.taubench.tasks import Action, MalformedActionError, Task
from factored.taubench.tools import EpisodeCrashError
from factored.taubench.users import RecordedUser, ScriptedUser
from harness.errors import UserError

KINDS = ("observations", "done", "hashes", "rewards")
MAX_LINES = 20
MAX_SHOWN = 160  # characters of a value in a difference


@dataclass
class Comparison:
    """Counts of equal and of all values by kind; the first differences; how many there are."""

    equal: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    lines: list[str] = field(default_factory=list)
    differences: int = 0

    def check(self, kind: str, where: str, ours: Any, recorded: Any) -> None:
        """Count one pair of values; equal values of another type (1 and 1.0) differ."""
        self.total[kind] += 1
        if ours == recorded and type(ours) is type(recorded):
            self.equal[kind] += 1
        else:
            self.differences += 1
            if len(self.lines) < MAX_LINES:
                self.lines.append(f"{where}: {kind}: {_contrast(ours, recorded)}")

    def add(self, other: "Comparison") -> None:
        """Add another comparison's counts and lines."""
        for kind in KINDS:
            self.equal[kind] += other.equal[kind]
            self.total[kind] += other.total[kind]
        self.differences += other.differences
        self.lines.extend(other.lines[: MAX_LINES - len(self.lines)])

    def as_row(self) -> dict[str, dict[str, int]]:
        """Return {"observations": {"equal": n, "total": n}, "done": ..., "hashes": ..., ...}."""
        return {kind: {"equal": self.equal[kind], "total": self.total[kind]} for kind in KINDS}


def _contrast(ours: Any, recorded: Any) -> str:
    """Show both values on one line; two texts from shortly before they part."""
    where = ""
    if isinstance(ours, str) and isinstance(recorded, str):
        parted = (
            i for i, pair in enumerate(zip(ours, recorded, strict=False)) if len(set(pair)) > 1
        )
        same = next(parted, min(len(ours), len(recorded)))
        start = max(0, same - MAX_SHOWN // 4)
        ours, recorded = ours[start:], recorded[start:]
        where = f" from character {same}"
    return f"differ{where}: recorded {_shown(recorded)}, ours {_shown(ours)}"


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def compare_golden(path: Path, load: Callable[[str], LoadedDomain]) -> Comparison:
    """Run a file of call sequences: {"sequences": [{domain, title, calls, data_hash}]}.

    A call is {name, kwargs, observation, done}, or {name, kwargs, raises} where the original
    crashed. ``load`` gives a domain by name. Raises UserError that names the sequence where the
    file cannot be read.
    """
    content = read_json(path)
    sequences = content.get("sequences") if isinstance(content, dict) else None
    if not isinstance(sequences, list):
        raise UserError(f"{path}: needs a list 'sequences'")
    comparison = Comparison()
    for index, sequence in enumerate(sequences):
        where = f"sequence {index}"
        try:
            loaded = load(sequence["domain"])
            comparison.add(_compare_sequence(loaded, sequence, where))
        except (KeyError, TypeError, AttributeError, MalformedActionError) as error:
            raise UserError(f"{path}: {where} cannot be read ({error!r})") from error
    return comparison


def _compare_sequence(loaded: LoadedDomain, sequence: Mapping[str, Any], where: str) -> Comparison:
    comparison = Comparison()
    # A sequence has no task; this one only lets the environment begin.
    environment = Environment(loaded, ScriptedUser(["Hello."]))
    environment.reset(Task("", "", (), ()))
    for number, call in enumerate(sequence["calls"]):
        here = f"{where} ({_shown(sequence['title'])}) call {number} {_shown(call['name'])}"
        step, crash = _try_step(environment, Action(call["name"], call["kwargs"]))
        if "raises" in call:
            if step is not None:
                comparison.check("observations", here, step.observation, None)
            continue
        comparison.check(
            "observations", here, step.observation if step else crash, call["observation"]
        )
        comparison.check("done", here, step.done if step else None, call["done"])
    if "data_hash" in sequence:
        comparison.check("hashes", where, environment.db.data_hash(), sequence["data_hash"])
    return comparison


def compare_recording(loaded: LoadedDomain, recording: Recording) -> Comparison:
    """Run a recorded dialogue's actions with its user's lines and compare what they lead to.

    Compares the observations of tools; whether each step ends the dialogue (the last one does,
    unless the recording met its step limit); the ground truth's hash, where it was recorded; and
    the reward.
    """
    comparison = Comparison()
    environment = Environment(loaded, RecordedUser(recording.user_lines))
    environment.reset(recording.task)
    last = None
    for recorded in recording.steps:
        if recorded.action is None:
            last, crash = None, f"not read: {recorded.problem}"
        else:
            last, crash = _try_step(environment, recorded.action)
        is_last = recorded is recording.steps[-1]
        where = f"{recording.where} message {recorded.message}"
        if last is None or last.source != "user":
            observation = last.observation if last else crash
            comparison.check("observations", where, observation, recorded.answer)
        if not (is_last and recording.ended is None):
            ended = is_last and bool(recording.ended)
            comparison.check("done", where, last.done if last else None, ended)
    _compare_reward(comparison, recording, last.reward if last else None)
    return comparison


def _compare_reward(comparison: Comparison, recording: Recording, reward: Reward | None) -> None:
    """Count the reward with what it is made of as one value, the ground truth's hash as another."""
    info = recording.reward_info.get("info")
    info = dict(info) if isinstance(info, dict) else {}
    if "gt_data_hash" in info:
        truth = reward.gt_data_hash if reward else None
        comparison.check("hashes", recording.where, truth, info.pop("gt_data_hash"))
    if recording.reward is None:
        return
    parts = {**reward.info, "r_actions": reward.r_actions} if reward else {}
    ours = {"reward": reward.reward if reward else 0.0, **{key: parts.get(key) for key in info}}
    comparison.check("rewards", recording.where, ours, {"reward": recording.reward, **info})


def _try_step(environment: Environment, action: Action) -> tuple[Step | None, str]:
    """Return the step, or None and why the environment has no answer."""
    try:
        return environment.step(action), ""
    except EpisodeCrashError as error:
        return None, f"crash: {error}"
