"""Recorded calls as a test set of tool agents: requests that no synthetic data saw.

Each call of a recorded dialogue is rendered as a request in English; what the tool agent writes is
held against the recorded call.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factored.requests import render_request
from factored.scripts import Script, Scripts
from factored.taubench.environment import LoadedDomain
from factored.taubench.tasks import RESPOND, Action, Task
from factored.tool_agents import Line
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
    """Return every call of the dialogues, in order; messages to the user are no calls."""
    return [
        RecordedCall((*key, number), action, tuple(_lines(script, number)))
        for key, script in scripts.items()
        for number, action in enumerate(script.actions)
        if action.name != RESPOND
    ]


def _lines(script: Script, number: int) -> list[Line]:
    """Return the dialogue before an action, as a tool agent reads it in the loop."""
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
    """Return (task, trial) of the recorded successes whose task changes the data."""
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
    """Return a fixed sample of about ``size`` calls in order.

    It holds every write of the dialogues ``always``; the rest is drawn by tool. Each tool gets its
    share of what is left (largest remainders), so that the sample of a seed is the same wherever
    it is drawn. More than ``size`` calls come back where the writes alone are more.
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
    """Split ``total`` in proportion to ``sizes`` by largest remainders; equal ones by name."""
    whole = sum(sizes.values())
    exact = {name: total * size / whole for name, size in sizes.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares
