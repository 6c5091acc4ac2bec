"""A tool agent's replies held against the recorded calls: one row a call, then counts.

Final states are those of the recorded dialogues with each write in the tool agent's version (open
loop: the dialogue goes on as recorded, reads change nothing).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from factored.call_checks import (
    CALL_ERRORS,
    CallChecker,
    CallError,
    PlannerError,
    Punt,
    read_json_call,
)
from factored.calls.data_set import Place, RecordedCall
from factored.scripts import Scripts
from factored.taubench.environment import LoadedDomain, score
from factored.taubench.tasks import Action, Task
from harness.hashing import canonical_json


@dataclass(frozen=True)
class CallRow:
    """What a tool agent made of one recorded call: a row of calls.jsonl.

    ``json`` and what follows it are steps, each of which includes those before: the reply is one
    call, of the recorded tool, which its schema allows, equal to the recorded one. ``valid`` alone
    does not include ``right_tool``. ``error`` is the first of ``errors``, or ``wrong_value`` for a
    valid call that differs; ``action`` is what would run, None for a punt.
    """

    place: Place
    tool: str
    json: bool
    right_tool: bool
    valid: bool
    exact: bool
    error: CallError | PlannerError | Literal["wrong_value"] | None
    errors: tuple[str, ...]
    action: Action | None

    def as_row(self) -> dict[str, Any]:
        """Return the row as it stands in the file."""
        return asdict(self)


@dataclass(frozen=True)
class CallCounts:
    """Numbers of calls: all, and those for which a step of ``CallRow`` holds."""

    total: int
    json: int
    right_tool: int
    valid: int
    exact: int


@dataclass(frozen=True)
class FinalStates:
    """Recorded successes that need a write, and how many survive the tool agent's writes.

    ``hashes`` counts equal final states, ``rewards`` kept rewards, ``no_call`` the rewards of the
    same dialogues with no call at all: the floor.
    """

    dialogues: int
    hashes: int
    rewards: int
    no_call: int


@dataclass(frozen=True)
class CallMetrics:
    """The content of metrics.json.

    ``groups`` are ``all``, ``reads`` and ``writes``. ``truncated`` counts replies cut at their
    length, ``shortened`` prompts whose context was cut. ``constrained`` says what the replies were
    held to, None where they were written freely.
    """

    groups: Mapping[str, CallCounts]
    tools: Mapping[str, CallCounts]
    errors: Mapping[str, int]
    truncated: int
    shortened: int
    final: FinalStates
    constrained: str | None = None

    def as_row(self) -> dict[str, Any]:
        """Return the metrics as they stand in the file: ``constrained`` only where it says so."""
        row = asdict(self)
        if self.constrained is None:
            del row["constrained"]
        return row


def grade(text: str | Punt, call: RecordedCall, checker: CallChecker) -> CallRow:
    """Hold a tool agent's text, or its punt, against the recorded call."""
    said = text if isinstance(text, Punt) else read_json_call(text)
    read = said if isinstance(said, Punt) else checker.check(said)
    action = read if isinstance(read, Action) else None
    exact = action is not None and canonical_json(action.as_row()) == canonical_json(
        call.action.as_row()
    )
    error = read.error if isinstance(read, Punt) else None if exact else "wrong_value"
    return CallRow(
        place=call.place,
        tool=call.action.name,
        json=isinstance(said, Action),
        right_tool=isinstance(said, Action) and said.name == call.action.name,
        valid=action is not None,
        exact=exact,
        error=error,
        errors=read.errors if isinstance(read, Punt) else (),
        action=action,
    )


def measure_calls(
    rows: Sequence[CallRow],
    writes: frozenset[str],
    *,
    truncated: int,
    shortened: int,
    final: FinalStates,
    constrained: str | None,
) -> CallMetrics:
    """Count over all calls, reads and writes apart, and by tool; errors by kind.

    ``writes`` names the tools that change data.
    """
    groups: dict[str, list[CallRow]] = defaultdict(list)
    tools: dict[str, list[CallRow]] = defaultdict(list)
    for row in rows:
        groups["all"].append(row)
        groups["writes" if row.tool in writes else "reads"].append(row)
        tools[row.tool].append(row)
    errors: Counter[str | None] = Counter(row.error for row in rows)
    return CallMetrics(
        groups={name: _counts(group) for name, group in groups.items()},
        tools={name: _counts(tools[name]) for name in sorted(tools)},
        errors={name: errors[name] for name in (*CALL_ERRORS, "wrong_value")},
        truncated=truncated,
        shortened=shortened,
        final=final,
        constrained=constrained,
    )


def _counts(group: Sequence[CallRow]) -> CallCounts:
    return CallCounts(
        total=len(group),
        json=sum(row.json for row in group),
        right_tool=sum(row.right_tool for row in group),
        valid=sum(row.valid for row in group),
        exact=sum(row.exact for row in group),
    )


def final_states(
    keys: Sequence[tuple[int, int]],
    scripts: Scripts,
    rows: Sequence[CallRow],
    loaded: LoadedDomain,
    tasks: Mapping[int, Task],
) -> FinalStates:
    """Run the dialogues ``keys`` (task, trial) with the tool agent's writes in place.

    A write that is punted does not run; a call without a row runs as recorded.
    """
    made = {row.place: row.action for row in rows if row.tool in loaded.domain.writes}
    counts: Counter[str] = Counter()
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
    return FinalStates(len(keys), counts["hashes"], counts["rewards"], counts["no_call"])
