"""Planners: who decides what is said and which tool is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from factored.agents import Form
from factored.roles import Role, RoleSettings
from factored.taubench.tasks import Action
from harness.completions import Message, ToolCall
from harness.texts import Name
from harness.tool_calls import calls_in


class ScriptOverError(Exception):
    """A script holds no further decision."""


@dataclass(frozen=True)
class Decision:
    """A planner's text; ``intended`` is the action it stands for, where that is known.

    ``calls`` are those beside the text, of a planner that is offered tools.
    """

    text: str
    intended: Action | None = None
    calls: tuple[ToolCall, ...] = ()


class Planner(Protocol):
    """What the loop asks of a planner."""

    def decide(self, messages: Sequence[Message]) -> Decision:
        """The next text, given the dialogue so far."""
        ...


@dataclass(frozen=True)
class ModelPlannerSpec(RoleSettings):
    """A large model, in context."""

    name: Name
    kind: Literal["llm"]


@dataclass(frozen=True)
class ScriptSpec:
    """Decisions (or user lines) written down beforehand, whatever happens.

    ``scripted``: those that come with the domain; ``recorded``: those of a result file, by task
    and trial. Open loop: an action that is lost on its way consumes its decision.
    """

    name: Name
    kind: Literal["scripted", "recorded"]


@dataclass(frozen=True)
class ModelPlanner:
    """Asks the model, which is offered ``tools`` where the agent kind sends them."""

    role: Role
    tools: tuple[str, ...] = ()

    def decide(self, messages: Sequence[Message]) -> Decision:
        """The model's text, and its calls where it is offered tools."""
        text, calls = self.role.answer(messages, tools=self.tools)
        if self.tools and not calls:
            text, calls = calls_in(text)
        return Decision(text, calls=calls)


class ScriptPlanner:
    """Takes one action of the script after another, each in the words of the agent kind."""

    def __init__(self, form: Form, actions: Sequence[Action]) -> None:
        self._form = form
        self._actions = iter(actions)

    def decide(self, messages: Sequence[Message]) -> Decision:  # noqa: ARG002
        """The next decision; raises ScriptOverError after the last."""
        action = next(self._actions, None)
        if action is None:
            raise ScriptOverError
        return Decision(self._form.write(action), action)
