"""Planners: who decides what is said and which tool is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from factored.agents import Form
from factored.roles import Role, RoleSettings
from factored.taubench.tasks import Action
from harness.completions import Message, ToolCall
from harness.tool_calls import calls_in
from harness.validators import Name


class ScriptOverError(Exception):
    """A script holds no further decision."""


@dataclass(frozen=True)
class Decision:
    """A planner's text; ``intended`` is the action it stands for, where a script says so.

    ``calls`` are those beside the text, from a planner that is offered tools.
    """

    text: str
    intended: Action | None = None
    calls: tuple[ToolCall, ...] = ()


class Planner(Protocol):
    """What the loop asks of a planner."""

    def decide(self, messages: Sequence[Message]) -> Decision:
        """Return the next text, given the dialogue so far."""
        ...


@dataclass(frozen=True)
class ModelPlannerSpec(RoleSettings):
    """A large model, in context."""

    name: Name
    kind: Literal["llm"]


@dataclass(frozen=True)
class ScriptSpec:
    """Decisions (or user lines) written down beforehand, taken in order whatever happens.

    ``scripted`` takes those that come with the domain, ``recorded`` those of a result file, by
    task and trial. Open loop: after a punt the script goes on with its next action.
    """

    name: Name
    kind: Literal["scripted", "recorded"]


@dataclass(frozen=True)
class ModelPlanner:
    """Asks the model, and offers it ``tools`` (schemas as JSON) where the agent kind sends them."""

    role: Role
    tools: tuple[str, ...] = ()

    def decide(self, messages: Sequence[Message]) -> Decision:
        """Return the model's text, and its calls where it is offered tools.

        Raises what ``Role.answer`` raises.
        """
        text, calls = self.role.answer(messages, tools=self.tools)
        # Where no server reads the calls out, they stand in the text.
        if self.tools and not calls:
            text, calls = calls_in(text)
        return Decision(text, calls=calls)


class ScriptPlanner:
    """Takes one action of the script after another, each in the words of the agent kind."""

    def __init__(self, form: Form, actions: Sequence[Action]) -> None:
        self._form = form
        self._actions = iter(actions)

    def decide(self, messages: Sequence[Message]) -> Decision:  # noqa: ARG002
        """Return the next decision; raises ScriptOverError after the last."""
        action = next(self._actions, None)
        if action is None:
            raise ScriptOverError
        return Decision(self._form.write(action), action)
