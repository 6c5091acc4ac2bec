"""Tasks and actions.

One row of a ``tasks_<split>.json``::

    {"user_id": "mia_li_3668", "instruction": "You want to fly from New York ...",
     "actions": [{"name": "book_reservation", "kwargs": {...}}], "outputs": ["1628"]}

A row made of one of tau2-bench's has ``tau2`` beside these, see Tau2.

``actions`` is one way to the state that the task asks for, ``outputs`` what the agent has to say.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.errors import UserError

RESPOND = "respond"
MAX_DEPTH = 64  # of nested arguments: far above any tool's, far below Python's recursion limit


class MalformedActionError(ValueError):
    """An action that no environment can take; the original dies here before the step."""


@dataclass(frozen=True)
class Action:
    """A call of a tool, or ``respond`` with ``content``: a message to the user.

    Raises MalformedActionError where the arguments are not an object with string keys, or nested
    deeper than MAX_DEPTH.
    """

    name: str
    kwargs: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise MalformedActionError("the name of an action must be a string")
        if not isinstance(self.kwargs, dict) or not all(
            isinstance(key, str) for key in self.kwargs
        ):
            raise MalformedActionError("the arguments of an action must be a JSON object")
        level: list[Any] = [self.kwargs]
        for _ in range(MAX_DEPTH):
            level = [child for value in level for child in _children(value)]
        if level:
            raise MalformedActionError(f"arguments are nested deeper than {MAX_DEPTH} levels")

    def as_row(self) -> dict[str, Any]:
        """Return the action as it stands in files."""
        return {"name": self.name, "kwargs": dict(self.kwargs)}


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class Tau2:
    """Where a task of tau2-bench comes from, and what of it has no place here.

    ``tau_bench_id``: the task of tau-bench's test split that it was made of, where that is known.
    ``not_graded`` counts what tau2 checks and the reward here does not. A task with ``unscorable``
    cannot be scored here at all, for that reason.
    """

    id: str
    tau_bench_id: int | None
    not_graded: Mapping[str, int]
    unscorable: str | None


@dataclass(frozen=True)
class Task:
    """What the user wants, and what counts as done."""

    user_id: str
    instruction: str
    actions: tuple[Action, ...]
    outputs: tuple[str, ...]
    tau2: Tau2 | None = None

    @classmethod
    def from_row(cls, row: Any, where: str) -> "Task":
        """Return the task of one row; raises UserError that starts with ``where``: file and row."""
        fields = {"user_id": str, "instruction": str, "actions": list, "outputs": list}
        for name, kind in fields.items():
            if not isinstance(row, dict) or not isinstance(row.get(name), kind):
                raise UserError(f"{where}: a task needs '{name}' as {kind.__name__}")
        if not all(isinstance(output, str) for output in row["outputs"]):
            raise UserError(f"{where}: 'outputs' must be strings")
        try:
            actions = tuple(Action(action["name"], action["kwargs"]) for action in row["actions"])
        except (MalformedActionError, KeyError, TypeError) as error:
            raise UserError(f"{where}: actions need 'name' and 'kwargs' ({error})") from error
        tau2 = _origin(row["tau2"], where) if row.get("tau2") else None
        return cls(row["user_id"], row["instruction"], actions, tuple(row["outputs"]), tau2)

    def as_row(self) -> dict[str, Any]:
        """Return the task as it stands in files; ``tau2`` only where it comes from there."""
        origin = {"tau2": asdict(self.tau2)} if self.tau2 else {}
        return {
            "user_id": self.user_id,
            "instruction": self.instruction,
            "actions": [action.as_row() for action in self.actions],
            "outputs": list(self.outputs),
            **origin,
        }


def _origin(row: Any, where: str) -> Tau2:
    try:
        return TypeAdapter(Tau2).validate_json(json.dumps(row), strict=True)
    except ValidationError as error:
        raise UserError(f"{where}: 'tau2' is not what an import writes") from error
