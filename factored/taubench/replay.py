"""Compare the environment with the original: golden call sequences, recorded dialogues.

Both comparisons count equal and total values of four kinds (observations, done flags, data hashes,
rewards) and keep every difference with its cause, see ``differences.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from factored.taubench.causes import Trace, trace_hash, trace_state
from factored.taubench.differences import (
    MAX_LINES,
    Comparison,
    Difference,
    answer_cause,
    answer_field,
)
from factored.taubench.environment import Environment, LoadedDomain, Reward, Step, score
from factored.taubench.loading import read_json
from factored.taubench.recordings import RecordedStep, Recording
from factored.taubench.tasks import Action, MalformedActionError, Task
from factored.taubench.tools import EpisodeCrashError
from factored.taubench.users import RecordedUser, ScriptedUser
from harness.errors import UserError
from harness.terminal import printable

__all__ = ["MAX_LINES", "Comparison", "compare_golden", "compare_recording", "compare_recordings"]

MAX_TRACED = 20  # hashes of a file that are traced: each takes up to 40 runs of its calls
MAX_WAYS = 8  # of changing calls that failed, in a dialogue, tried as run and as not run
GRADED = ("r_actions", "r_outputs", "outputs")  # what of a reward's parts is ours to compare


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
        name = call["name"]
        here = f"{where} ({printable(str(sequence['title'])[:80])}) call {number} {name!r}"
        step, crash = _try_step(environment, Action(name, call["kwargs"]))
        if "raises" in call:
            if step is not None:
                told = Difference(here, "observations", "environment", None, step.observation, name)
                comparison.check(told)
            continue
        ours = step.observation if step else crash
        _compare_answer(comparison, here, name, call["observation"], ours, {})
        done = step.done if step else None
        comparison.check(Difference(here, "done", "environment", call["done"], done, name))
    if "data_hash" in sequence:
        ours, recorded = environment.db.data_hash(), sequence["data_hash"]
        comparison.check(_of_hash(loaded, environment.log, where, recorded, ours))
    return comparison


def _of_hash(
    loaded: LoadedDomain, log: Sequence[Action], where: str, recorded: Any, ours: str
) -> Difference:
    """Return the pair of hashes, traced where they differ."""
    found = Difference(where, "hashes", "environment", recorded, ours)
    return found if recorded == ours else _with_trace(found, trace_hash(loaded, log, recorded))


def _with_trace(found: Difference, trace: Trace | None) -> Difference:
    if trace is None:
        return found
    return replace(found, call=trace.call, field=trace.field, first=trace.words)


def _compare_answer(
    comparison: Comparison,
    where: str,
    call: str | None,
    recorded: Any,
    ours: str | None,
    at: Mapping[str, int | None],
) -> None:
    """Count a tool's answer; where it differs, with its cause and the field."""
    if ours == recorded:
        comparison.check(Difference(where, "observations", "environment", recorded, ours))
        return
    text = recorded if isinstance(recorded, str) else None
    cause = answer_cause(ours, text)
    field = answer_field(ours, text) if cause == "environment" else None
    comparison.keep(
        Difference(where, "observations", cause, recorded, ours, call, field, at=dict(at))
    )


def compare_recordings(loaded: LoadedDomain, recordings: Sequence[Recording]) -> Comparison:
    """Compare recorded dialogues and trace the hashes that differ to a call and a field."""
    comparison = Comparison()
    for recording in recordings:
        comparison.add(compare_recording(loaded, recording))
    hashes = [one for one in comparison.faults if one.kind == "hashes"]
    if hashes:
        traced = _traced(loaded, recordings, comparison, hashes)
        comparison.found = [
            traced.get(one.where, one) if one in hashes else one for one in comparison.found
        ]
    return comparison


def _traced(
    loaded: LoadedDomain,
    recordings: Sequence[Recording],
    comparison: Comparison,
    hashes: Sequence[Difference],
) -> dict[str, Difference]:
    """Return the differing hashes by place, with the call and field that they come from.

    Those of the task's own actions come first; else the first answer that differs, in the dialogue
    or in the file: other data show in answers too.
    """
    answers = [one for one in comparison.faults if one.kind == "observations"]
    by_where = {one.where: one for one in recordings}
    everywhere = comparison.equal["hashes"] == 0 and bool(answers)
    found = {}
    for number, one in enumerate(hashes):
        trace, recording = None, by_where[one.where]
        if number < MAX_TRACED and not everywhere:
            trace = trace_hash(loaded, recording.task.actions, str(one.recorded))
        same = (answer for answer in answers if answer.at["record"] == one.at["record"])
        first = next(same, answers[0] if answers else None)
        if trace is None and first is not None:
            words = f"as the first answer that differs: {first.where}"
            trace = Trace(first.call, first.field, words)
        found[one.where] = _with_trace(one, trace)
    return found


def compare_recording(loaded: LoadedDomain, recording: Recording) -> Comparison:
    """Run a recorded dialogue's actions with its user's lines and compare what they lead to.

    Compares the observations of tools; whether each step ends the dialogue (the last one does,
    unless the recording met its step limit); the ground truth's hash, where it was recorded; and
    the reward. A call that changes data and was recorded as failed may have run or not: of both,
    what fits the rest of the recording better is taken.
    """
    way: frozenset[int] = frozenset()
    best = _compare(loaded, recording, way)
    failed = _failed_changes(loaded, best)
    if not failed or not best.faults:
        return best
    for turned in (failed, *(frozenset({message}) for message in sorted(failed)[:MAX_WAYS])):
        other = _compare(loaded, recording, way ^ turned)
        if len(other.faults) < len(best.faults):
            way, best = way ^ turned, other
    return best


def _failed_changes(loaded: LoadedDomain, comparison: Comparison) -> frozenset[int]:
    """Return the messages of the calls recorded as failed that could have changed something."""
    changing = loaded.domain.writes | loaded.domain.terminating
    failed = (one for one in comparison.found if one.cause == "tool_failure")
    messages = (one.at["message"] for one in failed if one.call in changing)
    return frozenset(message for message in messages if message is not None)


def _compare(loaded: LoadedDomain, recording: Recording, skipped: frozenset[int]) -> Comparison:
    """Compare a dialogue; the calls of the messages ``skipped`` are taken not to have run."""
    comparison = Comparison()
    environment = Environment(loaded, RecordedUser(recording.user_lines))
    environment.reset(recording.task)
    last = None
    for recorded in recording.steps:
        where = f"{recording.where} message {recorded.message}"
        at = {**recording.at, "message": recorded.message}
        name = recorded.action.name if recorded.action else None
        if recorded.message in skipped:
            last = Step(recorded.answer or "", False, str(name))
            answer = recorded.answer
            failed = Difference(where, "observations", "tool_failure", answer, None, name, at=at)
            comparison.keep(replace(failed, first="the rest fits a call that did not run"))
        else:
            last, problem = _taken(environment, recorded)
            if last is None or last.source != "user":
                ours = last.observation if last else problem
                _compare_answer(comparison, where, name, recorded.answer, ours, at)
        is_last = recorded is recording.steps[-1]
        if not (is_last and recording.ended is None):
            ended, ours_ended = is_last and bool(recording.ended), last.done if last else None
            told = Difference(where, "done", "environment", ended, ours_ended, name, at=at)
            comparison.check(told)
    _compare_reward(comparison, recording, environment, last.reward if last else None)
    return comparison


def _taken(environment: Environment, recorded: RecordedStep) -> tuple[Step | None, str]:
    if recorded.action is None:
        return None, f"not read: {recorded.problem}"
    return _try_step(environment, recorded.action)


def _compare_reward(
    comparison: Comparison, recording: Recording, environment: Environment, reward: Reward | None
) -> None:
    """Count the reward with what it is made of as one value, the ground truth's hash as another."""
    loaded, task, at = environment.loaded, recording.task, recording.at
    if reward is None and recording.scored_open:
        reward = score(loaded, task, environment.db, environment.log)
    info = recording.reward_info.get("info")
    info = info if isinstance(info, dict) else {}
    if "gt_data_hash" in info:
        truth = reward.gt_data_hash if reward else loaded.ground_truth_hash(task)
        recorded_hash = info["gt_data_hash"]
        found = Difference(recording.where, "hashes", "environment", recorded_hash, truth, at=at)
        comparison.check(found)
    if recording.reward is None:
        return
    parts = {**reward.info, "r_actions": reward.r_actions} if reward else {}
    recorded = {"reward": recording.reward, **{key: info[key] for key in GRADED if key in info}}
    ours = {"reward": reward.reward if reward else 0.0, **{key: parts.get(key) for key in info}}
    ours = {key: ours[key] for key in recorded}
    found = Difference(recording.where, "rewards", "environment", recorded, ours, at=at)
    if ours == recorded:
        comparison.check(found)
    elif all(ours[key] == value or _is_other(value) for key, value in recorded.items()):
        comparison.keep(replace(found, cause="other_reward"))
    else:
        trace = trace_state(loaded, environment.db, task.actions, environment.log)
        comparison.keep(_with_trace(found, trace))


def _is_other(value: Any) -> bool:
    """Whether it is a number that tau-bench does not give, whose rewards are 0 and 1."""
    return isinstance(value, int | float) and value not in (0, 1)


def _try_step(environment: Environment, action: Action) -> tuple[Step | None, str]:
    """Return the step, or None and what stands for the answer that the environment lacks."""
    try:
        return environment.step(action), ""
    except EpisodeCrashError as error:
        return None, f"Error: {error}"
