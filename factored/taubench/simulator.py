"""User simulators that answer: a model, or a person at the keyboard."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from factored.roles import Played, Role, without_thoughts
from factored.taubench.users import STOP
from harness.completions import Message

GREETING = "Hi! How can I help you today?"


@dataclass(frozen=True)
class ModelUserSpec(Played):
    """``instruction`` is the simulator's prompt, {task} stands for what the user wants."""

    name: str
    kind: Literal["llm"]
    instruction: str


@dataclass(frozen=True)
class HumanSpec:
    """A person plays the user: one worker, no model."""

    name: str
    kind: Literal["human"]


@dataclass
class ModelUser:
    """A model that plays the user; it sees itself as the assistant, the agent as the user.

    A reasoning model's thoughts are taken out before a line is said: a STOP in them is not meant.
    """

    role: Role
    instruction: str
    _said: list[Message] = field(default_factory=list)

    @property
    def cost(self) -> float:
        """US dollars since the dialogue began."""
        return self.role.usage.cost

    def reset(self, instruction: str) -> str:
        """The opening line, in answer to the agent's greeting."""
        prompt = self.instruction.replace("{task}", instruction).strip()
        self._said = [Message("system", prompt)]
        return self.step(GREETING)

    def step(self, content: str) -> str:
        """The next line; an empty one is an error, since no user says nothing."""
        self._said.append(Message("user", content))
        line = without_thoughts(self.role.reply(self._said))
        if not line:
            raise ValueError("the simulator gave an empty line")
        self._said.append(Message("assistant", line))
        return line


class HumanUser:
    """Asks a person for each line."""

    cost = 0.0

    def __init__(self, ask: Callable[[str], str] = input) -> None:
        self._ask = ask

    def reset(self, instruction: str) -> str:
        """Shows what the user wants, and asks for the opening line."""
        return self._ask(f"\nYou are the user. {instruction}\n({STOP} ends it)\n{GREETING}\n> ")

    def step(self, content: str) -> str:
        """Shows the agent's message, and asks for the answer."""
        return self._ask(f"\n{content}\n> ")
