"""Recorded calls as a test set of tool agents: requests that no synthetic data saw.

Each call of a recorded dialogue is rendered as a request in English; what the tool agent writes is
held against the recorded call. Final states are those of the recorded dialogues with each write in
the tool agent's version (open loop: the dialogue goes on as recorded, reads change nothing).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from factored.calls import CALL_ERRORS, CallChecker, Punt, read_json_call
from factored.requests import render_request
from factored.scripts import Script, Scripts
from factored.taubench.environment import LoadedDomain, score
from factored.taubench.tasks import RESPOND, Action, Task
from factored.tool_agents import Line
from harness.hashing import canonical_json
from harness.seeds import generator

Place = tuple[int, int, int]  # task, trial, number of the action in the dialogue


@dataclass(frozen=True)
class RecordedCall:
    """A call, where it stands, and the dialogue before it."""

    place: Place
    action: Action
    dialogue: tuple[Line, ...]

    @property
    def request(self) -> str:
        """The call in English."""
        return render_request(self.action)


def recorded_calls(scripts: Scripts) -> list[RecordedCall]:
    """Every call of the dialogues, in order."""
    return [
        RecordedCall((*key, number), action, tuple(_lines(script, number)))
        for key, script in scripts.items()
        for number, action in enumerate(script.actions)
        if action.name != RESPOND
    ]


def _lines(script: Script, number: int) -> list[Line]:
    """The dialogue before an action, as a tool agent reads it in the loop."""
    users = iter(script.user_lines)
    lines: list[Line] = [("User", next(users, ""))]
    for at, action in enumerate(script.actions[:number]):
        if action.name == RESPOND:
            lines.append(("Assistant", str(action.kwargs.get("content", ""))))
            lines.append(("User", next(users, "")))
        else:
            lines.append(("Assistant", render_request(action)))
            if at < len(script.answers):
                lines.append((f"Tool {action.name}", script.answers[at]))
    return lines


def needing_write(
    scripts: Scripts, loaded: LoadedDomain, tasks: Mapping[int, Task]
) -> list[tuple[int, int]]:
    """The recorded successes whose task ends in another state than it begins with."""
    start = loaded.fresh_state().data_hash()
    return [
        key
        for key, script in scripts.items()
        if script.reward == 1.0 and loaded.ground_truth_hash(tasks[key[0]]) != start
    ]


def stratified(
    calls: Sequence[RecordedCall],
    always: Sequence[tuple[int, int]],
    writes: frozenset[str],
    size: int,
    seed: int,
) -> list[RecordedCall]:
    """A fixed sample in order: every write of the dialogues ``always``, the rest drawn by tool.

    Each tool gets its share of what is left (largest remainders), so that the sample of a seed is
    the same wherever it is drawn.
    """
    first = [c for c in calls if c.place[:2] in set(always) and c.action.name in writes]
    chosen = {call.place for call in first}
    pools: dict[str, list[RecordedCall]] = defaultdict(list)
    for call in calls:
        if call.place not in chosen:
            pools[call.action.name].append(call)
    left = max(0, min(size, len(calls)) - len(first))
    for name, share in _shares({tool: len(pool) for tool, pool in pools.items()}, left).items():
        order = sorted(pools[name], key=lambda c: generator(seed, "calls", str(c.place)).random())
        chosen.update(call.place for call in order[:share])
    return [call for call in calls if call.place in chosen]


def _shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    whole = sum(sizes.values())
    exact = {name: total * size / whole for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def outcome(text: str | Punt, call: RecordedCall, checker: CallChecker) -> dict[str, Any]:
    """What a tool agent's text is: the error, or exact; the action that would run, if any."""
    said = text if isinstance(text, Punt) else read_json_call(text)
    read = said if isinstance(said, Punt) else checker.check(said)
    valid = isinstance(read, Action)
    exact = valid and canonical_json(read.as_row()) == canonical_json(call.action.as_row())
    return {
        "json": isinstance(said, Action),
        "right_tool": isinstance(said, Action) and said.name == call.action.name,
        "valid": valid,
        "exact": exact,
        "error": None if exact else "wrong_value" if valid else _error(read),
        "errors": list(read.errors) if isinstance(read, Punt) else [],
        "action": read.as_row() if isinstance(read, Action) else None,
    }


def _error(read: Action | Punt) -> str:
    assert isinstance(read, Punt)
    return read.error


def measure_calls(
    calls: Sequence[RecordedCall], outcomes: Sequence[Mapping[str, Any]], writes: frozenset[str]
) -> dict[str, Any]:
    """Counts over all calls, reads and writes apart, and by tool; errors by kind."""
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    tools: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for call, found in zip(calls, outcomes, strict=True):
        groups["all"].append(found)
        groups["writes" if call.action.name in writes else "reads"].append(found)
        tools[call.action.name].append(found)
    errors = Counter(found["error"] for found in outcomes if found["error"])
    return {
        "groups": {name: _counts(group) for name, group in groups.items()},
        "tools": {name: _counts(tools[name]) for name in sorted(tools)},
        "errors": {name: errors[name] for name in (*CALL_ERRORS, "wrong_value")},
    }


def _counts(group: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    names = ("json", "right_tool", "valid", "exact")
    return {"total": len(group), **{name: sum(bool(one[name]) for one in group) for name in names}}


def final_states(
    keys: Sequence[tuple[int, int]],
    scripts: Scripts,
    made: Mapping[Place, Action | None],
    loaded: LoadedDomain,
    tasks: Mapping[int, Task],
) -> dict[str, int]:
    """Of the dialogues ``keys``: final states and rewards that survive the tool agent's writes.

    ``made`` has an entry for every write: the action that the tool agent's text amounts to, None
    where it is punted. ``no_call`` is the floor: the same dialogues with no call at all.
    """
    counts = Counter({"dialogues": len(keys), "hashes": 0, "rewards": 0, "no_call": 0})
    for key in keys:
        actions = scripts[key].actions
        versions = [made.get((*key, number), action) for number, action in enumerate(actions)]
        recorded, ours = loaded.fresh_state(), loaded.fresh_state()
        for action, version in zip(actions, versions, strict=True):
            if loaded.domain.tool(action.name):
                loaded.run(recorded, action)
            if version is not None and loaded.domain.tool(version.name):
                loaded.run(ours, version)
        counts["hashes"] += ours.data_hash() == recorded.data_hash()
        counts["rewards"] += score(loaded, tasks[key[0]], ours, actions).reward == 1.0
        untouched = loaded.fresh_state()
        counts["no_call"] += score(loaded, tasks[key[0]], untouched, actions).reward == 1.0
    return dict(counts)
