"""Act: ReAct without the thought."""

from dataclasses import dataclass
from typing import Literal

from factored.agents.forms import Reading, Say, Schemas, prompt
from factored.agents.react import ACTION, read_action
from factored.calls import write_json_call
from factored.taubench.tasks import Action


@dataclass(frozen=True)
class ActForm:
    """What follows the last ``Action:`` is the action."""

    name: str
    kind: Literal["act"]
    tools_heading: str
    suffix: str
    answer_prefix: str

    def system(self, policy: str, schemas: Schemas) -> str:
        """Policy, tools, instruction."""
        return prompt(policy, self.tools_heading, schemas, self.suffix)

    def read(self, text: str) -> Reading:
        """A call, or the message of a ``respond`` action."""
        return read_action(text)

    def write(self, action: Action) -> str:
        """The action."""
        return f"{ACTION}\n{write_json_call(action)}"

    def answer(self, tool: str, observation: str) -> str:  # noqa: ARG002
        """The observation under the same prefix for all tools."""
        return f"{self.answer_prefix}{observation}"

    def unreadable(self, text: str) -> Say | None:
        """tau-bench sends it to the user."""
        return Say(text)
